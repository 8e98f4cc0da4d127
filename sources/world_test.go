package sources

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/clusterzone/clusterzone/zones"
)

// nosy is a translation that reads its neighbours in every way there is, as
// the label "reads" of its object says, and puts all that it saw into one
// Skipped. Objects labelled "panics" make it panic.
type nosy struct{}

func (nosy) Ingress(obj *networkingv1.Ingress, beside neighbours) zones.Object {
	seen := obj.Labels["v"]
	if obj.Labels["panics"] != "" {
		panic("nosy")
	}
	if obj.Spec.IngressClassName == nil {
		seen += " class=" + beside.defaultClass()
	}
	return saw(zones.Owner{Source: "ingress", Namespace: obj.Namespace, Name: obj.Name}, seen)
}

func (nosy) Service(obj *corev1.Service, beside neighbours) zones.Object {
	seen := []string{obj.Labels["v"]}
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
	return saw(zones.Owner{Source: "service", Namespace: obj.Namespace, Name: obj.Name}, strings.Join(seen, " "))
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
	switch d.IntN(6) {
	case 0:
		ingress := &networkingv1.Ingress{ObjectMeta: d.meta(d.pick("i1", "i2"))}
		if d.IntN(2) == 0 {
			ingress.Spec.IngressClassName = new(string)
		}
		return KindIngress, ingress
	case 1:
		service := &corev1.Service{ObjectMeta: d.meta(d.pick("s1", "s2", "s3"))}
		service.Labels["reads"] = d.pick("slices", "pods", "nodes", "nothing")
		service.Spec.Selector = map[string]string{"app": d.pick("a", "b")}
		return KindService, service
	case 2:
		class := &networkingv1.IngressClass{ObjectMeta: d.meta(d.pick("c1", "c2", "c3"))}
		class.Namespace = ""
		class.Annotations = map[string]string{networkingv1.AnnotationIsDefaultIngressClass: d.pick("true", "false")}
		class.CreationTimestamp.Time = time.Unix(int64(d.IntN(2)), 0)
		return KindIngressClass, class
	case 3:
		slice := &discoveryv1.EndpointSlice{ObjectMeta: d.meta(d.pick("e1", "e2", "e3"))}
		slice.Labels[discoveryv1.LabelServiceName] = d.pick("s1", "s2", "s3", "")
		slice.Endpoints = []discoveryv1.Endpoint{{
			Addresses: []string{d.pick("192.0.2.1", "192.0.2.2")},
			TargetRef: &corev1.ObjectReference{Kind: "Pod", Name: d.pick("p1", "p2")},
		}}
		return KindEndpointSlice, slice
	case 4:
		pod := &corev1.Pod{ObjectMeta: d.meta(d.pick("p1", "p2", "p3"))}
		pod.Labels["app"] = d.pick("a", "b", "c")
		pod.Spec.NodeName = d.pick("n1", "n2")
		pod.Status.HostIP = d.pick("198.51.100.1", "198.51.100.2")
		return KindPod, pod
	default:
		node := &corev1.Node{ObjectMeta: d.meta(d.pick("n1", "n2"))}
		node.Namespace = ""
		node.Status.Addresses = []corev1.NodeAddress{{Address: d.pick("203.0.113.1", "203.0.113.2")}}
		return KindNode, node
	}
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
		for step := range 400 {
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
	for key := range w.ingresses {
		owners = append(owners, ownerOf(KindIngress, key))
	}
	for key := range w.services {
		owners = append(owners, ownerOf(KindService, key))
	}
	return owners
}

func translateNosy(w *world, owner zones.Owner, note bool) (string, bool) {
	beside := w.reader(owner.Namespace)
	var seen zones.Object
	switch obj := w.object(owner).(type) {
	case *networkingv1.Ingress:
		seen = nosy{}.Ingress(obj, beside)
	case *corev1.Service:
		seen = nosy{}.Service(obj, beside)
	default:
		w.reads.replace(owner, reading{})
		return "", false
	}
	if note {
		w.reads.replace(owner, beside.reading())
	}
	return seen.Skipped[0].Message, true
}

// TestWorldTouchesOnlyTheConcerned holds that one event costs what it concerns.
func TestWorldTouchesOnlyTheConcerned(t *testing.T) {
	t.Parallel()
	w := newWorld()
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
