package resolver

import (
	"context"
	"time"

	"github.com/clusterzone/clusterzone/zones"
)

const (
	// The TTL of a target counts as at least minTTL and at most maxTTL seconds.
	// Half of it is served and the other half is what passes until the next
	// lookup, so that nobody holds an address longer than its TTL allows, and an
	// answer needs no clock.
	minTTL = 1
	maxTTL = 600
	// staleTTL is the TTL of addresses beyond their time (RFC 8767 section 4).
	staleTTL = 30
	// A lookup that failed is tried again after firstRetry, then after twice as
	// long each time, up to lastRetry.
	firstRetry = time.Second
	lastRetry  = 30 * time.Second
)

// A state is what the loop knows of one target. Only Run's goroutine reads and
// writes it, but for name.
type state struct {
	name   zones.Name
	due    time.Time          // of the next lookup
	at     int                // in the schedule; -1 while a lookup is in flight
	cancel context.CancelFunc // of the lookup in flight; else nil
	v4, v6 family
	fails  int // lookups that failed since the last good one
}

// A family is what is known of one address family of a target.
type family struct {
	known   bool
	set     *zones.RRSet // nil where there are no addresses
	good    time.Time
	expires time.Time // end of the TTL
	stale   bool
	problem string
}

// take brings the outcome of a lookup into the state, and says when the next one
// is due. jitter, from 0 to 1, spreads lookups.
func (s *state) take(out *outcome, now time.Time, stale time.Duration, jitter float64) {
	s.v4.take(s.name, zones.TypeA, &out.v4, out.ttl(), now, stale)
	s.v6.take(s.name, zones.TypeAAAA, &out.v6, out.ttl(), now, stale)
	if !out.failed() {
		s.fails = 0
		ttl := out.ttl()
		wait := time.Duration(ttl-served(ttl)) * time.Second
		s.due = now.Add(max(minTTL*time.Second, wait-time.Duration(jitter*float64(wait)/8)))
		return
	}
	s.fails++
	retry := lastRetry
	if s.fails < 6 {
		retry = min(retry, firstRetry<<(s.fails-1))
	}
	s.due = now.Add(retry - time.Duration(jitter*float64(retry)/8))
	// The state is looked at again when the addresses get stale, and when they
	// are too old even for that.
	for _, f := range [...]*family{&s.v4, &s.v6} {
		for _, turn := range [...]time.Time{f.expires, f.expires.Add(stale)} {
			if f.known && turn.After(now) && turn.Before(s.due) {
				s.due = turn
			}
		}
	}
}

// ttl is the lowest of the families that have addresses, within the bounds.
func (o *outcome) ttl() uint32 {
	ttl := uint32(maxTTL)
	for _, f := range [...]*familyOutcome{&o.v4, &o.v6} {
		if len(f.found.data) > 0 {
			ttl = min(ttl, f.found.ttl)
		}
	}
	return max(ttl, minTTL)
}

// served is the part of a TTL that clients get.
func served(ttl uint32) uint32 { return (ttl + 1) / 2 }

func (f *family) take(name zones.Name, kind zones.Type, out *familyOutcome, ttl uint32, now time.Time, stale time.Duration) {
	if out.err == nil {
		*f = family{known: true, good: now, expires: now.Add(time.Duration(ttl) * time.Second)}
		if len(out.found.data) > 0 {
			f.set = &zones.RRSet{Name: name, Type: kind, TTL: served(ttl), Data: out.found.data}
		}
		return
	}
	f.problem = out.err.Error()
	switch {
	case !f.known || now.Before(f.expires):
	case !now.Before(f.expires.Add(stale)):
		f.known, f.stale, f.set = false, false, nil
	case !f.stale:
		f.stale = true
		if f.set != nil && f.set.TTL > staleTTL {
			short := *f.set
			short.TTL = staleTTL
			f.set = &short
		}
	}
}

// publish returns the state in the form that zones reads.
func (s *state) publish() *zones.Target {
	return &zones.Target{Name: s.name, A: s.v4.publish(), AAAA: s.v6.publish()}
}

func (f *family) publish() zones.Family {
	return zones.Family{Known: f.known, Set: f.set, Stale: f.stale, Problem: f.problem, Good: f.good}
}

// A schedule is a heap of the states that wait for a lookup, the next one first.
type schedule []*state

// Len implements heap.Interface.
func (h schedule) Len() int { return len(h) }

// Less implements heap.Interface.
func (h schedule) Less(i, j int) bool { return h[i].due.Before(h[j].due) }

// Swap implements heap.Interface.
func (h schedule) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].at, h[j].at = i, j
}

// Push implements heap.Interface.
func (h *schedule) Push(x any) {
	s := x.(*state)
	s.at = len(*h)
	*h = append(*h, s)
}

// Pop implements heap.Interface.
func (h *schedule) Pop() any {
	last := len(*h) - 1
	s := (*h)[last]
	(*h)[last] = nil
	*h = (*h)[:last]
	s.at = -1
	return s
}
