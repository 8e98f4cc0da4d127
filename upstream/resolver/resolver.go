package resolver

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/clusterzone/clusterzone/zones"
)

// A Publisher takes what is known of outside targets, each time that it changes.
// It must not block; *zones.Store is one.
type Publisher interface {
	SwapTargets(targets *zones.Targets)
}

// Options are the parts and settings of a Resolver. Servers, Publisher and Log
// must be set.
type Options struct {
	// Servers are recursive resolvers, none of them this server. The first is
	// asked as long as it answers.
	Servers []netip.AddrPort
	// Stale is how long the last good addresses of a target are served after the
	// end of their TTL while it can't be looked up.
	Stale     time.Duration
	Publisher Publisher
	Log       *slog.Logger
	// Parallel is how many targets are looked up at once at most; 0 means 32. At
	// least 4 lets targets that are silent hold up no other.
	Parallel int
}

// A Resolver keeps the addresses of the targets that it is told of. Update and
// Lookups are safe for concurrent use.
type Resolver struct {
	options   Options
	asker     asker
	jitter    func() float64
	preferred atomic.Int32 // index of the server that answered last
	good, bad atomic.Uint64

	mu      sync.Mutex
	pending map[zones.Name]bool // targets that came (true) and went since Run looked
	wake    chan struct{}

	// The rest belongs to Run's goroutine.
	states  map[zones.Name]*state
	lanes   lanes
	targets *zones.Targets
	put     []*zones.Target // to be published
	gone    []zones.Name
}

// New returns a Resolver and publishes that no target is known yet. Run does the
// work.
func New(options Options) (*Resolver, error) {
	if len(options.Servers) == 0 {
		return nil, errors.New("a resolver needs a server to ask")
	}
	if options.Parallel == 0 {
		options.Parallel = 32
	}
	r := &Resolver{
		options: options,
		asker:   wire{},
		jitter:  rand.Float64,
		pending: map[zones.Name]bool{},
		wake:    make(chan struct{}, 1),
		states:  map[zones.Name]*state{},
		targets: zones.NewTargets(),
	}
	options.Publisher.SwapTargets(r.targets)
	return r, nil
}

// Update says which targets are needed from now on, and which no longer. It
// returns at once.
func (r *Resolver) Update(wanted, unwanted []zones.Name) {
	if len(wanted)+len(unwanted) == 0 {
		return
	}
	r.mu.Lock()
	for _, name := range unwanted {
		r.pending[name] = false
	}
	for _, name := range wanted {
		r.pending[name] = true
	}
	r.mu.Unlock()
	select {
	case r.wake <- struct{}{}:
	default: // it will look anyway
	}
}

// Lookups returns how many lookups of targets have succeeded and failed so far.
func (r *Resolver) Lookups() (good, failed uint64) { return r.good.Load(), r.bad.Load() }

// Run keeps the targets until ctx is done; then it ends the lookups in flight
// and returns nil. It is called once.
func (r *Resolver) Run(ctx context.Context) error {
	var flying sync.WaitGroup
	defer flying.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	results := make(chan outcome, r.options.Parallel) // a lookup never waits for the loop
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-r.wake:
			r.takeIn(time.Now())
		case <-timer.C:
		case out := <-results:
			r.take(&out, time.Now())
			for range len(results) {
				out := <-results
				r.take(&out, time.Now())
			}
		}
		r.publish()
		timer.Reset(r.start(ctx, &flying, results, time.Now()))
	}
}

// takeIn brings the targets that came and went into the schedule.
func (r *Resolver) takeIn(now time.Time) {
	r.mu.Lock()
	pending := r.pending
	r.pending = map[zones.Name]bool{}
	r.mu.Unlock()
	for name, wanted := range pending {
		s := r.states[name]
		switch {
		case wanted && s == nil:
			s = &state{name: name, due: now}
			r.states[name] = s
			r.lanes.put(s)
			r.put = append(r.put, s.publish())
		case !wanted && s != nil:
			delete(r.states, name)
			r.gone = append(r.gone, name)
			if s.cancel != nil {
				s.cancel() // what it finds is left out
			} else {
				r.lanes.remove(s)
			}
		}
	}
}

// start begins the lookups that are due, as many as may be in flight, and
// returns how long to wait for the next one.
func (r *Resolver) start(ctx context.Context, flying *sync.WaitGroup, results chan<- outcome, now time.Time) time.Duration {
	for s := r.lanes.next(r.options.Parallel, now); s != nil; s = r.lanes.next(r.options.Parallel, now) {
		lookup, cancel := context.WithCancel(ctx)
		s.cancel = cancel
		flying.Go(func() {
			defer cancel()
			results <- r.lookUp(lookup, s)
		})
	}
	const never = time.Hour // a result or a new target ends the wait
	return r.lanes.wait(r.options.Parallel, now, never)
}

// take brings the outcome of a lookup in, unless nobody needs the target any
// longer.
func (r *Resolver) take(out *outcome, now time.Time) {
	s := out.state
	r.lanes.done(s)
	s.cancel = nil
	if r.states[s.name] != s {
		return
	}
	failing := s.fails > 0
	s.take(out, now, r.options.Stale, r.jitter())
	if out.failed() {
		r.bad.Add(1)
	} else {
		r.good.Add(1)
	}
	r.lanes.put(s)
	target := s.publish()
	r.put = append(r.put, target)
	switch {
	case out.failed() && !failing:
		r.options.Log.Warn("a target outside of the zones can't be looked up", "target", s.name.String(), "state", target.State(), "error", problem(target))
	case !out.failed() && failing:
		r.options.Log.Info("a target outside of the zones can be looked up again", "target", s.name.String())
	}
}

func problem(t *zones.Target) string {
	if t.A.Problem != "" {
		return t.A.Problem
	}
	return t.AAAA.Problem
}

// publish hands on what has changed, all at once.
func (r *Resolver) publish() {
	if len(r.put)+len(r.gone) == 0 {
		return
	}
	// A target may have gone and come again: what came is put after what went.
	r.targets = r.targets.With(r.put, r.gone)
	r.put, r.gone = nil, nil
	r.options.Publisher.SwapTargets(r.targets)
}
