package sources

import (
	"errors"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/clusterzone/clusterzone/zones"
)

// A blink is not a deletion (DESIGN rule 7). Where an object still asks for a
// name, and only its status (or its Gateway's) has lost what the name points
// at, the last good claims stay for FeedOptions.HoldAddresses. It is the one
// place where what is served depends on the past; all that it knows of the past
// is what the Table holds, so that it is saved and loaded with that.
//
// Everything else is served at once as it is: deletion, a host that goes, one
// of two addresses that goes, a filter, an annotation. So is what is no status:
// endpoints that aren't ready, Nodes, cluster IPs.

// holds knows when holds end. The zero value holds nothing.
type holds struct {
	owners map[zones.Owner]time.Time // when the first of the owner's holds ends
	ends   []holdEnd                 // ascending; those that owners doesn't confirm are outdated
	paused []holdEnd                 // over, but for a source that can't be read now

	begun, ended int // names, since they were last logged
}

// A holdEnd is when one owner must be translated anew.
type holdEnd struct {
	until time.Time
	owner zones.Owner
}

// set notes when the first of the owner's holds ends; the zero time is for none.
func (h *holds) set(owner zones.Owner, until time.Time) {
	if until.IsZero() {
		delete(h.owners, owner)
		return
	}
	if old, ok := h.owners[owner]; ok && old.Equal(until) {
		return
	}
	if h.owners == nil {
		h.owners = make(map[zones.Owner]time.Time)
	}
	h.owners[owner] = until
	// Holds end in the order in which they began, so this mostly appends.
	at, _ := slices.BinarySearchFunc(h.ends, until, func(e holdEnd, until time.Time) int {
		if e.until.After(until) {
			return 1
		}
		return -1
	})
	h.ends = slices.Insert(h.ends, at, holdEnd{until, owner})
}

// over takes out and returns the holds that are over, the paused ones first.
func (h *holds) over(now time.Time) []holdEnd {
	n := 0
	for n < len(h.ends) && !now.Before(h.ends[n].until) {
		n++
	}
	over := append(h.paused, h.ends[:n]...)
	h.paused, h.ends = nil, h.ends[n:]
	if len(h.ends) == 0 {
		h.ends = nil // gives back what the popped ones took
	}
	return slices.DeleteFunc(over, func(e holdEnd) bool {
		until, ok := h.owners[e.owner]
		return !ok || !until.Equal(e.until)
	})
}

// shorten returns how long the feed may sleep: wait, or less where a hold ends
// before.
func (h *holds) shorten(wait time.Duration, now time.Time) time.Duration {
	if len(h.ends) == 0 {
		return wait
	}
	return min(wait, h.ends[0].until.Sub(now))
}

// endHolds has the owners translated anew whose holds are over.
func (f *Feed) endHolds() {
	for _, end := range f.holds.over(f.options.Now()) {
		switch {
		case !f.world.hasObject(end.owner) && !f.state.holds(end.owner):
			f.holds.set(end.owner, time.Time{}) // the object has gone, and the hold with it
		case f.troubled(end.owner.Source):
			f.holds.paused = append(f.holds.paused, end)
		default:
			f.holds.set(end.owner, time.Time{})
			f.dirty[end.owner] = struct{}{}
		}
	}
}

// troubled reports whether something that the source has read can't be read
// now; a kind that is not there any longer is read whole. Meanwhile nobody knows whether addresses are back, and no hold ends: the
// API server's absence changes no answer (DESIGN rule 3).
func (f *Feed) troubled(source string) bool {
	for _, need := range f.options.Needs {
		if need.Source == source {
			return slices.ContainsFunc(need.Kinds, func(kind Kind) bool {
				state := f.states[kind]
				return state.synced && state.problem != nil && !errors.As(state.problem, new(*Absent))
			})
		}
	}
	return false
}

// loadHolds takes up the holds of a saved state.
func (f *Feed) loadHolds() {
	for owner := range f.state.old {
		if o, ok := f.options.Table.ObjectOf(owner); ok {
			f.holds.set(owner, firstEnd(o.Claims))
		}
	}
}

// firstEnd returns when the first of the claims' holds ends; the zero time where
// none is held.
func firstEnd(claims []zones.Claim) (first time.Time) {
	for i := range claims {
		if held := claims[i].Held; held != nil && (first.IsZero() || held.Until.Before(first)) {
			first = held.Until
		}
	}
	return first
}

// forgetReborn drops what is known of an object in whose place obj is: one of
// the same name, whose predecessor was deleted unseen.
func (f *Feed) forgetReborn(kind Kind, key objectKey, obj metav1.Object) {
	owner := zones.Owner{Source: sourceOf(kind), Namespace: key.namespace, Name: key.name}
	if owner.Source == "" || f.state.holds(owner) {
		return
	}
	if old, known := f.world.uid(kind, key); known && old != obj.GetUID() {
		f.options.Table.Delete(owner)
	}
}

// hold returns the object's wish with the last good claims of names that only
// its status has lost.
func (f *Feed) hold(translated zones.Object) zones.Object {
	if f.options.HoldAddresses > 0 {
		before, known := f.options.Table.ObjectOf(translated.Owner)
		if known && before.Created.Equal(translated.Created) {
			translated = f.rescue(translated, &before)
		}
	}
	f.holds.set(translated.Owner, firstEnd(translated.Claims))
	return translated
}

func (f *Feed) rescue(translated zones.Object, before *zones.Object) zones.Object {
	lost := lostNames(&translated, before)
	if len(lost) == 0 {
		return translated
	}
	r := rescue{
		now: f.options.Now(), grace: f.options.HoldAddresses, endless: f.troubled(translated.Owner.Source),
		lost: lost, held: make(map[zones.Name]*zones.Hold),
	}
	claims := r.claims(before.Claims)
	f.holds.begun += r.begun
	f.holds.ended += r.ended
	if len(claims) == 0 {
		return translated
	}
	return r.into(translated, claims)
}

// logHolds logs, once for all objects of a commit, how many names are held from
// now on, and how many no longer although no address came.
func (f *Feed) logHolds() {
	h := &f.holds
	if h.begun > 0 {
		f.options.Log.Warn("addresses have gone from the status of objects that still ask for names; the last good ones are held",
			"names", h.begun, "for", f.options.HoldAddresses)
	}
	if h.ended > 0 {
		f.options.Log.Warn("no addresses have come while names were held; they have no records now",
			"names", h.ended, "after", f.options.HoldAddresses)
	}
	h.begun, h.ended = 0, 0
}
