package sources

import (
	"errors"
	"slices"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/clusterzone/clusterzone/zones"
)

// A Status says how a feed and its origin are, for readiness, metrics and logs.
type Status struct {
	// Ready says that answers are given; Waiting names what is missing
	// otherwise, like "EndpointSlice, Pod from the API server".
	Ready   bool
	Waiting string
	// Saved is when the state that is served was saved, while any part of it is
	// still not confirmed by the origin; the zero time otherwise.
	Saved time.Time
	// LastEvent is when the last event was applied; zero before the first.
	LastEvent time.Time
	Sources   []SourceStatus
}

// A SourceStatus says how one source is.
type SourceStatus struct {
	Source string
	// Synced says that the source's own kind was read whole once.
	Synced bool
	// Objects is the number of the source's own objects.
	Objects int
	Kinds   []KindStatus
}

// A KindStatus says how one kind that a source needs is.
type KindStatus struct {
	Kind   Kind
	Synced bool
	// Absent says that the cluster doesn't have the kind, which is no problem,
	// since nobody asked for it by name.
	Absent bool
	// Problem is why the kind can't be read now, or nil; Since is when that, or
	// Absent, came up or went away.
	Problem   error
	Since     time.Time
	LastEvent time.Time
	Objects   int
}

// A statusBoard is where a feed writes its status, in place: that happens with each
// step, and few ever look.
type statusBoard struct {
	mu  sync.Mutex
	now Status
}

// Status returns how the feed was after its last step. It is the caller's. It
// doesn't wait for a step that is under way.
func (f *Feed) Status() Status {
	f.status.mu.Lock()
	defer f.status.mu.Unlock()
	status := f.status.now
	status.Sources = slices.Clone(status.Sources)
	for i := range status.Sources {
		status.Sources[i].Kinds = slices.Clone(status.Sources[i].Kinds)
	}
	return status
}

func (f *Feed) noteStatus() {
	f.status.mu.Lock()
	defer f.status.mu.Unlock()
	status := &f.status.now
	status.Ready, status.Waiting, status.Saved, status.LastEvent = f.ready, f.waiting(), f.state.saved, f.lastEvent
	if status.Sources == nil {
		status.Sources = make([]SourceStatus, len(f.options.Needs))
	}
	for i, need := range f.options.Needs {
		source := &status.Sources[i]
		source.Source, source.Synced, source.Objects = need.Source, f.states[need.Kinds[0]].synced, f.world.count(need.Kinds[0])
		if source.Kinds == nil {
			source.Kinds = make([]KindStatus, len(need.Kinds))
		}
		for j, kind := range need.Kinds {
			source.Kinds[j] = f.kindStatus(kind)
		}
	}
}

func (f *Feed) kindStatus(kind Kind) KindStatus {
	state := f.states[kind]
	status := KindStatus{
		Kind: kind, Synced: state.synced, Since: state.since, LastEvent: state.last, Objects: f.world.count(kind),
	}
	switch {
	case state.problem == nil:
	case f.missed(kind, state.problem):
		status.Problem = state.problem
	default:
		status.Absent = errors.As(state.problem, new(*Absent))
	}
	return status
}

// View calls look with the table and a way to find the object of an owner (nil
// where it is unknown). Both are valid during the call only, which holds up
// the feed: explain reads here, nobody writes.
func (f *Feed) View(look func(table *zones.Table, object func(zones.Owner) metav1.Object)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	look(f.options.Table, f.world.object)
}
