package zones

import (
	"encoding/binary"
	"strings"
)

// A leaf holds some nodes that follow each other in canonical order as one
// string: it has no pointers for the collector to visit, a query reads a few
// cache lines of it, and what a lookup returns are parts of it, not copies.
//
//	count of nodes   2 octets, big-endian like all numbers here
//	tags             1 octet a node: a hash of its name
//	ends             4 octets a node: where its entry ends
//	entries          see entry
type leaf string

// Bounds of a leaf. One node may be larger than leafOctets: then it is alone.
const (
	leafNodes  = 32
	leafOctets = 4096
)

func (l leaf) len() int {
	if l == "" {
		return 0
	}
	return int(l[0])<<8 | int(l[1])
}

// at returns the entry of the node in place i.
func (l leaf) at(i int) packedNode {
	n := l.len()
	ends := 2 + n
	start := ends + 4*n
	if i > 0 {
		start = l.number(ends + 4*(i-1))
	}
	return packedNode(l[start:l.number(ends+4*i)])
}

func (l leaf) number(at int) int {
	s := l[at : at+4]
	return int(s[0])<<24 | int(s[1])<<16 | int(s[2])<<8 | int(s[3])
}

// find returns the entry of a name, or "". tag is tagOf(name).
func (l leaf) find(name Name, tag byte) packedNode {
	n := l.len()
	if n == 0 {
		return ""
	}
	tags := string(l[2 : 2+n])
	for at := 0; at < n; at++ {
		next := strings.IndexByte(tags[at:], tag)
		if next < 0 {
			return ""
		}
		at += next
		if e := l.at(at); e.is(name) {
			return e
		}
	}
	return ""
}

// search returns the place of the first node whose key is not below key, and
// whether that is the key's own.
func (l leaf) search(key []byte) (at int, own bool) {
	if len(key) == 0 {
		return 0, l != "" && l.at(0).is(Root) // the empty key is the root's
	}
	var buf keyBuffer
	low, high := 0, l.len()
	for low < high {
		middle := int(uint(low+high) / 2)
		switch c := strings.Compare(string(buf.key(l.at(middle).name())), string(key)); {
		case c < 0:
			low = middle + 1
		case c == 0:
			return middle, true
		default:
			high = middle
		}
	}
	return low, false
}

// pack makes a leaf of entries, in canonical order. buf is memory to work in;
// it is returned for the next time.
func pack(entries []packedNode, buf []byte) (leaf, []byte) {
	n := len(entries)
	buf = binary.BigEndian.AppendUint16(buf[:0], uint16(n))
	for _, e := range entries {
		buf = append(buf, tagOf(e.name()))
	}
	end := 2 + 5*n
	for _, e := range entries {
		end += len(e)
		buf = binary.BigEndian.AppendUint32(buf, uint32(end))
	}
	for _, e := range entries {
		buf = append(buf, e...)
	}
	return leaf(buf), buf
}

// tagOf hashes a name to an octet: enough to look at one node of a leaf, not at
// all of them.
func tagOf(name Name) byte {
	h := uint64(len(name))
	for len(name) >= 8 {
		s := name[:8]
		word := uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 | uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
		h = (h ^ word) * 0x9e3779b97f4a7c15
		h ^= h >> 29
		name = name[8:]
	}
	for i := range len(name) {
		h = (h ^ uint64(name[i])) * 0x100000001b3
	}
	return byte(h >> 32)
}
