package zones

import (
	"time"

	iradix "github.com/hashicorp/go-immutable-radix/v2"
)

// A Snapshot is all zones at one moment. It is immutable: Table.Commit makes
// it, Store publishes it, queries and transfers read it without a lock.
type Snapshot struct {
	// Ready says that answers may be given: every source has synced, or a saved
	// snapshot was loaded. Until then every lookup in our zones is NotReady.
	Ready bool
	// Waiting names what a snapshot that is not Ready waits for, in words.
	Waiting string
	// Committed is when the snapshot was made.
	Committed time.Time

	index   map[Name]int // origin -> place of its zone in pages
	pages   pages
	origins []Name // sorted canonically
	// reasons holds, by canonical key, why a name (or a part of it) is missing.
	reasons *iradix.Tree[reason]
	targets *Targets // outside of the zones; nil where they are not looked up
}

// Targets returns what is known of names outside of the zones; nil where they
// are not looked up.
func (s *Snapshot) Targets() *Targets { return s.targets }

// withTargets returns the snapshot with other outside targets; the zones are
// shared.
func (s *Snapshot) withTargets(targets *Targets) *Snapshot {
	if s.targets == targets {
		return s
	}
	next := *s
	next.targets = targets
	return &next
}

// Zone returns the zone of that origin, or nil.
func (s *Snapshot) Zone(origin Name) *Zone {
	if i, ok := s.index[origin]; ok {
		return s.pages.at(i)
	}
	return nil
}

// Origins returns the zones' names in canonical order. The caller must not
// modify the slice.
func (s *Snapshot) Origins() []Name { return s.origins }

// ZoneOf returns the zone with the longest origin that n lies in, or nil.
func (s *Snapshot) ZoneOf(n Name) *Zone {
	if len(s.origins) == 1 {
		// As most servers have it: no hash is needed.
		if n.In(s.origins[0]) {
			return s.pages.at(0)
		}
		return nil
	}
	for rest := n; rest != ""; rest = rest.Parent() {
		if i, ok := s.index[rest]; ok {
			return s.pages.at(i)
		}
	}
	return nil
}

// reason returns why n has no records of type t: what was skipped at the name
// itself, or at a wildcard that would cover it.
func (s *Snapshot) reason(n Name, t Type) string {
	if s.reasons == nil || s.reasons.Len() == 0 {
		return ""
	}
	var buf keyBuffer
	if why, ok := s.reasons.Get(buf.key(n)); ok && why.concerns(t) {
		return why.text
	}
	for rest := n.Parent(); rest != "" && rest != Root; rest = rest.Parent() {
		if why, ok := s.reasons.Get(buf.wildcardKey(rest)); ok && why.concerns(t) {
			return why.text
		}
	}
	return ""
}
