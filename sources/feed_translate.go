package sources

import (
	"fmt"
	"runtime/debug"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/clusterzone/clusterzone/zones"
)

// translate translates the owners that are due and whose source can be read,
// and reports whether it wrote to the table. The others stay due.
func (f *Feed) translate() bool {
	f.endHolds()
	defer f.logHolds()
	open := make(map[string]bool, len(f.options.Needs))
	for _, need := range f.options.Needs {
		open[need.Source] = f.settled(need) && f.states[need.Kinds[0]].synced
	}
	wrote := false
	for owner := range f.dirty {
		if !open[owner.Source] {
			continue
		}
		delete(f.dirty, owner)
		wrote = true
		obj := f.world.object(owner)
		if obj == nil {
			f.world.reads.replace(owner, reading{})
			f.state.fresh(owner)
			f.options.Table.Delete(owner)
			continue
		}
		beside := f.world.reader(owner.Namespace)
		translated := f.translateOne(owner, obj, beside)
		f.world.reads.replace(owner, beside.reading())
		if beside.blind && f.state.holds(owner) {
			continue // what was saved is better than what is seen with one eye
		}
		f.state.fresh(owner)
		f.options.Table.Put(f.hold(translated))
	}
	if len(f.dirty) == 0 {
		f.dirty = make(ownerSet) // a map keeps the room that its largest batch took
	}
	return wrote
}

// translateOne translates one object. A panic is that object's: it becomes a
// Skipped, and nobody else suffers (DESIGN rule 6).
func (f *Feed) translateOne(owner zones.Owner, obj metav1.Object, beside neighbours) (translated zones.Object) {
	defer func() {
		fault := recover()
		if fault == nil {
			return
		}
		f.options.Log.Error("internal error while translating an object; please report it",
			"object", owner.String(), "error", fmt.Sprint(fault), "stack", string(debug.Stack()))
		translated = zones.Object{
			Owner:   owner,
			Created: obj.GetCreationTimestamp().Time,
			Skipped: []zones.Skipped{{
				Owner:   owner,
				Reason:  zones.ReasonTemplate,
				Message: "the object hits an internal error of this program, so nothing of it is served; the server's log has the details",
			}},
		}
	}()
	return f.options.Translator.Translate(obj, beside)
}
