package plugin

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/miekg/dns"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/clusterzone/clusterzone/test/daemon"
)

func deadKubeconfig(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(path, []byte(deadCluster), 0o600); err != nil {
		t.Fatal(err)
	}
	return "kubeconfig " + path
}

// Whoever can't read a cluster yet answers by what was known before, zone by
// zone, also when it is replaced again.
func TestHandOver(t *testing.T) {
	t.Parallel()
	const want = "NOERROR 192.0.2.10 192.0.2.11"
	first := readyHandler(t, nil)
	second := started(t, []*Handler{first}, nil, deadKubeconfig(t))
	third := started(t, []*Handler{second}, nil, deadKubeconfig(t))
	for i, h := range []*Handler{second, third} {
		if got := ask(t, h, "shop.corp.test", dns.TypeA); got != want || !h.Ready() {
			t.Errorf("after reload %d the answer is %s, ready %t", i+1, got, h.Ready())
		}
	}
	alone := started(t, nil, nil, deadKubeconfig(t))
	if got := ask(t, alone, "shop.corp.test", dns.TypeA); got != "SERVFAIL" || alone.Ready() {
		t.Errorf("without anything before it the answer is %s, ready %t", got, alone.Ready())
	}
}

// What was inherited goes when the handler's own objects were read.
func TestOwnObjectsTakeOver(t *testing.T) {
	t.Parallel()
	first := readyHandler(t, nil)
	second := started(t, []*Handler{first}, nil, objectsFile, "ttl 77")
	daemon.Await(t, func() error {
		if second.inherited.Load() != nil {
			return errors.New("the inherited snapshot is still there")
		}
		// Another commit may come between the two.
		if second.snapshot(second.pipeline.Origins[0].Name) != second.pipeline.Store.Load() {
			return errors.New("the handler doesn't answer from its own objects")
		}
		return nil
	})
	if got := ask(t, second, "shop.corp.test", dns.TypeA); got != "NOERROR 192.0.2.10 192.0.2.11" || !second.Ready() {
		t.Errorf("the answer is %s, ready %t", got, second.Ready())
	}
}

// An instance that could not be started is ended by the one that goes on.
func TestFailedReload(t *testing.T) {
	t.Parallel()
	first := readyHandler(t, nil)
	second := built(t, deadKubeconfig(t))
	second.start([]*Handler{first}, nil)
	first.stopSuccessors()
	second.parts.Wait() // all that it began has ended
	if got := ask(t, first, "shop.corp.test", dns.TypeA); got != "NOERROR 192.0.2.10 192.0.2.11" {
		t.Errorf("the old handler says %s", got)
	}
}

// During a reload two handlers have the same metrics: the newer one's are served,
// and stay when the old one ends.
func TestMetrics(t *testing.T) {
	first := readyHandler(t, nil)
	second := started(t, []*Handler{first}, nil, objectsFile)
	first.stop()
	families, err := prometheus.DefaultGatherer.Gather()
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]int{}
	for _, family := range families {
		found[family.GetName()] = len(family.GetMetric())
	}
	for _, name := range []string{"coredns_clusterzone_ready", "coredns_clusterzone_zone_serial", "coredns_clusterzone_blocks"} {
		if found[name] != 1 {
			t.Errorf("%s has %d values", name, found[name])
		}
	}
	second.stop()
	if families, err = prometheus.DefaultGatherer.Gather(); err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		if family.GetName() == "coredns_clusterzone_ready" {
			t.Error("the metrics stay when the last handler has ended")
		}
	}
}
