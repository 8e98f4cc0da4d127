package sources

import (
	"fmt"
	"runtime/debug"
	"slices"

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
	due := len(f.dirty)
	for owner := range f.dirty {
		if !open[owner.Source] {
			continue
		}
		delete(f.dirty, owner)
		wrote = true
		translated, blind, there := f.translateOwner(owner)
		if !there {
			f.state.fresh(owner)
			f.options.Table.Delete(owner)
			continue
		}
		if blind && f.state.holds(owner) {
			continue // what was saved is better than what is seen with one eye
		}
		f.state.fresh(owner)
		f.options.Table.Put(f.hold(translated))
	}
	f.dirty = roomFor(f.dirty, due)
	return wrote
}

// translateAhead translates and settles, while nothing is served yet, owners of
// sources that wait for nothing but the rest of their own objects: the API server is
// still at sending those. Whoever is touched until then is translated again; and
// retract takes all back if the source turns out not to be readable.
func (f *Feed) translateAhead() {
	open := make(map[string]bool, len(f.options.Needs))
	for _, need := range f.options.Needs {
		open[need.Source] = !f.off(need) &&
			!slices.ContainsFunc(need.Kinds[1:], func(kind Kind) bool { return !f.states[kind].settled() })
	}
	due := len(f.dirty)
	for owner := range f.dirty {
		if !open[owner.Source] {
			continue
		}
		delete(f.dirty, owner)
		if translated, _, there := f.translateOwner(owner); there {
			f.options.Table.Put(f.hold(translated))
		} else {
			f.options.Table.Delete(owner)
		}
	}
	f.dirty = roomFor(f.dirty, due)
	f.options.Table.Settle()
}

// retract takes out of the table what translateAhead put there for sources whose own
// kind can't be read after all: half of a source's names are none. If it can be read
// later, their objects are translated then.
func (f *Feed) retract(kind Kind) {
	source := sourceOf(kind)
	if f.ready || source == "" {
		return
	}
	for _, owner := range slices.Collect(f.options.Table.Owners(source)) {
		f.options.Table.Delete(owner)
		f.dirty[owner] = struct{}{}
	}
}

// roomToKeep is how many objects a map may have had for its room to be kept: that is
// what the largest content took.
const roomToKeep = 1024

// roomFor returns a set that has held so many owners, or a new one in its place if it
// is empty now and was large.
func roomFor(set ownerSet, held int) ownerSet {
	if len(set) == 0 && held > roomToKeep {
		return make(ownerSet)
	}
	return set
}

// translateOwner translates the object behind an owner, and notes what was read
// for it. blind says that the translation was told of a kind that can't be read.
func (f *Feed) translateOwner(owner zones.Owner) (translated zones.Object, blind, there bool) {
	obj := f.world.object(owner)
	if obj == nil {
		f.world.reads.replace(owner, reading{})
		return translated, false, false
	}
	beside := f.world.reader(owner.Namespace)
	translated = f.translateOne(owner, obj, beside)
	f.world.reads.replace(owner, beside.reading())
	return translated, beside.blind, true
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
