package sources

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/clusterzone/clusterzone/zones"
)

// The parts of the scenes below: two Gateways of one address each, and routes.
const (
	gatewayEdge = `{apiVersion: gateway.networking.k8s.io/v1, kind: Gateway, metadata: {name: edge, namespace: infra},
 spec: {gatewayClassName: acme, listeners: [{name: http, port: 80, protocol: HTTP, hostname: "*.corp.test", allowedRoutes: {namespaces: {from: All}}}]},
 status: {addresses: [{type: IPAddress, value: 192.0.2.1}], conditions: [{type: Programmed, status: "True"}]}}`
	gatewayInner = `{apiVersion: gateway.networking.k8s.io/v1, kind: Gateway, metadata: {name: inner, namespace: infra},
 spec: {gatewayClassName: acme, listeners: [{name: http, port: 80, protocol: HTTP, hostname: in.corp.test, allowedRoutes: {namespaces: {from: All}}},
  {name: more, port: 81, protocol: HTTP, hostname: "*.corp.test", allowedRoutes: {namespaces: {from: All}}}]},
 status: {addresses: [{type: IPAddress, value: 192.0.2.2}]}}`
	routeAll = `{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: NAME, namespace: team},
 spec: {parentRefs: [PARENTS], hostnames: [HOSTS]},
 status: {parents: [STATUS]}}`
	acceptedBy = `{parentRef: PARENT, controllerName: acme.test/edge, conditions: [{type: Accepted, status: "True"}]}`
	refEdge    = `{name: edge, namespace: infra}`
	refInner   = `{name: inner, namespace: infra}`
	refNowhere = `{name: nowhere, namespace: infra}`
)

// routeOf writes a route. accepted lists the parents that accept it.
func routeOf(name, hosts string, parents []string, accepted ...string) string {
	var statuses []string
	for _, parent := range accepted {
		statuses = append(statuses, strings.ReplaceAll(acceptedBy, "PARENT", parent))
	}
	return strings.NewReplacer("NAME", name, "HOSTS", hosts, "PARENTS", strings.Join(parents, ", "), "STATUS", strings.Join(statuses, ", ")).Replace(routeAll)
}

func newRouteHoldTest(t *testing.T, change func(*Options), unsynced ...Kind) (*feedTest, *countingTranslator) {
	t.Helper()
	wanted := DefaultOptions()
	wanted.Sources = []string{SourceHTTPRoute, SourceRouteGroup, SourceIngress}
	if change != nil {
		change(&wanted)
	}
	tr, err := New(wanted)
	if err != nil {
		t.Fatal(err)
	}
	counting := &countingTranslator{translation: tr}
	ft := newFeedTest(t, func(o *FeedOptions) {
		holding(o)
		o.Translator, o.Needs = counting, tr.Needs()
		o.Table = zones.NewTable(zones.Options{Origins: []zones.Origin{{Name: nameOf(t, "corp.test")}, {Name: nameOf(t, "2.0.192.in-addr.arpa")}}})
	})
	ft.syncAll(unsynced...)
	return ft, counting
}

// setAll sets the objects of YAML texts, and applies them.
func (ft *feedTest) setAll(texts ...string) {
	ft.t.Helper()
	for _, obj := range decodeAll(ft.t, []byte(strings.Join(texts, "\n---\n"))) {
		ft.Set(KindOf(obj), obj)
	}
	ft.later(time.Second)
}

// TestHoldRoutes: what a Gateway's or route's status loses is held; what a spec
// takes away is not.
func TestHoldRoutes(t *testing.T) {
	t.Parallel()
	blank := func(gateway string) string {
		at := strings.Index(gateway, " status: ")
		return gateway[:at] + " status: {addresses: [], conditions: [{type: Programmed, status: \"False\"}]}}"
	}
	one := []string{refEdge}
	both := []string{refEdge, refInner}
	const a, b = `"a.corp.test"`, `"b.corp.test"`
	for _, c := range []struct {
		what          string
		before, after []string // objects
		gone          string   // a Gateway that goes in the second step
		hosts         map[string]string
	}{
		{"a Gateway loses its addresses", []string{routeOf("web", a, one, refEdge)}, []string{blank(gatewayEdge)}, "",
			map[string]string{"a.corp.test": "hit 192.0.2.1"}},
		{"a Gateway is not programmed and keeps its addresses", []string{routeOf("web", a, one, refEdge)},
			[]string{strings.Replace(gatewayEdge, `"True"`, `"False"`, 1)}, "", map[string]string{"a.corp.test": "hit 192.0.2.1"}},
		{"a route is no longer accepted", []string{routeOf("web", a, one, refEdge)},
			[]string{strings.Replace(routeOf("web", a, one, refEdge), `"True"`, `"False"`, 1)}, "", map[string]string{"a.corp.test": "hit 192.0.2.1"}},
		{"a route's status is emptied", []string{routeOf("web", a, one, refEdge)}, []string{routeOf("web", a, one)}, "",
			map[string]string{"a.corp.test": "hit 192.0.2.1"}},
		{"a route with the Gateway's target annotation", []string{strings.Replace(gatewayEdge, "namespace: infra}", "namespace: infra, annotations: {external-dns.kubernetes.io/target: 192.0.2.9}}", 1),
			routeOf("web", a, one, refEdge)}, []string{routeOf("web", a, one)}, "", map[string]string{"a.corp.test": "hit 192.0.2.9"}},
		{"a route with the listeners' names", []string{routeOf("web", "", []string{refInner}, refInner)}, []string{routeOf("web", "", []string{refInner})}, "",
			map[string]string{"in.corp.test": "hit 192.0.2.2"}},
		{"a wildcard that listeners narrow", []string{routeOf("web", `"*.test"`, []string{`{name: inner, namespace: infra, sectionName: http}`}, `{name: inner, namespace: infra, sectionName: http}`)},
			[]string{routeOf("web", `"*.test"`, []string{`{name: inner, namespace: infra, sectionName: http}`})}, "",
			map[string]string{"in.corp.test": "hit 192.0.2.2"}},
		{"one of two Gateways", []string{routeOf("web", a, both, both...)}, []string{blank(gatewayEdge)}, "", map[string]string{"a.corp.test": "hit 192.0.2.2"}},
		{"both Gateways", []string{routeOf("web", a, both, both...)}, []string{blank(gatewayEdge), blank(gatewayInner)}, "",
			map[string]string{"a.corp.test": "hit 192.0.2.1 192.0.2.2"}},
		{"beside a Gateway that never was", []string{routeOf("web", a, []string{refEdge, refNowhere}, refEdge)}, []string{blank(gatewayEdge)}, "",
			map[string]string{"a.corp.test": "hit 192.0.2.1"}},
		{"beside a Gateway that never was, unaccepted", []string{routeOf("web", a, []string{refEdge, refNowhere}, refEdge)}, []string{routeOf("web", a, []string{refEdge, refNowhere})}, "",
			map[string]string{"a.corp.test": "hit 192.0.2.1"}},
		{"a Gateway that is deleted", []string{routeOf("web", a, one, refEdge)}, nil, "edge", map[string]string{"a.corp.test": "nxdomain"}},
		{"a Gateway that is deleted while the other blinks", []string{routeOf("web", a, both, both...)}, []string{blank(gatewayEdge)}, "inner",
			map[string]string{"a.corp.test": "nodata"}},
		{"a listener that takes other hosts now", []string{routeOf("web", a, one, refEdge)}, []string{strings.Replace(gatewayEdge, `"*.corp.test"`, "z.corp.test", 1)}, "",
			map[string]string{"a.corp.test": "nxdomain"}},
		{"a host that goes with the acceptance", []string{routeOf("web", a+", "+b, one, refEdge)}, []string{routeOf("web", b, one)}, "",
			map[string]string{"a.corp.test": "nxdomain", "b.corp.test": "hit 192.0.2.1"}},
		{"a route that was never accepted", []string{routeOf("web", a, one)}, []string{blank(gatewayEdge)}, "", map[string]string{"a.corp.test": "nxdomain"}},
	} {
		ft, _ := newRouteHoldTest(t, nil)
		ft.setAll(gatewayEdge, gatewayInner)
		ft.setAll(c.before...)
		if c.gone != "" {
			ft.Gone(KindGateway, "infra", c.gone)
		}
		if len(c.after) > 0 {
			ft.setAll(c.after...)
		}
		ft.Apply()
		for host, want := range c.hosts {
			ft.want(c.what, host, want)
		}
		if ft.held() == 0 {
			continue
		}
		ft.later(time.Hour)
		for host := range c.hosts {
			if got := ft.answer(host); got != "nodata" && got != "nxdomain" {
				t.Errorf("%s: after the hold %s is %q", c.what, host, got)
			}
		}
		if n := ft.held(); n != 0 {
			t.Errorf("%s: %d names are still held", c.what, n)
		}
	}
}

// TestHoldTouchesOneGateway: a Gateway that blinks costs its routes one
// translation each, and the routes of others none.
func TestHoldTouchesOneGateway(t *testing.T) {
	t.Parallel()
	ft, counting := newRouteHoldTest(t, nil)
	ft.setAll(gatewayEdge, gatewayInner,
		routeOf("one", `"a.corp.test"`, []string{refEdge}, refEdge), routeOf("two", `"b.corp.test"`, []string{refEdge}, refEdge),
		routeOf("three", `"c.corp.test"`, []string{refInner}, refInner))
	counting.n = 0
	ft.setAll(strings.Replace(gatewayEdge, "{type: IPAddress, value: 192.0.2.1}", "", 1))
	if counting.n != 2 {
		t.Errorf("%d translations, want 2", counting.n)
	}
	for host, want := range map[string]string{"a.corp.test": "hit 192.0.2.1", "b.corp.test": "hit 192.0.2.1", "c.corp.test": "hit 192.0.2.2"} {
		ft.want("a Gateway blinks", host, want)
	}
	if n := ft.held(); n != 2 {
		t.Errorf("%d names are held, want 2", n)
	}
}

// TestHoldEndsWithoutListenerSets: a kind that the cluster doesn't have is no
// trouble that a hold waits for.
func TestHoldEndsWithoutListenerSets(t *testing.T) {
	t.Parallel()
	ft, _ := newRouteHoldTest(t, nil, KindListenerSet)
	ft.Synced(KindListenerSet, &Absent{errors.New("no such kind")})
	ft.setAll(gatewayEdge, routeOf("web", `"a.corp.test"`, []string{refEdge}, refEdge))
	ft.setAll(routeOf("web", `"a.corp.test"`, []string{refEdge}))
	ft.want("held", "a.corp.test", "hit 192.0.2.1")
	ft.later(grace)
	ft.want("over", "a.corp.test", "nxdomain")

	ft.Synced(KindListenerSet, nil)
	ft.setAll(routeOf("web", `"a.corp.test"`, []string{refEdge}, refEdge))
	ft.setAll(routeOf("web", `"a.corp.test"`, []string{refEdge}))
	ft.Synced(KindListenerSet, &Absent{errors.New("no such kind")})
	ft.Apply()
	ft.want("held, and the kind has gone", "a.corp.test", "hit 192.0.2.1")
	ft.later(grace)
	ft.want("over again", "a.corp.test", "nxdomain")
}

func TestHoldRouteGroups(t *testing.T) {
	t.Parallel()
	ft, _ := newRouteHoldTest(t, nil)
	const group = `{apiVersion: zalando.org/v1, kind: RouteGroup, metadata: {name: shop, namespace: web}, spec: {hosts: [shop.corp.test]},
 status: {loadBalancer: {routegroup: [{ip: 192.0.2.5}]}}}`
	ft.setAll(group)
	ft.setAll(strings.Replace(group, "{ip: 192.0.2.5}", "", 1))
	ft.want("a RouteGroup blinks", "shop.corp.test", "hit 192.0.2.5")
	ft.later(grace)
	ft.want("the hold is over", "shop.corp.test", "nodata")
}

// reverse returns the answer for the PTR records of 192.0.2.1.
func (ft *feedTest) reverse() string {
	ft.t.Helper()
	var a zones.Answer
	ft.options.Store.Load().Lookup(nameOf(ft.t, "1.2.0.192.in-addr.arpa"), zones.TypePTR, &a)
	text := a.Kind.String()
	for _, entry := range a.Section {
		for _, data := range entry.Set.Data {
			text += " " + data.Text(zones.TypePTR)
		}
	}
	return text
}

func (ft *feedTest) wantReverse(what, want string) {
	ft.t.Helper()
	if got := ft.reverse(); got != want {
		ft.t.Errorf("%s: the PTR answer is %q, want %q", what, got, want)
	}
}

func withReverse(t *testing.T) func(*Options) {
	return func(o *Options) { o.ReverseZones = []zones.Name{nameOf(t, "2.0.192.in-addr.arpa")} }
}

// TestHoldReverse: the PTR records of held addresses are held with them, and
// go name by name.
func TestHoldReverse(t *testing.T) {
	t.Parallel()
	ft, _ := newRouteHoldTest(t, withReverse(t))
	two := shop("shop", "a.corp.test", "192.0.2.1")
	two.Spec.Rules = append(two.Spec.Rules, shop("", "b.corp.test", "").Spec.Rules...)
	ft.Set(KindIngress, two)
	ft.later(time.Second)
	ft.wantReverse("before", "hit a.corp.test. b.corp.test.")
	lost := two.DeepCopy()
	lost.Status.LoadBalancer.Ingress = nil
	ft.Set(KindIngress, lost)
	ft.later(time.Minute)
	ft.wantReverse("in the blink", "hit a.corp.test. b.corp.test.")
	ft.Set(KindIngress, blinked("shop", "b.corp.test"))
	ft.later(time.Minute)
	ft.wantReverse("a host went", "hit b.corp.test.")
	ft.later(grace)
	ft.wantReverse("after", "nxdomain")
}

// TestHoldReverseOfTwo: of two names at one address each has its own hold, and
// so have their PTR records.
func TestHoldReverseOfTwo(t *testing.T) {
	t.Parallel()
	ft, _ := newRouteHoldTest(t, withReverse(t))
	edge := strings.Replace(gatewayEdge, `"*.corp.test"`, "a.corp.test", 1)
	inner := strings.NewReplacer(`"*.corp.test"`, "b.corp.test", "192.0.2.2", "192.0.2.1").Replace(gatewayInner)
	blank := func(gateway string) string {
		return strings.Replace(gateway, "{type: IPAddress, value: 192.0.2.1}", "", 1)
	}
	ft.setAll(edge, inner, routeOf("web", `"a.corp.test", "b.corp.test"`, []string{refEdge, refInner}, refEdge, refInner))
	ft.later(time.Minute)
	ft.wantReverse("before", "hit a.corp.test. b.corp.test.")
	ft.setAll(blank(edge))
	ft.wantReverse("one blinks", "hit a.corp.test. b.corp.test.")
	ft.later(time.Minute)
	ft.setAll(blank(inner))
	ft.wantReverse("both do", "hit a.corp.test. b.corp.test.")
	ft.later(grace - time.Minute)
	ft.wantReverse("the first is over", "hit b.corp.test.")
	ft.want("the first is over", "a.corp.test", "nodata")
	ft.want("the first is over", "b.corp.test", "hit 192.0.2.1")
	ft.later(2 * time.Second) // lets the serial step
	if got := ft.nextWake(); got < 30*time.Second {
		t.Errorf("the feed wakes in %s for nothing", got)
	}
	ft.later(time.Minute)
	ft.wantReverse("both are over", "nxdomain")
}
