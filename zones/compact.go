package zones

import "time"

const (
	// compactNodes is how many nodes a tree has at least to be compacted: a smaller
	// one fits into the processor's caches.
	compactNodes = 1 << 14
	// changedShare is the part of a tree's nodes that may change until it is compacted
	// anew, goneShare the part until the exact is given up: between the two is the
	// time in which a compaction goes on.
	changedShare = 8
	goneShare    = 4
	// tidyPause is how soon a Commit is asked for that takes up a compaction.
	tidyPause = 20 * time.Millisecond
)

// scattered reports whether a tree should be compacted.
func (t tree) scattered() bool {
	if t.nodes < compactNodes {
		return false
	}
	return t.exact == nil || t.changed != nil && t.changed.nodes > t.exact.nodes/changedShare
}

// compacted returns the tree as it is, or compact where that pays.
func (t tree) compacted() tree {
	if !t.scattered() {
		return t
	}
	return t.compact()
}

// tidied is compacted for a zone that is served: compacting a hundred thousand names
// takes tens of milliseconds, for which no change should wait. So a zone is compacted
// before its first look, and from then on by a goroutine beside it: what changes
// meanwhile, the tree notes and brings along.
func (b *building) tidied(t tree) tree {
	if t.later == nil {
		b.compacting = nil // one that is under way is of a tree whose place another has
	}
	select {
	case compact := <-b.compacting:
		b.compacting, t = nil, t.onto(compact)
	default:
	}
	switch {
	case b.compacting != nil || !t.scattered():
	case b.zone.tree.exact == nil:
		t = t.compact()
	default:
		t.later = &tree{}
		compacting := make(chan tree, 1)
		go func() { compacting <- t.compact() }()
		b.compacting = compacting
	}
	return t
}

// onto returns the tree made of what it was when its compaction began, compact, and
// what changed since.
func (t tree) onto(compact tree) tree {
	var steps []step
	var keys keyBuffer
	for e := range t.later.entries("") {
		s := step{name: e.name(), key: keys.sortable(e.name()), node: e}
		if e.has(isGone) {
			s.node = ""
		}
		steps = append(steps, s)
	}
	return compact.apply(steps)
}

// compact returns the same tree with its leaves behind each other in one piece of
// memory, for which huge pages are asked: a leaf in a page of its own costs a
// lookup more than all its work. The tree gets an exact. The piece stays as long
// as any of the leaves does.
func (t tree) compact() tree {
	if t.root == nil {
		return t
	}
	c := &compactor{}
	c.measure(t.root)
	table := 0
	if c.size < 1<<32 {
		c.exact = &exact{slots: uint64(slotsFor(t.nodes)), nodes: t.nodes}
		table = 8 * slotsFor(t.nodes)
	}
	memory := hugeMemory(table + c.size)[:table+c.size]
	c.table, c.memory = memory[:table], memory[table:table]
	t.root = c.branch(t.root)
	settleMemory(memory)
	if t.exact = c.exact; t.exact != nil {
		t.exact.table, t.exact.memory = textOfMemory(c.table), textOfMemory(c.memory)
	}
	t.changed, t.later = nil, nil
	return t
}

type compactor struct {
	size   int
	memory []byte // filled up to len
	table  []byte
	exact  *exact // nil where none is made
}

func (c *compactor) measure(b *branch) {
	c.size += len(b.index)
	for _, l := range b.leaves {
		c.size += len(l)
	}
	for _, below := range b.branches {
		c.measure(below)
	}
}

func (c *compactor) branch(b *branch) *branch {
	next := *b
	next.index = c.put(b.index)
	if b.branches != nil {
		next.branches = make([]*branch, len(b.branches))
		for i, below := range b.branches {
			next.branches[i] = c.branch(below)
		}
		return &next
	}
	next.leaves = make([]leaf, len(b.leaves))
	for i, l := range b.leaves {
		start := len(c.memory)
		next.leaves[i] = leaf(c.put(string(l)))
		if c.exact == nil {
			continue
		}
		for j := range l.len() {
			e, from := l.span(j)
			c.exact.put(c.table, e, start+from)
		}
	}
	return &next
}

// put copies a text into the memory, which is never written again there.
func (c *compactor) put(text string) string {
	start := len(c.memory)
	c.memory = append(c.memory, text...)
	return textOfMemory(c.memory[start:])
}
