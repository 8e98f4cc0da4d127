package zones

import "unsafe"

// maxLinks bounds how many CNAMEs one answer follows. A longer chain, or one
// that comes back to a name it passed, ends there: NOERROR with the chain so
// far, one copy of each record.
const maxLinks = 16

// acmeChallenge is the label of ACME's DNS-01 challenges (RFC 8555 section
// 8.4). It is never made from a wildcard: an answer synthesised there breaks
// the issuing of certificates (DESIGN rule 10).
const acmeChallenge = "_acme-challenge"

// Lookup decides the answer to the question (q, t) in class IN and leaves it
// in a, whose former content is dropped and memory reused. It is a pure, total
// function of snapshot and question: RFC 1034 section 4.3.2 with RFC 2308,
// 4592, 6604, 6672 and 8482.
//
// CNAME and DNAME chains are followed through all zones of the snapshot. Where
// one leads out of them, questions for addresses get those that the snapshot's
// Targets know; without Targets the answer ends with the CNAME, as a Hit. At a
// flattened name the addresses stand in the place of the CNAME.
//
// The entries' owner names may share memory with q: a caller that reuses q's
// memory must have written the answer before.
func (s *Snapshot) Lookup(q Name, t Type, a *Answer) {
	s.lookup(q, t, a)
	if t == TypeANY && a.flat.on {
		// One family of a flattened name (RFC 8482 section 4.1).
		if s.lookup(q, TypeA, a); a.Kind == NoData {
			s.lookup(q, TypeAAAA, a)
		}
	}
}

func (s *Snapshot) lookup(q Name, t Type, a *Answer) {
	a.reset()
	zone := s.zoneFor(q, t)
	if zone == nil {
		a.Kind = NotOurs
		return
	}
	a.Zone, a.End = zone, zone
	if !s.Ready {
		a.Kind = NotReady
		return
	}
	a.Authoritative = true
	s.chase(a, zone, q, t)
	if a.flat.on && t != TypeANY {
		s.collapse(a, t)
	}
}

// chase answers one name after the other.
func (s *Snapshot) chase(a *Answer, zone *Zone, q Name, t Type) {
	for links := 0; ; links++ {
		next, link := s.step(a, zone, q, t, links)
		if next == "" {
			return
		}
		zone = s.zoneFor(next, t)
		if zone == nil {
			s.follow(a, next, t, link)
			return
		}
		if a.owns(next) {
			a.Kind = Hit
			return
		}
		q, a.End = next, zone
	}
}

// zoneFor returns the zone that answers for the name: the one with the longest
// matching origin, but for DS at an origin the parent's, where we serve it
// (RFC 4035 section 3.1.4.1).
func (s *Snapshot) zoneFor(q Name, t Type) *Zone {
	zone := s.ZoneOf(q)
	if t == TypeDS && zone != nil && zone.origin.Name == q && q != Root {
		if parent := s.ZoneOf(q.Parent()); parent != nil {
			return parent
		}
	}
	return zone
}

// owns reports whether a chain has already passed the name.
func (a *Answer) owns(name Name) bool {
	for _, entry := range a.Section {
		if entry.Set.Type == TypeCNAME && entry.Owner == name {
			return true
		}
	}
	return false
}

// step answers one name in one zone. It returns the name that a CNAME leads
// to, and whose CNAME that is (nil for a DNAME's); the zero Name when the answer
// is complete.
func (s *Snapshot) step(a *Answer, zone *Zone, q Name, t Type, links int) (Name, *alias) {
	found := zone.find(q, t, &a.keys)
	switch found.kind {
	case findCut:
		a.Kind = Delegation
		a.Authoritative = len(a.Section) > 0
		cut := a.shelf.set(found.node, TypeNS)
		a.Authority = append(a.Authority, Entry{cut.Name, cut})
		s.addAddresses(a, cut, cut.Name)
		return "", nil
	case findDNAME:
		next := s.redirect(a, a.shelf.set(found.node, TypeDNAME), q, links)
		if t == TypeCNAME || t == TypeANY {
			return "", nil // the CNAME just made is what was asked for
		}
		return next, nil
	case findNothing:
		a.Kind = NXDomain
		s.negative(a, zone, q, t)
		return "", nil
	case findWildcard:
		if a.Wildcard == "" {
			a.Wildcard = found.node.name()
		}
	}
	set := a.shelf.pick(found.node, t)
	if set != nil {
		a.Kind = Hit
		a.Section = append(a.Section, Entry{q, set})
		s.addAddresses(a, set, q)
		return "", nil
	}
	if link := a.shelf.alias(found.node); link != nil && (!link.flat || isAddress(t) || t == TypeANY) {
		a.Kind = Hit
		if link.flat && !a.flat.on {
			a.flat = flattening{true, zone, len(a.Section)}
		}
		if links == maxLinks || t == TypeANY {
			// A flattening stands on what it began with.
			if link.flat {
				a.Section = append(a.Section, Entry{q, link.set})
			}
			return "", nil
		}
		a.Section = append(a.Section, Entry{q, link.set})
		return link.target(), link
	}
	a.Kind = NoData
	s.negative(a, zone, q, t)
	return "", nil
}

// pick returns the set that answers a question of type t. For ANY it is one
// set only (RFC 8482 section 4.1): addresses or the alias if there are any,
// else the lowest type.
func (s *shelf) pick(e packedNode, t Type) *RRSet {
	if t != TypeANY {
		return s.set(e, t)
	}
	for _, first := range [...]Type{TypeA, TypeAAAA, TypeCNAME} {
		if set := s.set(e, first); set != nil {
			return set
		}
	}
	if packed, ok := e.first(); ok {
		return s.put(e.name(), packed)
	}
	return nil
}

func (s *Snapshot) negative(a *Answer, zone *Zone, q Name, t Type) {
	a.Authority = append(a.Authority, Entry{zone.origin.Name, zone.negative})
	a.Reason = s.reason(q, t)
}

// redirect substitutes the DNAME's target for its owner at the end of q
// (RFC 6672 section 2.2) and returns the new name. The answer holds the DNAME
// and a CNAME made from it, with the DNAME's TTL (section 3.1).
func (s *Snapshot) redirect(a *Answer, dname *RRSet, q Name, links int) Name {
	a.Kind = Hit
	if links == maxLinks {
		return ""
	}
	if !a.holds(dname) {
		a.Section = append(a.Section, Entry{dname.Name, dname})
	}
	target := dname.Data[0].Target(TypeDNAME)
	prefix := q[:len(q)-len(dname.Name)]
	if len(prefix)+len(target) > maxNameOctets {
		a.Kind = TooLong
		return ""
	}
	next := prefix + target
	alias := &RRSet{Name: q, Type: TypeCNAME, TTL: dname.TTL, Data: []Rdata{Rdata(next)}}
	a.Section = append(a.Section, Entry{q, alias})
	return next
}

func (a *Answer) holds(set *RRSet) bool {
	for _, entry := range a.Section {
		if entry.Set.Type == set.Type && entry.Set.Name == set.Name {
			return true
		}
	}
	return false
}

// addAddresses puts the addresses of the names that set points at into the
// additional section, where they are ours: glue for a delegation (RFC 9471),
// a service to the client for MX (RFC 1035), SRV (RFC 2782), SVCB and HTTPS (RFC
// 9460 section 4.1). owner is the name that the set answers for.
func (s *Snapshot) addAddresses(a *Answer, set *RRSet, owner Name) {
	switch set.Type {
	case TypeNS, TypeMX, TypeSRV, TypeSVCB, TypeHTTPS:
	default:
		return
	}
	for i, data := range set.Data {
		target := effectiveTarget(set.Type, data, owner)
		if target == "" || pointsEarlier(set, i, target, owner) {
			continue
		}
		zone := s.ZoneOf(target)
		if zone == nil {
			continue
		}
		e := zone.tree.packed(target)
		if e == "" {
			continue
		}
		for _, t := range [...]Type{TypeA, TypeAAAA} {
			addresses := a.shelf.set(e, t)
			if link := a.shelf.flattened(e); link != nil {
				addresses = s.flatAddresses(link, t)
			}
			if addresses != nil {
				a.Additional = append(a.Additional, Entry{target, addresses})
			}
		}
	}
}

// effectiveTarget returns the name whose addresses a client of the record wants.
// A root in SVCB and HTTPS is the owner itself, and in AliasMode nothing (RFC 9460
// section 2.5).
func effectiveTarget(t Type, data Rdata, owner Name) Name {
	target := data.Target(t)
	if target != Root || t != TypeSVCB && t != TypeHTTPS {
		return target
	}
	if data[0] == 0 && data[1] == 0 {
		return ""
	}
	return owner
}

// pointsEarlier reports whether data before index i names the same target, as
// the SRV records of several ports do.
func pointsEarlier(set *RRSet, i int, target, owner Name) bool {
	for _, data := range set.Data[:i] {
		if effectiveTarget(set.Type, data, owner) == target {
			return true
		}
	}
	return false
}

type findKind uint8

const (
	findNothing  findKind = iota
	findNode              // the name's own node
	findWildcard          // the wildcard that covers the name
	findCut               // a zone cut at or above the name
	findDNAME             // a DNAME above the name
)

type found struct {
	kind findKind
	node packedNode
}

// find looks for q, which lies in the zone, and for what stands above it. buf is
// memory to work in.
func (z *Zone) find(q Name, t Type, buf *keyBuffer) found {
	var e packedNode
	var sure bool
	if z.cuts.nodes == 0 {
		if e, sure = z.tree.findExact(q); e != "" {
			return found{findNode, e}
		}
		if sure && z.tree.wildcards == 0 {
			return found{kind: findNothing}
		}
	}
	key := buf.key(q)
	if z.cuts.nodes > 0 {
		if found := z.findCut(buf, q, t); found.kind != findNothing {
			return found
		}
	}
	if !sure {
		if e = z.tree.find(key, q); e != "" {
			return found{findNode, e}
		}
	}
	if z.tree.wildcards == 0 {
		return found{kind: findNothing}
	}
	return z.cover(buf, key, q)
}

// findCut looks for the highest cut or DNAME at or above q, whose key is in buf.
func (z *Zone) findCut(buf *keyBuffer, q Name, t Type) found {
	for depth := z.origin.Name.Labels(); depth <= buf.labels; depth++ {
		e := z.cuts.find(buf.octets[:buf.ends[depth]], buf.suffix(q, depth))
		if e == "" {
			continue
		}
		apex, own := depth == z.origin.Name.Labels(), depth == buf.labels
		if _, isNS := e.set(TypeNS); isNS && !apex && !(own && t == TypeDS) {
			return found{findCut, e}
		}
		if _, isDNAME := e.set(TypeDNAME); isDNAME && !own {
			return found{findDNAME, e}
		}
	}
	return found{kind: findNothing}
}

// cover looks for the wildcard that covers q, a name that doesn't exist (RFC
// 4592 section 3.3.1).
func (z *Zone) cover(buf *keyBuffer, key []byte, q Name) found {
	depth, exists := buf.labels, false
	// The closest encloser is nearly always the parent, or its parent.
	for steps := 0; steps < 2 && !exists; steps++ {
		if buf.suffix(q, depth).FirstLabel() == acmeChallenge {
			return found{kind: findNothing}
		}
		depth--
		exists = z.tree.find(key[:buf.ends[depth]], buf.suffix(q, depth)) != ""
	}
	if !exists {
		// Since all ancestors of a node are nodes, it is what q and the node before
		// it have in common, however many labels there are.
		var before keyBuffer
		other := before.key(z.tree.before(key).name())
		same := 0
		for same < len(key) && same < len(other) && key[same] == other[same] {
			same++
		}
		for ; int(buf.ends[depth]) > same; depth-- {
			if buf.suffix(q, depth).FirstLabel() == acmeChallenge {
				return found{kind: findNothing}
			}
		}
	}
	var wire [2 + maxNameOctets]byte
	name := append(append(wire[:0], 1, '*'), buf.suffix(q, depth)...)
	if e := z.tree.find(append(key[:buf.ends[depth]], '*', 0), NameInPlace(name)); e != "" {
		return found{findWildcard, e}
	}
	return found{kind: findNothing}
}

// NameInPlace returns the canonical name in wire, an uncompressed wire name
// whose letters are already in lower case, without copying it. The Name is
// valid only as long as nobody changes wire.
func NameInPlace(wire []byte) Name {
	return Name(unsafe.String(unsafe.SliceData(wire), len(wire)))
}
