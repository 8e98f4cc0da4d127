package sources

import (
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// A queue gathers what origins report until the feed takes it. It is bounded
// by the number of objects, not of events: of one object it keeps the newest
// state only, so that a burst collapses.
type queue struct {
	mu    sync.Mutex
	batch batch
	spare map[eventKey]metav1.Object // empty, for the next batch; may be nil
	// gather is how many objects wake the feed together. Reports always wake it.
	gather int
	// wake holds one token while there is something to take.
	wake chan struct{}
}

// A batch is what has gathered.
type batch struct {
	// objects is the newest state by object; nil means gone.
	objects map[eventKey]metav1.Object
	// syncs are the reports about kinds, in order.
	syncs []syncReport
}

type eventKey struct {
	kind Kind
	key  objectKey
}

type syncReport struct {
	kind    Kind
	problem error
}

func newQueue() *queue { return &queue{wake: make(chan struct{}, 1)} }

func (q *queue) put(key eventKey, obj metav1.Object) {
	q.mu.Lock()
	if q.batch.objects == nil {
		q.batch.objects, q.spare = q.spare, nil
		if q.batch.objects == nil {
			q.batch.objects = make(map[eventKey]metav1.Object)
		}
	}
	q.batch.objects[key] = obj
	enough := len(q.batch.objects) >= q.gather
	q.mu.Unlock()
	if enough {
		q.signal()
	}
}

// wakeAt sets how many objects wake the feed together.
func (q *queue) wakeAt(objects int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.gather = objects
}

func (q *queue) report(kind Kind, problem error) {
	q.mu.Lock()
	q.batch.syncs = append(q.batch.syncs, syncReport{kind, problem})
	q.mu.Unlock()
	q.signal()
}

func (q *queue) signal() {
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

// take returns what has gathered and leaves the queue empty.
func (q *queue) take() batch {
	q.mu.Lock()
	defer q.mu.Unlock()
	taken := q.batch
	q.batch = batch{}
	return taken
}

// giveBack lets the queue use a batch again. Nobody may hold on to it.
func (q *queue) giveBack(b batch) {
	if b.objects == nil || len(b.objects) > roomToKeep {
		return
	}
	clear(b.objects)
	q.mu.Lock()
	defer q.mu.Unlock()
	q.spare = b.objects
}
