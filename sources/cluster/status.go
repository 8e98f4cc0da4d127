package cluster

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/util/workqueue"

	"github.com/clusterzone/clusterzone/sources"
)

// A StatusWriter stands before a sink and writes into each DNSEndpoint which
// generation of it was taken in (status.observedGeneration), as external-dns
// does. Several replicas may do so: they write the same, and none writes what
// stands there already.
//
// Its methods are those of the sink; the writing happens in Run, and never
// holds up an event.
type StatusWriter struct {
	sources.Sink
	client dynamic.NamespaceableResourceInterface
	log    *slog.Logger
	queue  workqueue.TypedRateLimitingInterface[observed]
}

// observed is one generation of one DNSEndpoint.
type observed struct {
	namespace, name string
	generation      int64
}

// Statuses are tried again with growing pauses, and given up after so many
// tries: the next change of the object brings a new one.
const (
	firstStatusPause = 100 * time.Millisecond
	lastStatusPause  = 30 * time.Second
	statusTries      = 8
)

// NewStatusWriter returns a writer before sink. log takes what can't be
// written, once for each object.
func NewStatusWriter(sink sources.Sink, client dynamic.Interface, log *slog.Logger) *StatusWriter {
	info, _ := sources.Info(sources.KindDNSEndpoint) // one of ours
	return &StatusWriter{
		Sink:   sink,
		client: client.Resource(schema.GroupVersionResource{Group: info.Group, Version: info.Versions[0], Resource: info.Resource}),
		log:    log,
		queue: workqueue.NewTypedRateLimitingQueue(
			workqueue.NewTypedItemExponentialFailureRateLimiter[observed](firstStatusPause, lastStatusPause)),
	}
}

// Set implements sources.Sink.
func (w *StatusWriter) Set(kind sources.Kind, obj metav1.Object) {
	w.Sink.Set(kind, obj)
	if endpoint, ok := obj.(*sources.DNSEndpoint); ok && endpoint.Generation > 0 && endpoint.Status.ObservedGeneration != endpoint.Generation {
		w.queue.Add(observed{endpoint.Namespace, endpoint.Name, endpoint.Generation})
	}
}

// Run writes until ctx is done.
func (w *StatusWriter) Run(ctx context.Context) error {
	stop := context.AfterFunc(ctx, w.queue.ShutDown)
	defer stop()
	for {
		item, shutdown := w.queue.Get()
		if shutdown {
			return nil
		}
		w.try(ctx, item)
		w.queue.Done(item)
	}
}

func (w *StatusWriter) try(ctx context.Context, item observed) {
	patch := fmt.Appendf(nil, `{"status":{"observedGeneration":%d}}`, item.generation)
	_, err := w.client.Namespace(item.namespace).Patch(ctx, item.name, types.MergePatchType, patch, metav1.PatchOptions{}, "status")
	switch {
	case err == nil || apierrors.IsNotFound(err):
		w.queue.Forget(item)
	case ctx.Err() != nil:
	case w.queue.NumRequeues(item) < statusTries:
		w.queue.AddRateLimited(item)
	default:
		w.queue.Forget(item)
		w.log.Warn("the status of a DNSEndpoint can't be written; --crd-status needs the right to patch dnsendpoints/status",
			"object", item.namespace+"/"+item.name, "error", err)
	}
}
