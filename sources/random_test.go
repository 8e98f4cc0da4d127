package sources

import (
	"errors"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/clusterzone/clusterzone/zones"
)

// An oddity makes random objects out of texts that are odd in every way that the
// rules know of, and one of the fuzzer's own.
type oddity struct {
	*rand.Rand
	texts []string
}

func newOddity(seed uint64, own string) *oddity {
	return &oddity{rand.New(rand.NewPCG(seed, 1)), []string{
		own, "", "a.test", "A.TEST.", "b.a.test", "*.a.test", "a.*.test", "bücher.test", "xn--bcher-kva.test", "10.0.0.1", "10.0.0.256",
		"::ffff:10.0.0.2", "2001:db8::1", "64:ff9b::1.2.3.4", "fe80::1%e", "a b.test", ".", "a..b", "None", "true", "false", "public", "private", "HostIP",
		"NodeExternalIP", "annotation-only", "60", "0", "-1", "1h", strings.Repeat("x", 64) + ".test", strings.Repeat("y.", 126) + "z", "node-1", "pod-1", "dns-controller",
	}}
}

func (d *oddity) text() string { return d.texts[d.IntN(len(d.texts))] }

func (d *oddity) list(most int) []string {
	list := make([]string, d.IntN(most+1))
	for i := range list {
		list[i] = d.text()
	}
	return list
}

func (d *oddity) rarely() bool { return d.IntN(4) == 0 }

func (d *oddity) meta(name string) metav1.ObjectMeta {
	meta := metav1.ObjectMeta{Name: name, Namespace: "default", Labels: map[string]string{}, Annotations: map[string]string{}}
	for _, key := range knownKeys() {
		if d.IntN(3) == 0 {
			prefix := []string{prefixCurrent, prefixCurrent, prefixAlpha}[d.IntN(3)]
			meta.Annotations[prefix+key] = strings.Join(d.list(4), []string{",", " ", "\n"}[d.IntN(3)])
		}
	}
	for _, key := range []string{keyController, keyExclude} { // else nothing would ever be published
		if !d.rarely() {
			delete(meta.Annotations, prefixCurrent+key)
			delete(meta.Annotations, prefixAlpha+key)
		}
	}
	for _, key := range []string{mateAnnotation, moleculeAnnotation, kopsExternal, kopsInternal, classAnnotation} {
		if d.rarely() {
			meta.Annotations[key] = d.text()
		}
	}
	if d.rarely() {
		meta.Labels[moleculeLabel] = moleculeValue
	}
	return meta
}

func (d *oddity) ingress() *networkingv1.Ingress {
	ing := &networkingv1.Ingress{ObjectMeta: d.meta("web")}
	for _, host := range d.list(4) {
		ing.Spec.Rules = append(ing.Spec.Rules, networkingv1.IngressRule{Host: host})
	}
	ing.Spec.TLS = []networkingv1.IngressTLS{{Hosts: d.list(3)}, {Hosts: d.list(2)}}
	for range d.IntN(4) {
		ing.Status.LoadBalancer.Ingress = append(ing.Status.LoadBalancer.Ingress, networkingv1.IngressLoadBalancerIngress{IP: d.text(), Hostname: d.text()})
	}
	if d.rarely() {
		class := d.text()
		ing.Spec.IngressClassName = &class
	}
	return ing
}

func (d *oddity) service() *corev1.Service {
	svc := &corev1.Service{ObjectMeta: d.meta("svc")}
	svc.Spec.Type = []corev1.ServiceType{"", "ClusterIP", "NodePort", "NodePort", "LoadBalancer", "ExternalName", "Other"}[d.IntN(7)]
	svc.Spec.ClusterIP = []string{"", "None", "10.96.0.1", d.text()}[d.IntN(4)]
	if d.rarely() {
		svc.Spec.ClusterIPs = d.list(2)
	}
	if d.rarely() {
		svc.Spec.ExternalIPs = d.list(3)
	}
	svc.Spec.ExternalName = d.text()
	svc.Spec.Selector = map[string]string{"app": "db"}
	svc.Spec.PublishNotReadyAddresses = d.rarely()
	if d.rarely() {
		svc.Spec.ExternalTrafficPolicy = "Local"
	}
	for range d.IntN(4) {
		svc.Spec.Ports = append(svc.Spec.Ports, corev1.ServicePort{NodePort: int32(d.IntN(70000) - 10), Protocol: corev1.Protocol([]string{"", "UDP", d.text()}[d.IntN(3)])})
	}
	for range d.IntN(4) {
		svc.Status.LoadBalancer.Ingress = append(svc.Status.LoadBalancer.Ingress, corev1.LoadBalancerIngress{IP: d.text(), Hostname: d.text()})
	}
	return svc
}

func (d *oddity) world() *world {
	w := newWorld()
	touched := make(ownerSet)
	for _, name := range []string{"node-1", "node-2"} {
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{kopsNodeLabel: ""}}, Spec: corev1.NodeSpec{Unschedulable: d.rarely()}}
		for range d.IntN(4) {
			node.Status.Addresses = append(node.Status.Addresses, corev1.NodeAddress{
				Type: []corev1.NodeAddressType{corev1.NodeExternalIP, corev1.NodeInternalIP, corev1.NodeHostName}[d.IntN(3)], Address: d.text(),
			})
		}
		w.set(node, touched)
	}
	for _, name := range []string{"pod-1", "pod-2"} {
		pod := &corev1.Pod{ObjectMeta: d.meta(name), Spec: corev1.PodSpec{NodeName: d.text(), Hostname: d.text()}}
		pod.Labels["app"] = "db"
		pod.Status = corev1.PodStatus{Phase: corev1.PodRunning, HostIP: d.text()}
		for _, ip := range d.list(2) {
			pod.Status.HostIPs = append(pod.Status.HostIPs, corev1.HostIP{IP: ip})
		}
		w.set(pod, touched)
	}
	for _, name := range []string{"slice-1", "slice-2"} {
		slice := &discoveryv1.EndpointSlice{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default", Labels: map[string]string{discoveryv1.LabelServiceName: "svc"}}}
		slice.AddressType = []discoveryv1.AddressType{"IPv4", "IPv6", "FQDN", ""}[d.IntN(4)]
		for range d.IntN(4) {
			e := discoveryv1.Endpoint{Addresses: d.list(2)}
			ready, hostname, node := d.rarely(), d.text(), d.text()
			if d.rarely() {
				e.Conditions.Ready = &ready
			}
			if d.rarely() {
				e.Hostname, e.NodeName = &hostname, &node
			}
			if !d.rarely() {
				e.TargetRef = &corev1.ObjectReference{Kind: "Pod", Name: []string{"pod-1", "pod-2", "pod-3", ""}[d.IntN(4)]}
			}
			slice.Endpoints = append(slice.Endpoints, e)
		}
		w.set(slice, touched)
	}
	d.gateways(w)
	for _, kind := range []Kind{KindEndpointSlice, KindPod, KindNode, KindIngressClass, KindNamespace, KindGateway, KindListenerSet} {
		if d.IntN(16) == 0 {
			w.setProblem(kind, errors.New("forbidden"), touched)
		}
	}
	return w
}

// owners returns random objects of every kind that claims names.
func (d *oddity) owners() []metav1.Object {
	return slices.Concat([]metav1.Object{d.ingress(), d.service()}, d.routes(), d.others())
}

// options returns random options that New accepts.
func (d *oddity) options() Options {
	o := DefaultOptions()
	pick := func() bool { return d.IntN(3) == 0 }
	if pick() {
		o.FQDNTemplates = []string{"{{.Name}}.tpl.test,{{.Labels.x}}", "{{index .Annotations \"" + prefixCurrent + "target\"}}"}
		o.IgnoreHostnameAnnotation = pick()
	}
	if pick() {
		o.FQDNTargetTemplates = []string{"{{.Spec.Type}}.test:{{.Spec}}", "p.test:10.1.1.1"}
	}
	if pick() {
		o.DefaultTargets = []string{"192.0.2.9", "lb.test", "64:ff9b::1.1.1.1"}
		o.ForceDefaultTargets = pick()
	}
	if pick() {
		o.NAT64Networks = []string{"64:ff9b::/96"}
	}
	if pick() {
		o.DomainFilters, o.RegexDomainExclusion = []string{"a.test,.tpl.test"}, "^b"
	}
	if pick() {
		o.TargetNetFilters = []string{"10.0.0.0/8", "2001:db8::/32"}
	}
	if pick() {
		o.ManagedRecordTypes = []string{"A", "SRV"}
	}
	if pick() {
		o.IngressClasses = []string{"a.test"}
	}
	if d.IntN(8) == 0 {
		o.GatewayName = "edge"
	}
	if d.IntN(8) == 0 {
		o.GatewayLabelFilter = "!" + moleculeLabel
	}
	d.otherOptions(&o)
	o.Compatibility = []string{"", compatMate, compatMolecule, compatKops}[d.IntN(4)]
	for _, flag := range []*bool{
		&o.CombineFQDNAnnotation, &o.PublishInternalServices, &o.PublishHostIP, &o.AlwaysPublishNotReadyAddresses, &o.ExposeInternalIPv6, &o.PreferAlias,
		&o.IgnoreIngressRulesSpec, &o.IgnoreIngressTLSSpec,
	} {
		*flag = pick()
	}
	return o
}

// shuffle changes the order of everything whose order means nothing.
func (d *oddity) shuffle(owners []metav1.Object, w *world) {
	for _, obj := range owners {
		switch obj := obj.(type) {
		case *networkingv1.Ingress:
			mix(d, obj.Spec.Rules)
			mix(d, obj.Spec.TLS)
			mix(d, obj.Status.LoadBalancer.Ingress)
		case *corev1.Service:
			mix(d, obj.Spec.Ports)
			mix(d, obj.Spec.ExternalIPs)
			mix(d, obj.Status.LoadBalancer.Ingress)
		default:
			d.shuffleRoute(obj)
			d.shuffleOther(obj)
		}
	}
	d.shuffleGateways(w)
	for _, slice := range w.slicesOf[objectKey{"default", "svc"}] {
		mix(d, slice.Endpoints)
		for i := range slice.Endpoints {
			if ref := slice.Endpoints[i].TargetRef; ref != nil && ref.Name != "" { // else the first address is the endpoint's title
				mix(d, slice.Endpoints[i].Addresses)
			}
		}
	}
	for _, node := range w.reader("").nodes() {
		mix(d, node.Status.Addresses)
	}
	for _, obj := range owners {
		values := obj.GetAnnotations()
		for _, prefix := range []string{prefixCurrent, prefixAlpha} {
			for _, key := range []string{keyHostname, keyInternalHostname, keyTarget} {
				if text, ok := values[prefix+key]; ok {
					items := strings.FieldsFunc(text, func(r rune) bool { return r == ',' })
					mix(d, items)
					values[prefix+key] = strings.Join(items, ",")
				}
			}
		}
	}
}

func mix[T any](d *oddity, list []T) {
	d.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
}

// FuzzTranslate: whatever the objects and options, a translation doesn't panic,
// keeps its promises, changes nothing it is given, and depends neither on the
// run nor on the order of what has no order.
func FuzzTranslate(f *testing.F) {
	for seed := range uint64(200) {
		f.Add(seed, "shop.acme.test")
	}
	f.Add(uint64(1), "\xff\x00\u3002")
	f.Add(uint64(2), strings.Repeat("ü", 300))
	f.Fuzz(func(t *testing.T, seed uint64, own string) {
		d := newOddity(seed, own)
		options := d.options()
		tr, err := New(options)
		if err != nil {
			t.Fatal(err)
		}
		w := d.world()
		owners := d.owners()
		translateAll := func() (all []zones.Object) {
			for _, obj := range owners {
				all = append(all, tr.Translate(obj, w.reader(obj.GetNamespace())))
			}
			return all
		}
		before := make([]runtime.Object, len(owners))
		for i, obj := range owners {
			before[i] = obj.(runtime.Object).DeepCopyObject()
		}
		first := translateAll()
		for _, obj := range first {
			checkObject(t, obj)
		}
		if again := translateAll(); !reflect.DeepEqual(first, again) {
			t.Fatalf("two runs differ:\n%+v\n%+v", first, again)
		}
		for i, obj := range owners {
			if !reflect.DeepEqual(obj, before[i]) {
				t.Fatalf("the translation changed its object:\n%+v\n%+v", before[i], obj)
			}
		}
		if len(options.FQDNTemplates)+len(options.FQDNTargetTemplates) > 0 {
			return // a template may print a list in its order
		}
		d.shuffle(owners, w)
		if mixed := translateAll(); !reflect.DeepEqual(first, mixed) {
			t.Fatalf("another order gives another outcome:\n%+v\n%+v", first, mixed)
		}
	})
}

func TestNothingToTranslate(t *testing.T) {
	t.Parallel()
	tr, err := New(Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, obj := range []zones.Object{tr.Ingress(nil, nil), tr.Service(nil, nil), tr.routeGroup(nil), tr.dnsEndpoint(nil), tr.nodeNames(nil), tr.podNames(nil, nil)} {
		if !reflect.DeepEqual(obj, zones.Object{}) {
			t.Errorf("nil gives %+v", obj)
		}
	}
}

func TestZonesFromFilters(t *testing.T) {
	t.Parallel()
	tr, err := New(Options{DomainFilters: []string{"b.test,.A.test.", "a.test"}, Sources: []string{"service,ingress", "service"}})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, origin := range tr.ZonesFromFilters() {
		got = append(got, origin.String())
	}
	if want := []string{"a.test", "b.test"}; !slices.Equal(got, want) {
		t.Errorf("zones %q, want %q", got, want)
	}
	if want := []string{"service", "ingress"}; !slices.Equal(tr.Sources(), want) {
		t.Errorf("sources %q, want %q", tr.Sources(), want)
	}
}

func TestSuggest(t *testing.T) {
	t.Parallel()
	for word, want := range map[string]string{
		"ingres": "ingress", "INGRESS": "ingress", "sevrice": "service", "servce": "service", "xyz": "", "": "", "nodes": "node",
	} {
		if got := nearest(word, sourceNames); got != want {
			t.Errorf("nearest(%q) = %q, want %q", word, got, want)
		}
	}
	for _, c := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"abc", "", 3}, {"ab", "ba", 1}, {"kitten", "sitting", 3}} {
		if got := editDistance(c.a, c.b); got != c.want || editDistance(c.b, c.a) != c.want {
			t.Errorf("editDistance(%q, %q) = %d, want %d", c.a, c.b, got, c.want)
		}
	}
}
