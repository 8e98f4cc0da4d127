package zones

import (
	"iter"
	"slices"
	"strconv"
	"strings"
)

// A Static is what the zone file of one zone says, compiled: the tree of a zone
// with files and lines. A Table whose zone has nothing else at a name serves
// these very leaves, so that they are in memory once. It never changes. The nil
// Static is empty.
type Static struct {
	origin Name
	tree   tree
	cuts   tree
	soa    StaticSet // not in the tree: its serial moves
	files  []string  // by the files of places
	sets   int
}

// NewStatic compiles the record sets of a zone's file. They must lie in the
// zone, one of a name and type, data in canonical order; others than those of
// the zone are left out. Sets in canonical order of names take the least time, and
// the least memory on the way; the Static keeps none of them. Of many names, the
// leaves are copied once more when the last set has come: what sets reads from
// should be given up by then.
func NewStatic(origin Name, sets iter.Seq[StaticSet]) *Static {
	s := &Static{origin: origin}
	builder := &staticBuilder{static: s, packer: &packer{apex: origin}, files: map[string]int{}}
	for set := range sets {
		builder.add(set)
	}
	builder.close()
	if builder.packer != nil {
		s.tree, s.cuts = builder.packer.trees()
	} else {
		s.tree, s.cuts = builder.edit.commit()
	}
	builder.packer, builder.edit = nil, nil // not in memory beside the compact tree
	s.tree = s.tree.compacted()
	return s
}

// A staticBuilder gathers the sets of one name after the other.
type staticBuilder struct {
	static *Static
	packer *packer // as long as names come in canonical order, then nil
	edit   *edit   // from then on
	files  map[string]int
	node   *node
	places []setPlace
}

func (b *staticBuilder) add(set StaticSet) {
	if !set.Name.In(b.static.origin) {
		return
	}
	b.static.sets++
	if set.Type == TypeSOA {
		b.static.soa = set
		return
	}
	if b.node == nil || b.node.name != set.Name {
		b.close()
		b.open(set.Name)
	}
	at, _ := slices.BinarySearchFunc(b.node.sets, set.Type, func(s *RRSet, t Type) int { return int(s.Type) - int(t) })
	b.node.sets = slices.Insert(b.node.sets, at, set.RRSet)
	b.places = slices.Insert(b.places, at, b.placeOf(set.From))
	if set.Type == TypeCNAME {
		// What a file says is served as it stands: it is never flattened.
		b.node.alias = &alias{set: set.RRSet, from: set.From}
	}
}

// open begins a name, or goes on with one that was begun before.
func (b *staticBuilder) open(name Name) {
	if b.packer != nil {
		if b.packer.follows(name) {
			if b.node == nil {
				b.node = &node{}
			}
			*b.node, b.places = node{name: name, sets: b.node.sets[:0]}, b.places[:0]
			return
		}
		nodes, cuts := b.packer.trees()
		b.packer, b.edit = nil, nodes.edit(b.static.origin, cuts)
	}
	if p, ok := b.edit.pending[name]; ok {
		b.node, b.places = p.node, p.places
		return
	}
	b.node, b.places = &node{name: name}, []setPlace{}
	if was := b.edit.tree.packed(name); was != "" {
		b.node, b.places = was.node(), was.places()
	}
}

func (b *staticBuilder) close() {
	switch {
	case b.node == nil:
	case b.packer != nil:
		b.packer.put(b.node, b.places)
	default:
		b.edit.place(b.node, b.places)
	}
}

// placeOf parts the words that say where a set stands from the number at their
// end: the words are the same for a whole file.
func (b *staticBuilder) placeOf(from string) setPlace {
	words, line := from, 0
	if at := strings.LastIndexByte(from, ' '); at >= 0 {
		if n, err := strconv.ParseUint(from[at+1:], 10, 31); err == nil && n > 0 && from[at+1] != '0' {
			words, line = from[:at], int(n)
		}
	}
	file, known := b.files[words]
	if !known {
		file = len(b.static.files)
		words = strings.Clone(words)
		b.files[words] = file
		b.static.files = append(b.static.files, words)
	}
	return setPlace{file, line}
}

// from is the reverse of placeOf.
func (s *Static) from(place setPlace) string {
	words := s.files[place.file]
	if place.line == 0 {
		return words
	}
	return words + " " + strconv.Itoa(place.line)
}

// places returns where the sets of an entry stand.
func (e packedNode) places() []setPlace {
	places := []setPlace{}
	rest, _ := e.body()
	for rest != "" && e.has(placed) {
		var set packedSet
		set, rest = rest.next(true)
		places = append(places, setPlace{set.file, set.line})
	}
	return places
}

// Len counts the record sets.
func (s *Static) Len() int {
	if s == nil {
		return 0
	}
	return s.sets
}

// At returns the record sets of a name by type, an SOA left out. They are the
// caller's.
func (s *Static) At(name Name) []StaticSet {
	if s == nil {
		return nil
	}
	return s.unpack(s.tree.packed(name))
}

// Has reports whether there is a set of the type at the name, an SOA left out.
func (s *Static) Has(name Name, t Type) bool {
	if s == nil {
		return false
	}
	e := s.tree.packed(name)
	if e == "" {
		return false
	}
	_, has := e.set(t)
	return has
}

func (s *Static) unpack(e packedNode) []StaticSet {
	if e == "" {
		return nil
	}
	n, places := e.node(), e.places()
	sets := make([]StaticSet, len(places))
	for i, place := range places {
		sets[i] = StaticSet{n.sets[i], s.from(place)}
	}
	return sets
}

// All yields the record sets in canonical order, the SOA first. They are the
// caller's.
func (s *Static) All() iter.Seq[StaticSet] {
	return func(yield func(StaticSet) bool) {
		if s == nil || s.soa.RRSet != nil && !yield(s.soa) {
			return
		}
		for e := range s.tree.entries("") {
			for _, set := range s.unpack(e) {
				if !yield(set) {
					return
				}
			}
		}
	}
}

// Equal reports whether both hold the same records in the same places.
func (s *Static) Equal(other *Static) bool {
	if s == nil || other == nil || s.origin != other.origin || !slices.Equal(s.files, other.files) || (s.soa.RRSet == nil) != (other.soa.RRSet == nil) {
		return s.Len() == 0 && other.Len() == 0
	}
	if s.soa.RRSet != nil && (!s.soa.equal(other.soa.RRSet) || s.soa.From != other.soa.From) {
		return false
	}
	for range differing(s.tree, other.tree) {
		return false
	}
	return true
}

// differing yields the entries of two trees that differ, by name; "" stands for
// none. Leaves that the trees share cost nothing but their place in order.
func differing(a, b tree) iter.Seq2[packedNode, packedNode] {
	return func(yield func(a, b packedNode) bool) {
		next, stop := iter.Pull(b.entries(""))
		defer stop()
		other, more := next()
		for e := range a.entries("") {
			for more && other.name().Compare(e.name()) < 0 {
				if !yield("", other) {
					return
				}
				other, more = next()
			}
			if more && other.is(e.name()) {
				if other != e && !yield(e, other) {
					return
				}
				other, more = next()
			} else if !yield(e, "") {
				return
			}
		}
		for more {
			if !yield("", other) {
				return
			}
			other, more = next()
		}
	}
}
