package sources

import (
	routegroupv1 "github.com/szuecs/routegroup-client/apis/zalando.org/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/clusterzone/clusterzone/zones"
)

// others returns a random RouteGroup, DNSEndpoint, Node and Pod.
func (d *oddity) others() []metav1.Object {
	return []metav1.Object{d.routeGroup(), d.dnsEndpoint(), d.node(), d.pod()}
}

func (d *oddity) routeGroup() *routegroupv1.RouteGroup {
	rg := &routegroupv1.RouteGroup{ObjectMeta: d.meta("rg")}
	if d.rarely() {
		rg.Annotations[routeGroupClassAnnotation] = d.text()
	}
	rg.Spec.Hosts = d.list(4)
	for range d.IntN(4) {
		rg.Status.LoadBalancer.RouteGroup = append(rg.Status.LoadBalancer.RouteGroup, routegroupv1.RouteGroupLoadBalancer{IP: d.text(), Hostname: d.text()})
	}
	return rg
}

func (d *oddity) dnsEndpoint() *DNSEndpoint {
	e := &DNSEndpoint{ObjectMeta: d.meta("records")}
	kinds := []string{
		"", "A", "aaaa", "CNAME", "TXT", "MX", "SRV", "NS", "PTR", "NAPTR", "DNAME", "TLSA", "CAA", "SVCB", "SOA", "OPT", "ANY", "TYPE65280", "TYPE0", d.text(),
	}
	data := []string{
		"10 mx.a.test", "0 .", "0 1 80 x.a.test.", `1 2 "u" "x" "" .`, "3 1 1 abcd", `0 issue "ca.test"`, `"open`, `\# 2 ABCD`, "1 . alpn=h2", "(", ")", ";", "a\nb", "\x00",
	}
	for range d.IntN(8) {
		if d.IntN(10) == 0 {
			e.Spec.Endpoints = append(e.Spec.Endpoints, nil)
			continue
		}
		r := &DNSEndpointRecord{DNSName: d.text(), RecordType: kinds[d.IntN(len(kinds))], RecordTTL: int64(d.IntN(5)-1) << d.IntN(40), Targets: d.list(3)}
		if d.IntN(2) == 0 {
			r.Targets = append(r.Targets, data[d.IntN(len(data))])
		}
		if d.rarely() {
			r.SetIdentifier = d.text()
		}
		for range d.IntN(3) {
			name := []string{keyAlias, keyRecordType, "aws/weight", prefixAlpha + "aws-region", d.text()}[d.IntN(5)]
			r.ProviderSpecific = append(r.ProviderSpecific, DNSEndpointProperty{Name: name, Value: []string{"ptr", "true", d.text()}[d.IntN(3)]})
		}
		e.Spec.Endpoints = append(e.Spec.Endpoints, r)
	}
	return e
}

func (d *oddity) node() *corev1.Node {
	node := &corev1.Node{ObjectMeta: d.meta("worker.a.test"), Spec: corev1.NodeSpec{Unschedulable: d.rarely()}}
	node.Namespace = ""
	if d.rarely() {
		node.Name = d.text()
	}
	for range d.IntN(4) {
		node.Status.Addresses = append(node.Status.Addresses, corev1.NodeAddress{
			Type: []corev1.NodeAddressType{corev1.NodeExternalIP, corev1.NodeInternalIP, corev1.NodeHostName}[d.IntN(3)], Address: d.text(),
		})
	}
	return node
}

func (d *oddity) pod() *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: d.meta("web-0"), Spec: corev1.PodSpec{NodeName: d.text(), HostNetwork: d.rarely()}}
	if d.rarely() {
		pod.Name = d.text()
	}
	pod.Status.PodIP = d.text()
	for _, ip := range d.list(3) {
		pod.Status.PodIPs = append(pod.Status.PodIPs, corev1.PodIP{IP: ip})
	}
	return pod
}

// otherOptions chooses among the options that these kinds, PTR records and
// namespaces have.
func (d *oddity) otherOptions(o *Options) {
	if d.rarely() {
		o.RouteGroupClasses = []string{"a.test"}
	}
	if d.rarely() {
		o.PodSourceDomain = "pods.a.test"
	}
	if d.rarely() {
		o.Provider = "aws"
	}
	if d.rarely() {
		o.NamespaceDomains = []string{"default=a.test,.tpl.test"}
	}
	if d.rarely() {
		o.ReverseZones = []zones.Name{reverseZone("10.in-addr.arpa"), reverseZone("8.b.d.0.1.0.0.2.ip6.arpa")}
	}
	o.IgnoreNonHostNetworkPods = d.rarely()
	o.CreatePTR = d.rarely() && len(o.ManagedRecordTypes) == 0
}

func reverseZone(text string) zones.Name {
	name, err := zones.ParseHost(text)
	if err != nil {
		panic(err)
	}
	return name
}

// shuffleOther changes the order of everything whose order means nothing. That
// of a DNSEndpoint's endpoints may: of two on one record set the first one's
// options count.
func (d *oddity) shuffleOther(obj metav1.Object) {
	switch obj := obj.(type) {
	case *routegroupv1.RouteGroup:
		mix(d, obj.Spec.Hosts)
		mix(d, obj.Status.LoadBalancer.RouteGroup)
	case *DNSEndpoint:
		for _, record := range obj.Spec.Endpoints {
			if record != nil {
				mix(d, record.Targets)
			}
		}
	case *corev1.Node:
		mix(d, obj.Status.Addresses)
	case *corev1.Pod:
		mix(d, obj.Status.PodIPs)
	}
}
