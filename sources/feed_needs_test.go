package sources

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/clusterzone/clusterzone/zones"
)

// needsOf prints the needs of sources, one line each.
func needsOf(t *testing.T, o Options) string {
	t.Helper()
	tr, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, need := range tr.Needs() {
		lines = append(lines, fmt.Sprintf("%s %v %v %t", need.Source, need.Kinds, need.Optional, need.IfThere))
	}
	return strings.Join(lines, "\n")
}

func TestNeeds(t *testing.T) {
	t.Parallel()
	const byDefault = `ingress [Ingress] [] true
service [Service EndpointSlice Pod Node] [] true
gateway-httproute [HTTPRoute Gateway ListenerSet Namespace] [ListenerSet] true
gateway-grpcroute [GRPCRoute Gateway ListenerSet Namespace] [ListenerSet] true
gateway-tlsroute [TLSRoute Gateway ListenerSet Namespace] [ListenerSet] true
gateway-tcproute [TCPRoute Gateway ListenerSet Namespace] [ListenerSet] true
gateway-udproute [UDPRoute Gateway ListenerSet Namespace] [ListenerSet] true
skipper-routegroup [RouteGroup] [] true
crd [DNSEndpoint] [] true`
	if got := needsOf(t, DefaultOptions()); got != byDefault {
		t.Errorf("by default:\n%s", got)
	}
	named := Options{Sources: []string{"pod,node", "crd"}}
	if got, want := needsOf(t, named), "pod [Pod Node] [] false\nnode [Node] [] false\ncrd [DNSEndpoint] [] false"; got != want {
		t.Errorf("by name:\n%s", got)
	}
}

// absent is what a cluster says of a kind whose definition it doesn't have.
var absent = &Absent{errors.New("no such kind")}

// routes is a feed that reads Ingresses and HTTPRoutes.
func routes(t *testing.T, ifThere bool) *feedTest {
	return newFeedTest(t, func(o *FeedOptions) {
		o.Needs = []Need{
			{Source: SourceIngress, Kinds: []Kind{KindIngress}, IfThere: ifThere},
			{Source: SourceHTTPRoute, Kinds: []Kind{KindHTTPRoute, KindGateway, KindListenerSet}, Optional: []Kind{KindListenerSet}, IfThere: ifThere},
		}
	})
}

// TestFeedRestsWithoutDefinitions: a source that nobody named is off without
// complaint where its kind isn't there, and comes on with it.
func TestFeedRestsWithoutDefinitions(t *testing.T) {
	t.Parallel()
	ft := routes(t, true)
	ft.Set(KindIngress, shop("shop", "shop.corp.test", "192.0.2.1"))
	ft.Synced(KindIngress, nil)
	for _, kind := range []Kind{KindHTTPRoute, KindGateway, KindListenerSet} {
		ft.Synced(kind, absent)
	}
	ft.Apply()
	ft.want("without the definitions", "shop.corp.test", "hit 192.0.2.1")
	off := ft.Status().Sources[1]
	if off.Synced || !off.Kinds[0].Absent || off.Kinds[0].Problem != nil {
		t.Errorf("the status is %+v", off)
	}
	if text := ft.log.String(); strings.Contains(text, "ERROR") || !strings.Contains(text, "INFO") || strings.Count(text, "their sources rest") != 1 {
		t.Errorf("the log says\n%s", text)
	}
	ft.Synced(KindHTTPRoute, nil)
	ft.Apply()
	if on := ft.Status().Sources[1]; !on.Synced || on.Kinds[0].Absent || !strings.Contains(ft.log.String(), "can be read now") {
		t.Errorf("installed later: %+v\n%s", on, ft.log)
	}
}

// TestFeedMissesWhatWasNamed: of the kinds of a source that was asked for, only
// the optional ones may be absent without complaint; and they turn nothing off.
func TestFeedMissesWhatWasNamed(t *testing.T) {
	t.Parallel()
	ft := routes(t, false)
	ft.Synced(KindIngress, nil)
	ft.Synced(KindHTTPRoute, nil)
	ft.Synced(KindGateway, absent)
	ft.Synced(KindListenerSet, absent)
	ft.Apply()
	source := ft.Status().Sources[1]
	if !source.Synced || source.Kinds[1].Problem == nil || source.Kinds[2].Problem != nil || !source.Kinds[2].Absent {
		t.Errorf("the status is %+v", source)
	}
	if text := ft.log.String(); !strings.Contains(text, `level=ERROR msg="can't be read: no such kind" kinds=Gateway `) {
		t.Errorf("the log says\n%s", text)
	}
	loud := routes(t, false)
	loud.Synced(KindHTTPRoute, absent)
	loud.Apply()
	if got := loud.Status().Sources[1].Kinds[0]; got.Problem == nil || got.Absent {
		t.Errorf("the status is %+v", got)
	}
	forbidden := routes(t, true)
	forbidden.Synced(KindHTTPRoute, errForbidden)
	forbidden.Apply()
	if got := forbidden.Status().Sources[1].Kinds[0]; got.Problem == nil || got.Absent {
		t.Errorf("a refusal is no absence: %+v", got)
	}
}

// TestFeedForgetsSavedStateWithoutDefinition: what was saved of a kind that the
// cluster no longer has is over; of one that can't be read it is not.
func TestFeedForgetsSavedStateWithoutDefinition(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "state")
	start := func() *feedTest {
		return newFeedTest(t, func(o *FeedOptions) {
			o.StateFile = path
			o.Needs = []Need{{Source: SourceHTTPRoute, Kinds: []Kind{KindHTTPRoute, KindGateway}, IfThere: true}, {Source: SourceIngress, Kinds: []Kind{KindIngress}}}
		})
	}
	first := start()
	first.Set(KindGateway, edge(1, "192.0.2.1"))
	first.Set(KindHTTPRoute, routed(1, 1, "shop.corp.test"))
	first.syncAll()
	first.Apply()
	first.want("before", "shop.corp.test", "hit 192.0.2.1")
	first.saveState(true)

	next := start()
	next.Synced(KindIngress, nil)
	next.Synced(KindHTTPRoute, &Unreachable{absent})
	next.Apply()
	next.want("not sure yet", "shop.corp.test", "hit 192.0.2.1")
	next.Synced(KindHTTPRoute, errForbidden)
	next.Apply()
	next.want("forbidden", "shop.corp.test", "hit 192.0.2.1")
	next.Synced(KindHTTPRoute, absent)
	next.Apply()
	next.want("the definition is gone", "shop.corp.test", "nxdomain")
	if !next.Status().Saved.IsZero() {
		t.Error("the status still names the file")
	}
}

// TestFeedNeighboursAreNoOwners: Pods and Nodes that are read for Services only
// are translated for nobody, and wait for nothing.
func TestFeedNeighboursAreNoOwners(t *testing.T) {
	t.Parallel()
	ft := newFeedTest(t, nil)
	ft.syncAll()
	ft.Set(KindPod, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "p"}})
	ft.Set(KindNode, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}})
	ft.Apply()
	if len(ft.dirty) != 0 {
		t.Errorf("due for ever: %v", ft.dirty)
	}
	own := newFeedTest(t, func(o *FeedOptions) {
		o.Needs = []Need{{Source: SourceNode, Kinds: []Kind{KindNode}}}
		o.Translator = nosy{}
	})
	own.syncAll()
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}, Status: corev1.NodeStatus{Addresses: []corev1.NodeAddress{{Address: "192.0.2.1"}}}}
	own.Set(KindNode, node)
	own.Apply()
	found := false
	own.View(func(table *zones.Table, object func(zones.Owner) metav1.Object) {
		for owner := range table.Owners(SourceNode) {
			found = object(owner) == metav1.Object(node)
		}
	})
	if !found {
		t.Error("a Node is no owner where the source node is wanted")
	}
}

// TestNeighboursOfAbsentKindsAreNotMissed: who has no Gateway API needs no right
// to read Namespaces for it, and hears nothing of it.
func TestNeighboursOfAbsentKindsAreNotMissed(t *testing.T) {
	t.Parallel()
	ft := newFeedTest(t, func(o *FeedOptions) {
		o.Needs = []Need{
			{Source: SourceIngress, Kinds: []Kind{KindIngress}, IfThere: true},
			{Source: SourceHTTPRoute, Kinds: []Kind{KindHTTPRoute, KindGateway, KindNamespace}, IfThere: true},
		}
	})
	ft.Synced(KindHTTPRoute, absent)
	ft.Synced(KindNamespace, errors.New("namespaces is forbidden"))
	ft.Synced(KindIngress, nil)
	ft.Apply()
	status := ft.Status()
	if !status.Ready {
		t.Errorf("waiting for %s", status.Waiting)
	}
	if namespaces := status.Sources[1].Kinds[2]; namespaces.Problem != nil || namespaces.Absent {
		t.Errorf("the status of Namespaces is %+v", namespaces)
	}
	if strings.Contains(ft.log.String(), "level=ERROR") {
		t.Errorf("logged: %s", ft.log.String())
	}
	ft.Synced(KindHTTPRoute, nil)
	ft.Apply()
	if namespaces := ft.Status().Sources[1].Kinds[2]; namespaces.Problem == nil {
		t.Errorf("with HTTPRoutes there, nothing is said of Namespaces")
	}
}
