package zones

import (
	"encoding/binary"
	"strings"
)

// An entry is one node as it stands in a leaf:
//
//	length of the name   1 octet
//	flags                1 octet
//	name                 in wire form
//	the alias's source   with hasAlias: length (uvarint) and text
//	the alias's set      with flatAlias
//	the node's sets      by type, up to the end
//
// and a set is
//
//	type                 2 octets
//	TTL                  4 octets
//	count                uvarint
//	length of the data   uvarint, all records with their lengths
//	each record          length (2 octets) and data
//	place                with placed: file and line (uvarints)
//
// The empty entry is no node at all.
type packedNode string

const (
	isClaimed byte = 1 << iota
	hasAlias       // a CNAME stands among the sets, or is flattened
	flatAlias      // it is flattened: its set stands before the others
	placed         // the sets have places in a zone file
	isGone         // the node stands for none, see tree.changed
)

func (e packedNode) name() Name { return Name(e[2 : 2+int(e[0])]) }

func (e packedNode) is(name Name) bool {
	return len(name) == int(e[0]) && Name(e[2:2+len(name)]) == name
}

func (e packedNode) has(flag byte) bool { return e[1]&flag != 0 }

// empty reports whether the node has neither records nor claim: it stands for
// the names below it.
func (e packedNode) empty() bool { return len(e) == 2+int(e[0]) && !e.has(isClaimed) }

// uvarint reads a number and returns what follows it.
func (e packedNode) uvarint() (uint64, packedNode) {
	if e[0] < 0x80 {
		return uint64(e[0]), e[1:]
	}
	var n uint64
	for i := 0; ; i++ {
		n |= uint64(e[i]&0x7f) << (7 * i)
		if e[i] < 0x80 {
			return n, e[i+1:]
		}
	}
}

// body returns what stands behind the name, the alias's source cut off.
func (e packedNode) body() (body packedNode, from string) {
	body = e[2+int(e[0]):]
	if !e.has(hasAlias) {
		return body, ""
	}
	n, rest := body.uvarint()
	return rest[n:], string(rest[:n])
}

// A packedSet is the set at the head of what is left of an entry.
type packedSet struct {
	kind  Type
	ttl   uint32
	count int
	data  packedNode
	// file and line say where the set stands, if the entry is placed.
	file, line int
}

// next reads the set at the head of a body and returns what follows it.
func (e packedNode) next(withPlace bool) (set packedSet, rest packedNode) {
	set.kind = Type(e[0])<<8 | Type(e[1])
	set.ttl = uint32(e[2])<<24 | uint32(e[3])<<16 | uint32(e[4])<<8 | uint32(e[5])
	count, rest := e[6:].uvarint()
	size, rest := rest.uvarint()
	set.count, set.data, rest = int(count), rest[:size], rest[size:]
	if withPlace {
		var file, line uint64
		file, rest = rest.uvarint()
		line, rest = rest.uvarint()
		set.file, set.line = int(file), int(line)
	}
	return set, rest
}

// set looks for the set of a type.
func (e packedNode) set(t Type) (set packedSet, ok bool) {
	rest, _ := e.body()
	withPlace := e.has(placed)
	if e.has(flatAlias) {
		_, rest = rest.next(withPlace)
	}
	for rest != "" {
		if set, rest = rest.next(withPlace); set.kind == t {
			return set, true
		}
	}
	return packedSet{}, false
}

// first returns the set of the lowest type.
func (e packedNode) first() (set packedSet, ok bool) {
	rest, _ := e.body()
	if e.has(flatAlias) {
		_, rest = rest.next(e.has(placed))
	}
	if rest == "" {
		return packedSet{}, false
	}
	set, _ = rest.next(e.has(placed))
	return set, true
}

// datum returns the record at the head of a set's data, and the rest.
func datum(data packedNode) (Rdata, packedNode) {
	n := int(data[0])<<8 | int(data[1])
	return Rdata(data[2 : 2+n]), data[2+n:]
}

// unpack appends the set's data, which share its memory.
func (p packedSet) unpack(data []Rdata) []Rdata {
	for rest := p.data; rest != ""; {
		var one Rdata
		one, rest = datum(rest)
		data = append(data, one)
	}
	return data
}

// node returns the entry as a node, with memory of its own.
func (e packedNode) node() *node {
	if e == "" {
		return nil
	}
	e = packedNode(strings.Clone(string(e)))
	n := &node{name: e.name(), claimed: e.has(isClaimed)}
	rest, from := e.body()
	withPlace := e.has(placed)
	for i := 0; rest != ""; i++ {
		var packed packedSet
		packed, rest = rest.next(withPlace)
		set := &RRSet{Name: n.name, Type: packed.kind, TTL: packed.ttl, Data: packed.unpack(make([]Rdata, 0, packed.count))}
		switch {
		case i == 0 && e.has(flatAlias):
			n.alias = &alias{set, from, true}
			continue
		case packed.kind == TypeCNAME && e.has(hasAlias) && !e.has(flatAlias):
			n.alias = &alias{set, from, false}
		}
		n.sets = append(n.sets, set)
	}
	return n
}

// entry appends the node as an entry to buf. places says where the sets stand
// in zone files, in their order; nil where that is not kept.
func (n *node) packed(buf []byte, places []setPlace) []byte {
	flags := byte(0)
	if n.claimed {
		flags |= isClaimed
	}
	if n.alias != nil {
		flags |= hasAlias
		if n.alias.flat {
			flags |= flatAlias
		}
	}
	if places != nil {
		flags |= placed
	}
	buf = append(buf, byte(len(n.name)), flags)
	buf = append(buf, n.name...)
	if n.alias != nil {
		buf = binary.AppendUvarint(buf, uint64(len(n.alias.from)))
		buf = append(buf, n.alias.from...)
		if n.alias.flat {
			buf = appendSet(buf, n.alias.set)
		}
	}
	for i, set := range n.sets {
		buf = appendSet(buf, set)
		if places != nil {
			buf = binary.AppendUvarint(buf, uint64(places[i].file))
			buf = binary.AppendUvarint(buf, uint64(places[i].line))
		}
	}
	return buf
}

// A setPlace is where a set stands: a file by its number, and a line.
type setPlace struct{ file, line int }

func appendSet(buf []byte, set *RRSet) []byte {
	buf = binary.BigEndian.AppendUint16(buf, uint16(set.Type))
	buf = binary.BigEndian.AppendUint32(buf, set.TTL)
	buf = binary.AppendUvarint(buf, uint64(len(set.Data)))
	size := 0
	for _, data := range set.Data {
		size += 2 + len(data)
	}
	buf = binary.AppendUvarint(buf, uint64(size))
	for _, data := range set.Data {
		buf = binary.BigEndian.AppendUint16(buf, uint16(len(data)))
		buf = append(buf, data...)
	}
	return buf
}
