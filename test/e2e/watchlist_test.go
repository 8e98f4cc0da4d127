package e2e_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/clusterzone/clusterzone/sources"
	"github.com/clusterzone/clusterzone/sources/cluster"
	"github.com/clusterzone/clusterzone/test/kubetest"
)

// TestWatchList reads from an API server that streams lists, and from one that does
// not: the same objects come, by a watch alone or by a list and a watch.
func TestWatchList(t *testing.T) {
	for _, test := range []struct {
		name  string
		flags []string
		lists bool
	}{
		{"streams", nil, false},
		{"does not", []string{"--feature-gates=WatchList=false"}, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := kubetest.Start(t, kubetest.Options{APIServerFlags: test.flags})
			apply(t, c, ingress("shop", "first", "first.corp.test", "192.0.2.1"))
			apply(t, c, ingress("shop", "second", "second.corp.test", "192.0.2.2"))

			seen := &requests{}
			config := c.Admin()
			config.Wrap(func(next http.RoundTripper) http.RoundTripper { return roundTripper{seen, next} })
			client, err := kubernetes.NewForConfig(config)
			if err != nil {
				t.Fatal(err)
			}
			sink := &memorySink{}
			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan error, 1)
			go func() {
				ended <- cluster.Run(ctx, client, cluster.Options{Kinds: []sources.Kind{sources.KindIngress}}, sink)
			}()
			t.Cleanup(func() {
				cancel()
				if err := <-ended; err != nil {
					t.Error(err)
				}
			})
			await(t, func() error { return sink.has("first second synced") })
			apply(t, c, ingress("shop", "third", "third.corp.test", "192.0.2.3"))
			await(t, func() error { return sink.has("first second third synced") })
			kubeClient := kubernetes.NewForConfigOrDie(c.Admin())
			if err := kubeClient.NetworkingV1().Ingresses("shop").Delete(ctx, "first", metav1.DeleteOptions{}); err != nil {
				t.Fatal(err)
			}
			await(t, func() error { return sink.has("second third synced") })
			if lists := seen.lists(); lists != test.lists {
				t.Errorf("listed: %t, want %t; asked for\n%s", lists, test.lists, seen.text())
			}
		})
	}
}

// requests are the queries of the requests that were made.
type requests struct {
	mu   sync.Mutex
	made []string
}

func (r *requests) lists() bool {
	for query := range strings.SplitSeq(r.text(), "\n") {
		if !strings.Contains(query, "watch=true") {
			return true
		}
	}
	return false
}

func (r *requests) text() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return strings.Join(r.made, "\n")
}

type roundTripper struct {
	*requests
	next http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (r roundTripper) RoundTrip(request *http.Request) (*http.Response, error) {
	r.mu.Lock()
	r.made = append(r.made, request.URL.RequestURI())
	r.mu.Unlock()
	return r.next.RoundTrip(request)
}

// A memorySink knows which objects are there.
type memorySink struct {
	mu     sync.Mutex
	there  map[string]bool
	synced bool
}

// Set implements sources.Sink.
func (s *memorySink) Set(_ sources.Kind, obj metav1.Object) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.there == nil {
		s.there = make(map[string]bool)
	}
	s.there[obj.GetName()] = true
}

// Gone implements sources.Sink.
func (s *memorySink) Gone(_ sources.Kind, _, name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.there, name)
}

// Synced implements sources.Sink.
func (s *memorySink) Synced(_ sources.Kind, problem error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.synced = problem == nil
}

// has returns an error where other objects are there than those that are named.
func (s *memorySink) has(want string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var words []string
	for _, name := range []string{"first", "second", "third"} {
		if s.there[name] {
			words = append(words, name)
		}
	}
	if s.synced {
		words = append(words, "synced")
	}
	if got := strings.Join(words, " "); got != want {
		return fmt.Errorf("there is %q, want %q", got, want)
	}
	return nil
}
