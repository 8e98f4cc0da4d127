package assembly

import (
	"context"
	"log/slog"
	"time"

	"github.com/clusterzone/clusterzone/sources"
	"github.com/clusterzone/clusterzone/zones"
)

// Editions keep a Journal up to date with what a feed publishes: a zone with a
// new serial has a new edition, and a flattened name whose target has got other
// addresses gives its zone a new serial.
type Editions struct {
	Journal *zones.Journal

	store *zones.Store
	feed  *sources.Feed
	log   *slog.Logger
	wake  chan struct{} // holds a token while flattened names may have other addresses
}

// NewEditions returns the editions of the zones in store, whose writer is feed.
// journal belongs to them from now on.
func NewEditions(journal *zones.Journal, store *zones.Store, feed *sources.Feed, log *slog.Logger) *Editions {
	return &Editions{Journal: journal, store: store, feed: feed, log: log, wake: make(chan struct{}, 1)}
}

// Committed takes a commit in, on the feed's goroutine, and returns the zones
// that have a new edition. With the zero Commit it takes in what a saved state
// holds.
func (e *Editions) Committed(commit zones.Commit) []zones.Name {
	noted := e.Journal.Note(commit, e.store.Load())
	for _, flat := range noted.Missing {
		e.log.Info("a flattened name is left out of zone transfers until the addresses of its target are known",
			"name", flat.Name.String(), "target", flat.Target.String())
	}
	e.signal()
	return noted.Stepped
}

// SwapTargets implements resolver.Publisher: outside targets are published, and
// flattened names looked at.
func (e *Editions) SwapTargets(targets *zones.Targets) {
	e.store.SwapTargets(targets)
	e.signal()
}

func (e *Editions) signal() {
	select {
	case e.wake <- struct{}{}:
	default:
	}
}

// Run steps serials where flattened names have got other addresses, until ctx is
// done.
func (e *Editions) Run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-e.wake:
		}
		e.feed.Step(e.Journal.Outdated(e.store.Load())...)
		// A serial steps once a second at most: more often there is no need to look.
		wait := time.NewTimer(time.Second)
		select {
		case <-ctx.Done():
		case <-wait.C:
		}
		wait.Stop()
	}
}
