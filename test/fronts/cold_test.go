package fronts_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/miekg/dns"

	"github.com/clusterzone/clusterzone/test/daemon"
)

// An apiServer is an API server that knows one Ingress, and doesn't say so before
// the gate is opened.
type apiServer struct {
	gate chan struct{}
}

// ServeHTTP implements http.Handler.
func (a apiServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	select {
	case <-a.gate:
	case <-r.Context().Done():
		return
	}
	const path = "/apis/networking.k8s.io/v1/ingresses"
	switch query := r.URL.Query(); {
	case r.URL.Path != path || query.Get("sendInitialEvents") != "":
		// Clients that want the list as a watch take it as a list, then.
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusUnprocessableEntity)
		answer(w, map[string]any{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "Invalid", "code": http.StatusUnprocessableEntity})
	case query.Get("watch") != "":
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusOK)
		_ = http.NewResponseController(w).Flush() // the client may be gone
		<-r.Context().Done()
	default:
		w.Header().Set("Content-Type", "application/json")
		answer(w, map[string]any{
			"kind": "IngressList", "apiVersion": "networking.k8s.io/v1", "metadata": map[string]any{"resourceVersion": "7"},
			"items": []any{map[string]any{
				"metadata": map[string]any{"namespace": "shop", "name": "web", "uid": "1", "resourceVersion": "5"},
				"spec":     map[string]any{"rules": []any{map[string]any{"host": "shop.corp.test"}}},
				"status":   map[string]any{"loadBalancer": map[string]any{"ingress": []any{map[string]any{"ip": "10.20.0.10"}}}},
			}},
		})
	}
}

// answer writes a value; who asked may be gone.
func answer(w http.ResponseWriter, value any) { _ = json.NewEncoder(w).Encode(value) }

// startCold starts clusterzone with an API server that is mute until open is called.
func startCold(t *testing.T) (open func()) {
	t.Helper()
	a := apiServer{gate: make(chan struct{})}
	api := httptest.NewServer(a)
	t.Cleanup(func() {
		api.CloseClientConnections()
		api.Close()
	})
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	text := fmt.Sprintf("{apiVersion: v1, kind: Config, current-context: c, clusters: [{name: c, cluster: {server: %q}}], "+
		"contexts: [{name: c, context: {cluster: c, user: u}}], users: [{name: u, user: {}}]}\n", api.URL)
	if err := os.WriteFile(kubeconfig, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	start(t, "--source=ingress", "--kubeconfig="+kubeconfig)
	return func() { close(a.gate) }
}

// A query that comes before the objects were read is answered with SERVFAIL by every
// resolver in front, which remembers no absence of it.
func TestColdStart(t *testing.T) {
	if !apart(t, clusterzone, coredns, unbound, named) {
		return
	}
	startOutside(t)
	for _, f := range []front{
		clusterDNS(t),
		stern("Unbound stub", block(t, "unbound-stub.conf")+outward),
		stern("Unbound forward", block(t, "unbound-forward.conf")+outward),
		forwarding(t, "BIND static stub", block(t, "named-options.conf"), block(t, "named-static-stub.conf")),
		forwarding(t, "BIND forward", block(t, "named-options.conf"), block(t, "named-forward.conf")),
	} {
		t.Run(f.name, func(t *testing.T) {
			open := startCold(t)
			f.start(t)
			// CoreDNS asks this to know whether the server lives.
			expectRcode(t, oursIP, ".", dns.TypeNS, dns.RcodeRefused)
			for _, name := range []string{"shop.corp.test", "absent.corp.test", "corp.test", "10.0.20.10.in-addr.arpa"} {
				for _, kind := range []uint16{dns.TypeA, dns.TypeAAAA} {
					expectRcode(t, oursIP, name, kind, dns.RcodeServerFailure)
					expectRcode(t, f.ip, name, kind, dns.RcodeServerFailure)
				}
			}
			open()
			// Until the answer is right it is SERVFAIL, and nothing else.
			daemon.Await(t, func() error {
				reply, err := ask(f.ip, "shop.corp.test", dns.TypeA)
				if err != nil {
					return err
				}
				got, err := describe(reply)
				if err == nil && got != "NOERROR  A 10.20.0.10" {
					if got != "SERVFAIL" {
						t.Fatalf("between SERVFAIL and the address comes %s", got)
					}
					err = fmt.Errorf("still %s", got)
				}
				return err
			})
			await(t, f.ip, question{"shop.corp.test", dns.TypeAAAA, "NOERROR"})
			await(t, f.ip, question{"absent.corp.test", dns.TypeA, "NXDOMAIN"})
		})
	}
}

// A server that stood still is asked again by CoreDNS as soon as it answers the
// health check. With failfast_all_unhealthy_upstreams nothing else brings it back.
func TestHealthCheckBringsTheServerBack(t *testing.T) {
	if !apart(t, clusterzone, coredns) {
		return
	}
	startOutside(t)
	s := serve(t)
	text := strings.Replace(block(t, "Corefile"), "forward . "+oursIP, "forward . "+oursIP+` {
        failfast_all_unhealthy_upstreams
    }`, 1)
	// Nothing from the cache.
	cache := strings.Index(text, "    cache {")
	f := corefile("CoreDNS", corednsIP, bound(text[:cache]+"}\n", corednsIP))
	f.start(t)
	right := question{"shop.corp.test", dns.TypeA, "NOERROR  A 10.20.0.10"}
	right.check(t, f.ip)
	s.Signal(t, syscall.SIGSTOP)
	// CoreDNS waits 2 seconds for a server that it holds for alive; SERVFAIL that comes
	// sooner means that it doesn't ask any longer.
	daemon.Await(t, func() error {
		sent := time.Now()
		reply, err := ask(f.ip, right.name, right.kind)
		if took := time.Since(sent); err == nil && (reply.Rcode != dns.RcodeServerFailure || took > time.Second) {
			err = fmt.Errorf("%s is %s after %s, not yet SERVFAIL at once", right, dns.RcodeToString[reply.Rcode], took)
		}
		return err
	})
	s.Signal(t, syscall.SIGCONT)
	await(t, f.ip, right)
}
