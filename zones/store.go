package zones

import (
	"sync"
	"sync/atomic"
)

// A Store publishes the current Snapshot: one writer swaps its zones, another
// one its outside targets; any number of readers load, without a lock. The zero
// value holds an empty snapshot, whose every lookup is NotOurs.
type Store struct {
	mu      sync.Mutex // writers only
	targets *Targets
	current atomic.Pointer[Snapshot]
}

// Load returns the current snapshot; never nil.
func (s *Store) Load() *Snapshot {
	if snap := s.current.Load(); snap != nil {
		return snap
	}
	return &Snapshot{}
}

// Swap publishes snap to all later Loads, with the outside targets of the Store.
func (s *Store) Swap(snap *Snapshot) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.current.Store(snap.withTargets(s.targets))
}

// SwapTargets publishes what is known of outside targets to all later Loads,
// beside the zones as they are. Nil ends their lookup.
func (s *Store) SwapTargets(targets *Targets) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.targets = targets
	s.current.Store(s.Load().withTargets(targets))
}
