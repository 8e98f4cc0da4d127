package main

import (
	"runtime"
	"testing"
)

// TestSpareSome: more goroutines may run than there are processors, however often it
// is asked for, but where the variable says how many.
func TestSpareSome(t *testing.T) {
	t.Setenv("GOMAXPROCS", "")
	t.Cleanup(runtime.SetDefaultGOMAXPROCS)
	runtime.SetDefaultGOMAXPROCS()
	processors := runtime.GOMAXPROCS(0)
	for range 2 {
		if got := spareSome(); got != processors || runtime.GOMAXPROCS(0) != processors+spareProcs {
			t.Errorf("%d processors and room for %d, want %d and %d more", got, runtime.GOMAXPROCS(0), processors, spareProcs)
		}
	}
	t.Setenv("GOMAXPROCS", "7")
	runtime.GOMAXPROCS(7)
	if got := spareSome(); got != 7 || runtime.GOMAXPROCS(0) != 7 {
		t.Errorf("GOMAXPROCS=7 gives %d processors and room for %d", got, runtime.GOMAXPROCS(0))
	}
}
