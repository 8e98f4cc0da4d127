package zones

import "time"

// A Hold says that the records of a claim are an owner's last good ones: the
// object still exists and asks for the name, and its status has lost the
// addresses (DESIGN rule 7, a blink is not a deletion). It is frozen.
type Hold struct {
	// Since is when the addresses were lost, Until when the hold ends.
	Since time.Time `json:"since"`
	Until time.Time `json:"until"`
}

// ObjectOf returns all that the owner asked for, as it was last put; ok is false
// where it asks for nothing. The caller must not change the slices.
func (t *Table) ObjectOf(owner Owner) (o Object, ok bool) {
	if known := t.objects[owner]; known != nil {
		return known.Object, true
	}
	return Object{}, false
}

// holding reports whether any of the claims that were kept at a name is held.
func (s *settlement) holding() bool {
	for _, c := range s.kept {
		if c.claim.Held != nil {
			return true
		}
	}
	return false
}

// noteHeld keeps count of the names that stand on held claims.
func (t *Table) noteHeld(e *entry, held bool) {
	switch {
	case held && !e.held:
		t.counts.held++
	case !held && e.held:
		t.counts.held--
	}
	e.held = held
}

// held returns the first object of an explanation whose records are held, and
// until when; "" where there is none.
func (x *Explanation) held() (object string, until time.Time) {
	for _, set := range x.Records {
		for _, from := range set.From {
			if from.Held != nil {
				return from.Object, from.Held.Until
			}
		}
	}
	return "", time.Time{}
}
