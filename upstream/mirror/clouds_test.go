package mirror_test

import (
	"context"
	"slices"
	"sync/atomic"
	"time"

	"github.com/clusterzone/clusterzone/upstream/memory"
	"github.com/clusterzone/clusterzone/upstream/mirror"
)

// A hider lists no zone below another while it hides.
type hider struct {
	*memory.Store
	hides *atomic.Bool
}

// Zones implements mirror.Provider.
func (h hider) Zones(ctx context.Context) ([]mirror.Zone, error) {
	list, err := h.Store.Zones(ctx)
	if h.hides.Load() {
		list = slices.DeleteFunc(list, func(z mirror.Zone) bool { return z.ID != origin })
	}
	return list, err
}

// A stubborn cloud takes every update and keeps what it has.
type stubborn struct{ *memory.Store }

// Apply implements mirror.Provider.
func (s stubborn) Apply(ctx context.Context, zone mirror.Zone, batch []mirror.Group) []mirror.Result {
	for i := range batch {
		for _, change := range batch[i].Changes {
			if change.Verb == mirror.Update && !change.Ownership {
				return s.Store.Apply(ctx, zone, []mirror.Group{{Name: batch[i].Name}})
			}
		}
	}
	return s.Store.Apply(ctx, zone, batch)
}

// A stopwatch notes the deletions that come more than a minute after a listing.
type stopwatch struct {
	*memory.Store
	listed        time.Time // Run's goroutine's own
	deletes, late atomic.Int32
}

// Records implements mirror.Provider.
func (s *stopwatch) Records(ctx context.Context, zone mirror.Zone) ([]mirror.Record, error) {
	s.listed = time.Now()
	return s.Store.Records(ctx, zone)
}

// Apply implements mirror.Provider.
func (s *stopwatch) Apply(ctx context.Context, zone mirror.Zone, batch []mirror.Group) []mirror.Result {
	for i := range batch {
		for _, change := range batch[i].Changes {
			if change.Verb == mirror.Delete && !change.Ownership {
				s.deletes.Add(1)
				if time.Since(s.listed) > time.Minute {
					s.late.Add(1)
				}
			}
		}
	}
	return s.Store.Apply(ctx, zone, batch)
}
