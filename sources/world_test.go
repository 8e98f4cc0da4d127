package sources

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	routegroupv1 "github.com/szuecs/routegroup-client/apis/zalando.org/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/clusterzone/clusterzone/zones"
)

// nosy is a translation that reads its neighbours in every way there is, as
// the label "reads" of its object says, and puts all that it saw into one
// Skipped. Objects labelled "panics" make it panic.
type nosy struct{}

func (nosy) Translate(obj metav1.Object, beside neighbours) zones.Object {
	labels := obj.GetLabels()
	if labels["panics"] != "" {
		panic("nosy")
	}
	seen := append([]string{labels["v"]}, look(obj, beside)...)
	return saw(zones.Owner{Source: sourceOf(KindOf(obj)), Namespace: obj.GetNamespace(), Name: obj.GetName()}, strings.Join(seen, " "))
}

// look returns what a translation of obj sees beside it.
func look(obj metav1.Object, beside neighbours) (seen []string) {
	switch obj := obj.(type) {
	case *networkingv1.Ingress:
		if obj.Spec.IngressClassName == nil {
			seen = append(seen, "class="+beside.defaultClass())
		}
	case *corev1.Service:
		return lookFromService(obj, beside)
	case *corev1.Pod:
		if node := beside.node(obj.Spec.NodeName); node != nil {
			seen = append(seen, node.Name, node.Status.Addresses[0].Address)
		}
	case *corev1.Node:
		seen = append(seen, obj.Status.Addresses[0].Address)
	case *gatewayv1.HTTPRoute:
		return lookFromRoute(obj.Namespace, obj.Spec.ParentRefs, beside)
	case *gatewayv1.GRPCRoute:
		return lookFromRoute(obj.Namespace, obj.Spec.ParentRefs, beside)
	case *gatewayv1.TLSRoute:
		return lookFromRoute(obj.Namespace, obj.Spec.ParentRefs, beside)
	case *gatewayv1.TCPRoute:
		return lookFromRoute(obj.Namespace, obj.Spec.ParentRefs, beside)
	case *gatewayv1.UDPRoute:
		return lookFromRoute(obj.Namespace, obj.Spec.ParentRefs, beside)
	case *routegroupv1.RouteGroup:
		seen = append(seen, obj.Spec.Hosts...)
	case *DNSEndpoint:
		for _, record := range obj.Spec.Endpoints {
			seen = append(seen, record.Targets...)
		}
	}
	return seen
}

func lookFromService(obj *corev1.Service, beside neighbours) (seen []string) {
	switch obj.Labels["reads"] {
	case "slices":
		for _, slice := range beside.slices(obj.Namespace, obj.Name) {
			seen = append(seen, slice.Name)
			for _, endpoint := range slice.Endpoints {
				seen = append(seen, endpoint.Addresses...)
				if pod := beside.pod(obj.Namespace, endpoint.TargetRef.Name); pod != nil {
					seen = append(seen, pod.Name, pod.Labels["v"], pod.Status.HostIP)
				}
			}
		}
		seen = append(seen, fmt.Sprint(beside.unreadable(KindPod)))
	case "pods":
		for _, pod := range beside.podsMatching(obj.Namespace, obj.Spec.Selector) {
			seen = append(seen, pod.Name, pod.Labels["v"])
			if node := beside.node(pod.Spec.NodeName); node != nil {
				seen = append(seen, node.Name, node.Status.Addresses[0].Address)
			}
		}
	case "nodes":
		for _, node := range beside.nodes() {
			seen = append(seen, node.Name, node.Status.Addresses[0].Address)
		}
	}
	return seen
}

// lookFromRoute looks at the parents of a route, at the Namespaces of both, and
// at the Gateways of ListenerSets.
func lookFromRoute(namespace string, refs []gatewayv1.ParentReference, beside neighbours) (seen []string) {
	if ns := beside.namespace(namespace); ns != nil {
		seen = append(seen, "ns="+ns.Labels["v"])
	}
	gateway := func(namespace, name string) {
		if gw := beside.gateway(namespace, name); gw != nil {
			seen = append(seen, gw.Name, fmt.Sprint(gw.Generation), gw.Status.Addresses[0].Value)
		}
	}
	for _, ref := range refs {
		if *ref.Kind == "Gateway" {
			gateway(string(*ref.Namespace), string(ref.Name))
			continue
		}
		if set := beside.listenerSet(string(*ref.Namespace), string(ref.Name)); set != nil {
			seen = append(seen, set.Name)
			gateway(set.Namespace, string(set.Spec.ParentRef.Name))
		}
	}
	return append(seen, fmt.Sprint(beside.unreadable(KindGateway)))
}

func saw(owner zones.Owner, seen string) zones.Object {
	return zones.Object{Owner: owner, Skipped: []zones.Skipped{{Owner: owner, Message: seen}}}
}

// dice makes random objects of a small universe.
type dice struct{ *rand.Rand }

func (d dice) pick(from ...string) string { return from[d.IntN(len(from))] }

func (d dice) meta(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Namespace: d.pick("red", "blue"), Name: name, ResourceVersion: fmt.Sprint(d.IntN(1000)),
		Labels: map[string]string{"v": d.pick("1", "2")},
	}
}

func (d dice) object() (Kind, metav1.Object) {
	kind := kinds[d.IntN(len(kinds))].Kind
	obj := d.objectOf(kind)
	if info, _ := Info(kind); !info.Namespaced {
		obj.SetNamespace("")
	}
	return kind, obj
}

func (d dice) objectOf(kind Kind) metav1.Object {
	switch kind {
	case KindIngress:
		ingress := &networkingv1.Ingress{ObjectMeta: d.meta(d.pick("i1", "i2"))}
		if d.IntN(2) == 0 {
			ingress.Spec.IngressClassName = new(string)
		}
		return ingress
	case KindService:
		service := &corev1.Service{ObjectMeta: d.meta(d.pick("s1", "s2", "s3"))}
		service.Labels["reads"] = d.pick("slices", "pods", "nodes", "nothing")
		service.Spec.Selector = map[string]string{"app": d.pick("a", "b")}
		return service
	case KindIngressClass:
		class := &networkingv1.IngressClass{ObjectMeta: d.meta(d.pick("c1", "c2", "c3"))}
		class.Annotations = map[string]string{networkingv1.AnnotationIsDefaultIngressClass: d.pick("true", "false")}
		class.CreationTimestamp.Time = time.Unix(int64(d.IntN(2)), 0)
		return class
	case KindEndpointSlice:
		slice := &discoveryv1.EndpointSlice{ObjectMeta: d.meta(d.pick("e1", "e2", "e3"))}
		slice.Labels[discoveryv1.LabelServiceName] = d.pick("s1", "s2", "s3", "")
		slice.Endpoints = []discoveryv1.Endpoint{{
			Addresses: []string{d.pick("192.0.2.1", "192.0.2.2")},
			TargetRef: &corev1.ObjectReference{Kind: "Pod", Name: d.pick("p1", "p2")},
		}}
		return slice
	case KindPod:
		pod := &corev1.Pod{ObjectMeta: d.meta(d.pick("p1", "p2", "p3"))}
		pod.Labels["app"] = d.pick("a", "b", "c")
		pod.Spec.NodeName = d.pick("n1", "n2")
		pod.Status.HostIP = d.pick("198.51.100.1", "198.51.100.2")
		return pod
	case KindNode:
		node := &corev1.Node{ObjectMeta: d.meta(d.pick("n1", "n2"))}
		node.Status.Addresses = []corev1.NodeAddress{{Address: d.pick("203.0.113.1", "203.0.113.2")}}
		return node
	case KindNamespace:
		return &corev1.Namespace{ObjectMeta: d.meta(d.pick("red", "blue"))}
	}
	return d.customOf(kind)
}

func (d dice) customOf(kind Kind) metav1.Object {
	meta := d.meta(d.pick("x1", "x2"))
	meta.Generation = int64(d.IntN(2))
	switch kind {
	case KindGateway:
		return &gatewayv1.Gateway{ObjectMeta: meta, Status: gatewayv1.GatewayStatus{
			Addresses: []gatewayv1.GatewayStatusAddress{{Value: d.pick("192.0.2.7", "192.0.2.8")}},
			Listeners: []gatewayv1.ListenerStatus{{AttachedRoutes: int32(d.IntN(100))}},
		}}
	case KindListenerSet:
		return &gatewayv1.ListenerSet{ObjectMeta: meta, Spec: gatewayv1.ListenerSetSpec{
			ParentRef: gatewayv1.ParentGatewayReference{Name: gatewayv1.ObjectName(d.pick("x1", "x2"))},
		}}
	case KindHTTPRoute:
		return &gatewayv1.HTTPRoute{ObjectMeta: meta, Spec: gatewayv1.HTTPRouteSpec{CommonRouteSpec: d.parents()}}
	case KindGRPCRoute:
		return &gatewayv1.GRPCRoute{ObjectMeta: meta, Spec: gatewayv1.GRPCRouteSpec{CommonRouteSpec: d.parents()}}
	case KindTLSRoute:
		return &gatewayv1.TLSRoute{ObjectMeta: meta, Spec: gatewayv1.TLSRouteSpec{CommonRouteSpec: d.parents()}}
	case KindTCPRoute:
		return &gatewayv1.TCPRoute{ObjectMeta: meta, Spec: gatewayv1.TCPRouteSpec{CommonRouteSpec: d.parents()}}
	case KindUDPRoute:
		return &gatewayv1.UDPRoute{ObjectMeta: meta, Spec: gatewayv1.UDPRouteSpec{CommonRouteSpec: d.parents()}}
	case KindRouteGroup:
		return &routegroupv1.RouteGroup{ObjectMeta: meta, Spec: routegroupv1.RouteGroupSpec{Hosts: []string{d.pick("h1", "h2")}}}
	case KindDNSEndpoint:
		return &DNSEndpoint{ObjectMeta: meta, Spec: DNSEndpointSpec{Endpoints: []*DNSEndpointRecord{{Targets: []string{d.pick("t1", "t2")}}}}}
	}
	panic("no object of kind " + kind)
}

// parents are references to one or two Gateways or ListenerSets.
func (d dice) parents() gatewayv1.CommonRouteSpec {
	var spec gatewayv1.CommonRouteSpec
	for range 1 + d.IntN(2) {
		kind := gatewayv1.Kind(d.pick("Gateway", "ListenerSet"))
		namespace := gatewayv1.Namespace(d.pick("red", "blue"))
		spec.ParentRefs = append(spec.ParentRefs, gatewayv1.ParentReference{
			Kind: &kind, Namespace: &namespace, Name: gatewayv1.ObjectName(d.pick("x1", "x2")),
		})
	}
	return spec
}

// TestWorldTwin plays random events, translates only whom the world names, and
// compares with a world made anew from the objects that there are, after each.
func TestWorldTwin(t *testing.T) {
	t.Parallel()
	for seed := range uint64(20) {
		d := dice{rand.New(rand.NewPCG(seed, 7))}
		w := newWorld()
		have := make(map[zones.Owner]string)
		truth := make(map[eventKey]metav1.Object)
		problems := make(map[Kind]error)
		for step := range 600 {
			touched := make(ownerSet)
			kind, obj := d.object()
			key := objectKey{obj.GetNamespace(), obj.GetName()}
			switch d.IntN(8) {
			case 0, 1:
				w.gone(kind, key, touched)
				delete(truth, eventKey{kind, key})
			case 2:
				var problem error
				if d.IntN(2) == 0 {
					problem = fmt.Errorf("problem %d", d.IntN(2))
				}
				w.setProblem(kind, problem, touched)
				problems[kind] = problem
			default:
				w.set(obj, touched)
				truth[eventKey{kind, key}] = obj
			}
			for owner := range touched {
				delete(have, owner)
				if text, ok := translateNosy(w, owner, true); ok {
					have[owner] = text
				}
			}
			anew := newWorld()
			for _, obj := range truth {
				anew.set(obj, make(ownerSet))
			}
			for kind, problem := range problems {
				anew.setProblem(kind, problem, make(ownerSet))
			}
			want := make(map[zones.Owner]string)
			for _, owner := range everyOwner(anew) {
				want[owner], _ = translateNosy(anew, owner, false)
			}
			if fmt.Sprint(have) != fmt.Sprint(want) {
				t.Fatalf("seed %d, step %d: after %s %s/%s\nincremental %v\nfull        %v",
					seed, step, kind, obj.GetNamespace(), obj.GetName(), have, want)
			}
		}
	}
}

func everyOwner(w *world) []zones.Owner {
	var owners []zones.Owner
	for _, info := range kinds {
		if info.Source == "" {
			continue
		}
		for key := range w.keys(info.Kind) {
			owners = append(owners, zones.Owner{Source: info.Source, Namespace: key.namespace, Name: key.name})
		}
	}
	return owners
}

func translateNosy(w *world, owner zones.Owner, note bool) (string, bool) {
	obj := w.object(owner)
	if obj == nil {
		w.reads.replace(owner, reading{})
		return "", false
	}
	beside := w.reader(owner.Namespace)
	seen := nosy{}.Translate(obj, beside)
	if note {
		w.reads.replace(owner, beside.reading())
	}
	return seen.Skipped[0].Message, true
}

// TestWorldTouchesOnlyTheConcerned holds that one event costs what it concerns.
func TestWorldTouchesOnlyTheConcerned(t *testing.T) {
	t.Parallel()
	w := newWorld(SourceIngress, SourceService, SourceHTTPRoute) // Pods and Nodes are neighbours only
	service := func(namespace, name, reads string) {
		w.set(&corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: map[string]string{"reads": reads}},
			Spec:       corev1.ServiceSpec{Selector: map[string]string{"app": name}},
		}, make(ownerSet))
	}
	service("red", "headless", "slices")
	service("red", "local", "pods")
	service("red", "plain", "nothing")
	service("red", "node", "nodes")
	service("blue", "local", "pods")
	ingress := &networkingv1.Ingress{ObjectMeta: metav1.ObjectMeta{Namespace: "red", Name: "classless"}}
	w.set(ingress, make(ownerSet))
	slice := func(pod string) *discoveryv1.EndpointSlice {
		return &discoveryv1.EndpointSlice{
			ObjectMeta: metav1.ObjectMeta{Namespace: "red", Name: "e", Labels: map[string]string{discoveryv1.LabelServiceName: "headless"}},
			Endpoints:  []discoveryv1.Endpoint{{Addresses: []string{"192.0.2.1"}, TargetRef: &corev1.ObjectReference{Name: pod}}},
		}
	}
	w.set(slice("p"), make(ownerSet))
	pod := func(name, app string) *corev1.Pod {
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "red", Name: name, Labels: map[string]string{"app": app}}}
	}
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}, Status: corev1.NodeStatus{Addresses: []corev1.NodeAddress{{Address: "203.0.113.1"}}}}
	heartbeat := node.DeepCopy()
	heartbeat.ResourceVersion = "2"
	heartbeat.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady}}
	cordoned := node.DeepCopy()
	cordoned.Spec.Unschedulable = true
	class := &networkingv1.IngressClass{ObjectMeta: metav1.ObjectMeta{Name: "nginx", Annotations: map[string]string{networkingv1.AnnotationIsDefaultIngressClass: "true"}}}
	gateway := func(name, address string, routes int32) *gatewayv1.Gateway {
		return &gatewayv1.Gateway{ObjectMeta: metav1.ObjectMeta{Namespace: "infra", Name: name}, Status: gatewayv1.GatewayStatus{
			Addresses: []gatewayv1.GatewayStatusAddress{{Value: address}},
			Listeners: []gatewayv1.ListenerStatus{{AttachedRoutes: routes}},
		}}
	}
	route := func(name string, kind gatewayv1.Kind, parent string) *gatewayv1.HTTPRoute {
		infra := gatewayv1.Namespace("infra")
		return &gatewayv1.HTTPRoute{ObjectMeta: metav1.ObjectMeta{Namespace: "red", Name: name}, Spec: gatewayv1.HTTPRouteSpec{
			CommonRouteSpec: gatewayv1.CommonRouteSpec{ParentRefs: []gatewayv1.ParentReference{
				{Kind: &kind, Namespace: &infra, Name: gatewayv1.ObjectName(parent)},
			}},
		}}
	}
	set := &gatewayv1.ListenerSet{ObjectMeta: metav1.ObjectMeta{Namespace: "infra", Name: "set"}}
	set.Spec.ParentRef.Name = "inner"
	for _, obj := range []metav1.Object{
		gateway("edge", "192.0.2.1", 0), set, route("direct", "Gateway", "edge"), route("attached", "ListenerSet", "set"),
	} {
		w.set(obj, make(ownerSet))
	}
	for _, owner := range everyOwner(w) {
		translateNosy(w, owner, true)
	}

	for _, step := range []struct {
		what string
		do   func(ownerSet)
		want string
	}{
		{"a Pod that an endpoint refers to", func(s ownerSet) { w.set(pod("p", "x"), s) }, "service red/headless"},
		{"the same again", func(s ownerSet) { w.set(pod("p", "x"), s) }, ""},
		{"a Pod that a selector matches", func(s ownerSet) { w.set(pod("q", "local"), s) }, "service red/local"},
		{"a Pod that no longer matches", func(s ownerSet) { w.set(pod("q", "z"), s) }, "service red/local"},
		{"a Pod that nobody reads", func(s ownerSet) { w.set(pod("r", "z"), s) }, ""},
		{"a Node", func(s ownerSet) { w.set(node, s) }, "service red/node"},
		{"a Node's heartbeat", func(s ownerSet) { w.set(heartbeat, s) }, ""},
		{"a Node is cordoned", func(s ownerSet) { w.set(cordoned, s) }, "service red/node"},
		{"a slice", func(s ownerSet) { w.set(slice("q"), s) }, "service red/headless"},
		{"a slice goes", func(s ownerSet) { w.gone(KindEndpointSlice, objectKey{"red", "e"}, s) }, "service red/headless"},
		{"a default class", func(s ownerSet) { w.set(class, s) }, "ingress red/classless"},
		{"Pods can't be read", func(s ownerSet) { w.setProblem(KindPod, fmt.Errorf("forbidden"), s) }, "service red/headless"},
		{"an Ingress written without a change", func(s ownerSet) { w.set(ingress.DeepCopy(), s) }, ""},
		{"a Gateway moves", func(s ownerSet) { w.set(gateway("edge", "192.0.2.2", 0), s) }, "gateway-httproute red/direct"},
		{"a Gateway counts its routes", func(s ownerSet) { w.set(gateway("edge", "192.0.2.2", 7), s) }, ""},
		{"a Gateway that a ListenerSet waits for", func(s ownerSet) { w.set(gateway("inner", "192.0.2.3", 0), s) }, "gateway-httproute red/attached"},
		{"a ListenerSet goes", func(s ownerSet) { w.gone(KindListenerSet, objectKey{"infra", "set"}, s) }, "gateway-httproute red/attached"},
		{"a route", func(s ownerSet) { w.set(route("new", "Gateway", "edge"), s) }, "gateway-httproute red/new"},
		{"a Namespace without routes", func(s ownerSet) { w.set(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "blue"}}, s) }, ""},
		{"a Service goes", func(s ownerSet) { w.gone(KindService, objectKey{"red", "plain"}, s) }, "service red/plain"},
	} {
		touched := make(ownerSet)
		step.do(touched)
		var got []string
		for owner := range touched {
			got = append(got, owner.String())
		}
		if strings.Join(got, ", ") != step.want {
			t.Errorf("%s: touched %q, want %q", step.what, got, step.want)
		}
	}
}
