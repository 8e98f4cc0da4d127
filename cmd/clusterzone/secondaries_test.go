package main

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/clusterzone/clusterzone/sources"
	"github.com/clusterzone/clusterzone/zones"
)

// TestFlattenedNamesReachSecondaries: other addresses of an outside target step
// the serial, and the step holds them; TTLs that count down do nothing.
func TestFlattenedNamesReachSecondaries(t *testing.T) {
	t.Parallel()
	d, _ := startable(t, "--zone=corp.test", "--source=ingress", "--flatten", "--allow-transfer=10.0.0.0/8", "--resolver=none")
	d.pipeline.feed.Set(sources.KindIngress, &networkingv1.Ingress{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"},
		Spec:       networkingv1.IngressSpec{Rules: []networkingv1.IngressRule{{Host: "shop.corp.test"}}},
		Status:     networkingv1.IngressStatus{LoadBalancer: networkingv1.IngressLoadBalancerStatus{Ingress: []networkingv1.IngressLoadBalancerIngress{{Hostname: "lb.example"}}}},
	})
	d.pipeline.feed.Synced(sources.KindIngress, nil)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 2)
	go func() { ended <- d.secondaries.run(ctx) }()
	go func() { ended <- d.pipeline.feed.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		for range 2 {
			if err := <-ended; err != nil {
				t.Error(err)
			}
		}
	})
	corp, target := name(t, "corp.test"), name(t, "lb.example")
	addresses := func() string {
		edition := d.secondaries.Journal.Edition(corp)
		if edition == nil {
			return "no edition"
		}
		for set := range edition.RRSets() {
			if set.Name == name(t, "shop.corp.test") {
				return set.Data[0].Text(set.Type)
			}
		}
		return ""
	}
	tick := time.NewTicker(5 * time.Millisecond)
	t.Cleanup(tick.Stop)
	await := func(want string) uint32 {
		t.Helper()
		for limit := time.Now().Add(20 * time.Second); addresses() != want; <-tick.C {
			if time.Now().After(limit) {
				t.Fatalf("secondaries get %q, want %q", addresses(), want)
			}
		}
		return d.secondaries.Journal.Edition(corp).Serial()
	}
	page := func() string {
		recorder := httptest.NewRecorder()
		d.metricsHandler().ServeHTTP(recorder, httptest.NewRequest(http.MethodGet, "/metrics", nil))
		return recorder.Body.String()
	}
	publish := func(ttl uint32, address string) {
		data, err := zones.ParseRdata(zones.TypeA, address)
		if err != nil {
			t.Fatal(err)
		}
		set := &zones.RRSet{Name: target, Type: zones.TypeA, TTL: ttl, Data: []zones.Rdata{data}}
		d.secondaries.SwapTargets(zones.NewTargets().With([]*zones.Target{{Name: target, A: zones.Family{Known: true, Set: set}, AAAA: zones.Family{Known: true}}}, nil))
	}
	await("")
	if !strings.Contains(page(), "clusterzone_transfer_missing_names 1") {
		t.Errorf("the metrics are\n%s", page())
	}
	publish(60, "198.51.100.1")
	first := await("198.51.100.1")
	publish(30, "198.51.100.1")
	publish(60, "198.51.100.2")
	second := await("198.51.100.2")
	edition := d.secondaries.Journal.Edition(corp)
	if steps, ok := edition.Since(first); !ok || len(steps) != 1 || len(steps[0].Removed) != 1 || len(steps[0].Added) != 1 {
		t.Errorf("steps from %d to %d: %v", first, second, steps)
	}
	if !strings.Contains(page(), "clusterzone_transfer_missing_names 0") || !strings.Contains(page(), "clusterzone_journal_steps 2") {
		t.Errorf("the metrics are\n%s", page())
	}
}

// TestNobodyTransfers: without rules there is no journal, and no cost of one.
func TestNobodyTransfers(t *testing.T) {
	t.Parallel()
	d, _ := startable(t, "--zone=corp.test", "--source=ingress")
	if d.secondaries != nil || len(d.dns.Options.AllowTransfer) > 0 {
		t.Errorf("secondaries: %v, rules: %v", d.secondaries, d.dns.Options.AllowTransfer)
	}
}
