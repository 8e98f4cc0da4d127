package sources

import (
	"maps"
	"reflect"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

func packedIngress() *networkingv1.Ingress {
	class := "nginx"
	pathType := networkingv1.PathTypePrefix
	return &networkingv1.Ingress{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "shop", Name: "web", UID: "u-1", ResourceVersion: "4711", Generation: 3,
			CreationTimestamp: metav1.Unix(1_800_000_000, 0),
			Labels:            map[string]string{"app": "web", "team": "shop", "a": ""},
			Annotations: map[string]string{
				corev1.LastAppliedConfigAnnotation:    "{}",
				"external-dns.kubernetes.io/target":   "192.0.2.1",
				"external-dns.kubernetes.io/hostname": "www.shop.test",
			},
			Finalizers:      []string{"f"},
			OwnerReferences: []metav1.OwnerReference{{Name: "owner", UID: "u-2"}},
			ManagedFields:   []metav1.ManagedFieldsEntry{{Manager: "kubectl", FieldsV1: metav1.NewFieldsV1(`{"f:metadata":{}}`)}},
		},
		Spec: networkingv1.IngressSpec{
			IngressClassName: &class,
			TLS:              []networkingv1.IngressTLS{{Hosts: []string{"shop.test"}, SecretName: "tls"}},
			Rules: []networkingv1.IngressRule{{Host: "shop.test", IngressRuleValue: networkingv1.IngressRuleValue{
				HTTP: &networkingv1.HTTPIngressRuleValue{Paths: []networkingv1.HTTPIngressPath{{Path: "/", PathType: &pathType}}},
			}}},
		},
		Status: networkingv1.IngressStatus{LoadBalancer: networkingv1.IngressLoadBalancerStatus{
			Ingress: []networkingv1.IngressLoadBalancerIngress{{IP: "192.0.2.1"}},
		}},
	}
}

func packedService() *corev1.Service {
	return &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "api", UID: "u-3", ResourceVersion: "1"},
		Spec: corev1.ServiceSpec{
			Type: corev1.ServiceTypeLoadBalancer, ClusterIPs: []string{"10.0.0.1", "fd00::1"}, Selector: map[string]string{"app": "api"},
			Ports: []corev1.ServicePort{{Name: "http", Port: 80, TargetPort: intstr.FromString("web")}},
		},
	}
}

func mustPack(t *testing.T, obj metav1.Object) *Packed {
	t.Helper()
	packed, ok := pack(KindOf(obj), obj)
	if !ok {
		t.Fatalf("%T can't be packed", obj)
	}
	return packed
}

// TestPack: what comes out is what went in, without what nobody reads.
func TestPack(t *testing.T) {
	t.Parallel()
	ingress, service := packedIngress(), packedService()
	keptIngress := ingress.DeepCopy()
	keptIngress.ManagedFields = nil
	delete(keptIngress.Annotations, corev1.LastAppliedConfigAnnotation)
	bare := &networkingv1.Ingress{}
	for _, test := range []struct{ object, want metav1.Object }{
		{ingress, keptIngress}, {service, service.DeepCopy()}, {bare, &networkingv1.Ingress{}},
	} {
		packed := mustPack(t, test.object)
		if packed.Kind() != KindOf(test.object) || KindOf(packed) != packed.Kind() {
			t.Errorf("%T has kind %q", test.object, packed.Kind())
		}
		if packed.Namespace != test.object.GetNamespace() || packed.Name != test.object.GetName() ||
			packed.UID != test.object.GetUID() || packed.text.uid() != test.object.GetUID() || packed.ResourceVersion != test.object.GetResourceVersion() {
			t.Errorf("%T shows %+v", test.object, packed.ObjectMeta)
		}
		got, err := packed.Unpack()
		if err != nil {
			t.Fatal(err)
		}
		if !equality.Semantic.DeepEqual(got, test.want) {
			t.Errorf("got  %+v\nwant %+v", got, test.want)
		}
		if copied := packed.DeepCopyObject(); !reflect.DeepEqual(copied, packed) || copied == packed {
			t.Errorf("a copy differs: %+v", copied)
		}
	}
}

// TestPackedSame: two states are the same where only the bookkeeping of writes differs.
func TestPackedSame(t *testing.T) {
	t.Parallel()
	base := mustPack(t, packedIngress())
	for _, test := range []struct {
		what   string
		change func(*networkingv1.Ingress)
		same   bool
	}{
		{"nothing", func(*networkingv1.Ingress) {}, true},
		{"resource version", func(i *networkingv1.Ingress) { i.ResourceVersion = "471200" }, true},
		{"managed fields", func(i *networkingv1.Ingress) { i.ManagedFields[0].Manager = "helm" }, true},
		{"kubectl's copy", func(i *networkingv1.Ingress) { i.Annotations[corev1.LastAppliedConfigAnnotation] = "{ }" }, true},
		{"maps made anew", func(i *networkingv1.Ingress) {
			i.Labels, i.Annotations = maps.Clone(i.Labels), maps.Clone(i.Annotations)
		}, true},
		{"a label", func(i *networkingv1.Ingress) { i.Labels["app"] = "x" }, false},
		{"an annotation", func(i *networkingv1.Ingress) { i.Annotations["x"] = "y" }, false},
		{"the generation", func(i *networkingv1.Ingress) { i.Generation++ }, false},
		{"a host", func(i *networkingv1.Ingress) { i.Spec.Rules[0].Host = "x.test" }, false},
		{"the status", func(i *networkingv1.Ingress) { i.Status.LoadBalancer.Ingress[0].IP = "192.0.2.2" }, false},
	} {
		ingress := packedIngress()
		test.change(ingress)
		if same := base.text.same(mustPack(t, ingress).text); same != test.same {
			t.Errorf("after %s: same %t", test.what, same)
		}
	}
}

// TestPackOdd: what API servers don't send does no harm.
func TestPackOdd(t *testing.T) {
	t.Parallel()
	long := packedIngress()
	long.ResourceVersion = strings.Repeat("9", 300)
	if got, err := mustPack(t, long).Unpack(); err != nil || got.GetResourceVersion() != "" || got.GetName() != "web" {
		t.Errorf("a long resource version: %v, %v", got, err)
	}
	for _, wire := range []string{"\x0a", "\x0a\x05ab", "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", "\x0a\x02\x0a\x05"} {
		if _, err := Pack(KindIngress, []byte(wire)); err == nil || !strings.Contains(err.Error(), "no protobuf") {
			t.Errorf("%q: %v", wire, err)
		}
	}
	// Fields that hang together, but no Ingress: a spec that is a number.
	packed, err := Pack(KindIngress, []byte("\x0a\x05\x0a\x03web\x10\x01"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := packed.Unpack(); err == nil || !strings.Contains(err.Error(), "can't be read") {
		t.Errorf("got %v", err)
	}
	w := newWorld()
	w.set(packed, make(ownerSet))
	if obj, ok := w.get(KindIngress, objectKey{"", "web"}).(*networkingv1.Ingress); !ok || obj.Name != "web" {
		t.Errorf("of an object that can't be read, not even its name is left: %v", obj)
	}
}

// TestWorldTakesPacked: an object is the same to the world in both forms.
func TestWorldTakesPacked(t *testing.T) {
	t.Parallel()
	w := newWorld()
	key := objectKey{"shop", "web"}
	touched := func(change func(ownerSet)) int {
		set := make(ownerSet)
		change(set)
		return len(set)
	}
	moved := packedIngress()
	moved.Status.LoadBalancer.Ingress[0].IP = "192.0.2.9"
	for _, step := range []struct {
		what string
		do   func(ownerSet)
		want int
	}{
		{"it comes packed", func(s ownerSet) { w.set(mustPack(t, packedIngress()), s) }, 1},
		{"again as an object", func(s ownerSet) { w.set(packedIngress(), s) }, 0},
		{"it moves", func(s ownerSet) { w.set(mustPack(t, moved), s) }, 1},
		{"it goes", func(s ownerSet) { w.gone(KindIngress, key, s) }, 1},
		{"it goes again", func(s ownerSet) { w.gone(KindIngress, key, s) }, 0},
	} {
		if got := touched(step.do); got != step.want {
			t.Errorf("%s: %d touched, want %d", step.what, got, step.want)
		}
	}
	if w.has(KindIngress, key) || w.count(KindIngress) != 0 {
		t.Error("it is still there")
	}
}

// FuzzPack: whatever comes, Pack gives an error or something that unpacks to the
// same object as the octets, or to an error.
func FuzzPack(f *testing.F) {
	for _, obj := range []interface{ Marshal() ([]byte, error) }{packedIngress(), &networkingv1.Ingress{}} {
		wire, err := obj.Marshal()
		if err != nil {
			f.Fatal(err)
		}
		f.Add(wire)
	}
	f.Add([]byte("\x0a\x05\x0a\x03web\x10\x01"))
	f.Fuzz(func(t *testing.T, wire []byte) {
		packed, err := Pack(KindIngress, wire)
		if err != nil {
			return
		}
		want := new(networkingv1.Ingress)
		wantErr := want.Unmarshal(wire)
		obj, err := packed.Unpack()
		if wantErr != nil {
			return // what was cut away may have been what is wrong
		}
		if err != nil {
			t.Fatalf("%q can be read, and not once it was packed: %v", wire, err)
		}
		got := obj.(*networkingv1.Ingress)
		want.ManagedFields = nil
		delete(want.Annotations, corev1.LastAppliedConfigAnnotation)
		if len(want.ResourceVersion) > 255 {
			want.ResourceVersion = ""
		}
		if !equality.Semantic.DeepEqual(got, want) {
			t.Errorf("got  %+v\nwant %+v", got, want)
		}
		if packed.Name != got.Name || packed.Namespace != got.Namespace || packed.text.uid() != got.UID {
			t.Errorf("it shows %+v, and has %+v", packed.ObjectMeta, got.ObjectMeta)
		}
	})
}
