package sources

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/clusterzone/clusterzone/zones"
)

// What a translation may read beside its own object.
type readKind uint8

const (
	readObject  readKind = iota // one object of a kind, there or not
	readClass                   // the default IngressClass
	readSlices                  // the EndpointSlices of one Service
	readNodes                   // all Nodes
	readProblem                 // whether a kind can be read
)

// A read is one thing that a translation looked at.
type read struct {
	what readKind
	kind Kind
	key  objectKey
}

// A readIndex knows who read what in the last translation, so that a change
// finds exactly the owners it concerns. Nothing about what the translations do
// is written down twice: whatever they read, they are told about.
type readIndex struct {
	readers map[read]ownerSet
	// selections holds, by namespace, the Pod selectors that were asked for.
	selections map[string]map[zones.Owner][]map[string]string
	// of is what each owner read, for the day it reads something else.
	of map[zones.Owner]reading
}

// A reading is what one owner read.
type reading struct {
	reads     []read
	selectors []map[string]string
	namespace string // of the selectors: always the owner's
}

func newReadIndex() readIndex {
	return readIndex{
		readers:    make(map[read]ownerSet),
		selections: make(map[string]map[zones.Owner][]map[string]string),
		of:         make(map[zones.Owner]reading),
	}
}

// touch adds to touched whoever read r.
func (x *readIndex) touch(r read, touched ownerSet) {
	for owner := range x.readers[r] {
		touched[owner] = struct{}{}
	}
}

// touchSelecting adds to touched whoever selected Pods with these labels.
func (x *readIndex) touchSelecting(namespace string, podLabels map[string]string, touched ownerSet) {
	for owner, selectors := range x.selections[namespace] {
		for _, selector := range selectors {
			if selects(selector, podLabels) {
				touched[owner] = struct{}{}
				break
			}
		}
	}
}

// replace notes that owner's last translation read now, and nothing else.
func (x *readIndex) replace(owner zones.Owner, now reading) {
	old := x.of[owner]
	if !slices.Equal(old.reads, now.reads) {
		for _, r := range old.reads {
			delete(x.readers[r], owner)
			if len(x.readers[r]) == 0 {
				delete(x.readers, r)
			}
		}
		for _, r := range now.reads {
			if x.readers[r] == nil {
				x.readers[r] = make(ownerSet, 1)
			}
			x.readers[r][owner] = struct{}{}
		}
	}
	if len(old.selectors) > 0 {
		delete(x.selections[old.namespace], owner)
		if len(x.selections[old.namespace]) == 0 {
			delete(x.selections, old.namespace)
		}
	}
	if len(now.selectors) > 0 {
		if x.selections[now.namespace] == nil {
			x.selections[now.namespace] = make(map[zones.Owner][]map[string]string)
		}
		x.selections[now.namespace][owner] = now.selectors
	}
	if len(now.reads) == 0 && len(now.selectors) == 0 {
		delete(x.of, owner)
		return
	}
	x.of[owner] = now
}

func selects(selector, podLabels map[string]string) bool {
	for key, value := range selector {
		if have, ok := podLabels[key]; !ok || have != value {
			return false
		}
	}
	return len(selector) > 0
}

// A reader gives one translation its neighbours and notes what it reads.
type reader struct {
	world     *world
	home      string // the owner's namespace
	seen      map[read]struct{}
	selectors []map[string]string
	// blind says that the translation was told of a kind that can't be read.
	blind bool
}

var _ neighbours = (*reader)(nil)

func (w *world) reader(namespace string) *reader {
	return &reader{world: w, home: namespace}
}

func (r *reader) note(what readKind, kind Kind, key objectKey) {
	if r.seen == nil {
		r.seen = make(map[read]struct{})
	}
	r.seen[read{what, kind, key}] = struct{}{}
}

// reading returns all that was noted, in a fixed order.
func (r *reader) reading() reading {
	reads := make([]read, 0, len(r.seen))
	for one := range r.seen {
		reads = append(reads, one)
	}
	slices.SortFunc(reads, func(a, b read) int {
		return cmp.Or(cmp.Compare(a.what, b.what), cmp.Compare(a.kind, b.kind),
			cmp.Compare(a.key.namespace, b.key.namespace), cmp.Compare(a.key.name, b.key.name))
	})
	return reading{reads: reads, selectors: r.selectors, namespace: r.home}
}

// lookUp returns one object and notes that it was looked at, there or not.
func lookUp[T metav1.Object](r *reader, kind Kind, namespace, name string) T {
	key := objectKey{namespace, name}
	r.note(readObject, kind, key)
	obj, _ := r.world.get(kind, key).(T)
	return obj
}

func (r *reader) pod(namespace, name string) *corev1.Pod {
	return lookUp[*corev1.Pod](r, KindPod, namespace, name)
}

func (r *reader) node(name string) *corev1.Node {
	return lookUp[*corev1.Node](r, KindNode, "", name)
}

func (r *reader) namespace(name string) *corev1.Namespace {
	return lookUp[*corev1.Namespace](r, KindNamespace, "", name)
}

func (r *reader) gateway(namespace, name string) *gatewayv1.Gateway {
	return lookUp[*gatewayv1.Gateway](r, KindGateway, namespace, name)
}

func (r *reader) listenerSet(namespace, name string) *gatewayv1.ListenerSet {
	return lookUp[*gatewayv1.ListenerSet](r, KindListenerSet, namespace, name)
}

func (r *reader) defaultClass() string {
	r.note(readClass, "", objectKey{})
	return r.world.standardClass
}

func (r *reader) slices(namespace, service string) []*discoveryv1.EndpointSlice {
	of := objectKey{namespace, service}
	r.note(readSlices, "", of)
	return sortedByName(r.world.slicesOf[of])
}

func (r *reader) podsMatching(namespace string, selector map[string]string) []*corev1.Pod {
	if len(selector) == 0 {
		return nil
	}
	r.home = namespace
	r.selectors = append(r.selectors, selector)
	matching := make(map[string]*corev1.Pod)
	for name, obj := range r.world.all(KindPod, namespace) {
		if pod, ok := obj.(*corev1.Pod); ok && selects(selector, pod.Labels) {
			matching[name] = pod
		}
	}
	return sortedByName(matching)
}

func (r *reader) nodes() []*corev1.Node {
	r.note(readNodes, "", objectKey{})
	if r.world.sortedNodes == nil {
		nodes := make(map[string]*corev1.Node)
		for name, obj := range r.world.all(KindNode, "") {
			if node, ok := obj.(*corev1.Node); ok {
				nodes[name] = node
			}
		}
		r.world.sortedNodes = sortedByName(nodes)
	}
	return r.world.sortedNodes
}

func (r *reader) unreadable(kind Kind) error {
	r.note(readProblem, kind, objectKey{})
	problem := r.world.problems[kind]
	if problem != nil {
		r.blind = true
	}
	return problem
}

// sortedByName returns the values of a map in the order of its keys, and nil
// for an empty one.
func sortedByName[T any](objects map[string]*T) []*T {
	if len(objects) == 0 {
		return nil
	}
	names := make([]string, 0, len(objects))
	for name := range objects {
		names = append(names, name)
	}
	slices.Sort(names)
	sorted := make([]*T, len(names))
	for i, name := range names {
		sorted[i] = objects[name]
	}
	return sorted
}
