package zones

// compacted returns the tree as it is, or compact where that pays.
func (t tree) compacted() tree {
	if t.exact != nil || t.nodes < compactNodes {
		return t
	}
	return t.compact()
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
	t.changed = nil
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
