package cluster

import (
	"reflect"
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/cache"
	"sigs.k8s.io/yaml"
)

// fullMeta is what objects carry in a cluster.
func fullMeta() metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Name: "x", Namespace: "web", UID: "u", ResourceVersion: "7", CreationTimestamp: metav1.Unix(1_800_000_000, 0),
		Labels: map[string]string{"app": "x"},
		Annotations: map[string]string{
			corev1.LastAppliedConfigAnnotation:            "{}",
			"external-dns.kubernetes.io/target":           "192.0.2.1",
			"checksum/config":                             "0123456789",
			"ingressclass.kubernetes.io/is-default-class": "true",
		},
		ManagedFields:   []metav1.ManagedFieldsEntry{{Manager: "kubectl"}},
		OwnerReferences: []metav1.OwnerReference{{Name: "owner"}},
	}
}

func TestStrip(t *testing.T) {
	t.Parallel()
	node, hostname := "n1", "db-0"
	for _, test := range []struct {
		object runtime.Object
		want   string
	}{
		{
			&networkingv1.Ingress{
				ObjectMeta: fullMeta(),
				Spec:       networkingv1.IngressSpec{Rules: []networkingv1.IngressRule{{Host: "shop.test"}}},
				Status:     networkingv1.IngressStatus{LoadBalancer: networkingv1.IngressLoadBalancerStatus{Ingress: []networkingv1.IngressLoadBalancerIngress{{IP: "192.0.2.1"}}}},
			}, `
metadata:
  annotations:
    checksum/config: "0123456789"
    external-dns.kubernetes.io/target: 192.0.2.1
    ingressclass.kubernetes.io/is-default-class: "true"
  creationTimestamp: "2027-01-15T08:00:00Z"
  labels: {app: x}
  name: x
  namespace: web
  ownerReferences: [{apiVersion: "", kind: "", name: owner, uid: ""}]
  resourceVersion: "7"
  uid: u
spec: {rules: [{host: shop.test}]}
status: {loadBalancer: {ingress: [{ip: 192.0.2.1}]}}
`,
		},
		{
			&networkingv1.IngressClass{ObjectMeta: fullMeta(), Spec: networkingv1.IngressClassSpec{Controller: "example.com/c"}}, `
metadata:
  annotations: {ingressclass.kubernetes.io/is-default-class: "true"}
  creationTimestamp: "2027-01-15T08:00:00Z"
  labels: {app: x}
  name: x
  namespace: web
  resourceVersion: "7"
  uid: u
spec: {}
`,
		},
		{
			&discoveryv1.EndpointSlice{
				ObjectMeta: fullMeta(), AddressType: discoveryv1.AddressTypeIPv4, Ports: []discoveryv1.EndpointPort{{}},
				Endpoints: []discoveryv1.Endpoint{{
					Addresses: []string{"192.0.2.1"}, Hostname: &hostname, NodeName: &node, Zone: &node,
					TargetRef: &corev1.ObjectReference{Kind: "Pod", Name: "db-0"},
				}},
			}, `
addressType: IPv4
endpoints:
- addresses: [192.0.2.1]
  conditions: {}
  hostname: db-0
  nodeName: n1
  targetRef: {kind: Pod, name: db-0}
metadata:
  creationTimestamp: "2027-01-15T08:00:00Z"
  labels: {app: x}
  name: x
  namespace: web
  resourceVersion: "7"
  uid: u
ports: null
`,
		},
		{
			&corev1.Pod{
				ObjectMeta: fullMeta(),
				Spec:       corev1.PodSpec{NodeName: "n1", Hostname: "db-0", HostNetwork: true, Containers: []corev1.Container{{Name: "c", Image: "i"}}},
				Status: corev1.PodStatus{
					Phase: corev1.PodRunning, HostIP: "198.51.100.1", PodIP: "192.0.2.1", Message: "m",
					HostIPs: []corev1.HostIP{{IP: "198.51.100.1"}}, PodIPs: []corev1.PodIP{{IP: "192.0.2.1"}},
					Conditions: []corev1.PodCondition{{Type: corev1.PodScheduled, Status: "True"}, {Type: corev1.PodReady, Status: "True", Reason: "r"}},
				},
			}, `
metadata:
  annotations: {external-dns.kubernetes.io/target: 192.0.2.1}
  creationTimestamp: "2027-01-15T08:00:00Z"
  labels: {app: x}
  name: x
  namespace: web
  resourceVersion: "7"
  uid: u
spec: {containers: null, hostNetwork: true, hostname: db-0, nodeName: n1}
status:
  conditions: [{lastProbeTime: null, lastTransitionTime: null, status: "True", type: Ready}]
  hostIP: 198.51.100.1
  hostIPs: [{ip: 198.51.100.1}]
  phase: Running
  podIP: 192.0.2.1
  podIPs: [{ip: 192.0.2.1}]
`,
		},
		{
			&corev1.Node{
				ObjectMeta: fullMeta(),
				Spec:       corev1.NodeSpec{Unschedulable: true, PodCIDR: "10.0.0.0/24"},
				Status: corev1.NodeStatus{
					Addresses:  []corev1.NodeAddress{{Type: corev1.NodeExternalIP, Address: "203.0.113.1"}},
					Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady}}, Images: []corev1.ContainerImage{{SizeBytes: 1}},
				},
			}, `
metadata:
  annotations: {external-dns.kubernetes.io/target: 192.0.2.1}
  creationTimestamp: "2027-01-15T08:00:00Z"
  labels: {app: x}
  name: x
  namespace: web
  resourceVersion: "7"
  uid: u
spec: {unschedulable: true}
status: {addresses: [{address: 203.0.113.1, type: ExternalIP}]}
`,
		},
	} {
		s := stripper{prefixes: []string{"external-dns.kubernetes.io/"}}
		got, err := s.strip(test.object)
		if err != nil {
			t.Fatal(err)
		}
		again, err := s.strip(got.(runtime.Object).DeepCopyObject())
		if err != nil || !reflect.DeepEqual(again, got) {
			t.Errorf("%T: stripping twice gives something else (%v)", test.object, err)
		}
		want := reflect.New(reflect.TypeOf(got).Elem()).Interface()
		if err := yaml.UnmarshalStrict([]byte(test.want), want); err != nil {
			t.Fatal(err)
		}
		if !equality.Semantic.DeepEqual(got, want) {
			text, _ := yaml.Marshal(got)
			t.Errorf("%T: got\n%s", test.object, text)
		}
	}
}

func TestStripKeepsWhatItDoesNotKnow(t *testing.T) {
	t.Parallel()
	gone := cache.DeletedFinalStateUnknown{Key: "web/x"}
	got, err := stripper{}.strip(gone)
	if err != nil || got != any(gone) {
		t.Errorf("got %v, %v", got, err)
	}
	pod, err := stripper{}.strip(&corev1.Pod{ObjectMeta: fullMeta()})
	if err != nil || len(pod.(*corev1.Pod).Annotations) != 3 {
		t.Errorf("without prefixes annotations were cut: %v, %v", pod, err)
	}
}
