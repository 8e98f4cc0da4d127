package zones

import "bytes"

// A packer builds the trees of a zone out of nodes that come in canonical order:
// each goes into its leaf at once, and nothing is sorted or copied twice. It
// makes the empty non-terminals on the way.
type packer struct {
	apex    Name
	applier applier // its entries are those of the leaf being filled
	octets  int     // of these entries
	leaves  []part[leaf]
	cuts    []step
	last    Name // the node that came last; "" before the first
	lastKey []byte
	keys    keyBuffer
	buf     []byte
}

// follows reports whether the name stands behind all that have come.
func (p *packer) follows(name Name) bool {
	return p.last == "" || bytes.Compare(p.keys.key(name), p.lastKey) > 0
}

// put adds a node, whose name must follow. The packer keeps nothing of it but
// its name.
func (p *packer) put(n *node, places []setPlace) {
	p.parents(n.name)
	p.add(n, places)
	if n.isCut(p.apex) {
		p.cuts = append(p.cuts, step{n.name, string(p.lastKey), n.cutEntry(true)})
	}
}

// parents adds those ancestors of a name that have not come: in this order, what
// has come of them is the last node, or above it.
func (p *packer) parents(name Name) {
	if name == p.apex {
		return
	}
	if above := name.Parent(); p.last == "" || !p.last.In(above) {
		p.parents(above)
		p.add(&node{name: above}, nil)
	}
}

func (p *packer) add(n *node, places []setPlace) {
	p.buf = n.packed(p.buf[:0], places)
	if count := len(p.applier.entries); count == leafNodes || count > 0 && p.octets+len(p.buf) > leafOctets {
		p.close()
	}
	key := p.keys.key(n.name)
	if len(p.applier.entries) == 0 {
		bound := ""
		if len(p.leaves) > 0 {
			bound = shortest(string(p.lastKey), string(key))
		}
		p.leaves = append(p.leaves, part[leaf]{bound: bound})
	}
	e := packedNode(p.buf)
	p.applier.entries = append(p.applier.entries, e)
	p.applier.count(e, +1)
	p.octets += len(e)
	p.last, p.lastKey = n.name, append(p.lastKey[:0], key...)
}

// close packs the leaf being filled.
func (p *packer) close() {
	if len(p.applier.entries) > 0 {
		p.leaves[len(p.leaves)-1].kid = pack(p.applier.entries)
	}
	p.applier.entries, p.octets = p.applier.entries[:0], 0
}

// trees returns what has been built; the packer is of no use afterwards.
func (p *packer) trees() (nodes, cuts tree) {
	p.close()
	if len(p.leaves) == 0 {
		return tree{}, tree{}
	}
	parts := joinLeaves(p.leaves)
	for len(parts) > 1 {
		parts = joinBranches(parts)
	}
	nodes = tree{root: parts[0].kid, nodes: p.applier.nodes, wildcards: p.applier.wildcards}
	return nodes, tree{}.apply(p.cuts)
}
