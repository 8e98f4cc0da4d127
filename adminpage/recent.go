package adminpage

import (
	"sync"
	"time"

	"github.com/clusterzone/clusterzone/zones"
)

// keptChanges is how many changes are remembered.
const keptChanges = 100

// A Change is one record set that came, changed or went.
type Change struct {
	At time.Time
	zones.Change
}

// Set is the record set as it is now, or as it was last where it went.
func (c Change) Set() *zones.RRSet {
	if c.New != nil {
		return c.New
	}
	return c.Old
}

// What says what happened: added, changed or removed.
func (c Change) What() string {
	switch {
	case c.Old == nil:
		return "added"
	case c.New == nil:
		return "removed"
	}
	return "changed"
}

// Recent remembers the last changes of record sets, 100 at most, for as long as
// the program runs. The zero value is ready; it may be used by many goroutines at
// once.
type Recent struct {
	mu      sync.Mutex
	changes []Change // the oldest first
}

// Note takes in what one commit changed. It keeps references to the record sets,
// which never change.
func (r *Recent) Note(at time.Time, changes []zones.Change) {
	if len(changes) > keptChanges {
		changes = changes[len(changes)-keptChanges:]
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	kept := r.changes
	if over := len(kept) + len(changes) - keptChanges; over > 0 {
		kept = kept[over:]
	}
	// A new slice, so that what is dropped is not held by an old one.
	all := make([]Change, 0, len(kept)+len(changes))
	all = append(all, kept...)
	for _, change := range changes {
		all = append(all, Change{at, change})
	}
	r.changes = all
}

// List returns the changes, the newest first. The slice is the caller's.
func (r *Recent) List() []Change {
	r.mu.Lock()
	defer r.mu.Unlock()
	list := make([]Change, len(r.changes))
	for i, change := range r.changes {
		list[len(list)-1-i] = change
	}
	return list
}
