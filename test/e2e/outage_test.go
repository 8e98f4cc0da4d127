package e2e_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/clusterzone/clusterzone/test/kubetest"
)

// ingress writes an Ingress that has an address.
func ingress(namespace, name, host, address string) string {
	return fmt.Sprintf(`
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {namespace: %s, name: %s}
spec:
  defaultBackend: {service: {name: web, port: {number: 80}}}
  rules: [{host: %s}]
status: {loadBalancer: {ingress: [{ip: %s}]}}
`, namespace, name, host, address)
}

// balancer writes a Service of type LoadBalancer that has an address.
func balancer(namespace, name, host, address string) string {
	return fmt.Sprintf(`
apiVersion: v1
kind: Service
metadata: {namespace: %s, name: %s, annotations: {external-dns.kubernetes.io/hostname: %s}}
spec: {type: LoadBalancer, ports: [{port: 80}]}
status: {loadBalancer: {ingress: [{ip: %s}]}}
`, namespace, name, host, address)
}

// headless writes a headless Service with one endpoint.
func headless(namespace, name, host, address string) string {
	return fmt.Sprintf(`
apiVersion: v1
kind: Service
metadata: {namespace: %[1]s, name: %[2]s, annotations: {external-dns.kubernetes.io/hostname: %[3]s}}
spec: {clusterIP: None, ports: [{port: 80}]}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {namespace: %[1]s, name: %[2]s-1, labels: {kubernetes.io/service-name: %[2]s}}
addressType: IPv4
endpoints: [{addresses: [%[4]s], conditions: {ready: true}}]
`, namespace, name, host, address)
}

func apply(t testing.TB, c *kubetest.Cluster, documents ...string) {
	t.Helper()
	c.Apply(t, []byte(strings.Join(documents, "---\n")))
}

// The names of the tests below, each of a sort of object of its own.
const (
	webName = "web.corp.test"
	lbName  = "lb.corp.test"
	dbName  = "db.corp.test"
)

func applyThree(t testing.TB, c *kubetest.Cluster) {
	t.Helper()
	apply(t, c, ingress("shop", "web", webName, "192.0.2.1"),
		balancer("shop", "lb", lbName, "192.0.2.2"), headless("shop", "db", dbName, "192.0.2.3"))
}

func awaitThree(t testing.TB, p *process) {
	t.Helper()
	p.await(t, webName, "A", address(webName, "A", "192.0.2.1"))
	p.await(t, lbName, "A", address(lbName, "A", "192.0.2.2"))
	p.await(t, dbName, "A", address(dbName, "A", "192.0.2.3"))
}

func expectThree(t testing.TB, p *process) {
	t.Helper()
	p.expect(t, webName, "A", address(webName, "A", "192.0.2.1"))
	p.expect(t, lbName, "A", address(lbName, "A", "192.0.2.2"))
	p.expect(t, dbName, "A", address(dbName, "A", "192.0.2.3"))
	p.expect(t, "none.corp.test", "A", missing)
}

// A witness asks for names without pause and keeps each reply that it has not
// seen before.
type witness struct {
	stop chan struct{}
	done sync.WaitGroup
	mu   sync.Mutex
	seen map[string][]string // by name
}

// watch lets a witness ask for A records until its end is called.
func (p *process) watch(names ...string) *witness {
	w := &witness{stop: make(chan struct{}), seen: make(map[string][]string)}
	for _, name := range names {
		w.done.Go(func() {
			last := ""
			for {
				select {
				case <-w.stop:
					return
				default:
				}
				// A reply that is lost on a busy machine is nobody's fault.
				if reply, err := p.ask("udp", name, "A"); err == nil && reply != last {
					last = reply
					w.mu.Lock()
					w.seen[name] = append(w.seen[name], reply)
					w.mu.Unlock()
				}
			}
		})
	}
	return w
}

// end stops asking and returns the replies in the order of their turns.
func (w *witness) end() map[string][]string {
	close(w.stop)
	w.done.Wait()
	return w.seen
}

func TestAnswersOutliveTheAPIServerAndCatchUp(t *testing.T) {
	c := clean(t)
	_, kubeconfig := user(t, c, reader()...)
	applyThree(t, c)
	apply(t, c, ingress("shop", "gone", "gone.corp.test", "192.0.2.4"))
	p := serve(t, program(t), kubeconfig)
	awaitThree(t, p)
	p.await(t, "gone.corp.test", "A", address("gone.corp.test", "A", "192.0.2.4"))

	c.StopAPIServer(t)
	for _, kind := range []string{
		`kind="Ingress",source="ingress"`, `kind="Service",source="service"`, `kind="EndpointSlice",source="service"`,
		`kind="Pod",source="service"`, `kind="Node",source="service"`,
	} {
		p.awaitPage(t, "/metrics", 200, "clusterzone_kind_unreadable{"+kind+"} 1\n", "clusterzone_ready 1\n")
	}
	ready := p.awaitPage(t, "/readyz", 200, "ready\n", "source ingress: synced, 2 objects\n",
		"  Ingress can't be read since 20", "connection refused")
	if !strings.HasPrefix(ready, "ready\n") {
		t.Errorf("/readyz does not start with ready:\n%s", ready)
	}
	expectThree(t, p)
	p.expect(t, "gone.corp.test", "A", address("gone.corp.test", "A", "192.0.2.4"))

	// The program stands still while the API server comes back and objects
	// change, so that it misses every event.
	p.freeze(t)
	c.StartAPIServer(t)
	c.Delete(t, "Ingress", "shop", "gone")
	c.Delete(t, "EndpointSlice", "shop", "db-1")
	apply(t, c, ingress("shop", "web", webName, "192.0.2.91"), ingress("shop", "new", "new.corp.test", "192.0.2.5"),
		balancer("shop", "lb", "moved.corp.test", "192.0.2.2"))
	p.thaw(t)
	p.await(t, webName, "A", address(webName, "A", "192.0.2.91"))
	p.await(t, "new.corp.test", "A", address("new.corp.test", "A", "192.0.2.5"))
	p.await(t, "gone.corp.test", "A", missing)
	p.await(t, "moved.corp.test", "A", address("moved.corp.test", "A", "192.0.2.2"))
	p.await(t, lbName, "A", missing)
	p.await(t, dbName, "A", "NOERROR aa\nauthority: corp.test. 5 SOA\nEDE 0: service shop/db: the Service has no endpoints yet")
	await(t, func() error {
		_, page, err := p.get("/readyz")
		if err == nil && strings.Contains(page, "can't be read") {
			err = fmt.Errorf("/readyz still says:\n%s", page)
		}
		return err
	})
	p.awaitPage(t, "/metrics", 200, `clusterzone_kind_unreadable{kind="Ingress",source="ingress"} 0`+"\n")

	// The watches live again.
	c.Delete(t, "Ingress", "shop", "new")
	p.await(t, "new.corp.test", "A", missing)
}

func TestWithoutAnAPIServerNothingIsDenied(t *testing.T) {
	c := clean(t)
	_, kubeconfig := user(t, c, reader()...)
	applyThree(t, c)
	c.StopAPIServer(t)
	p := serve(t, program(t), kubeconfig)
	names := []string{webName, lbName, dbName, "none.corp.test"}
	for _, name := range names {
		p.expect(t, name, "A", notReady)
	}
	p.expect(t, "corp.test", "SOA", notReady)
	p.expect(t, "www.other.test", "A", "REFUSED\nEDE 20: the name lies in none of the zones served here")
	page := p.awaitPage(t, "/readyz", 503, waiting+"\n",
		"source ingress: not synced, 0 objects\n", "Ingress can't be read since 20", "connection refused")
	if strings.Contains(page, "ready\n") {
		t.Errorf("/readyz says ready:\n%s", page)
	}
	p.awaitPage(t, "/metrics", 200, "clusterzone_ready 0\n")
	p.awaitPage(t, "/healthz", 200, "ok\n")

	w := p.watch(names...)
	c.StartAPIServer(t)
	awaitThree(t, p)
	p.await(t, "none.corp.test", "A", missing)
	right := map[string]string{
		webName: address(webName, "A", "192.0.2.1"), lbName: address(lbName, "A", "192.0.2.2"),
		dbName: address(dbName, "A", "192.0.2.3"), "none.corp.test": missing,
	}
	for name, replies := range w.end() {
		for i, reply := range replies {
			last := i == len(replies)-1
			if !strings.HasPrefix(reply, "SERVFAIL\nEDE 14: waiting for ") && (!last || reply != right[name]+"\n") {
				t.Errorf("%s: reply %d of %d, between SERVFAIL and the right one:\n%s", name, i+1, len(replies), reply)
			}
		}
	}
	p.awaitPage(t, "/readyz", 200, "ready\n")
}
