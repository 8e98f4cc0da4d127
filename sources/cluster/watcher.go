package cluster

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/url"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"github.com/clusterzone/clusterzone/sources"
)

// Pauses between tries grow from the first to one of the limits, each spread
// by half to both sides, so that many servers don't come back as one.
const (
	firstPause       = 100 * time.Millisecond
	unreachableLimit = 5 * time.Second
	refusedLimit     = 10 * time.Second
)

// refusalPatience is how long a kind may be refused before that counts. An API
// server that has just started refuses everything for a moment, until it has
// read its roles: taken at its word, half of the sources would be off and their
// names would not exist (DESIGN rule 1).
const refusalPatience = 3 * time.Second

// quietSpell is how long a watch must have lasted for the pauses before the next to
// start small again.
const quietSpell = time.Minute

// A kindWatcher watches one kind: a reflector's list and watch calls, tried
// again until they succeed, with every turn reported to the sink. The trying
// happens below the reflector, whose own pauses grow to a minute and which does
// not tell of a refused connection.
type kindWatcher struct {
	kind    sources.Kind
	list    lister
	watch   watcher
	strip   cache.TransformFunc
	custom  bool // whether a cluster may lack the kind
	timeout time.Duration
	sink    sources.Sink

	mu      sync.Mutex
	synced  bool      // every object of the first list was handed over
	problem error     // as reported last
	refused time.Time // since when it is refused; zero when it isn't
}

// run has a reflector follow the kind until ctx is done, and its objects handed to
// the sink. The keeper that takes them outlives what the reflector gives up.
func (w *kindWatcher) run(ctx context.Context, client kubernetes.Interface) {
	logger := klog.FromContext(ctx)
	again := &cache.ListWatch{ListWithContextFunc: w.listAgain, WatchFuncWithContext: w.watchAgain}
	reflector := cache.NewReflectorWithOptions(cache.ToListWatcherWithWatchListSemantics(again, client), nil, newKeeper(w),
		cache.ReflectorOptions{Logger: &logger, Name: string(w.kind), TypeDescription: string(w.kind)})
	pause := firstPause
	for {
		begun := time.Now()
		err := reflector.ListAndWatchWithContext(ctx)
		if err != nil && ctx.Err() == nil && !apierrors.IsResourceExpired(err) && !apierrors.IsGone(err) {
			w.report(err)
		}
		if time.Since(begun) > quietSpell {
			pause = firstPause
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause/2 + rand.N(pause)):
		}
		pause = min(2*pause, unreachableLimit)
	}
}

// noteSynced tells the sink that the first list was handed over.
func (w *kindWatcher) noteSynced() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.synced {
		w.synced, w.problem = true, nil
		w.sink.Synced(w.kind, nil)
	}
}

// report tells the sink how the last try went, where that is news. Before the
// first list is handed over, success is no news: noteSynced will tell.
func (w *kindWatcher) report(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err == nil {
		w.refused = time.Time{}
		if w.synced && w.problem != nil {
			w.problem = nil
			w.sink.Synced(w.kind, nil)
		}
		return
	}
	problem := w.explain(err)
	if w.problem == nil || fmt.Sprintf("%T %[1]v", problem) != fmt.Sprintf("%T %[1]v", w.problem) {
		w.problem = problem
		w.sink.Synced(w.kind, problem)
	}
}

// explain puts a refusal into words that name the mend. All else, and a refusal
// that is young, it marks as an API server that can't be reached.
func (w *kindWatcher) explain(err error) error {
	var refusal error
	switch {
	case apierrors.IsForbidden(err):
		refusal = fmt.Errorf("the API server forbids it; allow list and watch in the ClusterRole or Role (%w)", err)
	case apierrors.IsNotFound(err):
		refusal = &sources.Absent{Err: fmt.Errorf("the API server does not serve this kind (%w)", err)}
		if w.custom && !w.synced {
			// An API server that is not ready says so when asked for definitions.
			// Later a definition may be between two versions.
			return refusal
		}
	default:
		w.refused = time.Time{}
		return &sources.Unreachable{Err: plain(err)}
	}
	if w.refused.IsZero() {
		w.refused = time.Now()
	}
	if time.Since(w.refused) < refusalPatience {
		return &sources.Unreachable{Err: refusal}
	}
	return refusal
}

// plain cuts out of an error what differs from try to try: the request's URL
// with its random timeout, and the port on this side of the connection. What
// stays the same is reported once.
func plain(err error) error {
	if request := (*url.Error)(nil); errors.As(err, &request) {
		err = request.Err
	}
	if connection := (*net.OpError)(nil); errors.As(err, &connection) && connection.Addr != nil {
		return fmt.Errorf("%s %s %s: %w", connection.Op, connection.Net, connection.Addr, connection.Err)
	}
	return err
}

func refused(err error) bool { return apierrors.IsForbidden(err) || apierrors.IsNotFound(err) }

// again reports whether the same call may succeed later. The rest is for the
// informer, which then asks in another way: from another version, or without
// watch-list.
func again(err error) bool {
	return !apierrors.IsResourceExpired(err) && !apierrors.IsGone(err) && !apierrors.IsInvalid(err) &&
		!apierrors.IsBadRequest(err) && !apierrors.IsMethodNotSupported(err) &&
		!apierrors.HasStatusCause(err, metav1.CauseTypeResourceVersionTooLarge)
}

// untilDone calls try until it succeeds, fails for good, or ctx is done.
func (w *kindWatcher) untilDone(ctx context.Context, try func() error) error {
	pause := firstPause
	for {
		err := try()
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err == nil {
			w.report(nil)
			return nil
		}
		if !again(err) {
			return err
		}
		w.report(err)
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pause/2 + rand.N(pause)):
		}
		limit := unreachableLimit
		if refused(err) {
			limit = refusedLimit
		}
		pause = min(2*pause, limit)
	}
}

func (w *kindWatcher) listAgain(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
	var list runtime.Object
	err := w.untilDone(ctx, func() error {
		limited, cancel := ctx, context.CancelFunc(func() {})
		if w.timeout > 0 {
			limited, cancel = context.WithTimeout(ctx, w.timeout)
		}
		defer cancel()
		got, err := w.list(limited, options)
		list = got
		return err
	})
	if err != nil {
		return nil, err
	}
	return list, nil
}

// watchAgain opens a watch. The time limit is for the opening only: the watch
// itself lives as long as the reflector wishes.
func (w *kindWatcher) watchAgain(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	var opened watch.Interface
	err := w.untilDone(ctx, func() error {
		life, cancel := context.WithCancel(ctx)
		var limit *time.Timer
		if w.timeout > 0 {
			limit = time.AfterFunc(w.timeout, cancel)
		}
		stream, err := w.watch(life, options)
		if limit != nil && !limit.Stop() {
			if err == nil {
				stream.Stop()
			}
			err = fmt.Errorf("no answer to a watch within %s", w.timeout)
		}
		if err != nil {
			cancel()
			return err
		}
		opened = &openWatch{stream, cancel}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return opened, nil
}

// An openWatch frees its context when it is stopped.
type openWatch struct {
	watch.Interface
	cancel context.CancelFunc
}

// Stop implements watch.Interface.
func (o *openWatch) Stop() {
	o.Interface.Stop()
	o.cancel()
}
