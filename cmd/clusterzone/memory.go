package main

import (
	"os"
	"runtime/debug"

	"github.com/clusterzone/clusterzone/zones"
)

// The share of the live heap that may gather as garbage before it is collected.
// A server makes little garbage once it has synced, so half of Go's default costs
// next to nothing and saves a quarter of the heap. While the first list comes, nearly
// all that is made stays, and to look through it again and again would take a third of the time.
const (
	gcPercent        = 50
	loadingGCPercent = 150
)

// collectAt sets the garbage collector, unless the GOGC variable does.
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

// manySets is how many record sets a zone file has whose reading takes so much
// memory that it is worth a collection to give it back at once.
const manySets = 20_000

// noteReading notes that a large zone file was read anew: the next commit has no
// more use for what was read, and for the zone before.
func (p *pipeline) noteReading(static *zones.Static) {
	if static.Len() >= manySets {
		p.readLarge.Store(true)
	}
}

// tidy gives memory back behind a commit of a large zone file.
func (p *pipeline) tidy() {
	if p.readLarge.Swap(false) {
		go giveBack()
	}
}
