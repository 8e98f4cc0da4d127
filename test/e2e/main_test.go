package e2e_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/clusterzone/clusterzone/test/daemon"
	"github.com/clusterzone/clusterzone/test/kubetest"
)

// root is the top folder of the repository, seen from this package.
const root = "../.."

// shared is the API server of all tests.
var shared kubetest.Shared

// binDir is where the program is built.
var binDir string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "clusterzone-e2e-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	binDir = dir
	code := shared.Main(m)
	if err := os.RemoveAll(dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	os.Exit(code)
}

var buildProgram = sync.OnceValues(func() (string, error) { return daemon.Build(root, binDir, "clusterzone", daemon.Race) })

// buildPlain builds without the race detector, for benchmarks.
var buildPlain = sync.OnceValues(func() (string, error) { return daemon.Build(root, binDir, "clusterzone-plain", false) })

// program returns the path of the program under test.
func program(t testing.TB) string {
	t.Helper()
	path, err := buildProgram()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// clean returns the shared cluster without what earlier tests applied, and with
// its API server running.
func clean(t testing.TB) *kubetest.Cluster {
	t.Helper()
	c := shared.Cluster(t)
	c.Reset(t)
	return c
}

// reader is a ClusterRole's rules for the program: what README grants.
func reader() []rbacv1.PolicyRule {
	return slices.Concat(
		reads("networking.k8s.io", "ingresses", "ingressclasses"),
		reads("discovery.k8s.io", "endpointslices"),
		reads("", "services", "pods", "nodes", "namespaces"),
		reads("gateway.networking.k8s.io", "gateways", "listenersets", "httproutes", "grpcroutes", "tlsroutes", "tcproutes", "udproutes"),
		reads("zalando.org", "routegroups"),
		reads("externaldns.k8s.io", "dnsendpoints"),
	)
}

// reads lets a user list and watch resources of an API group.
func reads(group string, resources ...string) []rbacv1.PolicyRule {
	return []rbacv1.PolicyRule{{APIGroups: []string{group}, Resources: resources, Verbs: []string{"list", "watch"}}}
}

// user returns the flag that makes the program a user with those rights and no
// others. The user has the test's name.
func user(t testing.TB, c *kubetest.Cluster, rules ...rbacv1.PolicyRule) (name, flag string) {
	t.Helper()
	name = strings.ToLower(strings.ReplaceAll(t.Name(), "/", "-"))
	return name, "--kubeconfig=" + c.Kubeconfig(t, c.User(t, name, rules...))
}
