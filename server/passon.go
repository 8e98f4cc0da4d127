package server

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"net/netip"
	"runtime/debug"
	"sync"
	"time"

	"github.com/clusterzone/clusterzone/zones"
)

// A Passer asks another resolver. Pass returns within seconds, or soon after ctx
// ends, and never nil; it keeps q, which nobody changes. It is called from many
// goroutines.
type Passer interface {
	Pass(ctx context.Context, q *zones.PassQuestion) *zones.Passed
}

// maxPassing bounds the queries that wait for another resolver. Each holds a
// goroutine and a copy of its query: a few KiB.
const maxPassing = 1024

// Finish appends the reply to a query for which Respond gave Outcome.PassOn, now
// that another resolver has been asked. Where the zones have the name by now, the
// reply is theirs. See Respond for the rest of the contract.
func (r *Responder) Finish(dst, query []byte, snap *zones.Snapshot, peer Peer, asked *zones.PassQuestion, passed *zones.Passed) ([]byte, Outcome) {
	r.passQuestion, r.passed = asked, passed
	defer func() { r.passQuestion, r.passed = nil, nil }()
	return r.Respond(dst, query, snap, peer)
}

// passOn decides whether another resolver answers the question, and says in v
// what that means: a question to it, its reply, or the failure to get one. It
// returns false where our own answer stands.
func (r *Responder) passOn(query []byte, peer Peer, v *verdict) bool {
	m, a := &r.msg, &r.answer
	if r.Passes == nil {
		return false
	}
	rule, name := r.Passes.Match(a, r.question())
	if rule == nil {
		return false
	}
	trail := query[m.trail:m.trailEnd]
	switch {
	case isLoop(trail, r.PassMark):
		r.splice(&zones.Passed{Failure: zones.PassLoop, Why: "the query was passed on from here before, and came back"}, v)
	case r.passed == nil:
		v.passOn = &zones.PassQuestion{
			Rule: rule, Name: zones.Name(bytes.Clone([]byte(name))), Type: m.qtype,
			RD: m.flags&flagRD != 0, CD: m.flags&flagCD != 0, DO: m.do,
			From: peer.Addr.Addr().Unmap().WithZone(""), Trail: string(trail),
		}
	case r.passQuestion.Name != name:
		r.splice(&zones.Passed{Failure: zones.PassUnreachable, Why: "the zone has changed meanwhile; ask again"}, v)
	default:
		r.splice(r.passed, v)
	}
	return true
}

// isLoop reports whether a query with such marks was here before, or at too many
// servers like this one.
func isLoop(trail []byte, mark string) bool {
	return len(trail) >= zones.MaxPassMarks*zones.PassMarkSize || mark != "" && bytes.Contains(trail, []byte(mark))
}

// splice puts what another resolver says behind the CNAMEs that lead to the name.
// Such a reply is never authoritative. A failure is SERVFAIL and nothing else: a
// negative answer would be remembered.
func (r *Responder) splice(passed *zones.Passed, v *verdict) {
	a := &r.answer
	v.passed, v.failure, v.authoritative = true, passed.Failure, false
	a.Authority, a.Additional, a.Reason = a.Authority[:0], a.Additional[:0], ""
	if passed.Failure != zones.PassAnswered {
		a.Section, a.Kind = a.Section[:0], zones.Unresolved
		v.rcode = ServFail
		v.ede = extendedError{passEDE(passed.Failure), "the name is passed on to another resolver: " + passed.Why}
		return
	}
	a.Kind = zones.Hit
	a.Section = append(a.Section, passed.Section...)
	a.Authority = append(a.Authority, passed.Authority...)
	a.Additional = append(a.Additional, passed.Additional...)
	v.rcode = Rcode(passed.Rcode)
}

func passEDE(failure zones.PassFailure) int {
	switch failure {
	case zones.PassUnreachable:
		return edeUnreachable
	case zones.PassNetwork:
		return edeNetwork
	}
	return edeOther
}

// A returnPath is the way back to a client for a reply that is made beside the
// loop that read its query. Its functions are called from another goroutine.
type returnPath struct {
	// local is the address that the client asked.
	local func() netip.AddrPort
	// send sends a reply with TCP's length of two octets before it, which UDP
	// leaves out. It keeps nothing.
	send func(framed []byte) error
	// done is called once, after the last use.
	done func()
}

// passing is what is being passed on. Safe for concurrent use.
type passing struct {
	passer Passer
	places chan struct{} // one for each query that waits
	ctx    context.Context
	cut    context.CancelFunc
	open   sync.WaitGroup
}

func newPassing(passer Passer) *passing {
	// Not the context of Serve: what has been read is still answered when that
	// ends, within Server.Drain.
	ctx, cancel := context.WithCancel(context.Background())
	return &passing{passer: passer, places: make(chan struct{}, maxPassing), ctx: ctx, cut: cancel}
}

// enter takes a place, which leave gives back; false where all are taken.
func (p *passing) enter() bool {
	select {
	case p.places <- struct{}{}:
		return true
	default:
		return false
	}
}

func (p *passing) leave() { <-p.places }

// wait returns when no query waits any longer; none may be added meanwhile.
func (p *passing) wait() {
	p.open.Wait()
	p.cut()
}

// passOn asks another resolver for a query that Respond gave no reply to, and
// sends the reply from a goroutine of its own; the loop goes on at once. Neither
// query nor anything else of the loop's memory is kept. start is when the query
// came.
func (w *worker) passOn(query []byte, peer Peer, asked *zones.PassQuestion, start time.Time, back returnPath) {
	r, query := w.run, bytes.Clone(query)
	if !r.passing.enter() {
		r.finish(query, peer, asked, &zones.Passed{Failure: zones.PassBusy, Why: "too many queries wait for it"}, start, back)
		return
	}
	r.passing.open.Go(func() {
		defer r.passing.leave()
		r.finish(query, peer, asked, r.askOther(asked), start, back)
	})
}

// askOther is Passer.Pass, with a fault in it confined to the query.
func (r *run) askOther(asked *zones.PassQuestion) (passed *zones.Passed) {
	defer func() {
		if fault := recover(); fault != nil {
			r.metrics.panics.Inc()
			r.trouble("passing a query on made the server panic", fmt.Errorf("%v", fault), "stack", string(debug.Stack()))
			passed = &zones.Passed{Failure: zones.PassUnreachable, Why: "a fault in this program"}
		}
	}()
	return r.passing.passer.Pass(r.passing.ctx, asked)
}

// finish makes the reply and sends it.
func (r *run) finish(query []byte, peer Peer, asked *zones.PassQuestion, passed *zones.Passed, start time.Time, back returnPath) {
	w := r.borrow()
	defer r.giveBack(w)
	defer back.done()
	out, outcome := w.answerWith(append(w.out[:0], 0, 0), query, peer, asked, passed)
	w.out = out
	if w.limiter != nil && peer.Transport == UDP {
		var limited []byte
		if limited, outcome = w.limit(nil, query, peer, outcome, start); outcome.Short {
			out = append(out[:2], limited...)
		}
	}
	if outcome.Dropped == Answered {
		binary.BigEndian.PutUint16(out, uint16(len(out)-2))
		if back.send(out) != nil {
			// The peer has gone, or its address was forged.
			outcome = Outcome{Transport: peer.Transport, Dropped: DropWrite}
		}
	}
	w.observe(outcome)
	if w.tap != nil {
		w.seen(peer, back.local(), query, out[2:], outcome, start)
	}
}
