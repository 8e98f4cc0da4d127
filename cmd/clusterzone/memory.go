package main

import (
	"os"
	"runtime/debug"

	"github.com/clusterzone/clusterzone/zones"
)

// gcPercent is the share of the live heap that may gather as garbage before it
// is collected. A server makes little garbage once it has synced, so half of
// Go's default costs next to nothing and saves a quarter of the heap.
const gcPercent = 50

// saveMemory sets the garbage collector, unless the GOGC variable does.
func saveMemory() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
}

// giveBack returns to the system what the first reading of all objects took
// and no longer needs. The collector would do so by and by, over minutes.
func giveBack() { debug.FreeOSMemory() }

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
