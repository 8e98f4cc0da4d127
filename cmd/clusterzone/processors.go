package main

import (
	"os"
	"runtime"
)

// spareProcs is how many goroutines may run beyond one a processor. Where as many
// run as there are processors, Go notices a query when one of them ends, and a
// collection or a large commit takes milliseconds; with some to spare a thread waits
// for queries all the time, and the system gives it a processor at once.
const spareProcs = 2

// spareSome lets Go run some goroutines more than there are processors, unless the
// GOMAXPROCS variable says how many, and returns how many processors there are for
// us: what a container may use, where that is less than the machine has. Called again,
// it does the same again.
func spareSome() (processors int) {
	if os.Getenv("GOMAXPROCS") != "" {
		return runtime.GOMAXPROCS(0)
	}
	runtime.SetDefaultGOMAXPROCS()
	processors = runtime.GOMAXPROCS(0)
	runtime.GOMAXPROCS(processors + spareProcs)
	return processors
}
