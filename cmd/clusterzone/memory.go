package main

import (
	"os"
	"runtime/debug"
)

// The share of the live heap that may gather as garbage before it is collected.
// A server makes little garbage once it has synced, so half of Go's default costs
// next to nothing and saves a quarter of the heap. While the first list comes, nearly
// all that is made stays, and to look through it again and again would take a third of the time.
const (
	gcPercent        = 50
	loadingGCPercent = 150
)

// saveMemory sets the garbage collector for the first list, unless the GOGC
// variable does.
func saveMemory() { collectAt(loadingGCPercent) }

func collectAt(percent int) {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(percent)
	}
}

// giveBack returns to the system what the first reading of all objects took
// and no longer needs. The collector would do so by and by, over minutes.
func giveBack() {
	collectAt(gcPercent)
	debug.FreeOSMemory()
}
