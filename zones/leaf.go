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
	e, _ := l.span(i)
	return e
}

// span returns the node in place i, and where it starts.
func (l leaf) span(i int) (e packedNode, start int) {
	n, width := int(l[0]), int(l[1])
	ends := 2 + n
	start = ends + width*n
	if i > 0 {
		start = l.end(ends+width*(i-1), width)
	}
	return packedNode(l[start:l.end(ends+width*i, width)]), start
}

func (l leaf) end(at, width int) int {
	if width == 2 {
		return int(l[at])<<8 | int(l[at+1])
	}
	s := l[at : at+4]
	return int(s[0])<<24 | int(s[1])<<16 | int(s[2])<<8 | int(s[3])
}

// find returns the node of a name, or "". tag is that of its hash.
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

// pack makes a leaf of nodes, in canonical order.
func pack(nodes []packedNode) leaf {
	size := 0
	for _, e := range nodes {
		size += len(e)
	}
	width := 2
	if 2+len(nodes)*(1+width)+size > 1<<16-1 {
		width = 4
	}
	buf := make([]byte, 0, 2+len(nodes)*(1+width)+size)
	buf = append(buf, byte(len(nodes)), byte(width))
	for _, e := range nodes {
		buf = append(buf, tagOf(hashOf(e.name())))
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
	return leaf(textOfMemory(buf))
}

// tagOf takes an octet of a name's hash: enough to look at one node of a leaf, not
// at all of them.
func tagOf(hash uint64) byte { return byte(hash >> 16) }
