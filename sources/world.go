package sources

import (
	"cmp"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/clusterzone/clusterzone/zones"
)

// An objectKey names an object among those of its kind.
type objectKey struct{ namespace, name string }

// An ownerSet is a set of owners, here always those to be translated anew.
type ownerSet map[zones.Owner]struct{}

// A world is every object that an origin has reported, by kind, and who has
// read what of it. Objects are those that the origin handed over: frozen, and
// not copied. A world is not safe for concurrent use; a Feed owns it.
type world struct {
	ingresses map[objectKey]*networkingv1.Ingress
	services  map[objectKey]*corev1.Service
	classes   map[string]*networkingv1.IngressClass
	slicesOf  map[objectKey]map[string]*discoveryv1.EndpointSlice // by Service, then by name
	serviceOf map[objectKey]string                                // EndpointSlice to the Service it is labelled with
	pods      map[string]map[string]*corev1.Pod                   // by namespace, then by name
	nodes     map[string]*corev1.Node

	sortedNodes   []*corev1.Node // nodes by name; nil where it must be made anew
	standardClass string         // the default IngressClass
	problems      map[Kind]error // kinds that can't be read

	reads readIndex
}

func newWorld() *world {
	return &world{
		ingresses: make(map[objectKey]*networkingv1.Ingress),
		services:  make(map[objectKey]*corev1.Service),
		classes:   make(map[string]*networkingv1.IngressClass),
		slicesOf:  make(map[objectKey]map[string]*discoveryv1.EndpointSlice),
		serviceOf: make(map[objectKey]string),
		pods:      make(map[string]map[string]*corev1.Pod),
		nodes:     make(map[string]*corev1.Node),
		problems:  make(map[Kind]error),
		reads:     newReadIndex(),
	}
}

// set takes in an object and adds to touched who must be translated anew: the
// object itself where it is an owner, and each owner whose last translation
// read what has changed. An update without a difference touches nobody.
func (w *world) set(obj metav1.Object, touched ownerSet) {
	key := objectKey{obj.GetNamespace(), obj.GetName()}
	switch obj := obj.(type) {
	case *networkingv1.Ingress:
		old := w.ingresses[key]
		w.ingresses[key] = obj
		if old == nil || !sameMeta(old, obj) || !equality.Semantic.DeepEqual(&old.Spec, &obj.Spec) ||
			!equality.Semantic.DeepEqual(&old.Status, &obj.Status) {
			touched[ownerOf(KindIngress, key)] = struct{}{}
		}
	case *corev1.Service:
		old := w.services[key]
		w.services[key] = obj
		if old == nil || !sameMeta(old, obj) || !equality.Semantic.DeepEqual(&old.Spec, &obj.Spec) ||
			!equality.Semantic.DeepEqual(&old.Status, &obj.Status) {
			touched[ownerOf(KindService, key)] = struct{}{}
		}
	case *networkingv1.IngressClass:
		w.classes[key.name] = obj
		w.chooseClass(touched)
	case *discoveryv1.EndpointSlice:
		w.setSlice(key, obj, touched)
	case *corev1.Pod:
		w.setPod(key, obj, touched)
	case *corev1.Node:
		old := w.nodes[key.name]
		w.nodes[key.name] = obj
		w.sortedNodes = nil
		if old == nil || !sameMeta(old, obj) || old.Spec.Unschedulable != obj.Spec.Unschedulable ||
			!equality.Semantic.DeepEqual(old.Status.Addresses, obj.Status.Addresses) {
			w.touchNode(key.name, touched)
		}
	}
}

// gone takes an object out, and adds to touched who must be translated anew.
func (w *world) gone(kind Kind, key objectKey, touched ownerSet) {
	switch kind {
	case KindIngress:
		delete(w.ingresses, key)
		touched[ownerOf(kind, key)] = struct{}{}
	case KindService:
		delete(w.services, key)
		touched[ownerOf(kind, key)] = struct{}{}
	case KindIngressClass:
		delete(w.classes, key.name)
		w.chooseClass(touched)
	case KindEndpointSlice:
		w.dropSlice(key, touched)
	case KindPod:
		if old := w.pods[key.namespace][key.name]; old != nil {
			delete(w.pods[key.namespace], key.name)
			if len(w.pods[key.namespace]) == 0 {
				delete(w.pods, key.namespace)
			}
			w.reads.touch(read{what: readPod, namespace: key.namespace, name: key.name}, touched)
			w.reads.touchSelecting(key.namespace, old.Labels, touched)
		}
	case KindNode:
		if w.nodes[key.name] != nil {
			delete(w.nodes, key.name)
			w.sortedNodes = nil
			w.touchNode(key.name, touched)
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
	if (old == nil) != (problem == nil) || old != nil && old.Error() != problem.Error() {
		w.reads.touch(read{what: readProblem, name: string(kind)}, touched)
	}
}

func (w *world) setSlice(key objectKey, slice *discoveryv1.EndpointSlice, touched ownerSet) {
	service := slice.Labels[discoveryv1.LabelServiceName]
	if before, known := w.serviceOf[key]; known && before != service {
		w.dropSlice(key, touched)
	}
	if service == "" {
		return // belongs to no Service: nobody reads it
	}
	of := objectKey{key.namespace, service}
	old := w.slicesOf[of][key.name]
	if w.slicesOf[of] == nil {
		w.slicesOf[of] = make(map[string]*discoveryv1.EndpointSlice, 1)
	}
	w.slicesOf[of][key.name] = slice
	w.serviceOf[key] = service
	if old == nil || !sameMeta(old, slice) || old.AddressType != slice.AddressType ||
		!equality.Semantic.DeepEqual(old.Endpoints, slice.Endpoints) || !equality.Semantic.DeepEqual(old.Ports, slice.Ports) {
		w.reads.touch(read{what: readSlices, namespace: key.namespace, name: service}, touched)
	}
}

func (w *world) dropSlice(key objectKey, touched ownerSet) {
	service, known := w.serviceOf[key]
	if !known {
		return
	}
	of := objectKey{key.namespace, service}
	delete(w.serviceOf, key)
	delete(w.slicesOf[of], key.name)
	if len(w.slicesOf[of]) == 0 {
		delete(w.slicesOf, of)
	}
	w.reads.touch(read{what: readSlices, namespace: key.namespace, name: service}, touched)
}

func (w *world) setPod(key objectKey, pod *corev1.Pod, touched ownerSet) {
	old := w.pods[key.namespace][key.name]
	if w.pods[key.namespace] == nil {
		w.pods[key.namespace] = make(map[string]*corev1.Pod)
	}
	w.pods[key.namespace][key.name] = pod
	if old != nil && sameMeta(old, pod) && equality.Semantic.DeepEqual(&old.Spec, &pod.Spec) &&
		equality.Semantic.DeepEqual(&old.Status, &pod.Status) {
		return
	}
	w.reads.touch(read{what: readPod, namespace: key.namespace, name: key.name}, touched)
	w.reads.touchSelecting(key.namespace, pod.Labels, touched)
	if old != nil && !maps.Equal(old.Labels, pod.Labels) {
		w.reads.touchSelecting(key.namespace, old.Labels, touched)
	}
}

func (w *world) touchNode(name string, touched ownerSet) {
	w.reads.touch(read{what: readNode, name: name}, touched)
	w.reads.touch(read{what: readNodes}, touched)
}

// chooseClass finds the cluster's default IngressClass: of several the newest,
// then the first by name, as the API server's admission has it.
func (w *world) chooseClass(touched ownerSet) {
	var best *networkingv1.IngressClass
	for _, class := range w.classes {
		if class.Annotations[networkingv1.AnnotationIsDefaultIngressClass] != "true" {
			continue
		}
		if best == nil || cmp.Or(class.CreationTimestamp.Compare(best.CreationTimestamp.Time), cmp.Compare(best.Name, class.Name)) > 0 {
			best = class
		}
	}
	name := ""
	if best != nil {
		name = best.Name
	}
	if name != w.standardClass {
		w.standardClass = name
		w.reads.touch(read{what: readClass}, touched)
	}
}

// object returns the object behind an owner, or nil.
func (w *world) object(owner zones.Owner) metav1.Object {
	key := objectKey{owner.Namespace, owner.Name}
	switch owner.Source {
	case SourceIngress:
		if obj := w.ingresses[key]; obj != nil {
			return obj
		}
	case SourceService:
		if obj := w.services[key]; obj != nil {
			return obj
		}
	}
	return nil
}

// count returns how many objects of kind there are.
func (w *world) count(kind Kind) int {
	switch kind {
	case KindIngress:
		return len(w.ingresses)
	case KindIngressClass:
		return len(w.classes)
	case KindService:
		return len(w.services)
	case KindEndpointSlice:
		return len(w.serviceOf)
	case KindPod:
		n := 0
		for _, pods := range w.pods {
			n += len(pods)
		}
		return n
	case KindNode:
		return len(w.nodes)
	}
	return 0
}

// sourceOf returns the source whose owners are the objects of kind, or "".
func sourceOf(kind Kind) string {
	switch kind {
	case KindIngress:
		return SourceIngress
	case KindService:
		return SourceService
	}
	return ""
}

func ownerOf(kind Kind, key objectKey) zones.Owner {
	return zones.Owner{Source: sourceOf(kind), Namespace: key.namespace, Name: key.name}
}

// sameMeta compares what a translation may read of two objects' metadata: all
// but the bookkeeping that changes with every write.
func sameMeta(a, b metav1.Object) bool {
	return a.GetUID() == b.GetUID() &&
		a.GetCreationTimestamp().Time.Equal(b.GetCreationTimestamp().Time) &&
		(a.GetDeletionTimestamp() == nil) == (b.GetDeletionTimestamp() == nil) &&
		maps.Equal(a.GetLabels(), b.GetLabels()) &&
		maps.Equal(a.GetAnnotations(), b.GetAnnotations()) &&
		slices.Equal(a.GetFinalizers(), b.GetFinalizers()) &&
		equality.Semantic.DeepEqual(a.GetOwnerReferences(), b.GetOwnerReferences())
}
