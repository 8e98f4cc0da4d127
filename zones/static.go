package zones

import (
	"cmp"
	"encoding/binary"
	"fmt"
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
// the names that differ. Nil takes them all away. What a zone begins with, before
// it was ever published, is not among that Commit's Changes.
//
// At one name and type a static set stands in place of what objects claim, and
// a static CNAME in place of all their claims. A static SOA and NS set at the
// apex stand in place of those of the Origin; the serial starts from the SOA's
// and goes on from there.
func (t *Table) SetStatic(origin Name, next *Static) {
	b := t.zones[origin]
	if b == nil {
		return
	}
	if next == nil || next.origin != origin {
		next = &Static{origin: origin}
	}
	old := b.static
	if old == nil {
		old = &Static{origin: origin}
	}
	b.static = next
	// Beside objects' names, a changed file has its leaves to itself.
	if len(t.names) == 0 || b.zone.negative == nil {
		t.adopt(b)
	} else {
		for a, e := range differing(old.tree, next.tree) {
			t.touchDifferent(b, old, a, e)
		}
	}
	b.setSOA(next.soa)
	t.pending[b] = struct{}{}
	was, is := findStatic(old.At(origin), TypeNS), findStatic(next.At(origin), TypeNS)
	if (was == nil) != (is == nil) || was != nil && !was.equal(is.RRSet) {
		t.setOwnNS(b, is)
	}
}

// touchDifferent has the next commit settle the name of two entries of the zone
// file anew, if their records differ, or if objects ask for the name and must
// be told another place.
func (t *Table) touchDifferent(b *building, old *Static, was, is packedNode) {
	name := cmp.Or(was, is).name()
	same, moved := sameStatic(old.unpack(was), b.static.unpack(is))
	if !same || moved && t.names[name] != nil {
		t.touchStatic(b, name)
	}
}

// adopt makes the zone of its file's leaves, so that they are in memory once. Only
// the names that the zone has records of its own for are settled by the next
// commit, besides those that objects ask for: none of these may be in the zone yet.
func (t *Table) adopt(b *building) {
	was, _ := b.edit.commit()
	b.edit = b.static.tree.edit(b.zone.origin.Name, b.static.cuts)
	for name := range b.base {
		old := was.get(name)
		if old == nil {
			old = &node{name: name}
		}
		b.edit.put(name, old.sets, old.claimed, old.alias)
		t.touchStatic(b, name)
	}
	b.changed = true
	if b.zone.negative == nil {
		t.begin(b, was)
		return
	}
	for old, next := range differing(was, b.static.tree) {
		name := cmp.Or(old, next).name()
		if b.base[name] != nil {
			continue
		}
		t.replace(b, old.node(), next.node())
	}
}

// begin has a zone that was never published begin with its file, in place of
// another or of none. Nobody has seen the zone, so that there are no changes to
// list: of a large file, they would take more memory than the zone.
func (t *Table) begin(b *building, was tree) {
	for e := range was.entries("") {
		t.tally(b, e, -1)
	}
	for e := range b.static.tree.entries("") {
		t.tally(b, e, +1)
	}
	b.fileMoved = true
}

// tally counts the records of one of the file's nodes, and where its alias leads.
func (t *Table) tally(b *building, e packedNode, by int) {
	if b.base[e.name()] != nil {
		return // the next commit settles it
	}
	rest, _ := e.body()
	for rest != "" {
		var set packedSet
		set, rest = rest.next(e.has(placed))
		b.records[set.kind] += by * set.count
	}
	if !e.has(hasAlias) {
		return
	}
	if link := e.node().alias; by < 0 {
		t.noteAlias(link, nil)
	} else {
		t.noteAlias(nil, link)
	}
}

// replace notes that one node of a zone stands in the place of another; either
// may be nil.
func (t *Table) replace(b *building, old, next *node) {
	none := &node{}
	old, next = cmp.Or(old, none), cmp.Or(next, none)
	b.count(old.sets, -1)
	b.count(next.sets, +1)
	before := len(t.adopted)
	for _, set := range next.sets {
		if was := old.set(set.Type); was == nil || !was.equal(set) {
			t.adopted = append(t.adopted, Change{Zone: b.zone.origin.Name, Old: was, New: set})
		}
	}
	for _, set := range old.sets {
		if next.set(set.Type) == nil {
			t.adopted = append(t.adopted, Change{Zone: b.zone.origin.Name, Old: set})
		}
	}
	if len(t.adopted) > before {
		b.fileMoved = true
	}
	link := next.alias
	if old.alias.equal(link) {
		link = old.alias
	}
	t.noteAlias(old.alias, link)
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
func (t *Table) settleStatic(key staticKey, result *Commit) {
	b := t.zones[key.origin]
	if t.zoneOf(key.name) == b {
		if _, settled := t.dirty[key.name]; !settled {
			t.settleName(key.name, false, result)
		}
		return
	}
	// At or below the origin of a child: no claim of an object stands here.
	was, link := b.update(key.name, &settlement{}, false, &result.Changes)
	t.noteAlias(was, link)
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
		if own := findStatic(b.static.At(origin.Name), TypeNS); own != nil {
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
	if static := findStatic(b.static.At(set.Name), set.Type); static != nil {
		return static.From
	}
	return ""
}
