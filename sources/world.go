package sources

import (
	"cmp"
	"maps"
	"slices"

	routegroupv1 "github.com/szuecs/routegroup-client/apis/zalando.org/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/clusterzone/clusterzone/zones"
)

// An objectKey names an object among those of its kind.
type objectKey struct{ namespace, name string }

// An ownerSet is a set of owners, here always those to be translated anew.
type ownerSet map[zones.Owner]struct{}

// A shelf holds the objects of one kind by namespace, then by name. Those of kinds
// that can be packed are in packed, all others in in.
type shelf struct {
	in     map[string]map[string]metav1.Object
	packed map[string]map[string]packedText
	count  int
}

// A world is every object that an origin has reported, by kind, and who has
// read what of it. Objects are those that the origin handed over: frozen, and
// not copied; those of kinds that can be packed are kept as octets alone, and each
// look at one unpacks it anew. A world is not safe for concurrent use; a Feed owns it.
type world struct {
	shelves  map[Kind]*shelf
	slicesOf map[objectKey]map[string]*discoveryv1.EndpointSlice // by Service, then by name
	owners   map[Kind]string                                     // kinds whose objects are owners, and of which source

	sortedNodes   []*corev1.Node // Nodes by name; nil where it must be made anew
	standardClass string         // the default IngressClass
	problems      map[Kind]error // kinds that can't be read

	reads readIndex
}

// newWorld returns an empty world in which the objects of the wanted sources
// are owners; without any, those of every source.
func newWorld(wanted ...string) *world {
	w := &world{
		shelves:  make(map[Kind]*shelf),
		slicesOf: make(map[objectKey]map[string]*discoveryv1.EndpointSlice),
		owners:   make(map[Kind]string),
		problems: make(map[Kind]error),
		reads:    newReadIndex(),
	}
	for _, info := range kinds {
		if info.Source != "" && (len(wanted) == 0 || slices.Contains(wanted, info.Source)) {
			w.owners[info.Kind] = info.Source
		}
	}
	return w
}

// get returns an object, or nil. Of a packed one that can't be read, only the key
// is left: nothing of it is served, and it stays in the cluster's sight.
func (w *world) get(kind Kind, key objectKey) metav1.Object {
	s := w.shelves[kind]
	if s == nil {
		return nil
	}
	text, packed := s.packed[key.namespace][key.name]
	if !packed {
		return s.in[key.namespace][key.name]
	}
	obj, err := text.unpack(kind)
	if err != nil {
		info, _ := Info(kind)
		bare, ok := info.New().(metav1.Object)
		if !ok {
			return nil
		}
		bare.SetNamespace(key.namespace)
		bare.SetName(key.name)
		return bare
	}
	return obj
}

// has reports whether an object is there.
func (w *world) has(kind Kind, key objectKey) bool {
	s := w.shelves[kind]
	if s == nil {
		return false
	}
	_, packed := s.packed[key.namespace][key.name]
	return packed || s.in[key.namespace][key.name] != nil
}

// uid returns the UID of an object; known is false where it is not there.
func (w *world) uid(kind Kind, key objectKey) (uid types.UID, known bool) {
	s := w.shelves[kind]
	if s == nil {
		return "", false
	}
	if text, ok := s.packed[key.namespace][key.name]; ok {
		return text.uid(), true
	}
	if obj := s.in[key.namespace][key.name]; obj != nil {
		return obj.GetUID(), true
	}
	return "", false
}

// all returns the objects of a kind in a namespace ("" for kinds without), by
// name, but for those that are packed. The caller must not change the map.
func (w *world) all(kind Kind, namespace string) map[string]metav1.Object {
	if s := w.shelves[kind]; s != nil {
		return s.in[namespace]
	}
	return nil
}

// count returns how many objects of kind there are.
func (w *world) count(kind Kind) int {
	if s := w.shelves[kind]; s != nil {
		return s.count
	}
	return 0
}

// object returns the object behind an owner, or nil.
func (w *world) object(owner zones.Owner) metav1.Object {
	return w.get(kindOf(owner.Source), objectKey{owner.Namespace, owner.Name})
}

// hasObject reports whether the object behind an owner is there.
func (w *world) hasObject(owner zones.Owner) bool {
	return w.has(kindOf(owner.Source), objectKey{owner.Namespace, owner.Name})
}

// set takes in an object and adds to touched who must be translated anew: the
// object itself where it is an owner, and each owner whose last translation
// read what has changed. An update without a difference touches nobody.
func (w *world) set(obj metav1.Object, touched ownerSet) {
	kind, key := KindOf(obj), objectKey{obj.GetNamespace(), obj.GetName()}
	s := w.shelves[kind]
	if s == nil {
		s = &shelf{in: make(map[string]map[string]metav1.Object), packed: make(map[string]map[string]packedText)}
		w.shelves[kind] = s
	}
	if packed, ok := pack(kind, obj); ok {
		w.setPacked(s, packed, key, touched)
		return
	}
	if Packs(kind) {
		s.remove(key) // it may be there packed
	}
	if s.in[key.namespace] == nil {
		s.in[key.namespace] = make(map[string]metav1.Object)
	}
	old := s.in[key.namespace][key.name]
	s.in[key.namespace][key.name] = obj
	if old == nil {
		s.count++
	}
	w.index(key, old, obj)
	if old == nil || !same(old, obj) {
		w.touch(kind, key, old, obj, touched)
	}
}

// setPacked is set for an object that is kept packed.
func (w *world) setPacked(s *shelf, obj *Packed, key objectKey, touched ownerSet) {
	if s.in[key.namespace] != nil {
		s.remove(key) // it may be there unpacked
	}
	if s.packed[key.namespace] == nil {
		s.packed[key.namespace] = make(map[string]packedText)
	}
	old, known := s.packed[key.namespace][key.name]
	s.packed[key.namespace][key.name] = obj.text
	if !known {
		s.count++
	}
	if !known || !old.same(obj.text) {
		w.touch(obj.kind, key, nil, nil, touched)
	}
}

// gone takes an object out, and adds to touched who must be translated anew.
func (w *world) gone(kind Kind, key objectKey, touched ownerSet) {
	if !w.has(kind, key) {
		return
	}
	s := w.shelves[kind]
	old := s.in[key.namespace][key.name] // nil for one that is packed
	s.remove(key)
	w.index(key, old, nil)
	w.touch(kind, key, old, nil, touched)
}

// remove takes an object off the shelf, in whichever form it is there.
func (s *shelf) remove(key objectKey) {
	if _, ok := s.packed[key.namespace][key.name]; ok {
		s.count--
		delete(s.packed[key.namespace], key.name)
		if len(s.packed[key.namespace]) == 0 {
			delete(s.packed, key.namespace)
		}
	}
	if s.in[key.namespace][key.name] != nil {
		s.count--
		delete(s.in[key.namespace], key.name)
		if len(s.in[key.namespace]) == 0 {
			delete(s.in, key.namespace)
		}
	}
}

// index keeps what is found in another way than by its name. Of old and now
// either may be nil: an object that comes or goes.
func (w *world) index(key objectKey, old, now metav1.Object) {
	switch cmp.Or(KindOf(old), KindOf(now)) {
	case KindNode:
		w.sortedNodes = nil
	case KindEndpointSlice:
		if slice, ok := old.(*discoveryv1.EndpointSlice); ok {
			of := serviceOf(slice)
			delete(w.slicesOf[of], key.name)
			if len(w.slicesOf[of]) == 0 {
				delete(w.slicesOf, of)
			}
		}
		if slice, ok := now.(*discoveryv1.EndpointSlice); ok && serviceOf(slice).name != "" {
			of := serviceOf(slice)
			if w.slicesOf[of] == nil {
				w.slicesOf[of] = make(map[string]*discoveryv1.EndpointSlice, 1)
			}
			w.slicesOf[of][key.name] = slice
		}
	}
}

// serviceOf names the Service that a slice belongs to.
func serviceOf(slice *discoveryv1.EndpointSlice) objectKey {
	return objectKey{slice.Namespace, slice.Labels[discoveryv1.LabelServiceName]}
}

// touch adds to touched whom a change of one object concerns: itself, and who
// has read it.
func (w *world) touch(kind Kind, key objectKey, old, now metav1.Object, touched ownerSet) {
	if source, ok := w.owners[kind]; ok {
		touched[zones.Owner{Source: source, Namespace: key.namespace, Name: key.name}] = struct{}{}
	}
	w.reads.touch(read{readObject, kind, key}, touched)
	switch kind {
	case KindNode:
		w.reads.touch(read{what: readNodes}, touched)
	case KindIngressClass:
		w.chooseClass(touched)
	}
	for _, obj := range []metav1.Object{old, now} {
		switch obj := obj.(type) {
		case *discoveryv1.EndpointSlice:
			w.reads.touch(read{what: readSlices, key: serviceOf(obj)}, touched)
		case *corev1.Pod:
			w.reads.touchSelecting(key.namespace, obj.Labels, touched)
		}
	}
}

// setProblem notes why objects of kind can't be read, or with nil that they can.
func (w *world) setProblem(kind Kind, problem error, touched ownerSet) {
	old := w.problems[kind]
	if problem == nil {
		delete(w.problems, kind)
	} else {
		w.problems[kind] = problem
	}
	if !sameError(old, problem) {
		w.reads.touch(read{what: readProblem, kind: kind}, touched)
	}
}

// chooseClass finds the cluster's default IngressClass: of several the newest,
// then the first by name, as the API server's admission has it.
func (w *world) chooseClass(touched ownerSet) {
	var best metav1.Object
	for _, class := range w.all(KindIngressClass, "") {
		if class.GetAnnotations()[networkingv1.AnnotationIsDefaultIngressClass] != "true" {
			continue
		}
		if best == nil || cmp.Or(class.GetCreationTimestamp().Compare(best.GetCreationTimestamp().Time),
			cmp.Compare(best.GetName(), class.GetName())) > 0 {
			best = class
		}
	}
	name := ""
	if best != nil {
		name = best.GetName()
	}
	if name != w.standardClass {
		w.standardClass = name
		w.reads.touch(read{what: readClass}, touched)
	}
}

// same reports whether a translation can't tell two states of one object apart.
func same(a, b metav1.Object) bool {
	return sameMeta(a, b) && equality.Semantic.DeepEqual(body(a), body(b))
}

// body is what a translation may read of an object beside its metadata.
func body(obj metav1.Object) [2]any {
	switch obj := obj.(type) {
	case *networkingv1.Ingress:
		return [2]any{&obj.Spec, &obj.Status}
	case *corev1.Service:
		return [2]any{&obj.Spec, &obj.Status}
	case *discoveryv1.EndpointSlice:
		return [2]any{obj.Endpoints, [2]any{obj.AddressType, obj.Ports}}
	case *corev1.Pod:
		return [2]any{&obj.Spec, &obj.Status}
	case *corev1.Node: // whose status changes with every heartbeat
		return [2]any{obj.Spec.Unschedulable, obj.Status.Addresses}
	case *gatewayv1.Gateway: // whose status counts the routes of each listener
		return [2]any{&obj.Spec, [2]any{obj.Status.Addresses, obj.Status.Conditions}}
	case *gatewayv1.ListenerSet:
		return [2]any{&obj.Spec, &obj.Status}
	case *gatewayv1.HTTPRoute:
		return [2]any{&obj.Spec, &obj.Status}
	case *gatewayv1.GRPCRoute:
		return [2]any{&obj.Spec, &obj.Status}
	case *gatewayv1.TLSRoute:
		return [2]any{&obj.Spec, &obj.Status}
	case *gatewayv1.TCPRoute:
		return [2]any{&obj.Spec, &obj.Status}
	case *gatewayv1.UDPRoute:
		return [2]any{&obj.Spec, &obj.Status}
	case *routegroupv1.RouteGroup:
		return [2]any{&obj.Spec, &obj.Status}
	case *DNSEndpoint:
		return [2]any{&obj.Spec, &obj.Status}
	}
	return [2]any{} // Namespaces and IngressClasses: their metadata is all
}

// sameMeta compares what a translation may read of two objects' metadata: all
// but the bookkeeping that changes with every write.
func sameMeta(a, b metav1.Object) bool {
	return a.GetUID() == b.GetUID() && a.GetGeneration() == b.GetGeneration() &&
		a.GetCreationTimestamp().Time.Equal(b.GetCreationTimestamp().Time) &&
		(a.GetDeletionTimestamp() == nil) == (b.GetDeletionTimestamp() == nil) &&
		maps.Equal(a.GetLabels(), b.GetLabels()) &&
		maps.Equal(a.GetAnnotations(), b.GetAnnotations()) &&
		slices.Equal(a.GetFinalizers(), b.GetFinalizers()) &&
		equality.Semantic.DeepEqual(a.GetOwnerReferences(), b.GetOwnerReferences())
}
