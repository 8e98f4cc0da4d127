package mirror

import (
	"cmp"
	"slices"

	"github.com/clusterzone/clusterzone/zones"
)

// order puts the changes of one name in an order in which each can be made: what
// makes room comes first, but deletes for good come last.
func (c *Change) order() int {
	switch c.Verb {
	case Replace:
		return 1
	case Update:
		return 2
	case Create:
		return 3
	}
	return 4
}

// groups makes one group of all steps of a name, those that only add before
// those that take away.
func groups(steps []Step) []Group {
	at := map[zones.Name]int{}
	var list [][]Step
	for _, step := range steps {
		i, known := at[step.Name]
		if !known {
			i = len(list)
			at[step.Name] = i
			list = append(list, nil)
		}
		list[i] = append(list[i], step)
	}
	result := make([]Group, 0, len(list))
	for _, of := range list {
		result = append(result, Group{Name: of[0].Name, Changes: ordered(of)})
	}
	slices.SortStableFunc(result, func(a, b Group) int { return cmp.Compare(deletesIn(&a), deletesIn(&b)) })
	return result
}

// ordered returns the changes of one name's steps: ownership records that come,
// then the records, then ownership records that go. One that stands in the way of
// a CNAME goes first.
func ordered(steps []Step) []Change {
	var room, before, changes, after []Change
	cname := slices.ContainsFunc(steps, func(s Step) bool { return s.Change.New != nil && s.Change.New.Type == zones.TypeCNAME })
	gone := map[*Record]bool{}
	for _, step := range steps {
		before = append(before, step.Before...)
		change := step.Change
		if step.Turn && change.Verb == Delete {
			room = append(room, change)
		} else {
			changes = append(changes, change)
		}
		for _, change := range step.After {
			switch {
			case gone[change.Old]:
			case cname && change.Old.Name == step.Name:
				room = append(room, change)
			default:
				after = append(after, change)
			}
			gone[change.Old] = true
		}
	}
	slices.SortStableFunc(changes, func(a, b Change) int { return cmp.Compare(a.order(), b.order()) })
	return slices.Concat(before, room, changes, after)
}

func deletesIn(g *Group) int {
	for i := range g.Changes {
		if g.Changes[i].Verb == Delete && !g.Changes[i].Ownership {
			return 1
		}
	}
	return 0
}

// A weight is how much of a batch's limits something takes.
type weight struct{ changes, values, chars int }

func (w weight) plus(other weight) weight {
	return weight{w.changes + other.changes, w.values + other.values, w.chars + other.chars}
}

// fits reports whether a batch of that weight is within the limits.
func (w weight) fits(l *Limits) bool {
	return (l.BatchChanges == 0 || w.changes <= l.BatchChanges) &&
		(l.BatchValues == 0 || w.values <= l.BatchValues) &&
		(l.BatchChars == 0 || w.chars <= l.BatchChars)
}

func weigh(r *Record) weight {
	if r == nil {
		return weight{}
	}
	w := weight{changes: 1, values: len(r.Targets)}
	for _, target := range r.Targets {
		w.chars += len(target)
	}
	return w
}

func (c *Change) weight() weight {
	old, next := weigh(c.Old), weigh(c.New)
	w := old.plus(next)
	if c.Verb == Update {
		// It counts twice where the cloud writes it over, else as delete and create.
		w.values, w.chars = max(w.values, 2*next.values), max(w.chars, 2*next.chars)
	}
	return w
}

func (g *Group) weight() weight {
	var sum weight
	for i := range g.Changes {
		sum = sum.plus(g.Changes[i].weight())
	}
	return sum
}

// batches parts groups into batches within the limits. Groups that are above them
// by themselves come back as tooBig.
func batches(list []Group, limits *Limits) (parts [][]Group, tooBig []Group) {
	var sum weight
	var part []Group
	for _, group := range list {
		w := group.weight()
		switch next := sum.plus(w); {
		case !w.fits(limits):
			tooBig = append(tooBig, group)
			continue
		case len(part) > 0 && !next.fits(limits):
			parts = append(parts, part)
			part, sum = nil, weight{}
		}
		part, sum = append(part, group), sum.plus(w)
	}
	if len(part) > 0 {
		parts = append(parts, part)
	}
	return parts, tooBig
}
