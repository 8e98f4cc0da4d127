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

// ClaimsOf returns what the owner claims, as it was last put. The caller must
// not change the slice.
func (t *Table) ClaimsOf(owner Owner) []Claim {
	if o := t.objects[owner]; o != nil {
		return o.Claims
	}
	return nil
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
