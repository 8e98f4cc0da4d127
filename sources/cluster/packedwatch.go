package cluster

import (
	"context"
	"errors"
	"io"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"github.com/clusterzone/clusterzone/sources"
)

// A packedWatches opens watches whose objects come as *sources.Packed, straight
// from the octets that the API server sends. client-go's own decoder makes an object
// of each, with all that is dropped at once afterwards, and takes ten times as long.
type packedWatches struct {
	info      sources.KindInfo
	namespace string
	api       rest.Interface
	otherwise watcher // for API servers without protobuf

	noProtobuf atomic.Bool
}

// restClient returns what asks the API server for objects of the kind, nil where
// they can't be packed and for clients that are no real ones.
func restClient(client kubernetes.Interface, kind sources.Kind) rest.Interface {
	var api rest.Interface
	switch kind {
	case sources.KindIngress:
		api = client.NetworkingV1().RESTClient()
	case sources.KindService:
		api = client.CoreV1().RESTClient()
	}
	if real, ok := api.(*rest.RESTClient); !ok || real == nil {
		return nil
	}
	return api
}

// protobufStream is what API servers call watches in protobuf: each event is a
// WatchEvent behind its length.
const protobufStream = runtime.ContentTypeProtobuf + ";stream=watch"

// watch opens a watch. It is not compressed, as API servers would since 1.36: that
// costs them and us more time than the network saves, for each event anew.
func (p *packedWatches) watch(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	if p.noProtobuf.Load() {
		return p.otherwise(ctx, options)
	}
	var timeout time.Duration
	if options.TimeoutSeconds != nil {
		timeout = time.Duration(*options.TimeoutSeconds) * time.Second
	}
	asked := options
	asked.Watch = true
	body, err := p.api.Get().Namespace(p.namespace).Resource(p.info.Resource).
		VersionedParams(&asked, scheme.ParameterCodec).Timeout(timeout).
		SetHeader("Accept", protobufStream).SetHeader("Accept-Encoding", "identity").Stream(ctx)
	if apierrors.IsNotAcceptable(err) {
		p.noProtobuf.Store(true)
		return p.otherwise(ctx, options)
	}
	if err != nil {
		return nil, err
	}
	s := &packedStream{
		kind: p.info.Kind, body: body, events: make(chan watch.Event, eventsAhead), done: make(chan struct{}),
		garbled: func() { p.noProtobuf.Store(true) },
	}
	go s.receive()
	return s, nil
}

// eventsAhead is how many events are unpacked while the reflector is at another:
// enough that the two seldom wait for one another.
const eventsAhead = 256

// A packedStream is one watch.
type packedStream struct {
	kind    sources.Kind
	body    io.ReadCloser
	events  chan watch.Event
	garbled func() // called when what comes is no protobuf

	stopped atomic.Bool
	done    chan struct{} // closed when nobody wants more events
}

// ResultChan implements watch.Interface.
func (s *packedStream) ResultChan() <-chan watch.Event { return s.events }

// Stop implements watch.Interface.
func (s *packedStream) Stop() {
	if s.stopped.CompareAndSwap(false, true) {
		close(s.done)
		_ = s.body.Close() // what it still had to say, nobody wants to hear
	}
}

// receive hands on events until the stream ends. A stream that breaks just ends,
// and the reflector opens another.
func (s *packedStream) receive() {
	defer close(s.events)
	defer s.Stop()
	events := newEventReader(s.kind, s.body)
	for {
		event, err := events.next()
		if err != nil {
			if garbled := (*garbledError)(nil); errors.As(err, &garbled) {
				s.garbled()
				status := apierrors.NewInternalError(garbled).ErrStatus
				s.send(watch.Event{Type: watch.Error, Object: &status})
			}
			return
		}
		if !s.send(event) {
			return
		}
	}
}

func (s *packedStream) send(event watch.Event) bool {
	select {
	case s.events <- event:
		return true
	case <-s.done:
		return false
	}
}
