package mirror

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/clusterzone/clusterzone/zones"
)

// A Gate says whether this process may write: of several that run the same
// mirror, one has the lease. It is asked before each batch and must not block.
type Gate interface {
	// Leads reports whether this process may write now; if not, who does, in words.
	Leads() (ok bool, who string)
}

// Options are the parts and settings of a Mirror. Name, Cloud, Registry, Wishes
// and Log must be set.
type Options struct {
	// Name tells mirrors apart in logs, metrics and the API.
	Name     string
	Cloud    Cloud
	Registry *Registry
	Wishes   Wishes
	Gate     Gate // nil where this process alone writes
	Log      *slog.Logger

	Policy Policy // "" is UpsertOnly
	// DryRun plans and writes nothing.
	DryRun bool
	// Types are the record types that are managed; nil for A, AAAA and CNAME.
	Types []zones.Type
	// Zones tells the zones of the cloud that are written to; nil for all.
	Zones func(Zone) bool
	// Covers, Protected, Adopt, ClaimDangling and MigrateFrom are as in Input.
	Covers, Protected, Adopt func(zones.Name) bool
	ClaimDangling            bool
	MigrateFrom              string
	// Guards are the bounds; the zero value is DefaultGuards.
	Guards *Guards
	// Identity are further settings that decide which records are the mirror's: filters.
	// Memory keeps them and the registry's over restarts, so that a change is noticed
	// (nil for nothing); Acknowledged is the Mark of those that an operator has approved.
	Identity     Identity
	Memory       Memory
	Acknowledged string

	// Interval is the time between complete cycles; 0 is a minute.
	Interval time.Duration
	// Gather is how long changes gather before they are pushed, PushEvery the least
	// time between two pushes; 0 is one second and five.
	Gather, PushEvery time.Duration
	// ZonesEvery is how long the list of zones is remembered; 0 is ten minutes.
	ZonesEvery time.Duration
	// OnBlocked, OnApplied and OnFailed tell of single names, for events on objects.
	// They are called on the mirror's goroutine and must not block.
	OnBlocked func(Zone, Blocked)
	OnApplied func(Zone, Change)
	OnFailed  func(Zone, Change, error)
}

// A Mirror keeps zones of one cloud as they are wished. Run does the work; Notify,
// Wake, Status and Explain are safe for concurrent use.
type Mirror struct {
	options Options
	guards  Guards
	jitter  func() float64
	wake    chan struct{}

	// What is asked for has a lock of its own, that is held for moments only: whoever
	// notifies a mirror serves queries.
	askMu sync.Mutex
	names map[zones.Name]bool
	full  bool // a complete cycle is asked for

	// mu guards all below, which Run's goroutine alone changes: that goroutine reads
	// without it. It is never held during a call of the provider.
	mu     sync.Mutex
	zones  map[string]*zoneState
	listed time.Time // when the zones were
	status Status
}

// New checks the options. The error names the flag and the mend.
func New(options Options) (*Mirror, error) {
	if options.Policy == "" {
		options.Policy = UpsertOnly
	}
	if options.Types == nil {
		options.Types = []zones.Type{zones.TypeA, zones.TypeAAAA, zones.TypeCNAME}
	}
	for _, or := range []struct {
		value *time.Duration
		def   time.Duration
	}{{&options.Interval, time.Minute}, {&options.Gather, time.Second}, {&options.PushEvery, 5 * time.Second}, {&options.ZonesEvery, 10 * time.Minute}} {
		if *or.value == 0 {
			*or.value = or.def
		}
	}
	if err := options.check(); err != nil {
		return nil, err
	}
	m := &Mirror{
		options: options, guards: DefaultGuards(), jitter: rand.Float64,
		wake: make(chan struct{}, 1), names: map[zones.Name]bool{}, zones: map[string]*zoneState{}, full: true,
		status: Status{
			Name: options.Name, Provider: options.Cloud.Name, Policy: options.Policy, Owner: options.Registry.Owner(), DryRun: options.DryRun,
			Waiting: "the first cycle", Counts: Counts{Applied: map[Verb]uint64{}},
		},
	}
	if options.Guards != nil {
		m.guards = *options.Guards
	}
	if options.Registry.Owner() == "default" {
		options.Log.Warn("the owner of a mirror is called default, as that of every instance that nobody has named: give this one a --txt-owner-id of its own", "mirror", options.Name)
	}
	return m, nil
}

func (o *Options) check() error {
	limits := &o.Cloud.Limits
	switch {
	case o.Registry == nil || o.Wishes == nil || o.Cloud.Provider == nil || o.Log == nil:
		return errors.New("a mirror needs a cloud, a registry, wishes and a logger")
	case o.Policy == Sync && o.Registry.options.Noop:
		return errors.New("--policy=sync needs --registry=txt: without ownership records nobody can tell which records may be deleted; or use upsert-only")
	case o.Policy == Sync && o.Registry.Owner() == "default":
		return errors.New(`--policy=sync needs a --txt-owner-id other than "default": two clusters with that ID would delete each other's records`)
	case o.Interval < 0 || o.Gather < 0 || o.PushEvery < 0:
		return errors.New("--interval can't be negative")
	}
	if _, err := ParsePolicy(string(o.Policy)); err != nil {
		return err
	}
	for _, kind := range o.Types {
		if !slices.Contains(limits.Types, kind) {
			return fmt.Errorf("--managed-record-types has %s, and %s holds no records of that type: leave it out", kind, o.Cloud.Name)
		}
	}
	return nil
}

// Notify says at which names something has changed. It returns at once; what
// gathers is pushed together.
func (m *Mirror) Notify(names []zones.Name) {
	if len(names) == 0 {
		return
	}
	m.askMu.Lock()
	for _, name := range names {
		m.names[name] = true
	}
	m.askMu.Unlock()
	m.poke()
}

// Wake asks for a complete cycle now: the lease was won, the sources have synced.
func (m *Mirror) Wake() {
	m.askMu.Lock()
	m.full = true
	m.askMu.Unlock()
	m.poke()
}

func (m *Mirror) poke() {
	select {
	case m.wake <- struct{}{}:
	default: // it will look anyway
	}
}

// Run mirrors until ctx is done; it ends after the call in flight and returns
// nil. An error of the cloud ends nothing. It is called once.
func (m *Mirror) Run(ctx context.Context) error {
	timer := time.NewTimer(0)
	defer timer.Stop()
	next := time.Now() // complete cycle
	var push, last time.Time
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-m.wake:
		case <-timer.C:
		}
		now := time.Now()
		full, waiting := m.asked()
		switch {
		case full || !now.Before(next):
			next, push, last = m.cycle(ctx), time.Time{}, time.Now()
		case waiting && push.IsZero():
			push = later(now.Add(m.options.Gather), last.Add(m.options.PushEvery))
		case waiting && !now.Before(push):
			push, last = time.Time{}, now
			if retry := m.push(ctx); retry.Before(next) {
				next = retry
			}
		}
		if _, waiting := m.asked(); waiting && push.IsZero() {
			push = later(time.Now().Add(m.options.Gather), last.Add(m.options.PushEvery))
		}
		due := next
		if !push.IsZero() && push.Before(due) {
			due = push
		}
		timer.Reset(max(time.Until(due), 0))
	}
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// asked returns what waits to be done.
func (m *Mirror) asked() (full, names bool) {
	m.askMu.Lock()
	defer m.askMu.Unlock()
	return m.full, len(m.names) > 0
}
