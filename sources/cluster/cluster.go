package cluster

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/klog/v2"

	"github.com/clusterzone/clusterzone/sources"
)

// Options say what Run watches.
type Options struct {
	// Namespace limits the kinds that have one, but for Gateways and
	// ListenerSets; "" is the whole cluster.
	Namespace string
	// GatewayNamespace limits Gateways; "" is the whole cluster.
	GatewayNamespace string
	// Kinds are what is watched.
	Kinds []sources.Kind
	// Custom reads the kinds that come with a CustomResourceDefinition; it must
	// be set where there are any among Kinds.
	Custom dynamic.Interface
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
// an API server that can't be reached. A custom kind that no definition serves is
// reported at once, as *sources.Absent, and found when it is installed later.
// Objects are handed over on goroutines of the kinds, one for each. Ingresses and
// Services mostly come as *sources.Packed.
func Run(ctx context.Context, client kubernetes.Interface, options Options, sink sources.Sink) error {
	if options.Log == nil {
		options.Log = slog.New(slog.DiscardHandler)
	}
	ctx = klog.NewContext(ctx, logr.FromSlogHandler(quieter{options.Log.Handler()}))
	var watchers []*kindWatcher
	for _, kind := range options.Kinds {
		w, err := newWatcher(client, kind, options)
		if err != nil {
			return err
		}
		w.sink, w.timeout = sink, options.RequestTimeout
		watchers = append(watchers, w)
	}
	for _, w := range watchers {
		go w.run(ctx, client)
	}
	<-ctx.Done()
	// The watchers end by themselves. They are not waited for: client-go may pause
	// between two tries, which would hold up the end of the process for as long.
	return nil
}

// newWatcher returns a watcher of one kind, without its sink.
func newWatcher(client kubernetes.Interface, kind sources.Kind, options Options) (*kindWatcher, error) {
	info, ok := sources.Info(kind)
	if ok && !info.Custom {
		strip := stripper{options.AnnotationPrefixes}.strip
		list, watch, err := calls(client, kind, options.Namespace)
		if api := restClient(client, kind); api != nil && err == nil {
			watch = (&packedWatches{info: info, namespace: options.Namespace, api: api, otherwise: watch}).watch
		}
		return &kindWatcher{kind: kind, list: list, watch: watch, strip: strip}, err
	}
	switch {
	case !ok:
		return nil, fmt.Errorf("objects of kind %s can't be watched", kind)
	case options.Custom == nil:
		return nil, fmt.Errorf("objects of kind %s can't be watched without a client for custom kinds", kind)
	}
	c := &custom{info: info, mask: maskOf(kind), namespace: options.Namespace, discovery: client.Discovery(), client: options.Custom, log: options.Log}
	switch kind {
	case sources.KindGateway:
		c.namespace = options.GatewayNamespace
	case sources.KindListenerSet: // a team's own, beside its Gateway or not
		c.namespace = ""
	}
	return &kindWatcher{kind: kind, list: c.list, watch: c.watch, strip: c.convert, custom: true}, nil
}

type (
	lister  func(context.Context, metav1.ListOptions) (runtime.Object, error)
	watcher func(context.Context, metav1.ListOptions) (watch.Interface, error)
)

// calls returns the calls that read one of the kinds that every API server has.
func calls(client kubernetes.Interface, kind sources.Kind, namespace string) (lister, watcher, error) {
	switch kind {
	case sources.KindIngress:
		api := client.NetworkingV1().Ingresses(namespace)
		return listOf(api.List), api.Watch, nil
	case sources.KindIngressClass:
		api := client.NetworkingV1().IngressClasses()
		return listOf(api.List), api.Watch, nil
	case sources.KindService:
		api := client.CoreV1().Services(namespace)
		return listOf(api.List), api.Watch, nil
	case sources.KindEndpointSlice:
		api := client.DiscoveryV1().EndpointSlices(namespace)
		return listOf(api.List), api.Watch, nil
	case sources.KindPod:
		api := client.CoreV1().Pods(namespace)
		return listOf(api.List), api.Watch, nil
	case sources.KindNode:
		api := client.CoreV1().Nodes()
		return listOf(api.List), api.Watch, nil
	case sources.KindNamespace:
		api := client.CoreV1().Namespaces()
		return listOf(api.List), api.Watch, nil
	}
	return nil, nil, fmt.Errorf("objects of kind %s can't be watched", kind)
}

func listOf[L runtime.Object](list func(context.Context, metav1.ListOptions) (L, error)) lister {
	return func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
		return list(ctx, options)
	}
}
