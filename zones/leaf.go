package zones

import (
	"bytes"
	"encoding/binary"
	"strings"
)

// A leaf holds some nodes that follow each other in canonical order as one
// string: it has no pointers for the collector to visit, a query reads a few
// cache lines of it, and what a lookup returns are parts of it, not copies.
//
//	count of nodes   1 octet
//	width of ends    1 octet: 2 or, in a large leaf, 4
//	tags             1 octet a node: a hash of its name
//	ends             where each node ends, big-endian
//	nodes            see packedNode
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
	return int(l[0])
}

// at returns the node in place i.
func (l leaf) at(i int) packedNode {
	n, width := int(l[0]), int(l[1])
	ends := 2 + n
	start := ends + width*n
	if i > 0 {
		start = l.end(ends+width*(i-1), width)
	}
	return packedNode(l[start:l.end(ends+width*i, width)])
}

func (l leaf) end(at, width int) int {
	if width == 2 {
		return int(l[at])<<8 | int(l[at+1])
	}
	s := l[at : at+4]
	return int(s[0])<<24 | int(s[1])<<16 | int(s[2])<<8 | int(s[3])
}

// find returns the node of a name, or "". tag is tagOf(name).
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
		switch c := bytes.Compare(buf.key(l.at(middle).name()), key); {
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

// pack makes a leaf of nodes, in canonical order. buf is memory to work in; it
// is returned for the next time.
func pack(nodes []packedNode, buf []byte) (leaf, []byte) {
	size := 0
	for _, e := range nodes {
		size += len(e)
	}
	width := 2
	if 2+len(nodes)*(1+width)+size > 1<<16-1 {
		width = 4
	}
	buf = append(buf[:0], byte(len(nodes)), byte(width))
	for _, e := range nodes {
		buf = append(buf, tagOf(e.name()))
	}
	end := len(buf) + width*len(nodes)
	for _, e := range nodes {
		if end += len(e); width == 2 {
			buf = binary.BigEndian.AppendUint16(buf, uint16(end))
		} else {
			buf = binary.BigEndian.AppendUint32(buf, uint32(end))
		}
	}
	for _, e := range nodes {
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
