package server

import (
	"fmt"
	"runtime/debug"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/clusterzone/clusterzone/zones"
)

// A worker answers queries for one goroutine at a time.
type worker struct {
	*run
	responder Responder
	out       []byte // replies of a TCP connection, each with its length
	// counters keeps what Metrics has resolved, so that counting a query takes
	// no lock.
	counters map[series]prometheus.Counter
}

func (r *run) newWorker() *worker {
	return &worker{run: r, responder: Responder{Options: r.options, limiter: r.limiter}, counters: map[series]prometheus.Counter{}}
}

// maxKept is the largest reply buffer that an idle worker keeps.
const maxKept = 64 << 10

// borrow returns a worker for a batch of TCP queries.
func (r *run) borrow() *worker { return r.idle.Get().(*worker) }

func (r *run) giveBack(w *worker) {
	w.out = w.out[:0]
	if cap(w.out) > maxKept {
		w.out = nil
	}
	r.idle.Put(w)
}

// answer is Responder.Respond with the current snapshot, and with a fault in it
// confined to the query: that one gets SERVFAIL.
func (w *worker) answer(dst, query []byte, peer Peer) (reply []byte, outcome Outcome) {
	return w.answerWith(dst, query, peer, nil, nil)
}

// answerWith is answer, or with what another resolver says Responder.Finish.
func (w *worker) answerWith(dst, query []byte, peer Peer, asked *zones.PassQuestion, passed *zones.Passed) (reply []byte, outcome Outcome) {
	defer func() {
		if fault := recover(); fault != nil {
			w.metrics.panics.Inc()
			w.trouble("a query made the server panic", fmt.Errorf("%v", fault),
				"peer", peer.Addr, "query", fmt.Sprintf("%x", query), "stack", string(debug.Stack()))
			reply, outcome = w.responder.fail(dst, query, peer)
		}
	}()
	if passed != nil {
		return w.responder.Finish(dst, query, w.view.Load(), peer, asked, passed)
	}
	return w.responder.Respond(dst, query, w.view.Load(), peer)
}

// observe counts an outcome.
func (w *worker) observe(o Outcome, took time.Duration) {
	if o.Cookie != CookieNone {
		w.metrics.cookies[o.Cookie].Inc()
	}
	if o.Dropped != Answered {
		w.metrics.drop(o.Transport, o.Dropped)
		return
	}
	key := seriesOf(o)
	counter, ok := w.counters[key]
	if !ok {
		counter = w.metrics.counter(key)
		w.counters[key] = counter
	}
	counter.Inc()
	w.metrics.observe(o, took)
}

// troublePause is the least time between two log lines about trouble on the
// wire, which a peer might cause with every packet.
const troublePause = time.Second

// trouble logs a fault, at most one a second.
func (r *run) trouble(message string, err error, more ...any) {
	now := time.Now().UnixNano()
	last := r.lastTrouble.Load()
	if last != 0 && now-last < int64(troublePause) || !r.lastTrouble.CompareAndSwap(last, now) {
		return
	}
	r.log.Error(message, append([]any{"err", err}, more...)...)
}
