package sources

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/clusterzone/clusterzone/zones"
)

// What a translation may read beside its own object.
type readKind uint8

const (
	readClass   readKind = iota // the default IngressClass
	readSlices                  // the EndpointSlices of one Service
	readPod                     // one Pod
	readNode                    // one Node
	readNodes                   // all Nodes
	readProblem                 // whether a kind can be read
)

// A read is one thing that a translation looked at.
type read struct {
	what            readKind
	namespace, name string
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

func (r *reader) note(what readKind, namespace, name string) {
	if r.seen == nil {
		r.seen = make(map[read]struct{})
	}
	r.seen[read{what, namespace, name}] = struct{}{}
}

// reading returns all that was noted, in a fixed order.
func (r *reader) reading() reading {
	reads := make([]read, 0, len(r.seen))
	for one := range r.seen {
		reads = append(reads, one)
	}
	slices.SortFunc(reads, func(a, b read) int {
		return cmp.Or(cmp.Compare(a.what, b.what), cmp.Compare(a.namespace, b.namespace), cmp.Compare(a.name, b.name))
	})
	return reading{reads: reads, selectors: r.selectors, namespace: r.home}
}

func (r *reader) defaultClass() string {
	r.note(readClass, "", "")
	return r.world.standardClass
}

func (r *reader) slices(namespace, service string) []*discoveryv1.EndpointSlice {
	r.note(readSlices, namespace, service)
	return sortedByName(r.world.slicesOf[objectKey{namespace, service}])
}

func (r *reader) pod(namespace, name string) *corev1.Pod {
	r.note(readPod, namespace, name)
	return r.world.pods[namespace][name]
}

func (r *reader) podsMatching(namespace string, selector map[string]string) []*corev1.Pod {
	if len(selector) == 0 {
		return nil
	}
	r.home = namespace
	r.selectors = append(r.selectors, selector)
	matching := make(map[string]*corev1.Pod)
	for name, pod := range r.world.pods[namespace] {
		if selects(selector, pod.Labels) {
			matching[name] = pod
		}
	}
	return sortedByName(matching)
}

func (r *reader) node(name string) *corev1.Node {
	r.note(readNode, "", name)
	return r.world.nodes[name]
}

func (r *reader) nodes() []*corev1.Node {
	r.note(readNodes, "", "")
	if r.world.sortedNodes == nil {
		r.world.sortedNodes = sortedByName(r.world.nodes)
	}
	return r.world.sortedNodes
}

func (r *reader) namespace(name string) *corev1.Namespace { return nil }

func (r *reader) gateway(namespace, name string) *gatewayv1.Gateway { return nil }

func (r *reader) listenerSet(namespace, name string) *gatewayv1.ListenerSet { return nil }

func (r *reader) unreadable(kind Kind) error {
	r.note(readProblem, "", string(kind))
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
