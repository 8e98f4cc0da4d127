package sources

import (
	"fmt"
	"log/slog"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/clusterzone/clusterzone/zones"
)

// counting is a translation that counts what it is asked for, by source.
type counting struct {
	translation
	made map[string]int
}

func (c counting) Translate(obj metav1.Object, beside neighbours) zones.Object {
	c.made[sourceOf(KindOf(obj))]++
	return c.translation.Translate(obj, beside)
}

// edge is Gateway n, with one listener open to all Namespaces.
func edge(n int, address string) *gatewayv1.Gateway {
	all := gatewayv1.NamespacesFromAll
	gw := &gatewayv1.Gateway{ObjectMeta: metav1.ObjectMeta{Namespace: "infra", Name: fmt.Sprint("gw", n)}}
	gw.Spec.Listeners = []gatewayv1.Listener{{
		Name: "http", Port: 80, Protocol: gatewayv1.HTTPProtocolType,
		AllowedRoutes: &gatewayv1.AllowedRoutes{Namespaces: &gatewayv1.RouteNamespaces{From: &all}},
	}}
	gw.Status.Addresses = []gatewayv1.GatewayStatusAddress{{Value: address}}
	return gw
}

// routed is route i of Gateway n, accepted by it.
func routed(n, i int, host string) *gatewayv1.HTTPRoute {
	infra := gatewayv1.Namespace("infra")
	ref := gatewayv1.ParentReference{Namespace: &infra, Name: gatewayv1.ObjectName(fmt.Sprint("gw", n))}
	route := &gatewayv1.HTTPRoute{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: fmt.Sprintf("r%d-%d", n, i)}}
	route.Spec.ParentRefs = []gatewayv1.ParentReference{ref}
	route.Spec.Hostnames = []gatewayv1.Hostname{gatewayv1.Hostname(host)}
	route.Status.Parents = []gatewayv1.RouteParentStatus{{
		ParentRef: ref, ControllerName: "c.test/c",
		Conditions: []metav1.Condition{{Type: "Accepted", Status: metav1.ConditionTrue}},
	}}
	return route
}

// routesFeed is a feed of gateways times routes HTTPRoutes that has published
// them, and what it has translated since.
func routesFeed(tb testing.TB, gateways, routes int) (*Feed, counting) {
	tb.Helper()
	options := DefaultOptions()
	options.Sources = []string{SourceHTTPRoute}
	translator, err := New(options)
	if err != nil {
		tb.Fatal(err)
	}
	origin, err := zones.ParseName("corp.test")
	if err != nil {
		tb.Fatal(err)
	}
	counted := counting{translator, make(map[string]int)}
	feed, err := NewFeed(FeedOptions{
		Table: zones.NewTable(zones.Options{Origins: []zones.Origin{{Name: origin}}}),
		Store: new(zones.Store), Translator: counted, Needs: translator.Needs(),
		From: "the test", Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		tb.Fatal(err)
	}
	for n := range gateways {
		feed.Set(KindGateway, edge(n, "192.0.2.1"))
		for i := range routes {
			feed.Set(KindHTTPRoute, routed(n, i, fmt.Sprintf("r%d-%d.corp.test", n, i)))
		}
	}
	for _, kind := range Kinds(translator.Needs()) {
		feed.Synced(kind, nil)
	}
	feed.Apply()
	if got := counted.made[SourceHTTPRoute]; got != gateways*routes {
		tb.Fatalf("%d routes were translated at the start, want %d", got, gateways*routes)
	}
	clear(counted.made)
	return feed, counted
}

// TestFeedTranslatesWhatChanged: of 10 000 routes on 50 Gateways one route's
// change costs one translation, one Gateway's those of its routes.
func TestFeedTranslatesWhatChanged(t *testing.T) {
	t.Parallel()
	feed, counted := routesFeed(t, 50, 200)
	text := func(host string) string { return answerOf(t, feed.options.Store.Load(), host) }
	counts := edge(7, "192.0.2.1")
	counts.Status.Listeners = []gatewayv1.ListenerStatus{{Name: "http", AttachedRoutes: 200}}
	for _, step := range []struct {
		what         string
		kind         Kind
		obj          metav1.Object
		translations int
		host, answer string
	}{
		{"one route", KindHTTPRoute, routed(7, 7, "moved.corp.test"), 1, "moved.corp.test", "hit 192.0.2.1"},
		{"the same route again", KindHTTPRoute, routed(7, 7, "moved.corp.test"), 0, "r7-7.corp.test", "nxdomain"},
		{"one Gateway", KindGateway, edge(7, "192.0.2.7"), 200, "r7-8.corp.test", "hit 192.0.2.7"},
		{"nobody else's", KindGateway, edge(7, "192.0.2.7"), 0, "r8-8.corp.test", "hit 192.0.2.1"},
		{"a Gateway that moves back", KindGateway, edge(7, "192.0.2.1"), 200, "r7-8.corp.test", "hit 192.0.2.1"},
		{"a Gateway that counts its routes", KindGateway, counts, 0, "r7-8.corp.test", "hit 192.0.2.1"},
		{"a new Gateway without routes", KindGateway, edge(50, "192.0.2.50"), 0, "r8-8.corp.test", "hit 192.0.2.1"},
	} {
		clear(counted.made)
		feed.Set(step.kind, step.obj)
		feed.Apply()
		if got := counted.made[SourceHTTPRoute]; got != step.translations {
			t.Errorf("%s: %d translations, want %d", step.what, got, step.translations)
		}
		if got := text(step.host); got != step.answer {
			t.Errorf("%s: %s is %q, want %q", step.what, step.host, got, step.answer)
		}
	}
}

// BenchmarkFeedRoutes measures one event among 10 000 HTTPRoutes on 50 Gateways,
// from Set to the published snapshot.
func BenchmarkFeedRoutes(b *testing.B) {
	feed, counted := routesFeed(b, 50, 200)
	measure := func(name string, event func(i int) (Kind, metav1.Object)) {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			clear(counted.made)
			for i := 0; b.Loop(); i++ {
				feed.Set(event(i))
				feed.Apply()
			}
			b.ReportMetric(float64(counted.made[SourceHTTPRoute])/float64(b.N), "translations/op")
		})
	}
	measure("route", func(i int) (Kind, metav1.Object) {
		return KindHTTPRoute, routed(7, 7, fmt.Sprintf("v%d.corp.test", i%2))
	})
	measure("gateway", func(i int) (Kind, metav1.Object) {
		return KindGateway, edge(7, fmt.Sprintf("192.0.2.%d", 10+i%2))
	})
}
