package sources

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestStep: a zone gets a new serial without a change of its records, a second
// after the last one at the earliest.
func TestStep(t *testing.T) {
	t.Parallel()
	ft := newFeedTest(t, nil)
	for _, kind := range Kinds(ft.options.Needs) {
		ft.Synced(kind, nil)
	}
	ft.Apply()
	zone := func() (serial uint32, names int) {
		snap := ft.options.Store.Load()
		z := snap.Zone(snap.Origins()[0])
		return z.Serial(), z.Names()
	}
	serial, names := zone()
	ft.Step()
	ft.Apply()
	if now, _ := zone(); now != serial {
		t.Errorf("a step of no zone leads from %d to %d", serial, now)
	}
	ft.Step(ft.options.Store.Load().Origins()...)
	ft.Apply()
	if now, _ := zone(); now != serial {
		t.Errorf("within a second the serial goes from %d to %d", serial, now)
	}
	ft.now = ft.again
	ft.Apply()
	if now, after := zone(); now != serial+1 || after != names {
		t.Errorf("the serial goes from %d to %d, the names from %d to %d", serial, now, names, after)
	}
	ft.Step("\x05other\x04test\x00")
	ft.Apply()
	if now, _ := zone(); now != serial+1 {
		t.Errorf("a zone that is not ours has stepped ours to %d", now)
	}
}

// TestLateStepIsSaved: a serial that steps when its second is over, with no
// further change, is in the saved state: a restart must not give it out again.
func TestLateStepIsSaved(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "state")
	ft := newFeedTest(t, func(o *FeedOptions) { o.StateFile = file })
	for _, kind := range Kinds(ft.options.Needs) {
		ft.Synced(kind, nil)
	}
	ft.Apply()
	ft.Step(ft.options.Store.Load().Origins()...)
	ft.Apply()
	ft.saveState(true)
	ft.now = ft.again
	ft.Apply()
	ft.saveState(true)
	saved, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	snap := ft.options.Store.Load()
	want := fmt.Sprintf(`"corp.test":%d`, snap.Zone(snap.Origins()[0]).Serial())
	if !strings.Contains(string(saved), want) {
		t.Errorf("%s is not in the saved state: %s", want, saved)
	}
}
