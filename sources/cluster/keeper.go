package cluster

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/clusterzone/clusterzone/sources"
)

// A keeper is what a reflector takes for the store of a kind. It keeps no objects,
// only their names, and hands each over to the sink at once: those of a watch that
// begins with all objects (WatchList) while they come, so that they need not be
// in memory together in the form in which they came.
//
// A reflector calls it from one goroutine.
type keeper struct {
	kind  sources.Kind
	sink  sources.Sink
	strip cache.TransformFunc
	// read is called whenever all objects have been handed over.
	read func()

	// known are the objects that the sink has, by namespace and name: in which of the
	// lists each was seen last.
	known map[string]map[string]uint32
	lists uint32
}

var _ cache.TransformingStore = (*keeper)(nil)

func newKeeper(w *kindWatcher) *keeper {
	return &keeper{kind: w.kind, sink: w.sink, strip: w.strip, read: w.noteSynced, known: make(map[string]map[string]uint32)}
}

// Transformer implements cache.TransformingStore: with it the reflector calls for
// each object that comes before the list is complete. What is left of it for the
// reflector is the name, which comes back in Replace.
func (k *keeper) Transformer() cache.TransformFunc {
	return func(obj any) (any, error) { return k.handOver(obj) }
}

func (k *keeper) handOver(obj any) (cache.ObjectName, error) {
	if name, ok := obj.(cache.ObjectName); ok {
		return name, nil
	}
	stripped, err := k.strip(obj)
	if err != nil {
		return cache.ObjectName{}, err
	}
	name, err := cache.ObjectToName(stripped)
	if err != nil {
		return name, err
	}
	if object, ok := stripped.(metav1.Object); ok {
		k.note(name)
		k.sink.Set(k.kind, object)
	}
	return name, nil
}

// note remembers that an object is there.
func (k *keeper) note(name cache.ObjectName) {
	if k.known[name.Namespace] == nil {
		k.known[name.Namespace] = make(map[string]uint32)
	}
	k.known[name.Namespace][name.Name] = k.lists
}

// Add implements cache.ReflectorStore.
func (k *keeper) Add(obj any) error {
	_, err := k.handOver(obj)
	return err
}

// Update implements cache.ReflectorStore.
func (k *keeper) Update(obj any) error { return k.Add(obj) }

// Delete implements cache.ReflectorStore.
func (k *keeper) Delete(obj any) error {
	name, err := cache.ObjectToName(obj)
	if err != nil {
		return err
	}
	k.drop(name)
	return nil
}

func (k *keeper) drop(name cache.ObjectName) {
	delete(k.known[name.Namespace], name.Name)
	if len(k.known[name.Namespace]) == 0 {
		delete(k.known, name.Namespace)
	}
	k.sink.Gone(k.kind, name.Namespace, name.Name)
}

// Replace implements cache.ReflectorStore. An object that the sink has and the list
// hasn't is gone.
func (k *keeper) Replace(list []any, _ string) error {
	k.lists++
	for _, obj := range list {
		name, err := k.handOver(obj)
		if err != nil {
			return err
		}
		k.note(name)
	}
	for namespace, names := range k.known {
		for name, seen := range names {
			if seen != k.lists {
				k.drop(cache.NewObjectName(namespace, name))
			}
		}
	}
	k.read()
	return nil
}

// Resync implements cache.ReflectorStore: nobody asks for what was handed over.
func (k *keeper) Resync() error { return nil }
