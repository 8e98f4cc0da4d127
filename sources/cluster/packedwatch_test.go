package cluster

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"github.com/clusterzone/clusterzone/sources"
)

// frame returns an event as API servers send it.
func frame(t testing.TB, kind watch.EventType, obj runtime.Object) []byte {
	t.Helper()
	var object bytes.Buffer
	if err := protobuf.NewSerializer(scheme.Scheme, scheme.Scheme).Encode(obj, &object); err != nil {
		t.Fatal(err)
	}
	event := metav1.WatchEvent{Type: string(kind), Object: runtime.RawExtension{Raw: object.Bytes()}}
	wire, err := event.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(wire))), wire...)
}

// typed gives an object the apiVersion and kind that API servers send with it.
func typed(ingress *networkingv1.Ingress) *networkingv1.Ingress {
	ingress.TypeMeta = metav1.TypeMeta{APIVersion: "networking.k8s.io/v1", Kind: "Ingress"}
	return ingress
}

// initialEnd is the bookmark after all objects that there are.
func initialEnd() *networkingv1.Ingress {
	end := typed(&networkingv1.Ingress{})
	end.ResourceVersion = "9"
	end.Annotations = map[string]string{metav1.InitialEventsAnnotationKey: "true"}
	return end
}

func TestEventReader(t *testing.T) {
	t.Parallel()
	stream := bytes.Join([][]byte{
		frame(t, watch.Added, typed(ingress("web", "a", "1"))),
		frame(t, watch.Deleted, typed(ingress("web", "b", "2"))),
		frame(t, watch.Bookmark, initialEnd()),
		frame(t, watch.Error, &metav1.Status{
			TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Reason: metav1.StatusReasonExpired, Code: 410, Message: "too old",
		}),
	}, nil)
	events := newEventReader(sources.KindIngress, bytes.NewReader(stream))
	var got []string
	for {
		event, err := events.next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		switch obj := event.Object.(type) {
		case *sources.Packed:
			unpacked, err := obj.Unpack()
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, fmt.Sprintf("%s %s/%s v=%s version=%s shown=%v", event.Type, obj.Namespace, obj.Name,
				unpacked.GetLabels()["v"], unpacked.GetResourceVersion(), obj.Annotations))
		case *metav1.Status:
			got = append(got, fmt.Sprintf("%s %s %t", event.Type, obj.Message, apierrors.IsResourceExpired(apierrors.FromObject(obj))))
		}
	}
	want := `ADDED web/a v=1 version= shown=map[]
DELETED web/b v=2 version= shown=map[]
BOOKMARK / v= version=9 shown=map[k8s.io/initial-events-end:true]
ERROR too old true`
	if text := strings.Join(got, "\n"); text != want {
		t.Errorf("got\n%s\nwant\n%s", text, want)
	}
}

func TestEventReaderGarbled(t *testing.T) {
	t.Parallel()
	service := &metav1.Status{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}}
	for _, test := range []struct{ stream, want string }{
		{`{"type":"ADDED","object":{}}`, "an event of 2065855609 octets"},
		{"\x00\x00\x00\x02\xff\xff", "not in protobuf"},
		{"\x00\x00\x00\x03\x0a\x01X", `an event of type "X"`},
		{"\x00\x00\x00\x07\x0a\x05ADDED", "an object that is not in protobuf"},
		{string(frame(t, watch.Added, service)), `an object of kind "Status"`},
		{string(frame(t, watch.Error, typed(ingress("web", "a", "1")))), "an error that is a *v1.Ingress"},
	} {
		_, err := newEventReader(sources.KindIngress, strings.NewReader(test.stream)).next()
		if garbled := (*garbledError)(nil); !errors.As(err, &garbled) || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%q: got %v, want %s", test.stream, err, test.want)
		}
	}
	if _, err := newEventReader(sources.KindIngress, strings.NewReader("\x00\x00\x00\x09abc")).next(); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("a stream that breaks: %v", err)
	}
}

func FuzzEventReader(f *testing.F) {
	f.Add(frame(f, watch.Added, typed(ingress("web", "a", "1"))))
	f.Add(frame(f, watch.Bookmark, initialEnd()))
	f.Add(frame(f, watch.Error, &metav1.Status{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}}))
	f.Add([]byte("\x00\x00\x00\x07\x0a\x05ADDED"))
	f.Fuzz(func(t *testing.T, stream []byte) {
		events := newEventReader(sources.KindIngress, bytes.NewReader(stream))
		for range len(stream) {
			event, err := events.next()
			if err != nil {
				return
			}
			switch obj := event.Object.(type) {
			case *sources.Packed:
				if obj.Kind() != sources.KindIngress {
					t.Fatalf("an object of kind %s", obj.Kind())
				}
			case *metav1.Status:
			default:
				t.Fatalf("a %T", obj)
			}
		}
	})
}

// An apiServer plays one for Ingresses: answers to a watch and to a list.
type apiServer struct {
	watch func(w http.ResponseWriter, r *http.Request)
	list  func(w http.ResponseWriter, r *http.Request)
}

func (s *apiServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Query().Get("watch") == "true" {
		s.watch(w, r)
	} else {
		s.list(w, r)
	}
}

func (s *apiServer) start(t *testing.T) kubernetes.Interface {
	t.Helper()
	server := httptest.NewServer(s)
	t.Cleanup(func() { server.CloseClientConnections(); server.Close() })
	client, err := kubernetes.NewForConfig(&rest.Config{Host: server.URL, ContentConfig: rest.ContentConfig{
		ContentType: runtime.ContentTypeProtobuf, AcceptContentTypes: runtime.ContentTypeProtobuf + "," + runtime.ContentTypeJSON,
	}})
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// say writes frames and leaves the connection open until the client goes.
func say(w http.ResponseWriter, r *http.Request, contentType string, frames ...[]byte) {
	w.Header().Set("Content-Type", contentType)
	for _, frame := range frames {
		_, _ = w.Write(frame) // a client that has gone needs none
	}
	w.(http.Flusher).Flush()
	<-r.Context().Done()
}

// TestRunPacked: all objects come by one watch, and none of it is compressed.
func TestRunPacked(t *testing.T) {
	t.Parallel()
	var wrong atomic.Pointer[string]
	server := &apiServer{
		watch: func(w http.ResponseWriter, r *http.Request) {
			if asked := fmt.Sprint(r.URL.Path, " ", r.URL.Query().Get("sendInitialEvents"), " ", r.Header.Get("Accept"), " ", r.Header.Get("Accept-Encoding")); asked !=
				"/apis/networking.k8s.io/v1/namespaces/web/ingresses true application/vnd.kubernetes.protobuf;stream=watch identity" {
				wrong.Store(&asked)
			}
			say(w, r, protobufStream,
				frame(t, watch.Added, typed(ingress("web", "a", "1"))), frame(t, watch.Added, typed(ingress("web", "b", "1"))),
				frame(t, watch.Bookmark, initialEnd()),
				frame(t, watch.Modified, typed(ingress("web", "a", "2"))), frame(t, watch.Deleted, typed(ingress("web", "b", "1"))))
		},
		list: func(w http.ResponseWriter, r *http.Request) {
			asked := "a list: " + r.URL.String()
			wrong.Store(&asked)
			http.Error(w, "no", http.StatusInternalServerError)
		},
	}
	sink := run(t, server.start(t), Options{Namespace: "web", Kinds: []sources.Kind{sources.KindIngress}})
	got := strings.Join(sink.await(t, "gone Ingress web/b"), "\n")
	want := `set Ingress web/a 
set Ingress web/b 
synced Ingress <nil>
set Ingress web/a 
gone Ingress web/b`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if asked := wrong.Load(); asked != nil {
		t.Errorf("asked for %s", *asked)
	}
}

// TestRunWithoutProtobuf: an API server, or who stands before it, that knows no
// protobuf or says something else is read in JSON.
func TestRunWithoutProtobuf(t *testing.T) {
	t.Parallel()
	inJSON := func(kind watch.EventType, obj runtime.Object) []byte {
		object, err := json.Marshal(obj)
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Appendf(nil, `{"type":%q,"object":%s}`+"\n", kind, object)
	}
	for _, test := range []struct {
		name   string
		refuse func(w http.ResponseWriter)
	}{
		{"refused", func(w http.ResponseWriter) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusNotAcceptable)
			_, _ = io.WriteString(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotAcceptable","code":406}`)
		}},
		{"ignored", func(w http.ResponseWriter) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write(inJSON(watch.Added, typed(ingress("web", "a", "1"))))
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			var asked atomic.Int32
			server := &apiServer{
				watch: func(w http.ResponseWriter, r *http.Request) {
					switch {
					case r.Header.Get("Accept") == protobufStream:
						asked.Add(1)
						test.refuse(w)
					case r.URL.Query().Get("sendInitialEvents") == "true":
						say(w, r, "application/json", inJSON(watch.Added, typed(ingress("web", "a", "1"))),
							inJSON(watch.Bookmark, initialEnd()), inJSON(watch.Modified, typed(ingress("web", "a", "2"))))
					default:
						say(w, r, "application/json", inJSON(watch.Modified, typed(ingress("web", "a", "2"))))
					}
				},
				list: func(w http.ResponseWriter, _ *http.Request) {
					w.Header().Set("Content-Type", "application/json")
					list := networkingv1.IngressList{TypeMeta: metav1.TypeMeta{APIVersion: "networking.k8s.io/v1", Kind: "IngressList"}}
					list.ResourceVersion = "9"
					list.Items = []networkingv1.Ingress{*ingress("web", "a", "1")}
					_ = json.NewEncoder(w).Encode(list) // a client that has gone needs none
				},
			}
			sink := run(t, server.start(t), Options{Kinds: []sources.Kind{sources.KindIngress}})
			sink.await(t, "synced Ingress <nil>")
			sink.await(t, "set Ingress web/a 2")
			if n := asked.Load(); n != 1 {
				t.Errorf("asked for protobuf %d times", n)
			}
		})
	}
}
