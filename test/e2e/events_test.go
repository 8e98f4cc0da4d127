package e2e_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/clusterzone/clusterzone/test/kubetest"
)

// writesEvents lets a user write Events.
var writesEvents = rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"events"}, Verbs: []string{"create", "patch"}}

// eventLines returns the Events of a namespace, one line each, sorted.
func eventLines(t testing.TB, c *kubetest.Cluster, namespace string) []string {
	t.Helper()
	client, err := kubernetes.NewForConfig(c.Admin())
	if err != nil {
		t.Fatal(err)
	}
	list, err := client.CoreV1().Events(namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, e := range list.Items {
		lines = append(lines, fmt.Sprintf("%s %s %s/%s: %s: %s", e.Type, e.InvolvedObject.Kind, e.InvolvedObject.Namespace,
			e.InvolvedObject.Name, e.Reason, e.Message))
	}
	slices.Sort(lines)
	return lines
}

// applyFaults applies an Ingress that is right; one that loses the name to it,
// whichever is older; one with a bad host name; and one that a filter leaves out.
func applyFaults(t testing.TB, c *kubetest.Cluster) {
	t.Helper()
	apply(t, c, ingress("east", "web", webName, "192.0.2.1"), ingress("west", "web", webName, "192.0.2.2"), `
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {namespace: west, name: typo, annotations: {external-dns.kubernetes.io/hostname: shop..corp.test}}
spec: {defaultBackend: {service: {name: web, port: {number: 80}}}}
status: {loadBalancer: {ingress: [{ip: 192.0.2.3}]}}
`, `
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {namespace: west, name: lab, labels: {env: lab}}
spec: {defaultBackend: {service: {name: web, port: {number: 80}}}, rules: [{host: lab.corp.test}]}
status: {loadBalancer: {ingress: [{ip: 192.0.2.4}]}}
`)
}

const labFilter = "--label-filter=env!=lab"

func TestEventsTellAuthorsWhatTheyCanMend(t *testing.T) {
	c := clean(t)
	applyFaults(t, c)
	_, kubeconfig := user(t, c, append(reader(), writesEvents)...)
	p := serve(t, program(t), kubeconfig, "--events", labFilter)
	p.await(t, webName, "A", address(webName, "A", "192.0.2.1"))

	want := []string{
		"Warning Ingress west/typo: DNSInvalidName: ",
		"Warning Ingress west/web: DNSConflict: web.corp.test belongs to ingress east/web",
	}
	var lines []string
	await(t, func() error {
		if lines = eventLines(t, c, "west"); len(lines) < len(want) {
			return fmt.Errorf("the events are\n%s", strings.Join(lines, "\n"))
		}
		return nil
	})
	// A winner and what a filter leaves out have none: their authors can mend
	// nothing. At the end of the program all that it has to say is said.
	p.stop(t)
	lines = append(eventLines(t, c, "east"), eventLines(t, c, "west")...)
	ok := len(lines) == len(want)
	for i := range want {
		ok = ok && strings.HasPrefix(lines[i], want[i])
	}
	if !ok {
		t.Errorf("the events are\n%s\nwant\n%s", strings.Join(lines, "\n"), strings.Join(want, "\n"))
	}
}

func TestEventsThatAreForbiddenHurtNothing(t *testing.T) {
	c := clean(t)
	applyFaults(t, c)
	_, kubeconfig := user(t, c, reader()...)
	p := serve(t, program(t), kubeconfig, "--events", labFilter)
	p.await(t, webName, "A", address(webName, "A", "192.0.2.1"))
	apply(t, c, ingress("east", "web", webName, "192.0.2.11"))
	p.await(t, webName, "A", address(webName, "A", "192.0.2.11"))
	c.Delete(t, "Ingress", "east", "web")
	p.await(t, webName, "A", address(webName, "A", "192.0.2.2"))
	p.awaitPage(t, "/readyz", 200, "ready\n")
	if lines := eventLines(t, c, corev1.NamespaceAll); slices.ContainsFunc(lines, func(line string) bool { return strings.Contains(line, ": DNS") }) {
		t.Errorf("there are events that nobody may write:\n%s", strings.Join(lines, "\n"))
	}
}
