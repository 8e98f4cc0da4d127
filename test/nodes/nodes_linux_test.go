package nodes_test

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/clusterzone/clusterzone/test/daemon"
	"github.com/clusterzone/clusterzone/test/kubetest"
)

const unread = "can't be read since"

// TestNodes is the life of three nodes, as docs/operations.md and docs/mirrors.md
// promise it: each answers by itself; one that is cut off goes on with what it knows,
// and gives up the Lease of the mirrors, which another one takes; without an API
// server all go on, also over a restart with a saved state; and all catch up.
func TestNodes(t *testing.T) {
	path := apart(t)
	if path == "" {
		return
	}
	nodes := newNodes(t, "node1", "node2", "node3")
	c := kubetest.Start(t, kubetest.Options{APIServerFlags: []string{"--bind-address=0.0.0.0"}})
	kubeconfig := reachable(t, c)
	ingress(t, c, "web", "192.0.2.1")
	for _, n := range nodes {
		n.path = path
		n.flags = []string{
			"--kubeconfig=" + kubeconfig, "--zone=corp.test", "--source=ingress", "--state-file=" + n.state,
			"--provider=inmemory", "--txt-owner-id=one", "--mirror-lease-namespace=default", "--interval=1s",
		}
		n.start(t)
	}
	for _, n := range nodes {
		n.await(t, "web.corp.test", "NOERROR 192.0.2.1")
		n.awaitReady(t, 200, unread, false)
	}
	leader := awaitLeader(t, nodes)
	others := without(nodes, leader)

	t.Logf("%s, which writes the mirrors, is cut off", leader.name)
	leader.setCable(t, false)
	ingress(t, c, "web", "192.0.2.11")
	ingress(t, c, "new", "192.0.2.2")
	for _, n := range others {
		n.await(t, "web.corp.test", "NOERROR 192.0.2.11")
		n.await(t, "new.corp.test", "NOERROR 192.0.2.2")
	}
	leader.expect(t, "web.corp.test", "NOERROR 192.0.2.1")
	leader.expect(t, "new.corp.test", "NXDOMAIN")
	leader.awaitReady(t, 200, unread, true)
	next := awaitLeader(t, others)
	t.Logf("%s writes the mirrors now", next.name)
	if writing, err := leader.writes(); err != nil || writing {
		t.Errorf("%s writes still: %t, %v", leader.name, writing, err)
	}
	leader.expect(t, "web.corp.test", "NOERROR 192.0.2.1")

	t.Logf("%s is back", leader.name)
	leader.setCable(t, true)
	leader.await(t, "web.corp.test", "NOERROR 192.0.2.11")
	leader.await(t, "new.corp.test", "NOERROR 192.0.2.2")
	leader.awaitReady(t, 200, unread, false)
	awaitLeader(t, nodes)

	t.Log("the API server is cut off")
	if err := raise(bridgeName, false); err != nil {
		t.Fatal(err)
	}
	ingress(t, c, "late", "192.0.2.3")
	for _, n := range nodes {
		n.awaitReady(t, 200, unread, true)
		n.expect(t, "web.corp.test", "NOERROR 192.0.2.11")
		n.expect(t, "late.corp.test", "NXDOMAIN")
	}
	saved, bare := nodes[0], nodes[1]
	saved.Stop(t)
	saved.start(t)
	saved.await(t, "web.corp.test", "NOERROR 192.0.2.11")
	saved.expect(t, "late.corp.test", "NXDOMAIN")
	saved.awaitReady(t, 200, "serving the state saved at", true)
	bare.Stop(t)
	bare.start(t, "--state-file=")
	bare.await(t, "web.corp.test", "SERVFAIL (14)")
	bare.await(t, "late.corp.test", "SERVFAIL (14)")
	bare.awaitReady(t, 503, "waiting for", true)

	t.Log("the API server is back")
	if err := raise(bridgeName, true); err != nil {
		t.Fatal(err)
	}
	for _, n := range nodes {
		n.await(t, "late.corp.test", "NOERROR 192.0.2.3")
		n.expect(t, "web.corp.test", "NOERROR 192.0.2.11")
		n.awaitReady(t, 200, unread, false)
		n.awaitReady(t, 200, "serving the state saved at", false)
	}
	awaitLeader(t, nodes)
}

// reachable writes a kubeconfig for the nodes, whose API server has the bridge's
// address, and a certificate for that of its loopback.
func reachable(t *testing.T, c *kubetest.Cluster) string {
	t.Helper()
	user := c.User(t, "node",
		rbacv1.PolicyRule{APIGroups: []string{"networking.k8s.io"}, Resources: []string{"ingresses"}, Verbs: []string{"list", "watch"}},
		rbacv1.PolicyRule{APIGroups: []string{"coordination.k8s.io"}, Resources: []string{"leases"}, Verbs: []string{"get", "create", "update"}})
	at, err := url.Parse(user.Host)
	if err != nil {
		t.Fatal(err)
	}
	user.ServerName = at.Hostname()
	user.Host = "https://" + net.JoinHostPort(serverIP.String(), at.Port())
	return c.Kubeconfig(t, user)
}

// ingress applies an Ingress for NAME.corp.test.
func ingress(t *testing.T, c *kubetest.Cluster, name string, ip string) {
	t.Helper()
	c.Apply(t, fmt.Appendf(nil, `
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {namespace: shop, name: %[1]s}
spec:
  defaultBackend: {service: {name: web, port: {number: 80}}}
  rules: [{host: %[1]s.corp.test}]
status: {loadBalancer: {ingress: [{ip: %[2]s}]}}
`, name, ip))
}

// awaitLeader returns the one of the nodes that writes the mirrors, once it is one.
func awaitLeader(t *testing.T, nodes []*node) (leader *node) {
	t.Helper()
	daemon.Await(t, func() error {
		var names []string
		for _, n := range nodes {
			writing, err := n.writes()
			if err != nil {
				return err
			}
			if writing {
				leader, names = n, append(names, n.name)
			}
		}
		if len(names) != 1 {
			return errors.New("the mirrors are written by " + strings.Join(append(names, "nobody else"), ", "))
		}
		return nil
	})
	return leader
}

func without(nodes []*node, one *node) (others []*node) {
	for _, n := range nodes {
		if n != one {
			others = append(others, n)
		}
	}
	return others
}
