package zones

import (
	"cmp"
	"slices"
	"sort"
)

// An edit gathers changes to the nodes of one zone; commit gives the new trees.
// The old ones stay as they were.
type edit struct {
	tree tree
	// cuts has the nodes for which isCut holds, once more, with their NS and
	// DNAME sets alone: there are few as a rule, so that a lookup finds out
	// quickly that none stands above a name.
	cuts    tree
	apex    Name
	pending map[Name]placedNode // changes not yet in the trees
}

// A placedNode is a node to be, without records and claim one to be removed.
type placedNode struct {
	*node
	places []setPlace // of the sets; nil where they don't come from a file
}

// pendingNodes bounds how many changes wait to be taken into the trees together:
// a tree of a million names is built without a second copy in memory.
const pendingNodes = 1 << 14

func (t tree) edit(apex Name, cuts tree) *edit {
	return &edit{tree: t, cuts: cuts, apex: apex}
}

// get returns the node of n, or nil. A node that stands only for the names below
// it is not told from none.
func (e *edit) get(n Name) *node {
	if p, ok := e.pending[n]; ok {
		return p.node
	}
	return e.tree.get(n)
}

// put gives the name these sets (sorted by type), that claim and that alias.
// Without sets and claim, the node stays only as long as it has descendants.
func (e *edit) put(name Name, sets []*RRSet, claimed bool, link *alias) {
	e.place(&node{name: name, sets: sets, claimed: claimed, alias: link}, nil)
}

func (e *edit) place(n *node, places []setPlace) {
	if len(e.pending) >= pendingNodes {
		e.flush()
		e.pending = make(map[Name]placedNode, pendingNodes) // more come
	}
	if e.pending == nil {
		e.pending = map[Name]placedNode{}
	}
	e.pending[n.name] = placedNode{n, places}
}

// commit returns the trees with all changes.
func (e *edit) commit() (nodes, cuts tree) {
	e.flush()
	return e.tree, e.cuts
}

// flush takes the changes into the trees.
func (e *edit) flush() {
	if len(e.pending) == 0 {
		return
	}
	var steps, cuts []step
	var came, went []Name
	var keys keyBuffer
	var buf []byte
	for name, p := range e.pending {
		s := step{name: name, key: keys.sortable(name)}
		switch was := e.tree.packed(name); {
		case !p.empty() || name == e.apex:
			buf = p.packed(buf[:0], p.places)
			s.node = packedNode(buf)
			if was == "" {
				came = append(came, name)
			}
		case was == "":
			continue
		default:
			went = append(went, name)
		}
		steps = append(steps, s)
		if cut := p.isCut(e.apex); cut || e.cuts.nodes > 0 {
			cuts = append(cuts, step{name, s.key, p.cutEntry(cut)})
		}
	}
	e.pending = nil
	e.tree = e.tree.apply(sortSteps(steps))
	e.cuts = e.cuts.apply(sortSteps(cuts))
	e.addParents(came)
	e.removeParents(went)
}

func sortSteps(steps []step) []step {
	slices.SortFunc(steps, func(a, b step) int { return cmp.Compare(a.key, b.key) })
	return steps
}

// cutEntry returns what of the node stands in the tree of cuts.
func (n *node) cutEntry(cut bool) packedNode {
	if !cut {
		return ""
	}
	only := &node{name: n.name, sets: deleteFunc(n.sets, func(set *RRSet) bool { return set.Type != TypeNS && set.Type != TypeDNAME })}
	return packedNode(only.packed(nil, nil))
}

// bare returns the step that makes an empty non-terminal.
func bare(name Name) step {
	var keys keyBuffer
	return step{name, keys.sortable(name), packedNode((&node{name: name}).packed(nil, nil))}
}

// addParents makes the empty non-terminals above new nodes.
func (e *edit) addParents(came []Name) {
	there := map[Name]bool{}
	var steps []step
	for _, name := range came {
		for name != e.apex {
			name = name.Parent()
			if there[name] {
				break
			}
			there[name] = true
			if e.tree.packed(name) != "" {
				break
			}
			steps = append(steps, bare(name))
		}
	}
	e.tree = e.tree.apply(sortSteps(steps))
}

// removeParents removes the empty non-terminals that removed nodes have left
// without descendants, and makes some of those that have any.
func (e *edit) removeParents(went []Name) {
	var steps []step
	above := map[Name]bool{}
	for _, name := range went {
		if e.tree.hasBelow(name) {
			steps = append(steps, bare(name))
		} else if name != e.apex {
			above[name.Parent()] = true
		}
	}
	e.tree = e.tree.apply(sortSteps(steps))
	for len(above) > 0 {
		steps = nil
		next := map[Name]bool{}
		var keys keyBuffer
		for name := range above {
			was := e.tree.packed(name)
			if name == e.apex || was == "" || !was.empty() || e.tree.hasBelow(name) {
				continue
			}
			steps = append(steps, step{name: name, key: keys.sortable(name)})
			next[name.Parent()] = true
		}
		e.tree = e.tree.apply(sortSteps(steps))
		above = next
	}
}

func sortSets(sets []*RRSet) {
	sort.Slice(sets, func(i, j int) bool { return sets[i].Type < sets[j].Type })
}
