package sources

import "github.com/clusterzone/clusterzone/zones"

// Step gives zones a new serial (see zones.Table.Step), with what else has
// gathered. It is safe for concurrent use.
func (f *Feed) Step(origins ...zones.Name) {
	if len(origins) == 0 {
		return
	}
	f.mu.Lock()
	for _, origin := range origins {
		f.options.Table.Step(origin)
	}
	f.staticNew = true
	f.mu.Unlock()
	f.queue.signal()
}
