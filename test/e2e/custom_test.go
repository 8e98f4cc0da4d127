package e2e_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/clusterzone/clusterzone/test/kubetest"
)

// endpointModule is external-dns' own, whose definition of DNSEndpoint is used
// as it is published. No code of it is: go.mod does not name it.
const endpointModule = "sigs.k8s.io/external-dns@v0.22.0"

// definitions returns the files and folders of all CustomResourceDefinitions
// that sources read, unmodified, as their projects ship them. channel is Gateway
// API's: "standard" or "experimental".
func definitions(t testing.TB, channel string) []string {
	t.Helper()
	var endpoint struct{ Dir string }
	if err := json.Unmarshal([]byte(goCommand(t, "mod", "download", "-json", endpointModule)), &endpoint); err != nil {
		t.Fatal(err)
	}
	folder := func(module string) string {
		return strings.TrimSpace(goCommand(t, "list", "-m", "-f", "{{.Dir}}", module))
	}
	return []string{
		filepath.Join(folder("sigs.k8s.io/gateway-api"), "config", "crd", channel),
		filepath.Join(folder("github.com/szuecs/routegroup-client"), "zalando.org_routegroups.yaml"),
		filepath.Join(endpoint.Dir, "config", "crd", "standard"),
	}
}

func goCommand(t testing.TB, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", args...)
	cmd.Dir = root
	out, err := cmd.Output()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		t.Fatalf("go %s: %v\n%s", strings.Join(args, " "), err, exit.Stderr)
	} else if err != nil {
		t.Fatalf("go %s: %v", strings.Join(args, " "), err)
	}
	return string(out)
}

// customObjects are one object of each custom kind: a Gateway whose routes are
// named after their kinds, a RouteGroup and a DNSEndpoint.
func customObjects() []string {
	all := []string{`
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {namespace: infra, name: edge}
spec:
  gatewayClassName: example
  allowedListeners: {namespaces: {from: All}}
  listeners:
  - {name: http, port: 80, protocol: HTTP, hostname: "*.corp.test", allowedRoutes: {namespaces: {from: All}}}
  - {name: tls, port: 443, protocol: TLS, tls: {mode: Passthrough}, hostname: "*.corp.test", allowedRoutes: {namespaces: {from: All}}}
  - {name: udp, port: 53, protocol: UDP, allowedRoutes: {namespaces: {from: All}}}
status: {addresses: [{type: IPAddress, value: 192.0.2.10}]}
`, `
apiVersion: gateway.networking.k8s.io/v1
kind: ListenerSet
metadata: {namespace: team, name: set}
spec:
  parentRef: {name: edge, namespace: infra}
  listeners: [{name: tcp, port: 5432, protocol: TCP}]
status:
  conditions: [{type: Accepted, status: "True", reason: Accepted, message: "", lastTransitionTime: "2026-01-01T00:00:00Z"}]
  listeners:
  - name: tcp
    attachedRoutes: 1
    conditions: [{type: Accepted, status: "True", reason: Accepted, message: "", lastTransitionTime: "2026-01-01T00:00:00Z"}]
`, `
apiVersion: zalando.org/v1
kind: RouteGroup
metadata: {namespace: team, name: rg}
spec:
  hosts: [routegroup.corp.test]
  backends: [{name: none, type: shunt}]
  defaultBackends: [{backendName: none}]
status: {loadBalancer: {routegroup: [{hostname: dnsendpoint.corp.test}]}}
`, `
apiVersion: externaldns.k8s.io/v1alpha1
kind: DNSEndpoint
metadata: {namespace: team, name: records}
spec: {endpoints: [{dnsName: dnsendpoint.corp.test, recordType: A, recordTTL: 60, targets: [192.0.2.20]}]}
`}
	for _, r := range []struct{ kind, parent, hosts, rules string }{
		{"HTTPRoute", "{name: edge, namespace: infra}", "[httproute.corp.test]", ""},
		{"GRPCRoute", "{name: edge, namespace: infra}", "[grpcroute.corp.test]", ""},
		{"TLSRoute", "{name: edge, namespace: infra}", "[tlsroute.corp.test]", "[{backendRefs: [{name: web, port: 80}]}]"},
		{"TCPRoute", "{kind: ListenerSet, name: set}", "", "[{backendRefs: [{name: web, port: 80}]}]"},
		{"UDPRoute", "{name: edge, namespace: infra}", "", "[{backendRefs: [{name: web, port: 80}]}]"},
	} {
		text := fmt.Sprintf("\napiVersion: gateway.networking.k8s.io/v1\nkind: %s\nmetadata:\n  namespace: team\n  name: r\n", r.kind)
		if r.hosts == "" {
			text += fmt.Sprintf("  annotations: {external-dns.kubernetes.io/hostname: %s.corp.test}\n", strings.ToLower(r.kind))
		}
		text += fmt.Sprintf("spec:\n  parentRefs: [%s]\n", r.parent)
		if r.hosts != "" {
			text += "  hostnames: " + r.hosts + "\n"
		}
		if r.rules != "" {
			text += "  rules: " + r.rules + "\n"
		}
		text += fmt.Sprintf("status:\n  parents:\n  - parentRef: %s\n    controllerName: example.com/gateway\n"+
			"    conditions: [{type: Accepted, status: \"True\", reason: Accepted, message: \"\", lastTransitionTime: \"2026-01-01T00:00:00Z\"}]\n", r.parent)
		all = append(all, text)
	}
	return all
}

// routeNames are the names of customObjects that stand at the Gateway.
func routeNames() []string {
	return []string{"httproute.corp.test", "grpcroute.corp.test", "tlsroute.corp.test", "tcproute.corp.test", "udproute.corp.test"}
}

// awaitCustom waits for all that customObjects ask for.
func awaitCustom(t testing.TB, p *process) {
	t.Helper()
	for _, name := range routeNames() {
		p.await(t, name, "A", address(name, "A", "192.0.2.10"))
	}
	p.await(t, "dnsendpoint.corp.test", "A", "NOERROR aa\nanswer: dnsendpoint.corp.test. 60 A 192.0.2.20")
	p.await(t, "routegroup.corp.test", "A", "NOERROR aa\nanswer: routegroup.corp.test. 300 CNAME dnsendpoint.corp.test.\n"+
		"answer: dnsendpoint.corp.test. 60 A 192.0.2.20")
}

var channels = []string{"standard", "experimental"}

func TestCustomKindsFromTheStart(t *testing.T) {
	for _, channel := range channels {
		t.Run(channel, func(t *testing.T) {
			c := kubetest.Start(t, kubetest.Options{CRDs: definitions(t, channel)})
			applyThree(t, c)
			apply(t, c, customObjects()...)
			_, kubeconfig := user(t, c, append(reader(), writesEvents)...)
			p := serve(t, program(t), kubeconfig, "--events")
			p.awaitPage(t, "/readyz", 200, "ready\n", "source gateway-httproute: synced, 1 objects\n", "source crd: synced, 1 objects\n")
			awaitCustom(t, p)
			awaitThree(t, p)
			noComplaint(t, p)

			// A route that no listener takes has an Event that says so.
			apply(t, c, strings.NewReplacer("name: r\n", "name: stray\n", "httproute.corp.test", "stray.other.test").Replace(customObjects()[4]))
			await(t, func() error {
				lines := eventLines(t, c, "team")
				for _, line := range lines {
					if strings.HasPrefix(line, "Warning HTTPRoute team/stray: DNSListener: ") && strings.Contains(line, "gateway infra/edge: no listener has a hostname") {
						return nil
					}
				}
				return fmt.Errorf("the events are\n%s", strings.Join(lines, "\n"))
			})

			// The Gateway's status blinks: its addresses are held, and given up for new ones.
			apply(t, c, gatewayStatus("addresses: null"))
			p.awaitPage(t, "/metrics", 200, fmt.Sprintf("clusterzone_held_names %d\n", len(routeNames())))
			awaitCustom(t, p)
			apply(t, c, gatewayStatus("addresses: [{type: IPAddress, value: 192.0.2.11}]"))
			for _, name := range routeNames() {
				p.await(t, name, "A", address(name, "A", "192.0.2.11"))
			}
			p.awaitPage(t, "/metrics", 200, "clusterzone_held_names 0\n")

			// A Gateway that is deleted does not blink.
			c.Delete(t, "Gateway", "infra", "edge")
			for _, name := range routeNames()[:3] {
				p.await(t, name, "A", missing+"\nEDE 0: gateway-"+strings.TrimSuffix(name, ".corp.test")+
					" team/r: gateway infra/edge: there is no such Gateway; mend the reference or create it")
			}
			expectThree(t, p)
		})
	}
}

// TestDNSEndpointStatusIsWrittenOnRequest: the generation that was taken in
// stands in the status with --crd-status, and without it nothing does.
func TestDNSEndpointStatusIsWrittenOnRequest(t *testing.T) {
	c := kubetest.Start(t, kubetest.Options{CRDs: definitions(t, "standard")})
	apply(t, c, customObjects()...)
	client, err := dynamic.NewForConfig(c.Admin())
	if err != nil {
		t.Fatal(err)
	}
	endpoints := client.Resource(schema.GroupVersionResource{Group: "externaldns.k8s.io", Version: "v1alpha1", Resource: "dnsendpoints"})
	observed := func() string {
		list, err := endpoints.List(t.Context(), metav1.ListOptions{})
		if err != nil || len(list.Items) != 1 {
			t.Fatalf("%d DNSEndpoints, %v", len(list.Items), err)
		}
		generation, _, err := unstructured.NestedInt64(list.Items[0].Object, "status", "observedGeneration")
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprintf("%d of %d", generation, list.Items[0].GetGeneration())
	}
	_, kubeconfig := user(t, c, append(reader(), rbacv1.PolicyRule{
		APIGroups: []string{"externaldns.k8s.io"}, Resources: []string{"dnsendpoints/status"}, Verbs: []string{"patch"},
	})...)
	silent := serve(t, program(t), kubeconfig)
	awaitCustom(t, silent)
	silent.stop(t)
	if got := observed(); got != "0 of 1" {
		t.Errorf("without the flag the status says %s", got)
	}
	p := serve(t, program(t), kubeconfig, "--crd-status")
	await(t, func() error {
		if got := observed(); got != "1 of 1" {
			return fmt.Errorf("the status says %s", got)
		}
		return nil
	})
	awaitCustom(t, p)
}

// gatewayStatus writes the Gateway of customObjects with another status.
func gatewayStatus(status string) string {
	gateway := customObjects()[0]
	return gateway[:strings.Index(gateway, "status:")] + "status: {" + status + "}\n"
}

// noComplaint expects that nothing was logged but news.
func noComplaint(t testing.TB, p *process) {
	t.Helper()
	for line := range strings.Lines(p.log()) {
		if !strings.Contains(line, `"level":"INFO"`) && !strings.Contains(line, "status has lost") {
			t.Errorf("there is a complaint: %s", line)
		}
	}
}

func TestCustomKindsInstalledWhileRunning(t *testing.T) {
	for _, channel := range channels {
		t.Run(channel, func(t *testing.T) {
			c := kubetest.Start(t, kubetest.Options{})
			applyThree(t, c)
			_, kubeconfig := user(t, c, reader()...)
			p := serve(t, program(t), kubeconfig)

			// Without the definitions all else is served, and nobody complains.
			page := p.awaitPage(t, "/readyz", 200, "ready\n", "source ingress: synced, 1 objects\n")
			if strings.Contains(page, "can't be read") {
				t.Errorf("/readyz complains of kinds that nobody asked for:\n%s", page)
			}
			awaitThree(t, p)
			p.expect(t, "httproute.corp.test", "A", missing)
			noComplaint(t, p)

			for _, path := range definitions(t, channel) {
				for _, file := range yamlFiles(t, path) {
					c.Apply(t, file)
				}
			}
			apply(t, c, customObjects()...)
			awaitCustom(t, p)
			expectThree(t, p)
			p.awaitPage(t, "/readyz", 200, "ready\n", "source skipper-routegroup: synced, 1 objects\n")

			// A definition goes, its objects with it, and comes back.
			c.Delete(t, "CustomResourceDefinition", "", "routegroups.zalando.org")
			p.await(t, "routegroup.corp.test", "A", missing)
			p.expect(t, "httproute.corp.test", "A", address("httproute.corp.test", "A", "192.0.2.10"))
			expectThree(t, p)
			for _, file := range yamlFiles(t, definitions(t, channel)[1]) {
				c.Apply(t, file)
			}
			apply(t, c, customObjects()[2])
			awaitCustom(t, p)
		})
	}
}

// yamlFiles returns the contents of a file, or of the files of a folder but for
// the one that is no object of a cluster.
func yamlFiles(t testing.TB, path string) [][]byte {
	t.Helper()
	paths := []string{path}
	if info, err := os.Stat(path); err != nil {
		t.Fatal(err)
	} else if info.IsDir() {
		if paths, err = filepath.Glob(filepath.Join(path, "*.yaml")); err != nil {
			t.Fatal(err)
		}
	}
	var contents [][]byte
	for _, path := range paths {
		if filepath.Base(path) == "kustomization.yaml" {
			continue
		}
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		contents = append(contents, content)
	}
	return contents
}

func TestSourceNamedWithoutItsDefinitionComplains(t *testing.T) {
	c := clean(t)
	applyThree(t, c)
	_, kubeconfig := user(t, c, reader()...)
	p := serve(t, program(t), kubeconfig, "--source=ingress,service,gateway-httproute")
	p.awaitPage(t, "/readyz", 200, "ready\n", "source gateway-httproute: not synced, 0 objects\n", "HTTPRoute can't be read since 20")
	awaitThree(t, p)
}

func TestStatusBlinksAreHeld(t *testing.T) {
	c := clean(t)
	applyThree(t, c)
	_, kubeconfig := user(t, c, reader()...)
	p := serve(t, program(t), kubeconfig)
	awaitThree(t, p)

	blink := func(document string) string {
		return document[:strings.Index(document, "status:")] + "status: {loadBalancer: {ingress: null}}\n"
	}
	apply(t, c, blink(ingress("shop", "web", webName, "")), blink(balancer("shop", "lb", lbName, "")))
	p.awaitPage(t, "/metrics", 200, "clusterzone_held_names 2\n")
	expectThree(t, p)
	out, errs, status := run(t, "explain", webName, "--admin-address="+p.admin)
	if status != 0 || !strings.Contains(out, "held since 20") || !strings.Contains(out, "[held]") {
		t.Errorf("explain doesn't say that the record is held: exit status %d: %s%s", status, out, errs)
	}

	apply(t, c, ingress("shop", "web", webName, "192.0.2.7"))
	p.await(t, webName, "A", address(webName, "A", "192.0.2.7"))
	p.awaitPage(t, "/metrics", 200, "clusterzone_held_names 1\n")
	c.Delete(t, "Service", "shop", "lb")
	p.await(t, lbName, "A", missing)
	p.awaitPage(t, "/metrics", 200, "clusterzone_held_names 0\n")
}
