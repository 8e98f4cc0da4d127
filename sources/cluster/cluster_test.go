package cluster

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/rest"
	kubetesting "k8s.io/client-go/testing"

	"github.com/clusterzone/clusterzone/sources"
)

// A script is a sink that writes down what it is told, one line each.
type script struct {
	mu    sync.Mutex
	lines []string
	news  chan struct{}
}

func newScript() *script {
	return &script{news: make(chan struct{}, 1)}
}

func (s *script) write(line string) {
	s.lines = append(s.lines, line)
	select {
	case s.news <- struct{}{}:
	default:
	}
}

func (s *script) Set(kind sources.Kind, obj metav1.Object) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.write(fmt.Sprintf("set %s %s/%s %s", kind, obj.GetNamespace(), obj.GetName(), obj.GetLabels()["v"]))
}

func (s *script) Gone(kind sources.Kind, namespace, name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.write(fmt.Sprintf("gone %s %s/%s", kind, namespace, name))
}

func (s *script) Synced(kind sources.Kind, problem error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if unreachable := (*sources.Unreachable)(nil); errors.As(problem, &unreachable) {
		s.write(fmt.Sprintf("waiting %s %v", kind, problem))
		return
	}
	s.write(fmt.Sprintf("synced %s %v", kind, problem))
}

func (s *script) text() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Join(s.lines, "\n")
}

// await waits for a line that begins so, and returns all lines up to it.
func (s *script) await(t *testing.T, prefix string) []string {
	t.Helper()
	limit := time.After(30 * time.Second)
	for {
		s.mu.Lock()
		for i, line := range s.lines {
			if strings.HasPrefix(line, prefix) {
				lines := append([]string(nil), s.lines[:i+1]...)
				s.mu.Unlock()
				return lines
			}
		}
		s.mu.Unlock()
		select {
		case <-s.news:
		case <-limit:
			t.Fatalf("%q never came; there is\n%s", prefix, s.text())
		}
	}
}

func run(t *testing.T, client kubernetes.Interface, options Options) *script {
	t.Helper()
	sink := newScript()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- Run(ctx, client, options, sink) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return sink
}

func ingress(namespace, name, v string) *networkingv1.Ingress {
	return &networkingv1.Ingress{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: map[string]string{"v": v}}}
}

func TestRunHandsOver(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	client := fake.NewClientset(ingress("web", "a", "1"), ingress("web", "b", "1"), ingress("other", "c", "1"),
		&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}})
	sink := run(t, client, Options{Namespace: "web", Kinds: []sources.Kind{sources.KindIngress, sources.KindNode}})

	lines := sink.await(t, "synced Ingress <nil>")
	before := strings.Join(lines, "\n")
	for _, want := range []string{"set Ingress web/a 1", "set Ingress web/b 1"} {
		if !strings.Contains(before, want) {
			t.Errorf("%q did not come before the word that all have come:\n%s", want, before)
		}
	}
	sink.await(t, "set Node /n")
	sink.await(t, "synced Node <nil>")

	api := client.NetworkingV1().Ingresses("web")
	if _, err := api.Create(ctx, ingress("web", "d", "1"), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	sink.await(t, "set Ingress web/d 1")
	if _, err := api.Update(ctx, ingress("web", "d", "2"), metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	sink.await(t, "set Ingress web/d 2")
	if err := api.Delete(ctx, "d", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	sink.await(t, "gone Ingress web/d")
	if text := sink.text(); strings.Contains(text, "other/c") {
		t.Errorf("an object of another namespace came:\n%s", text)
	}
}

// TestRunRefused: a kind that is refused is waited for at first and then reported,
// alone, once; and comes on when it is allowed.
func TestRunRefused(t *testing.T) {
	t.Parallel()
	for _, refusal := range []struct {
		err  error
		says string
	}{
		{apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "", errors.New("no")), "the API server forbids it; allow list and watch"},
		{apierrors.NewNotFound(schema.GroupResource{Resource: "pods"}, ""), "the API server does not serve this kind"},
	} {
		t.Run(refusal.says, func(t *testing.T) {
			t.Parallel()
			client := fake.NewClientset(ingress("web", "a", "1"),
				&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "p", Labels: map[string]string{"v": "1"}}})
			var allowed atomic.Bool
			client.PrependReactor("list", "pods", func(kubetesting.Action) (bool, runtime.Object, error) {
				return !allowed.Load(), nil, refusal.err
			})
			sink := run(t, client, Options{Kinds: []sources.Kind{sources.KindIngress, sources.KindPod}})
			sink.await(t, "waiting Pod "+refusal.says)
			sink.await(t, "synced Ingress <nil>")
			sink.await(t, "synced Pod "+refusal.says)
			allowed.Store(true)
			text := strings.Join(sink.await(t, "synced Pod <nil>"), "\n")
			if n := strings.Count(text, "synced Pod "+refusal.says); n != 1 || strings.Count(text, "waiting Pod") != 1 {
				t.Errorf("each turn is to be said once:\n%s", text)
			}
			sink.await(t, "set Pod web/p 1")
		})
	}
}

// TestRunUnreachable: an API server that is away is no refusal, whatever the
// text of the error, and is said once.
func TestRunUnreachable(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	listener.Close()
	client, err := kubernetes.NewForConfig(&rest.Config{Host: "http://" + address})
	if err != nil {
		t.Fatal(err)
	}
	sink := run(t, client, Options{Kinds: []sources.Kind{sources.KindIngress}})
	lines := sink.await(t, "waiting Ingress ")
	if want := "waiting Ingress dial tcp " + address + ": connect: connection refused"; lines[0] != want {
		t.Errorf("got  %s\nwant %s", lines[0], want)
	}
}

// TestRunTimeout: an API server that accepts and says nothing is one that can't
// be reached.
func TestRunTimeout(t *testing.T) {
	t.Parallel()
	stop := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-r.Context().Done():
		case <-stop:
		}
	}))
	t.Cleanup(func() { close(stop); server.Close() })
	client, err := kubernetes.NewForConfig(&rest.Config{Host: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	sink := run(t, client, Options{Kinds: []sources.Kind{sources.KindNode}, RequestTimeout: 20 * time.Millisecond})
	sink.await(t, "waiting Node no answer to a watch within 20ms")
}

// TestRunRelist: what was deleted while the watch was broken is found out.
func TestRunRelist(t *testing.T) {
	t.Parallel()
	client := fake.NewClientset(ingress("web", "stays", "1"), ingress("web", "goes", "1"))
	var mu sync.Mutex
	var open *watch.FakeWatcher
	opened := make(chan struct{}, 10)
	client.PrependWatchReactor("ingresses", func(kubetesting.Action) (bool, watch.Interface, error) {
		mu.Lock()
		defer mu.Unlock()
		open = watch.NewFake()
		opened <- struct{}{}
		return true, open, nil
	})
	sink := run(t, client, Options{Kinds: []sources.Kind{sources.KindIngress}})
	sink.await(t, "synced Ingress <nil>")
	<-opened
	if err := client.NetworkingV1().Ingresses("web").Delete(context.Background(), "goes", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	mu.Lock()
	open.Error(&apierrors.NewResourceExpired("too old").ErrStatus)
	mu.Unlock()
	sink.await(t, "gone Ingress web/goes")
	if text := sink.text(); strings.Contains(text, "too old") {
		t.Errorf("an ordinary relist is reported as a problem:\n%s", text)
	}
}

// TestRunTroubleLater: a watch that is refused after the kind was synced is
// reported, and its end too.
func TestRunTroubleLater(t *testing.T) {
	t.Parallel()
	client := fake.NewClientset(ingress("web", "a", "1"))
	var mu sync.Mutex
	var open *watch.FakeWatcher
	calls := 0
	opened := make(chan struct{}, 10)
	client.PrependWatchReactor("ingresses", func(kubetesting.Action) (bool, watch.Interface, error) {
		mu.Lock()
		defer mu.Unlock()
		if calls++; calls == 2 {
			return true, nil, apierrors.NewForbidden(schema.GroupResource{Resource: "ingresses"}, "", errors.New("no"))
		}
		open = watch.NewFake()
		opened <- struct{}{}
		return true, open, nil
	})
	sink := run(t, client, Options{Kinds: []sources.Kind{sources.KindIngress}})
	sink.await(t, "synced Ingress <nil>")
	<-opened
	mu.Lock()
	open.Stop()
	mu.Unlock()
	before := len(sink.await(t, "waiting Ingress the API server forbids it"))
	<-opened
	limit := time.After(30 * time.Second)
	for {
		lines := strings.Split(sink.text(), "\n")
		if len(lines) > before && lines[len(lines)-1] == "synced Ingress <nil>" {
			return
		}
		select {
		case <-sink.news:
		case <-limit:
			t.Fatalf("the end of the trouble was never reported:\n%s", sink.text())
		}
	}
}

func TestRunRefusesUnknownKinds(t *testing.T) {
	t.Parallel()
	err := Run(context.Background(), fake.NewClientset(), Options{Kinds: []sources.Kind{"Deployment"}}, newScript())
	if err == nil || !strings.Contains(err.Error(), "Deployment") {
		t.Errorf("got %v", err)
	}
}

func TestQuieter(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	log := slog.New(quieter{slog.NewTextHandler(&out, &slog.HandlerOptions{Level: slog.LevelDebug})})
	log.With("a", 1).WithGroup("g").Error("shout", "b", 2)
	log.Debug("whisper")
	if text := out.String(); !strings.Contains(text, "level=DEBUG msg=shout a=1 g.b=2") || strings.Contains(text, "whisper") {
		t.Errorf("got %s", text)
	}
	out.Reset()
	slog.New(quieter{slog.NewTextHandler(&out, nil)}).Error("shout")
	if out.Len() > 0 {
		t.Errorf("client-go's words come at the ordinary level: %s", out.String())
	}
}
