package zones

import (
	"iter"
	"sort"

	iradix "github.com/hashicorp/go-immutable-radix/v2"
)

// A tree holds the nodes of one zone in a persistent radix tree: a change
// copies the path to what it touches and shares the rest with every older
// snapshot. Nobody outside this file knows its structure.
//
// The key of a name is its labels from the right, each with the octets 0 and 1
// escaped and closed by a 0, so that the order of keys is the canonical order
// of names and the key of an ancestor is a prefix of its descendants' keys.
type tree struct {
	radix *iradix.Tree[*node]
}

// A node is one existing name: one with record sets, one that an object claims
// without records, or an empty non-terminal (RFC 4592 section 2.2.2): what has
// descendants is a node, always. Nodes are frozen once in a tree.
type node struct {
	name     Name
	sets     []*RRSet // sorted by type
	children int32    // direct children
	claimed  bool     // claimed by an object, with or without records
	wildcard bool     // a child "*" exists
	alias    *alias   // the CNAME, whether it is among the sets or flattened; else nil
}

func (n *node) set(t Type) *RRSet {
	for _, set := range n.sets {
		if set.Type == t {
			return set
		}
	}
	return nil
}

// isCut reports whether the node stops a lookup on its way down: a zone cut
// below the apex (RFC 1034 section 4.2.1), or a DNAME (RFC 6672).
func (n *node) isCut(apex Name) bool {
	return n.set(TypeDNAME) != nil || n.name != apex && n.set(TypeNS) != nil
}

// A keyBuffer makes keys without allocating.
type keyBuffer struct {
	octets [2 * maxNameOctets]byte
	ends   [128]uint16 // ends[i]: the length of the key of the name's last i labels
}

// key returns the key of n; valid until the next call.
func (k *keyBuffer) key(n Name) []byte { return k.octets[:k.fill(n)] }

// fill computes the key of n and the ends of its ancestors' keys.
func (k *keyBuffer) fill(n Name) int {
	var starts [128]uint8
	labels := labelStarts(n, &starts)
	w := 0
	for i := labels - 1; i >= 0; i-- {
		start := int(starts[i])
		for _, c := range []byte(n[start+1 : start+1+int(n[start])]) {
			if c <= 1 {
				k.octets[w] = 1
				w++
				c++
			}
			k.octets[w] = c
			w++
		}
		k.octets[w] = 0
		w++
		k.ends[labels-i] = uint16(w)
	}
	return w
}

// wildcardKey returns the key of the wildcard directly below n.
func (k *keyBuffer) wildcardKey(n Name) []byte {
	w := k.fill(n)
	k.octets[w], k.octets[w+1] = '*', 0
	return k.octets[:w+2]
}

func newTree() tree { return tree{iradix.New[*node]()} }

// get returns the node of n, or nil.
func (t tree) get(n Name) *node {
	var buf keyBuffer
	found, _ := t.radix.Get(buf.key(n))
	return found
}

// walk yields the nodes in canonical order.
func (t tree) walk() iter.Seq[*node] { return t.walkFrom("") }

// walkFrom yields the nodes in canonical order, from the first that doesn't
// stand before the name.
func (t tree) walkFrom(name Name) iter.Seq[*node] {
	return func(yield func(*node) bool) {
		it := t.radix.Root().Iterator()
		if name != "" {
			var buf keyBuffer
			it.SeekLowerBound(buf.key(name))
		}
		for {
			_, n, ok := it.Next()
			if !ok || !yield(n) {
				return
			}
		}
	}
}

// An edit gathers changes to a tree; commit gives the new one. The old tree
// stays as it was.
type edit struct {
	txn  *iradix.Txn[*node]
	apex Name
	cuts int // nodes for which isCut holds
	buf  keyBuffer
}

func (t tree) edit(apex Name, cuts int) *edit {
	return &edit{txn: t.radix.Txn(), apex: apex, cuts: cuts}
}

func (e *edit) commit() tree { return tree{e.txn.Commit()} }

func (e *edit) get(n Name) *node {
	found, _ := e.txn.Get(e.buf.key(n))
	return found
}

func (e *edit) insert(n *node) {
	// The tree keeps the key: it needs memory of its own.
	e.txn.Insert(append([]byte(nil), e.buf.key(n.name)...), n)
}

// put gives the name these sets (sorted by type), that claim and that alias; old
// is its node until now, or nil. Without sets and claim, the node stays only as long as it has
// descendants.
func (e *edit) put(name Name, old *node, sets []*RRSet, claimed bool, link *alias) {
	if old == nil && len(sets) == 0 && !claimed {
		return
	}
	next := &node{name: name, sets: sets, claimed: claimed, alias: link}
	if old != nil {
		next.children, next.wildcard = old.children, old.wildcard
		if old.isCut(e.apex) {
			e.cuts--
		}
	}
	if next.isCut(e.apex) {
		e.cuts++
	}
	if len(sets) == 0 && !claimed && next.children == 0 && name != e.apex {
		e.remove(name)
		return
	}
	e.insert(next)
	if old == nil {
		e.addChild(name)
	}
}

// addChild tells the parent of a new node of it, and makes the empty
// non-terminals on the way to the apex.
func (e *edit) addChild(name Name) {
	for name != e.apex {
		parent := name.Parent()
		next := &node{name: parent}
		old := e.get(parent)
		if old != nil {
			*next = *old
		}
		next.children++
		next.wildcard = next.wildcard || name.IsWildcard()
		e.insert(next)
		if old != nil {
			return
		}
		name = parent
	}
}

// remove deletes the node and the empty non-terminals that it leaves without
// descendants.
func (e *edit) remove(name Name) {
	for {
		e.txn.Delete(e.buf.key(name))
		if name == e.apex {
			return
		}
		parent := name.Parent()
		next := *e.get(parent)
		next.children--
		if name.IsWildcard() {
			next.wildcard = false
		}
		if next.children > 0 || len(next.sets) > 0 || next.claimed || parent == e.apex {
			e.insert(&next)
			return
		}
		name = parent
	}
}

func sortSets(sets []*RRSet) {
	sort.Slice(sets, func(i, j int) bool { return sets[i].Type < sets[j].Type })
}
