package sources

import "github.com/clusterzone/clusterzone/zones"

// SetStatic replaces the static records of a zone (see zones.Table.SetStatic);
// they are published with what else has gathered. It is safe for concurrent use.
func (f *Feed) SetStatic(origin zones.Name, static *zones.Static) {
	f.mu.Lock()
	f.options.Table.SetStatic(origin, static)
	f.staticNew = true
	f.mu.Unlock()
	f.queue.signal()
}
