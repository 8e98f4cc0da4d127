package zones

import "sync/atomic"

// A Store publishes the current Snapshot: one writer swaps, any number of
// readers load, without a lock. The zero value holds an empty snapshot, whose
// every lookup is NotOurs.
type Store struct {
	current atomic.Pointer[Snapshot]
}

// Load returns the current snapshot; never nil.
func (s *Store) Load() *Snapshot {
	if snap := s.current.Load(); snap != nil {
		return snap
	}
	return &Snapshot{}
}

// Swap publishes snap to all later Loads.
func (s *Store) Swap(snap *Snapshot) { s.current.Store(snap) }
