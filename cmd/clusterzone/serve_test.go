package main

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/clusterzone/clusterzone/sources"
	"github.com/clusterzone/clusterzone/zones"
)

func name(t *testing.T, text string) zones.Name {
	t.Helper()
	n, err := zones.ParseHost(text)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// TestWildcardAtApexIsLogged: such a wildcard catches what clients make with a
// search domain. One deeper down does not, and a change of its addresses is no
// news.
func TestWildcardAtApexIsLogged(t *testing.T) {
	t.Parallel()
	apex, wild, deep := name(t, "corp.test"), name(t, "*.corp.test"), name(t, "*.dev.corp.test")
	set := func(n zones.Name) *zones.RRSet { return &zones.RRSet{Name: n, Type: zones.TypeA} }
	var out bytes.Buffer
	log := slog.New(slog.NewTextHandler(&out, nil))
	logChanges(log, []zones.Change{
		{Zone: apex, New: set(deep)},
		{Zone: apex, Old: set(wild), New: set(wild)},
		{Zone: apex, Old: set(wild)},
	}, &zones.Snapshot{})
	if out.Len() > 0 {
		t.Errorf("logged without need: %s", out.String())
	}
	logChanges(log, []zones.Change{{Zone: apex, New: set(wild)}}, &zones.Snapshot{})
	if strings.Count(out.String(), "a wildcard stands at the zone's apex") != 1 {
		t.Errorf("logged: %q", out.String())
	}
}

// TestWildcardsThatZonesBeginWithAreLogged: whatever brought them, once for each
// zone, and of many zones a few.
func TestWildcardsThatZonesBeginWithAreLogged(t *testing.T) {
	t.Parallel()
	options := zones.Options{Origins: []zones.Origin{{Name: name(t, "plain.test")}}}
	for i := range 12 {
		options.Origins = append(options.Origins, zones.Origin{Name: name(t, fmt.Sprintf("wild-%02d.test", i))})
	}
	table := zones.NewTable(options)
	for i, origin := range options.Origins {
		host := origin.Name.Wildcard()
		if i == 0 {
			host = name(t, "*.dev.plain.test")
		}
		table.Put(zones.Object{
			Owner:  zones.Owner{Source: "ingress", Namespace: "web", Name: fmt.Sprint(i)},
			Claims: []zones.Claim{{Name: host, Type: zones.TypeA, Targets: []string{"192.0.2.1"}}, {Name: host, Type: zones.TypeAAAA, Targets: []string{"2001:db8::1"}}},
		})
	}
	table.Settle()
	table.SetReady(true, "")
	var out bytes.Buffer
	logApexWildcards(slog.New(slog.NewTextHandler(&out, nil)), table.Commit(time.Unix(1_700_000_000, 0)).Snapshot)
	log := out.String()
	if strings.Count(log, "a wildcard stands at the zone's apex") != 8 || !strings.Contains(log, "name=*.wild-00.test") ||
		!strings.Contains(log, "apexes of more zones\" zones=4") || strings.Contains(log, "plain.test") {
		t.Errorf("logged:\n%s", log)
	}
}

// TestSkippedAreLoggedOnce: what an author can mend one by one, the rest as a
// count.
func TestSkippedAreLoggedOnce(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	logSkipped(slog.New(slog.NewTextHandler(&out, nil)), []zones.Skipped{
		{Owner: zones.Owner{Source: "ingress", Namespace: "shop", Name: "a"}, Asked: "a..b", Reason: zones.ReasonInvalidName, Message: "it is no name"},
		{Owner: zones.Owner{Source: "ingress", Namespace: "shop", Name: "b"}, Reason: zones.ReasonClass, Message: "class x"},
		{Owner: zones.Owner{Source: "ingress", Namespace: "shop", Name: "c"}, Reason: zones.ReasonClass, Message: "class x"},
	})
	text := out.String()
	for _, want := range []string{`level=WARN msg=skipped object="ingress shop/a" name=a..b`, "class=2"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing in %s", want, text)
		}
	}
	if strings.Contains(text, "shop/b") {
		t.Errorf("what a filter leaves out is logged one by one: %s", text)
	}
}

// TestHoldAddresses: the flag decides whether the last good addresses of an
// object stay when its status has lost them.
func TestHoldAddresses(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]bool{"": true, "--hold-addresses=1h": true, "--hold-addresses=0": false} {
		d, _ := startable(t, append(strings.Fields(args), "--zone=corp.test", "--source=ingress")...)
		feed := d.pipeline.feed
		full := &networkingv1.Ingress{
			ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"},
			Spec:       networkingv1.IngressSpec{Rules: []networkingv1.IngressRule{{Host: "shop.corp.test"}}},
			Status:     networkingv1.IngressStatus{LoadBalancer: networkingv1.IngressLoadBalancerStatus{Ingress: []networkingv1.IngressLoadBalancerIngress{{IP: "192.0.2.10"}}}},
		}
		empty := full.DeepCopy()
		empty.Status = networkingv1.IngressStatus{}
		feed.Set(sources.KindIngress, full)
		feed.Synced(sources.KindIngress, nil)
		feed.Apply()
		feed.Set(sources.KindIngress, empty)
		feed.Apply()
		x := d.pipeline.explain(name(t, "shop.corp.test"), zones.TypeA)
		if got := len(x.Records) == 1; got != want {
			t.Errorf("%q: held is %t: %s", args, got, x.Detail)
		}
		var text strings.Builder
		writeExplanation(&text, &x.Explanation)
		if strings.Contains(text.String(), "held since") != want {
			t.Errorf("%q: explain prints\n%s", args, text.String())
		}
	}
}
