package sources

import (
	"errors"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/clusterzone/clusterzone/zones"
)

// A Status says how a feed and its origin are, for readiness, metrics and logs.
// It is frozen.
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

// Status returns how the feed was after its last step. It never blocks.
func (f *Feed) Status() Status { return *f.status.Load() }

func (f *Feed) noteStatus() {
	status := &Status{Ready: f.ready, Waiting: f.waiting(), Saved: f.state.saved, LastEvent: f.lastEvent}
	for _, need := range f.options.Needs {
		source := SourceStatus{
			Source:  need.Source,
			Synced:  f.states[need.Kinds[0]].synced,
			Objects: f.world.count(need.Kinds[0]),
		}
		for _, kind := range need.Kinds {
			state := f.states[kind]
			now := KindStatus{
				Kind: kind, Synced: state.synced, Since: state.since, LastEvent: state.last, Objects: f.world.count(kind),
			}
			if f.missed(kind, state.problem) {
				now.Problem = state.problem
			} else {
				now.Absent = errors.As(state.problem, new(*Absent))
			}
			source.Kinds = append(source.Kinds, now)
		}
		status.Sources = append(status.Sources, source)
	}
	f.status.Store(status)
}

// View calls look with the table and a way to find the object of an owner (nil
// where it is unknown). Both are valid during the call only, which holds up
// the feed: explain reads here, nobody writes.
func (f *Feed) View(look func(table *zones.Table, object func(zones.Owner) metav1.Object)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	look(f.options.Table, f.world.object)
}
