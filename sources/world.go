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
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/clusterzone/clusterzone/zones"
)

// An objectKey names an object among those of its kind.
type objectKey struct{ namespace, name string }

// An ownerSet is a set of owners, here always those to be translated anew.
type ownerSet map[zones.Owner]struct{}

// A shelf holds the objects of one kind by namespace, then by name.
type shelf struct {
	in    map[string]map[string]metav1.Object
	count int
}

// A world is every object that an origin has reported, by kind, and who has
// read what of it. Objects are those that the origin handed over: frozen, and
// not copied. A world is not safe for concurrent use; a Feed owns it.
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

// get returns an object, or nil.
func (w *world) get(kind Kind, key objectKey) metav1.Object {
	if s := w.shelves[kind]; s != nil {
		return s.in[key.namespace][key.name]
	}
	return nil
}

// all returns the objects of a kind in a namespace ("" for kinds without), by
// name. The caller must not change the map.
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

// set takes in an object and adds to touched who must be translated anew: the
// object itself where it is an owner, and each owner whose last translation
// read what has changed. An update without a difference touches nobody.
func (w *world) set(obj metav1.Object, touched ownerSet) {
	kind, key := KindOf(obj), objectKey{obj.GetNamespace(), obj.GetName()}
	s := w.shelves[kind]
	if s == nil {
		s = &shelf{in: make(map[string]map[string]metav1.Object)}
		w.shelves[kind] = s
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

// gone takes an object out, and adds to touched who must be translated anew.
func (w *world) gone(kind Kind, key objectKey, touched ownerSet) {
	old := w.get(kind, key)
	if old == nil {
		return
	}
	s := w.shelves[kind]
	s.count--
	delete(s.in[key.namespace], key.name)
	if len(s.in[key.namespace]) == 0 {
		delete(s.in, key.namespace)
	}
	w.index(key, old, nil)
	w.touch(kind, key, old, nil, touched)
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
