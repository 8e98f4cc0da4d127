package fronts_test

import (
	"strings"
	"testing"
)

// clusterDNS is the CoreDNS of a cluster with the page's block. In a cluster the Pod
// has an address of its own; here the block is told which it has.
func clusterDNS(t *testing.T) front {
	t.Helper()
	return corefile("CoreDNS", corednsIP, bound(block(t, "Corefile"), corednsIP))
}

func bound(text, ip string) string {
	return strings.Replace(text, "    errors\n", "    errors\n    bind "+ip+"\n", 1)
}

// nodeLocal is a NodeLocal DNSCache, whose block says itself what it binds.
func nodeLocal(t *testing.T) front {
	t.Helper()
	return corefile("NodeLocal DNSCache", nodeLocalIP, block(t, "nodelocal"))
}

func TestCoreDNS(t *testing.T) {
	if !apart(t, clusterzone, coredns) {
		return
	}
	o := startOutside(t)
	serve(t)
	for _, f := range []front{clusterDNS(t), nodeLocal(t)} {
		t.Run(f.name, func(t *testing.T) {
			examine(t, f.ip, func(t *testing.T) { t.Helper(); f.start(t) })
		})
	}
	o.leaks(t)
}

// The server itself says what all fronts must.
func TestDirectly(t *testing.T) {
	if !apart(t, clusterzone) {
		return
	}
	startOutside(t)
	serve(t)
	for _, q := range questions(t) {
		q.check(t, oursIP)
	}
}
