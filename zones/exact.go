package zones

import (
	"encoding/binary"
	"math/bits"
	"unsafe"
)

// An exact finds the nodes of a tree by their whole name, in one cache line of a
// table and those of the node: the way through branches and leaf takes a dozen.
// It belongs to the tree as it was when it was made; what has changed since,
// the tree keeps beside it. It never changes.
//
// The table is open, each slot eight octets, little-endian: 16 bits of the name's
// hash, 16 of the node's length, 32 of where it starts in memory. All zero is an
// empty slot.
type exact struct {
	table  string
	slots  uint64
	memory string // of the tree's leaves
	nodes  int
}

// tooLong stands for the length of nodes that a slot can't hold: they are
// looked for in the tree.
const tooLong = 1<<16 - 1

// hashOf hashes a name.
func hashOf(name Name) uint64 {
	const odd = 0x9e3779b97f4a7c15
	h := uint64(len(name)) * odd
	for len(name) >= 8 {
		high, low := bits.Mul64(h^word(name), odd)
		h = high ^ low
		name = name[8:]
	}
	if len(name) > 0 {
		var rest uint64
		for i := range len(name) {
			rest = rest<<8 | uint64(name[i])
		}
		high, low := bits.Mul64(h^rest, odd)
		h = high ^ low
	}
	high, low := bits.Mul64(h, 0xbf58476d1ce4e5b9)
	return high ^ low
}

// word returns the first eight octets as a number.
func word(name Name) uint64 {
	s := name[:8]
	return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 | uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
}

// start returns the first slot for a hash.
func (x *exact) start(hash uint64) uint64 {
	at, _ := bits.Mul64(hash, x.slots)
	return at
}

func (x *exact) slot(at uint64) uint64 {
	s := x.table[8*at : 8*at+8]
	return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 | uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
}

// find returns the node of a name with that hash, or "". sure is false where the tree must be
// asked.
func (x *exact) find(name Name, hash uint64) (e packedNode, sure bool) {
	for at := x.start(hash); ; at++ {
		if at == x.slots {
			at = 0
		}
		slot := x.slot(at)
		if slot == 0 {
			return "", true
		}
		if uint16(slot>>48) != uint16(hash) {
			continue
		}
		length := slot >> 32 & tooLong
		if length == tooLong {
			return "", false
		}
		from := slot & (1<<32 - 1)
		if e := packedNode(x.memory[from : from+length]); e.is(name) {
			return e, true
		}
	}
}

// findExact is find without the key, which is not made for nearly all queries of a
// large zone. sure is false where the key is needed to tell.
func (t tree) findExact(name Name) (e packedNode, sure bool) {
	if t.exact == nil {
		return "", false
	}
	hash := hashOf(name)
	if t.changed != nil && t.changed.root != nil {
		// What has changed is one leaf in a zone whose file alone is served.
		b := t.changed.root
		if len(b.leaves) != 1 {
			return "", false
		}
		if e := b.leaves[0].find(name, tagOf(hash)); e != "" {
			if e.has(isGone) {
				return "", true
			}
			return e, true
		}
	}
	return t.exact.find(name, hash)
}

// slotsFor returns how many slots a table for so many nodes has: a third of them
// stay empty.
func slotsFor(nodes int) int { return nodes + nodes/2 + 1 }

// put enters a node into a table that is being made.
func (x *exact) put(table []byte, e packedNode, from int) {
	hash := hashOf(e.name())
	at := x.start(hash)
	for binary.LittleEndian.Uint64(table[8*at:]) != 0 {
		if at++; at == x.slots {
			at = 0
		}
	}
	slot := uint64(uint16(hash))<<48 | uint64(min(len(e), tooLong))<<32 | uint64(from)
	binary.LittleEndian.PutUint64(table[8*at:], slot)
}

// textOfMemory returns memory that is never written again as a string, without
// a copy.
func textOfMemory(memory []byte) string {
	return unsafe.String(unsafe.SliceData(memory), len(memory))
}
