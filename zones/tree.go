package zones

import (
	"bytes"
	"encoding/binary"
	"iter"
	"strings"
)

// A tree holds the nodes of one zone in a persistent B+tree in canonical order: a
// change copies a leaf and the path to it, and shares the rest with every older
// snapshot. Nobody outside of this file and apply.go knows its structure.
//
// The key of a name is its labels from the right, each with the octets 0 and 1
// escaped and closed by a 0, so that the order of keys is the canonical order
// of names and the key of an ancestor is a prefix of its descendants' keys.
type tree struct {
	root      *branch // nil where there are no nodes
	nodes     int
	wildcards int // nodes whose leftmost label is an asterisk
	// exact finds nodes as they were when it was made; nil where there is none.
	// changed has those that are others since, and those that are gone.
	exact   *exact
	changed *tree
	// later has what changed since a compaction began that is still under way.
	later *tree
}

// A node is one existing name: one with record sets, one that an object claims
// without records, or an empty non-terminal (RFC 4592 section 2.2.2): what has
// descendants is a node, always. In a tree it stands as an entry; a node is a
// copy with memory of its own.
type node struct {
	name    Name
	sets    []*RRSet // sorted by type
	claimed bool     // claimed by an object, with or without records
	alias   *alias   // the CNAME, whether it is among the sets or flattened; else nil
}

func (n *node) set(t Type) *RRSet {
	for _, set := range n.sets {
		if set.Type == t {
			return set
		}
	}
	return nil
}

// empty reports whether nothing stands at the node.
func (n *node) empty() bool { return len(n.sets) == 0 && !n.claimed }

// isCut reports whether the node stops a lookup on its way down: a zone cut
// below the apex (RFC 1034 section 4.2.1), or a DNAME (RFC 6672).
func (n *node) isCut(apex Name) bool {
	return n.set(TypeDNAME) != nil || n.name != apex && n.set(TypeNS) != nil
}

// A keyBuffer makes keys without allocating.
type keyBuffer struct {
	octets [2 * maxNameOctets]byte
	ends   [128]uint16 // ends[i]: the length of the key of the name's last i labels
	starts [128]uint8  // where the name's labels start, leftmost first
	labels int
}

// key returns the key of n; valid until the next call.
func (k *keyBuffer) key(n Name) []byte { return k.octets[:k.fill(n)] }

// fill computes the key of n and the ends of its ancestors' keys.
func (k *keyBuffer) fill(n Name) int {
	k.labels = labelStarts(n, &k.starts)
	w := 0
	for i := k.labels - 1; i >= 0; i-- {
		start := int(k.starts[i])
		label := n[start+1 : start+1+int(n[start])]
		// Nearly no label needs an escape.
		from := w
		w += copy(k.octets[w:], label)
		for _, c := range k.octets[from:w] {
			if c <= 1 {
				w = k.escape(from, string(label))
				break
			}
		}
		k.octets[w] = 0
		w++
		k.ends[k.labels-i] = uint16(w)
	}
	return w
}

// escape writes a label that holds the octets 0 or 1 at w, and returns where it
// ends.
func (k *keyBuffer) escape(w int, label string) int {
	for i := range len(label) {
		c := label[i]
		if c <= 1 {
			k.octets[w] = 1
			w++
			c++
		}
		k.octets[w] = c
		w++
	}
	return w
}

// AppendKey appends the name's key to buf: names order canonically (RFC 4034
// section 6.1) as their keys do octet by octet.
func (n Name) AppendKey(buf []byte) []byte {
	var keys keyBuffer
	return append(buf, keys.key(n)...)
}

// NameOfKey returns the name whose key AppendKey made. It panics on what is none.
func NameOfKey(key []byte) Name {
	var wire [maxNameOctets]byte
	at := len(wire) - 1 // the root's label stands there
	for len(key) > 0 {
		end := bytes.IndexByte(key, 0)
		label := key[:end]
		if bytes.IndexByte(label, 1) >= 0 {
			label = unescapeKey(label)
		}
		at -= len(label)
		copy(wire[at:], label)
		at--
		wire[at] = byte(len(label))
		key = key[end+1:]
	}
	return Name(wire[at:])
}

// unescapeKey is the reverse of escape.
func unescapeKey(label []byte) []byte {
	plain := make([]byte, 0, len(label))
	for i := 0; i < len(label); i++ {
		c := label[i]
		if c == 1 {
			i++
			c = label[i] - 1
		}
		plain = append(plain, c)
	}
	return plain
}

// suffix returns the last labels of the name whose key was made last.
func (k *keyBuffer) suffix(n Name, labels int) Name {
	if labels == 0 {
		return Root
	}
	return n[k.starts[k.labels-labels]:]
}

// wildcardKey returns the key of the wildcard directly below n.
func (k *keyBuffer) wildcardKey(n Name) []byte {
	w := k.fill(n)
	k.octets[w], k.octets[w+1] = '*', 0
	return k.octets[:w+2]
}

// branchKids is how many branches or leaves stand below a branch at most.
const branchKids = 64

// A branch is an inner node of the tree. It never changes.
type branch struct {
	// index is what a search reads, in few cache lines: the octets that all bounds
	// but the first begin with; for each bound the eight behind these, its head;
	// and for each the eight behind that.
	index  string
	prefix int // how many octets all bounds but the first begin with
	// One of them is nil.
	leaves   []leaf
	branches []*branch
	// bounds[i] is above all keys of kid i-1 and not above those of kid i; what
	// stands below bounds[1] is in kid 0.
	bounds []string
}

// head returns the eight octets at the start of key as a number that orders like
// them.
func head[T string | []byte](key T) (h uint64) {
	if len(key) >= 8 {
		key = key[:8]
		return uint64(key[0])<<56 | uint64(key[1])<<48 | uint64(key[2])<<40 | uint64(key[3])<<32 |
			uint64(key[4])<<24 | uint64(key[5])<<16 | uint64(key[6])<<8 | uint64(key[7])
	}
	for i := range len(key) {
		h |= uint64(key[i]) << (56 - 8*i)
	}
	return h
}

// makeIndex fills in index and prefix.
func (b *branch) makeIndex() {
	n := len(b.bounds)
	if n < 2 {
		return
	}
	first, last := b.bounds[1], b.bounds[n-1]
	for b.prefix < len(first) && b.prefix < len(last) && first[b.prefix] == last[b.prefix] {
		b.prefix++
	}
	index := append(make([]byte, 0, b.prefix+16*n), first[:b.prefix]...)
	for _, bound := range b.bounds {
		index = binary.BigEndian.AppendUint64(index, headAt(bound, b.prefix))
	}
	for _, bound := range b.bounds {
		index = binary.BigEndian.AppendUint64(index, headAt(bound, b.prefix+8))
	}
	b.index = string(index)
}

// headAt returns the head of what follows at in a key.
func headAt[T string | []byte](key T, at int) uint64 { return head(key[min(at, len(key)):]) }

// kid returns the place of the kid in which the key stands, if it stands
// anywhere.
func (b *branch) kid(key []byte) int {
	n := len(b.bounds)
	if n == 1 {
		return 0
	}
	prefix, heads := b.index[:b.prefix], b.index[b.prefix:]
	if len(key) < len(prefix) || string(key[:len(prefix)]) != prefix {
		if string(key) < prefix {
			return 0
		}
		return n - 1
	}
	h := head(key[len(prefix):])
	low, high := 0, n-1
	for low < high {
		middle := int(uint(low+high+1) / 2)
		at := head(heads[8*middle:])
		if at < h || at == h && b.notAbove(middle, heads, key) {
			low = middle
		} else {
			high = middle - 1
		}
	}
	return low
}

// notAbove reports whether a bound whose head is the key's is not above it.
func (b *branch) notAbove(i int, heads string, key []byte) bool {
	at, h := head(heads[8*(len(b.bounds)+i):]), headAt(key, b.prefix+8)
	if at != h {
		return at < h
	}
	return b.bounds[i] <= string(key)
}

// find returns the node of a name, whose key is key; "" where there is none.
func (t tree) find(key []byte, name Name) packedNode {
	if t.exact != nil {
		if t.changed != nil {
			if e := t.changed.search(key, name); e != "" {
				if e.has(isGone) {
					return ""
				}
				return e
			}
		}
		if e, sure := t.exact.find(name, hashOf(name)); sure {
			return e
		}
	}
	return t.search(key, name)
}

// search is find by way of the branches.
func (t tree) search(key []byte, name Name) packedNode {
	b := t.root
	if b == nil {
		return ""
	}
	for b.branches != nil {
		b = b.branches[b.kid(key)]
	}
	return b.leaves[b.kid(key)].find(name, tagOf(hashOf(name)))
}

// packed returns the node of a name, or "".
func (t tree) packed(n Name) packedNode {
	var buf keyBuffer
	return t.find(buf.key(n), n)
}

// get returns the node of n, or nil.
func (t tree) get(n Name) *node { return t.packed(n).node() }

// before returns the last entry whose key stands before key, or "".
func (t tree) before(key []byte) packedNode {
	if t.root == nil {
		return ""
	}
	return t.root.before(key)
}

func (b *branch) before(key []byte) packedNode {
	// At the most the kid to the left must be looked at, too: none is empty.
	for i := b.kid(key); i >= 0; i-- {
		if b.branches != nil {
			if e := b.branches[i].before(key); e != "" {
				return e
			}
		} else if at, _ := b.leaves[i].search(key); at > 0 {
			return b.leaves[i].at(at - 1)
		}
	}
	return ""
}

// walk yields the nodes in canonical order.
func (t tree) walk() iter.Seq[*node] { return t.walkFrom("") }

// walkFrom yields the nodes in canonical order, from the first that doesn't
// stand before the name.
func (t tree) walkFrom(name Name) iter.Seq[*node] {
	return func(yield func(*node) bool) {
		for e := range t.entries(name) {
			if !yield(e.node()) {
				return
			}
		}
	}
}

// entries is walkFrom without copies.
func (t tree) entries(from Name) iter.Seq[packedNode] {
	return func(yield func(packedNode) bool) {
		if t.root == nil {
			return
		}
		var buf keyBuffer
		t.root.walk(buf.key(from), yield)
	}
}

// walk yields the entries from the key on; the empty key stands before all. It
// reports whether to go on.
func (b *branch) walk(from []byte, yield func(packedNode) bool) bool {
	for i := b.kid(from); i < len(b.bounds); i++ {
		if b.branches != nil {
			if !b.branches[i].walk(from, yield) {
				return false
			}
		} else {
			at, _ := b.leaves[i].search(from)
			for l := b.leaves[i]; at < l.len(); at++ {
				if !yield(l.at(at)) {
					return false
				}
			}
		}
		from = nil
	}
	return true
}

// hasBelow reports whether a node stands below the name.
func (t tree) hasBelow(name Name) bool {
	for e := range t.entries(name) {
		if !e.is(name) {
			return e.name().In(name)
		}
	}
	return false
}

// shortest returns the shortest key that is above low and not above high.
func shortest(low, high string) string {
	same := 0
	for same < len(low) && same < len(high) && low[same] == high[same] {
		same++
	}
	// low stands before high: so high goes on here.
	return strings.Clone(high[:same+1])
}
