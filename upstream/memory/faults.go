package memory

import (
	"context"

	"github.com/clusterzone/clusterzone/upstream/mirror"
)

// An Op is what was called.
type Op string

// The ops.
const (
	OpZones     Op = "zones"
	OpRecords   Op = "records"
	OpRecordsAt Op = "records at"
	OpApply     Op = "apply"
)

// A Call is one call of the provider. Batch is frozen.
type Call struct {
	Op    Op
	Zone  string
	Batch []mirror.Group
}

// A Fault is what goes wrong with a call; the zero value is nothing.
type Fault struct {
	// Err is what the call returns, for every group of a batch.
	Err error
	// Applied says that a batch is written before Err is returned: the reply gets
	// lost.
	Applied bool
	// Groups says that only that many groups of the batch are written before Err
	// is returned, where the cloud has no transactions.
	Groups int
	// Part says that of the group after these so many changes are written, too.
	Part int
	// Before is called before anything is done, without the Store's lock: another
	// hand edits the zone between plan and write.
	Before func()
	// Bad tells the groups that the cloud refuses.
	Bad func(*mirror.Group) error
}

// SetFault has every later call ask what goes wrong with it; nil for nothing.
// The function is called with the Store's lock and must not call the Store.
func (s *Store) SetFault(fault func(Call) Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fault = fault
}

// Calls returns all calls so far.
func (s *Store) Calls() []Call {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Call(nil), s.calls...)
}

// Count returns how many calls of an op there were so far.
func (s *Store) Count(op Op) int {
	count := 0
	for _, call := range s.Calls() {
		if call.Op == op {
			count++
		}
	}
	return count
}

// note keeps the call and returns what goes wrong with it. The lock is held.
func (s *Store) note(ctx context.Context, call Call) Fault {
	s.calls = append(s.calls, call)
	if ctx.Err() != nil {
		return Fault{Err: &mirror.Error{Class: mirror.Failed, Err: errCancelled}}
	}
	if s.fault == nil {
		return Fault{}
	}
	fault := s.fault(call)
	if fault.Before != nil {
		s.mu.Unlock()
		fault.Before()
		s.mu.Lock()
	}
	return fault
}
