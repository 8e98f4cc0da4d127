package zones

// A shelf is the memory of an Answer for the sets that it holds: a zone has
// them packed. It is used again by the next lookup.
type shelf struct {
	sets []RRSet
	data []Rdata
	link alias
}

// clear forgets what the sets refer to.
func (s *shelf) clear() {
	clear(s.sets)
	clear(s.data)
}

// reset makes all room free.
func (s *shelf) reset() {
	s.sets, s.data, s.link = s.sets[:0], s.data[:0], alias{}
}

// put unpacks a set of a name. Sets that were put before stay where they are.
func (s *shelf) put(name Name, packed packedSet) *RRSet {
	if len(s.sets) == cap(s.sets) {
		s.sets = make([]RRSet, 0, max(8, 2*cap(s.sets)))
	}
	if cap(s.data)-len(s.data) < packed.count {
		s.data = make([]Rdata, 0, max(32, 2*cap(s.data), packed.count))
	}
	start := len(s.data)
	s.data = packed.unpack(s.data)
	end := len(s.data)
	s.sets = append(s.sets, RRSet{Name: name, Type: packed.kind, TTL: packed.ttl, Data: s.data[start:end:end]})
	return &s.sets[len(s.sets)-1]
}

// set returns the set of that type of a node, or nil.
func (s *shelf) set(e packedNode, t Type) *RRSet {
	packed, ok := e.set(t)
	if !ok {
		return nil
	}
	return s.put(e.name(), packed)
}

// alias returns the alias of a node, or nil; valid until the next call.
func (s *shelf) alias(e packedNode) *alias {
	if !e.has(hasAlias) {
		return nil
	}
	body, from := e.body()
	s.link = alias{from: from, flat: e.has(flatAlias)}
	if s.link.flat {
		packed, _ := body.next(e.has(placed))
		s.link.set = s.put(e.name(), packed)
	} else {
		s.link.set = s.set(e, TypeCNAME)
	}
	return &s.link
}

// flattened returns the alias whose target answers for the node's own
// addresses, or nil; valid until the next call.
func (s *shelf) flattened(e packedNode) *alias {
	if !e.has(flatAlias) {
		return nil
	}
	return s.alias(e)
}
