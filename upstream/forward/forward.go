package forward

import (
	"context"
	"errors"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/miekg/dns"

	"github.com/clusterzone/clusterzone/zones"
)

const (
	// Timeout bounds one lookup, whatever the number of servers: a stub resolver
	// waits for 5 seconds, and a forwarder in front of us often for 2.
	Timeout = 2 * time.Second
	// resend is the pause after which a server is sent the same query again, since
	// packets get lost.
	resend = 700 * time.Millisecond
	// leastTurn is the least time that a server has for its reply.
	leastTurn = 500 * time.Millisecond
	// maxLookups bounds the lookups in flight, maxServer those at one server.
	maxLookups = 512
	maxServer  = 256
)

// A Forwarder asks other resolvers. Safe for concurrent use.
type Forwarder struct {
	mark string
	ask  func(ctx context.Context, server netip.AddrPort, query *dns.Msg) (*dns.Msg, error)

	mu      sync.Mutex
	flights map[question]*flight
	busy    map[netip.AddrPort]int // lookups by the server that is asked now
}

// A question is what makes two lookups one.
type question struct {
	rule       *zones.PassRule
	name       zones.Name
	kind       zones.Type
	rd, cd, do bool
}

// A flight is one lookup, with all who wait for it.
type flight struct {
	done   chan struct{}
	passed *zones.Passed // set before done is closed
}

// New returns a Forwarder whose queries have the mark, zones.PassMarkSize octets
// that no other server has.
func New(mark string) (*Forwarder, error) {
	if len(mark) != zones.PassMarkSize {
		return nil, errors.New("the mark of queries that are passed on has the wrong length")
	}
	return &Forwarder{mark: mark, ask: askWire, flights: map[question]*flight{}, busy: map[netip.AddrPort]int{}}, nil
}

// Pass asks the servers of q.Rule and returns what they say, or the failure to
// say anything. It returns within Timeout, or when ctx ends. Equal questions that
// come while one is in flight wait for that one's reply.
//
// A server that asks us for what it is being asked by us has come round: it gets
// a failure at once, so that it need not wait for itself.
func (f *Forwarder) Pass(ctx context.Context, q *zones.PassQuestion) *zones.Passed {
	key := question{q.Rule, q.Name, q.Type, q.RD, q.CD, q.DO}
	f.mu.Lock()
	one, flying := f.flights[key]
	switch {
	case f.returns(q):
		f.mu.Unlock()
		return &zones.Passed{Failure: zones.PassLoop, Why: "the resolver " + q.From.String() + " asks here for what it is asked from here; give it no zone that leads back"}
	case !flying && len(f.flights) >= maxLookups:
		f.mu.Unlock()
		return &zones.Passed{Failure: zones.PassBusy, Why: "too many lookups are in flight"}
	case !flying:
		one = &flight{done: make(chan struct{})}
		f.flights[key] = one
		// A client that has gone must not end the lookup for those that wait
		// with it.
		go f.fly(context.WithoutCancel(ctx), key, one, q)
	}
	f.mu.Unlock()
	select {
	case <-one.done:
		return one.passed
	case <-ctx.Done():
		return &zones.Passed{Failure: zones.PassUnreachable, Why: "this server is stopping"}
	}
}

// returns reports whether the client is a server that is being asked for the
// name. On the loopback that can't be told from another program of the machine:
// there the question waits for the one in flight, and ends with it. f.mu must be
// held.
func (f *Forwarder) returns(q *zones.PassQuestion) bool {
	if q.From.IsLoopback() || !slices.ContainsFunc(q.Rule.Servers, func(s netip.AddrPort) bool { return s.Addr().WithZone("") == q.From }) {
		return false
	}
	for _, rd := range []bool{false, true} {
		for _, cd := range []bool{false, true} {
			for _, do := range []bool{false, true} {
				if f.flights[question{q.Rule, q.Name, q.Type, rd, cd, do}] != nil {
					return true
				}
			}
		}
	}
	return false
}

// fly is one lookup.
func (f *Forwarder) fly(ctx context.Context, key question, one *flight, q *zones.PassQuestion) {
	defer func() {
		if one.passed == nil { // a panic: nobody may wait for ever
			one.passed = &zones.Passed{Failure: zones.PassUnreachable, Why: "a fault in this program"}
		}
		f.mu.Lock()
		delete(f.flights, key)
		f.mu.Unlock()
		close(one.done)
	}()
	ctx, cancel := context.WithTimeout(ctx, Timeout)
	defer cancel()
	one.passed = f.lookUp(ctx, q)
}

// enter counts a lookup at a server; false where it has as many as may be.
func (f *Forwarder) enter(server netip.AddrPort) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.busy[server] >= maxServer {
		return false
	}
	f.busy[server]++
	return true
}

func (f *Forwarder) leave(server netip.AddrPort) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.busy[server]--; f.busy[server] == 0 {
		delete(f.busy, server)
	}
}
