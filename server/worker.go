package server

import (
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"github.com/clusterzone/clusterzone/zones"
)

// A worker answers queries for one goroutine at a time, and counts them.
type worker struct {
	*run
	*tally
	responder Responder
	in        []byte // what a TCP connection has sent; inputSize octets, made on first use
	out       []byte // replies of a TCP connection, each with its length
}

func (r *run) newWorker() *worker {
	return &worker{run: r, tally: r.metrics.newTally(), responder: Responder{Options: r.options, limiter: r.limiter}}
}

const (
	// maxKept is the largest reply buffer that an idle worker keeps.
	maxKept = 64 << 10
	// maxIdle is how many idle workers are kept: more than answer at a time.
	maxIdle = 64
)

// workers are idle workers, for connections. Safe for concurrent use.
type workers struct {
	mu   sync.Mutex
	idle []*worker
}

// borrow returns a worker for a batch of TCP queries.
func (r *run) borrow() *worker {
	r.workers.mu.Lock()
	if last := len(r.workers.idle) - 1; last >= 0 {
		w := r.workers.idle[last]
		r.workers.idle = r.workers.idle[:last]
		r.workers.mu.Unlock()
		return w
	}
	r.workers.mu.Unlock()
	return r.newWorker()
}

func (r *run) giveBack(w *worker) {
	w.out = w.out[:0]
	if cap(w.out) > maxKept {
		w.out = nil
	}
	r.workers.mu.Lock()
	kept := len(r.workers.idle) < maxIdle
	if kept {
		r.workers.idle = append(r.workers.idle, w)
	}
	r.workers.mu.Unlock()
	if !kept {
		r.metrics.retire(w.tally)
	}
}

// retireWorkers ends the idle workers, which are all once nobody is served.
func (r *run) retireWorkers() {
	r.workers.mu.Lock()
	defer r.workers.mu.Unlock()
	for _, w := range r.workers.idle {
		r.metrics.retire(w.tally)
	}
	r.workers.idle = nil
}

// observe counts an outcome.
func (w *worker) observe(o Outcome) {
	if o.Passed {
		w.metrics.passed.WithLabelValues(o.Zone.String(), o.PassFailure.String()).Inc()
	}
	w.tally.observe(o)
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
