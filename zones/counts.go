package zones

import "maps"

// counts are kept up to date with every Put, so that metrics cost no walk.
type counts struct {
	claims  map[string]int // by source
	skipped map[SkipKind]int
	held    int // names whose records are held, as of the last commit
}

// A SkipKind is what skips are counted by.
type SkipKind struct {
	Source string
	Reason Reason
}

func newCounts() counts {
	return counts{claims: map[string]int{}, skipped: map[SkipKind]int{}}
}

func (c counts) skip(s *Skipped, by int) {
	kind := SkipKind{s.Owner.Source, s.Reason}
	if c.skipped[kind] += by; c.skipped[kind] == 0 {
		delete(c.skipped, kind)
	}
}

// Counts are the sizes of a Table at one moment. The maps are the caller's.
type Counts struct {
	Objects int
	Names   int
	Claims  map[string]int   // by source
	Skipped map[SkipKind]int // as of the last commit, contests included
	Held    int              // names that stand on held claims, as of the last commit
}

// Counts returns how much the Table holds.
func (t *Table) Counts() Counts {
	return Counts{
		Objects: len(t.objects),
		Names:   len(t.names),
		Claims:  maps.Clone(t.counts.claims),
		Skipped: maps.Clone(t.counts.skipped),
		Held:    t.counts.held,
	}
}
