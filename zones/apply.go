package zones

import (
	"slices"
	"strings"
)

// A step is one change of a tree: a new entry for a name, or "" to remove it.
// Steps are sorted by key.
type step struct {
	name Name
	key  string
	node packedNode
}

// A part is a kid of a branch with its bound.
type part[T any] struct {
	bound string
	kid   T
}

// An applier applies steps to a tree.
type applier struct {
	nodes, wildcards int
	entries          []packedNode // of the leaf being made
}

// apply returns the tree after some steps, which are sorted by key, one a name.
// It copies the leaves with these names and the paths to them.
func (t tree) apply(steps []step) tree {
	if len(steps) == 0 {
		return t
	}
	root := t.root
	if root == nil {
		root = &branch{bounds: []string{""}, leaves: []leaf{""}}
	}
	a := &applier{nodes: t.nodes, wildcards: t.wildcards, entries: make([]packedNode, 0, 2*leafNodes)}
	parts := a.branch(root, "", steps)
	for len(parts) > 1 {
		parts = joinBranches(parts)
	}
	next := tree{nodes: a.nodes, wildcards: a.wildcards}
	if len(parts) > 0 {
		next.root = parts[0].kid
		for len(next.root.branches) == 1 {
			next.root = next.root.branches[0]
		}
	}
	if t.exact != nil || t.later != nil {
		next.noteChanged(t, steps)
	}
	return next
}

// noteChanged keeps what differs from the exact of the tree before, as long as
// it is little, and what has changed since its compaction began.
func (t *tree) noteChanged(before tree, steps []step) {
	noted := make([]step, len(steps))
	for i, s := range steps {
		if noted[i] = s; s.node == "" {
			noted[i].node = packedNode(append([]byte{byte(len(s.name)), isGone}, s.name...))
		}
	}
	if before.exact != nil {
		if changed := before.changed.and(noted); changed.nodes <= before.exact.nodes/goneShare {
			t.exact, t.changed = before.exact, changed
		}
	}
	if before.later != nil {
		t.later = before.later.and(noted)
	}
}

// and returns the tree after some steps; t may be nil.
func (t *tree) and(steps []step) *tree {
	var next tree
	if t != nil {
		next = *t
	}
	next = next.apply(steps)
	return &next
}

// branch applies steps below a branch, and returns what stands in its place.
func (a *applier) branch(b *branch, bound string, steps []step) []part[*branch] {
	if one, done := a.only(b, steps); done {
		return []part[*branch]{{bound, one}}
	}
	if b.branches != nil {
		parts, same := applyTo(b, b.branches, bound, steps, a.branch)
		if same {
			return []part[*branch]{{bound, b.with(nil, kidsOf(parts))}}
		}
		return joinBranches(mergeBranches(parts))
	}
	parts, same := applyTo(b, b.leaves, bound, steps, a.leaf)
	if same {
		return []part[*branch]{{bound, b.with(kidsOf(parts), nil)}}
	}
	return joinLeaves(a.mergeLeaves(parts))
}

// only is the way of most changes: all steps are for one kid, and one kid stands in
// its place. Then what there is to know about the kids stays as it is.
func (a *applier) only(b *branch, steps []step) (next *branch, done bool) {
	at := b.kid([]byte(steps[0].key))
	if at+1 < len(b.bounds) && steps[len(steps)-1].key >= b.bounds[at+1] {
		return nil, false
	}
	nodes, wildcards := a.nodes, a.wildcards
	if b.branches != nil {
		if parts := a.branch(b.branches[at], b.bounds[at], steps); len(parts) == 1 {
			next = b.with(nil, slices.Clone(b.branches))
			next.branches[at] = parts[0].kid
		}
	} else if parts := a.leaf(b.leaves[at], b.bounds[at], steps); len(parts) == 1 {
		next = b.with(slices.Clone(b.leaves), nil)
		next.leaves[at] = parts[0].kid
	}
	if next == nil {
		a.nodes, a.wildcards = nodes, wildcards // the steps are applied once more
	}
	return next, next != nil
}

// applyTo applies steps to the kids of a branch. same reports whether for each
// of them one stands in its place.
func applyTo[T any](b *branch, kids []T, bound string, steps []step, apply func(T, string, []step) []part[T]) (parts []part[T], same bool) {
	parts = make([]part[T], 0, len(kids)+1)
	same = true
	for i, kid := range kids {
		if i > 0 {
			bound = b.bounds[i]
		}
		n := len(steps)
		if i+1 < len(kids) {
			for n = 0; n < len(steps) && steps[n].key < b.bounds[i+1]; n++ {
			}
		}
		if n == 0 {
			parts = append(parts, part[T]{bound, kid})
			continue
		}
		before := len(parts)
		parts = append(parts, apply(kid, bound, steps[:n])...)
		same = same && len(parts) == before+1
		steps = steps[n:]
	}
	return parts, same
}

// with returns the branch with other kids in the same places.
func (b *branch) with(leaves []leaf, branches []*branch) *branch {
	next := *b
	next.leaves, next.branches = leaves, branches
	return &next
}

func kidsOf[T any](parts []part[T]) []T {
	kids := make([]T, len(parts))
	for i := range parts {
		kids[i] = parts[i].kid
	}
	return kids
}

func boundsOf[T any](parts []part[T]) []string {
	bounds := make([]string, len(parts))
	for i := range parts {
		bounds[i] = parts[i].bound
	}
	return bounds
}

// share says into how many shares of at most size a number is parted evenly.
func share(n, size int) int { return (n + size - 1) / size }

// joinBranches puts branches below new ones.
func joinBranches(parts []part[*branch]) []part[*branch] {
	return join(parts, func(parts []part[*branch]) *branch {
		return &branch{bounds: boundsOf(parts), branches: kidsOf(parts)}
	})
}

func joinLeaves(parts []part[leaf]) []part[*branch] {
	return join(parts, func(parts []part[leaf]) *branch {
		return &branch{bounds: boundsOf(parts), leaves: kidsOf(parts)}
	})
}

func join[T any](parts []part[T], under func([]part[T]) *branch) []part[*branch] {
	var joined []part[*branch]
	for len(parts) > 0 {
		n := cutAt(parts)
		b := under(parts[:n])
		b.makeIndex()
		joined = append(joined, part[*branch]{parts[0].bound, b})
		parts = parts[n:]
	}
	return joined
}

// cutAt returns how many kids the next branch takes: where there are too many for
// one, those up to the shortest bound. So branches part where names have little
// in common, and within a branch the first octets that differ tell bounds apart.
func cutAt[T any](parts []part[T]) int {
	if len(parts) <= branchKids {
		return len(parts)
	}
	best := branchKids / 4
	for i := best; i <= min(branchKids, len(parts)-branchKids/8); i++ {
		if len(parts[i].bound) < len(parts[best].bound) {
			best = i
		}
	}
	return best
}

// mergeBranches joins neighbours of which deletions left little.
func mergeBranches(parts []part[*branch]) []part[*branch] {
	merged := parts[:0]
	for _, p := range parts {
		if len(merged) > 0 {
			last := &merged[len(merged)-1]
			if n := len(last.kid.bounds) + len(p.kid.bounds); n <= branchKids/4 {
				b := &branch{bounds: append(append(make([]string, 0, n), last.kid.bounds...), p.kid.bounds...)}
				// The first bound of a branch is its own to forget.
				b.bounds[len(last.kid.bounds)] = p.bound
				b.leaves = append(append(b.leaves, last.kid.leaves...), p.kid.leaves...)
				b.branches = append(append(b.branches, last.kid.branches...), p.kid.branches...)
				b.makeIndex()
				last.kid = b
				continue
			}
		}
		merged = append(merged, p)
	}
	return merged
}

// mergeLeaves is mergeBranches for leaves.
func (a *applier) mergeLeaves(parts []part[leaf]) []part[leaf] {
	merged := parts[:0]
	for _, p := range parts {
		if len(merged) > 0 {
			last := &merged[len(merged)-1]
			if last.kid.len()+p.kid.len() <= leafNodes/2 && len(last.kid)+len(p.kid) <= leafOctets/2 {
				a.entries = a.entries[:0]
				for _, l := range [...]leaf{last.kid, p.kid} {
					for i := range l.len() {
						a.entries = append(a.entries, l.at(i))
					}
				}
				last.kid = pack(a.entries)
				continue
			}
		}
		merged = append(merged, p)
	}
	return merged
}

// leaf applies steps to a leaf, and returns what stands in its place.
func (a *applier) leaf(l leaf, bound string, steps []step) []part[leaf] {
	a.entries = a.entries[:0]
	from, octets := 0, 0
	keep := func(e packedNode) {
		a.entries = append(a.entries, e)
		octets += len(e)
	}
	for _, s := range steps {
		at, own := l.search([]byte(s.key))
		for ; from < at; from++ {
			keep(l.at(from))
		}
		if own {
			a.count(l.at(at), -1)
			from++
		}
		if s.node != "" {
			a.count(s.node, +1)
			keep(s.node)
		}
	}
	for ; from < l.len(); from++ {
		keep(l.at(from))
	}
	if len(a.entries) == 0 {
		return nil
	}
	return a.split(bound, octets)
}

func (a *applier) count(e packedNode, by int) {
	a.nodes += by
	if e.name().IsWildcard() {
		a.wildcards += by
	}
}

// split packs the entries into as many leaves as they need; octets is their
// length.
func (a *applier) split(bound string, octets int) []part[leaf] {
	n := max(share(len(a.entries), leafNodes), share(octets, leafOctets))
	parts := make([]part[leaf], 0, n)
	from, filled := 0, 0
	for i := range a.entries {
		filled += len(a.entries[i])
		last := i+1 == len(a.entries)
		full := i+1-from >= share(len(a.entries), n) || filled >= share(octets, n)
		if !last && !full {
			continue
		}
		if from > 0 {
			var low, high keyBuffer
			bound = shortest(string(low.key(a.entries[from-1].name())), string(high.key(a.entries[from].name())))
		}
		parts = append(parts, part[leaf]{bound, pack(a.entries[from : i+1])})
		from, filled = i+1, 0
	}
	return parts
}

// sortable returns a key that a step may keep.
func (k *keyBuffer) sortable(n Name) string { return strings.Clone(string(k.key(n))) }
