package zones

import (
	"encoding/binary"
	"fmt"
	"slices"
)

// A StaticSet is a record set that no object asks for: it comes from a zone
// file.
type StaticSet struct {
	*RRSet
	// From says where it stands, in words: "file corp.zone line 12".
	From string
}

// A staticKey names a name in one zone: records of a parent's zone file may
// stand at and below the origin of a child that is ours too.
type staticKey struct{ origin, name Name }

// SetStatic replaces all static records of a zone, which must be one of
// Options.Origins; others are left out. The next Commit publishes them; it costs
// the names that differ. Sets must lie in the zone, one of a name and type, data
// in canonical order; the Table keeps them.
//
// At one name and type a static set stands in place of what objects claim, and
// a static CNAME in place of all their claims. A static SOA and NS set at the
// apex stand in place of those of the Origin; the serial starts from the SOA's
// and goes on from there.
func (t *Table) SetStatic(origin Name, sets []StaticSet) {
	b := t.zones[origin]
	if b == nil {
		return
	}
	next := make(map[Name][]StaticSet, len(sets))
	soa := StaticSet{}
	for _, set := range sets {
		switch {
		case set.Type == TypeSOA:
			soa = set
		case set.Name.In(origin):
			next[set.Name] = append(next[set.Name], set)
		}
	}
	for name, sets := range next {
		slices.SortFunc(sets, func(a, b StaticSet) int { return int(a.Type) - int(b.Type) })
		same, moved := sameStatic(b.static[name], sets)
		if !same || moved && t.names[name] != nil {
			t.touchStatic(b, name)
		}
	}
	for name := range b.static {
		if next[name] == nil {
			t.touchStatic(b, name)
		}
	}
	was := findStatic(b.static[origin], TypeNS)
	b.static = next
	b.setSOA(soa)
	t.pending[b] = struct{}{}
	if is := findStatic(next[origin], TypeNS); (was == nil) != (is == nil) || was != nil && !was.equal(is.RRSet) {
		t.setOwnNS(b, is)
	}
}

// sameStatic reports whether two lists hold the same records, and whether these
// stand in another place of the file.
func sameStatic(a, b []StaticSet) (same, moved bool) {
	if len(a) != len(b) {
		return false, false
	}
	for i := range a {
		if !a[i].equal(b[i].RRSet) {
			return false, false
		}
		moved = moved || a[i].From != b[i].From
	}
	return true, moved
}

func findStatic(sets []StaticSet, t Type) *StaticSet {
	for i := range sets {
		if sets[i].Type == t {
			return &sets[i]
		}
	}
	return nil
}

// touchStatic has the next commit settle a name of one zone anew.
func (t *Table) touchStatic(b *building, name Name) {
	t.dirtyStatic[staticKey{b.zone.origin.Name, name}] = struct{}{}
}

// settleStatic brings a name up to date whose static or own records changed.
func (t *Table) settleStatic(key staticKey, result *Commit, outside map[Name]bool) {
	b := t.zones[key.origin]
	if t.zoneOf(key.name) == b {
		if _, settled := t.dirty[key.name]; !settled {
			t.settleName(key.name, false, result, outside)
		}
		return
	}
	// At or below the origin of a child: no claim of an object stands here.
	was, link := b.update(key.name, &settlement{}, false, &result.Changes)
	t.noteAlias(was, link, outside)
	t.pending[b] = struct{}{}
}

// setOwnNS takes note that the zone's apex has an NS set of its own, or nil for
// the Origin's: the parent delegates to these, and name servers that no zone
// names any longer lose the addresses that we gave them.
func (t *Table) setOwnNS(b *building, own *StaticSet) {
	origin := b.zone.origin
	if parent := t.zoneOf(origin.Name.Parent()); parent != nil {
		set := origin.ns()
		if own != nil {
			set = own.RRSet
		}
		parent.base[origin.Name] = append(deleteFunc(parent.base[origin.Name], func(s *RRSet) bool { return s.Type == TypeNS }), set)
		t.touchStatic(parent, origin.Name)
	}
	if b.ownNS == (own != nil) {
		return
	}
	b.ownNS = own != nil
	for _, server := range origin.NS {
		if !b.ownNS {
			t.addServer(server, origin.TTL)
		} else if t.servers[server.Name]--; t.servers[server.Name] == 0 {
			if home := t.zoneOf(server.Name); home != nil {
				home.base[server.Name] = deleteFunc(home.base[server.Name], func(s *RRSet) bool { return s.Type != TypeNS })
			}
		}
		if home := t.zoneOf(server.Name); home != nil {
			t.touchStatic(home, server.Name)
		}
	}
}

// setSOA gives the zone the SOA of its file, or takes it away (no set).
func (b *building) setSOA(soa StaticSet) {
	old := b.fileSOA
	b.fileSOA = soa
	switch {
	case soa.RRSet == nil && old.RRSet == nil:
		return
	case soa.RRSet == nil || old.RRSet == nil:
		b.fileMoved = true
	case soa.TTL != old.TTL || soa.Data[0] != old.Data[0]:
		b.fileMoved = true
	}
	// The file speaks of the zone before objects do.
	if b.zone.negative == nil && soa.RRSet != nil {
		b.moved = false
	}
}

// fileSerial returns the serial that stands in the zone's file.
func (b *building) fileSerial() (serial uint32, ok bool) {
	if b.fileSOA.RRSet == nil {
		return 0, false
	}
	data := b.fileSOA.Data[0]
	return binary.BigEndian.Uint32([]byte(data[len(data)-20:])), true
}

// soa returns the zone's SOA set of the serial and the one for negative answers
// (RFC 2308 section 3).
func (b *building) soa(serial uint32) (soa, negative *RRSet) {
	origin := b.zone.origin
	if b.fileSOA.RRSet == nil {
		if own := findStatic(b.static[origin.Name], TypeNS); own != nil {
			origin.NS = []NameServer{{Name: own.Data[0].Target(TypeNS)}}
		}
		return origin.soa(serial)
	}
	data := []byte(b.fileSOA.Data[0])
	binary.BigEndian.PutUint32(data[len(data)-20:], serial)
	soa = &RRSet{Name: origin.Name, Type: TypeSOA, TTL: b.fileSOA.TTL, Data: []Rdata{Rdata(data)}}
	clipped := *soa
	clipped.TTL = min(soa.TTL, binary.BigEndian.Uint32(data[len(data)-4:]))
	return soa, &clipped
}

// newer reports whether serial a comes after b (RFC 1982 section 3.2).
func newer(a, b uint32) bool { return int32(a-b) > 0 }

// dropStatic lets what a zone file says win over what objects claim.
func (s *settlement) dropStatic(name Name, static []StaticSet) {
	if len(static) == 0 || len(s.kept) == 0 {
		return
	}
	if alias := findStatic(static, TypeCNAME); alias != nil {
		for _, c := range oneEach(askedFor(s.kept)) {
			s.lose(c, TypeNone, ReasonStatic, fmt.Sprintf("%s is a CNAME in %s, which wins; take it out of the file, or choose another name", name, alias.From))
		}
		s.kept = nil
		return
	}
	s.kept = deleteFunc(s.kept, func(c contribution) bool {
		winner := findStatic(static, c.claim.Type)
		message := "the %[2]s records of %[1]s stand in %[3]s, which wins; take them out of the file, or choose another name"
		if winner == nil && c.claim.Type == TypeCNAME {
			winner = &static[0]
			message = "a CNAME can't stand at %[1]s beside the %[2]s records in %[3]s, which wins; take them out of the file, or choose another name"
		}
		if winner == nil {
			return false
		}
		if !c.claim.Derived {
			s.lose(c, c.claim.Type, ReasonStatic, fmt.Sprintf(message, name, winner.Type, winner.From))
		}
		return true
	})
}

// staticSource returns the place in a zone file that a set of the zone comes
// from, or "".
func (b *building) staticSource(set *RRSet) string {
	if set.Type == TypeSOA && b.fileSOA.RRSet != nil {
		return b.fileSOA.From
	}
	if static := findStatic(b.static[set.Name], set.Type); static != nil {
		return static.From
	}
	return ""
}
