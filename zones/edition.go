package zones

import (
	"iter"
	"maps"
	"slices"
)

// An Edition is one zone as secondaries get it: exactly the content that was
// there when the serial of its SOA was given out, flattened names with the
// addresses of that moment. Queries may see more recent records under the same
// serial, since changes within a second are served at once; those belong to the
// next Edition. It is immutable, and shares its records with the Zone.
type Edition struct {
	zone    *Zone
	flat    map[Name]flatSets // frozen
	steps   []*Step           // oldest first; the last one leads to this edition
	kept    int               // records in steps
	records int
	missing int
}

// A Step leads from one Edition of a zone to the next. It is frozen.
type Step struct {
	// From and To are the SOA sets of both.
	From, To *RRSet
	// Removed and Added hold the records that differ, in the order of names and
	// types; a set whose TTL differs stands in both, whole.
	Removed, Added []*RRSet

	from    uint32
	records int // SOAs included
}

// Origin returns the zone's name.
func (e *Edition) Origin() Name { return e.zone.origin.Name }

// Serial returns the serial that names the content.
func (e *Edition) Serial() uint32 { return e.zone.serial }

// SOA returns the SOA set.
func (e *Edition) SOA() *RRSet { return e.zone.SOA() }

// Records counts the records, the SOA included.
func (e *Edition) Records() int { return e.records }

// Missing counts the flattened names that are left out because the addresses of
// their target were never known.
func (e *Edition) Missing() int { return e.missing }

// RRSets yields every record set but the SOA: those of the zone in canonical
// order, what lies below zone cuts included (RFC 5936 section 3.5), then those
// of flattened names.
func (e *Edition) RRSets() iter.Seq[*RRSet] {
	return func(yield func(*RRSet) bool) {
		for set := range e.zone.RRSets() {
			if set.Type != TypeSOA && !yield(set) {
				return
			}
		}
		for _, name := range slices.SortedFunc(maps.Keys(e.flat), Name.Compare) {
			for _, set := range e.flat[name].sets {
				if set != nil && !yield(set) {
					return
				}
			}
		}
	}
}

// alwaysSteps is how many records of steps are given even for a zone that has
// fewer itself.
const alwaysSteps = 64

// Since returns the steps from the edition of that serial to this one. ok is
// false where the Journal doesn't know that edition any longer, or never did, or
// where the steps hold more records than the zone: then the whole zone is the
// answer (RFC 1995 section 4). The caller must not change the slice.
func (e *Edition) Since(serial uint32) (steps []*Step, ok bool) {
	records := 0
	for i := len(e.steps) - 1; i >= 0; i-- {
		records += e.steps[i].records
		if records > max(e.records, alwaysSteps) {
			return nil, false
		}
		if e.steps[i].from == serial {
			return e.steps[i:], true
		}
	}
	return nil, false
}

// follow makes the edition the next one after old, changes being what became of
// the sets of the zone between both. At most limit records of steps are kept.
func (e *Edition) follow(old *Edition, changes map[setKey]Change, limit int) {
	step := newStep(old, e, changes)
	e.steps, e.kept = append(old.steps, step), old.kept+step.records
	drop := 0
	for ; e.kept > limit; drop++ {
		e.kept -= e.steps[drop].records
	}
	if drop > 0 {
		e.steps = slices.Clone(e.steps[drop:])
	}
}

// A setKey names a record set of one zone.
type setKey struct {
	name Name
	kind Type
}

// newStep makes the step between two editions. It adds to changes what became
// of flattened names: at one name and type the zone itself and a flattening
// take turns, never both at once.
func newStep(old, next *Edition, changes map[setKey]Change) *Step {
	for name, was := range old.flat {
		for i, set := range was.sets {
			if set != nil && set != next.flat[name].sets[i] {
				change := changes[setKey{name, set.Type}]
				change.Old = set
				changes[setKey{name, set.Type}] = change
			}
		}
	}
	for name, is := range next.flat {
		for i, set := range is.sets {
			if set != nil && set != old.flat[name].sets[i] {
				change := changes[setKey{name, set.Type}]
				change.New = set
				changes[setKey{name, set.Type}] = change
			}
		}
	}
	step := &Step{From: old.SOA(), To: next.SOA(), from: old.Serial(), records: 2}
	list := slices.Collect(maps.Values(changes))
	list = slices.DeleteFunc(list, func(c Change) bool { return c.Old == nil && c.New == nil }) // came and went
	sortChanges(list)
	for _, change := range list {
		removed, added := differ(change.Old, change.New)
		if removed != nil {
			step.Removed = append(step.Removed, removed)
			step.records += len(removed.Data)
		}
		if added != nil {
			step.Added = append(step.Added, added)
			step.records += len(added.Data)
		}
	}
	return step
}

// differ returns the records of old that are not in next, and those of next that
// are not in old; nil for none. Data is in canonical order.
func differ(old, next *RRSet) (removed, added *RRSet) {
	if old == nil || next == nil || old.TTL != next.TTL {
		return old, next
	}
	less := func(a, b *RRSet) *RRSet {
		rest := &RRSet{Name: a.Name, Type: a.Type, TTL: a.TTL}
		for _, data := range a.Data {
			if _, both := slices.BinarySearch(b.Data, data); !both {
				rest.Data = append(rest.Data, data)
			}
		}
		if len(rest.Data) == 0 {
			return nil
		}
		return rest
	}
	return less(old, next), less(next, old)
}
