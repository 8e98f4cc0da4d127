package cluster

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/klog/v2"

	"github.com/clusterzone/clusterzone/sources"
)

// Options say what Run watches.
type Options struct {
	// Namespace limits the kinds that have one; "" is the whole cluster. Nodes
	// and IngressClasses are watched cluster-wide in any case.
	Namespace string
	// Kinds are what is watched.
	Kinds []sources.Kind
	// AnnotationPrefixes are those whose annotations are kept on Pods and Nodes;
	// without any, all are kept. Ingresses and Services keep theirs.
	AnnotationPrefixes []string
	// RequestTimeout is how long one list, or the opening of a watch, may take;
	// 0 is without limit.
	RequestTimeout time.Duration
	// Log takes what client-go has to say, at debug level; nil drops it. What
	// Run finds out about kinds goes to the sink, which logs it.
	Log *slog.Logger
}

// Run watches the kinds until ctx is done, and hands over to sink what it sees.
// It returns an error only where a kind is unknown.
//
// A kind that the API server refuses (403) or does not know (404) for a second is
// reported to the sink as a problem of its own, and tried again with growing
// pauses of about 10 seconds at most; so is, at once and as *sources.Unreachable,
// an API server that can't be reached.
// Objects are handed over on client-go's goroutines, one for each kind.
func Run(ctx context.Context, client kubernetes.Interface, options Options, sink sources.Sink) error {
	if options.Log == nil {
		options.Log = slog.New(slog.DiscardHandler)
	}
	ctx = klog.NewContext(ctx, logr.FromSlogHandler(quieter{options.Log.Handler()}))
	factory := informers.NewSharedInformerFactoryWithOptions(client, 0,
		informers.WithTransform(stripper{options.AnnotationPrefixes}.strip))
	for _, kind := range options.Kinds {
		list, watch, example, err := calls(client, kind, options.Namespace)
		if err != nil {
			return err
		}
		w := &kindWatcher{
			kind: kind, example: example, list: list, watch: watch,
			timeout: options.RequestTimeout, sink: sink,
		}
		if err := w.register(ctx, factory, client); err != nil {
			return err
		}
	}
	factory.StartWithContext(ctx)
	<-ctx.Done()
	// The informers end by themselves. They are not waited for: one that pauses
	// between two tries would hold up the end of the process for as long.
	return nil
}

type (
	lister  func(context.Context, metav1.ListOptions) (runtime.Object, error)
	watcher func(context.Context, metav1.ListOptions) (watch.Interface, error)
)

// calls returns the calls that read one kind, and an empty object of it.
func calls(client kubernetes.Interface, kind sources.Kind, namespace string) (lister, watcher, runtime.Object, error) {
	switch kind {
	case sources.KindIngress:
		api := client.NetworkingV1().Ingresses(namespace)
		return listOf(api.List), api.Watch, &networkingv1.Ingress{}, nil
	case sources.KindIngressClass:
		api := client.NetworkingV1().IngressClasses()
		return listOf(api.List), api.Watch, &networkingv1.IngressClass{}, nil
	case sources.KindService:
		api := client.CoreV1().Services(namespace)
		return listOf(api.List), api.Watch, &corev1.Service{}, nil
	case sources.KindEndpointSlice:
		api := client.DiscoveryV1().EndpointSlices(namespace)
		return listOf(api.List), api.Watch, &discoveryv1.EndpointSlice{}, nil
	case sources.KindPod:
		api := client.CoreV1().Pods(namespace)
		return listOf(api.List), api.Watch, &corev1.Pod{}, nil
	case sources.KindNode:
		api := client.CoreV1().Nodes()
		return listOf(api.List), api.Watch, &corev1.Node{}, nil
	}
	return nil, nil, nil, fmt.Errorf("objects of kind %s can't be watched", kind)
}

func listOf[L runtime.Object](list func(context.Context, metav1.ListOptions) (L, error)) lister {
	return func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
		return list(ctx, options)
	}
}
