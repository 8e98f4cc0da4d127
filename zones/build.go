package zones

import (
	"cmp"
	"maps"
	"slices"
	"time"
)

// A building is a zone under construction: the last published Zone and the
// edits since.
type building struct {
	zone    *Zone
	edit    *edit
	records map[Type]int // of the next Zone
	flats   int          // flattened names of the next Zone
	base    map[Name][]*RRSet
	serial  uint32
	stepped int64 // Unix second of the last step of the serial
	moved   bool  // records changed since the serial stepped
	// What the zone's file says; ownNS tells that it names the name servers.
	static    *Static
	fileSOA   StaticSet
	fileMoved bool // the file's records changed since the serial stepped
	ownNS     bool
	// compacting is what a compaction under way gives; nil while there is none.
	compacting chan tree
	at         int  // in the order of origins
	changed    bool // the next publish must make a new Zone
}

// buildOrigins makes the zones with their apex records, the addresses of their
// name servers, and in a parent zone the delegation of a child that is ours
// too (RFC 1034 section 4.2.1: else the child's names would hang in the air).
func (t *Table) buildOrigins() {
	for _, origin := range t.options.Origins {
		origin = origin.withDefaults()
		b := &building{
			zone:    &Zone{origin: origin},
			records: map[Type]int{},
			base:    map[Name][]*RRSet{},
			moved:   true,
			changed: true,
		}
		t.zones[origin.Name] = b
		t.origins = append(t.origins, origin.Name)
	}
	slices.SortFunc(t.origins, Name.Compare)
	t.index = make(map[Name]int, len(t.origins))
	t.pages = newPages(len(t.origins))
	for i, origin := range t.origins {
		b := t.zones[origin]
		b.at, t.index[origin] = i, i
		t.pending[b] = struct{}{}
		b.base[origin] = append(b.base[origin], b.zone.origin.ns())
		if parent := t.zoneOf(origin.Parent()); parent != nil {
			parent.base[origin] = append(parent.base[origin], b.zone.origin.ns())
		}
		for _, server := range b.zone.origin.NS {
			t.addServer(server, b.zone.origin.TTL)
		}
	}
	for _, b := range t.zones {
		b.edit = b.zone.tree.edit(b.zone.origin.Name, b.zone.cuts)
		for name, sets := range b.base {
			sortSets(sets)
			b.put(name, b.edit.get(name), sets, false, nil)
		}
	}
}

// addServer gives a name server's name its addresses, in the zone it lies in.
func (t *Table) addServer(server NameServer, ttl uint32) {
	t.servers[server.Name]++
	b := t.zoneOf(server.Name)
	if b == nil || hasAddresses(b.base[server.Name]) {
		return
	}
	byType := map[Type]*RRSet{}
	for _, addr := range server.Addresses {
		addr = addr.Unmap()
		kind := TypeAAAA
		if addr.Is4() {
			kind = TypeA
		}
		if byType[kind] == nil {
			byType[kind] = &RRSet{Name: server.Name, Type: kind, TTL: ttl}
		}
		byType[kind].Data = append(byType[kind].Data, Rdata(addr.AsSlice()))
	}
	for _, set := range byType {
		set.Data = canonicalData(set.Data)
		b.base[server.Name] = append(b.base[server.Name], set)
	}
}

func hasAddresses(sets []*RRSet) bool {
	return slices.ContainsFunc(sets, func(set *RRSet) bool {
		return set.Type == TypeA || set.Type == TypeAAAA
	})
}

// zoneOf returns the zone with the longest matching origin, or nil.
func (t *Table) zoneOf(name Name) *building {
	for rest := name; rest != ""; rest = rest.Parent() {
		if b := t.zones[rest]; b != nil {
			return b
		}
	}
	return nil
}

// put gives a name its sets and keeps count of the records; old is its node
// until now, or nil.
func (b *building) put(name Name, old *node, sets []*RRSet, claimed bool, link *alias) {
	if old != nil {
		b.count(old.sets, -1)
		if old.flattened() != nil {
			b.flats--
		}
	}
	if link != nil && link.flat {
		b.flats++
	}
	b.count(sets, +1)
	b.edit.put(name, sets, claimed, link)
	b.changed = true
}

func (b *building) count(sets []*RRSet, by int) {
	for _, set := range sets {
		b.records[set.Type] += by * len(set.Data)
	}
}

// step moves the serial on when records changed and the second is a new one.
// It returns when to try again if the second is still the old one.
func (b *building) step(now time.Time) (again time.Time) {
	if !b.moved && !b.fileMoved {
		return time.Time{}
	}
	fromFile, has := b.fileSerial()
	has = has && b.fileMoved
	if first := b.zone.negative == nil; has && !b.moved && (first || newer(fromFile, b.serial)) {
		if !first || b.serial == 0 || newer(fromFile, b.serial) {
			b.serial = fromFile
		}
		b.fileMoved, b.changed = false, true
		return time.Time{}
	}
	second := now.Unix()
	// Equal, not at most: a clock set back must not freeze the serial.
	if b.serial != 0 && second == b.stepped {
		return time.Unix(second+1, 0)
	}
	b.serial = max(b.serial+1, uint32(second))
	if has && newer(fromFile, b.serial) {
		b.serial = fromFile
	}
	b.stepped = second
	b.moved, b.fileMoved = false, false
	b.changed = true
	return time.Time{}
}

// publish compiles the edits into a Zone, or returns the last one where there
// were none.
func (b *building) publish() *Zone {
	if !b.changed {
		return b.zone
	}
	origin := b.zone.origin
	next := &Zone{origin: origin, serial: b.serial, negative: b.zone.negative}
	if b.zone.negative == nil || b.serial != b.zone.serial {
		next.negative = b.putSOA(origin)
	}
	next.tree, next.cuts = b.edit.commit()
	next.flats = b.flats
	next.tree = b.tidied(next.tree)
	next.records = maps.Clone(b.records)
	maps.DeleteFunc(next.records, func(_ Type, n int) bool { return n == 0 })
	b.zone = next
	b.edit = next.tree.edit(origin.Name, next.cuts)
	b.changed = false
	return next
}

// putSOA gives the apex the SOA of the serial, and returns the set for negative
// answers.
func (b *building) putSOA(origin Origin) (negative *RRSet) {
	soa, negative := b.soa(b.serial)
	apex := b.edit.get(origin.Name) // there since buildOrigins gave it the NS set
	sets := append(deleteFunc(apex.sets, func(set *RRSet) bool { return set.Type == TypeSOA }), soa)
	sortSets(sets)
	b.put(origin.Name, apex, sets, apex.claimed, apex.alias)
	return negative
}

// update replaces the sets and the alias that objects gave a name, and notes the
// changes. byObjects says that these may be the objects' doing, not the zone
// file's alone. It returns the alias until now and the one from now on.
func (b *building) update(name Name, s *settlement, byObjects bool, changes *[]Change) (was, link *alias) {
	link = s.alias
	sets := b.withBase(name, s.sets, link != nil)
	if link == nil {
		link = b.staticAlias(name)
	}
	claimed := s.claimed
	var old []*RRSet
	wasClaimed := false
	n := b.edit.get(name)
	if n != nil {
		old, wasClaimed, was = n.sets, n.claimed, n.alias
	}
	if was.equal(link) {
		link = was // keep the shared one
	}
	before := len(*changes)
	origin := b.zone.origin.Name
	for i, set := range sets {
		was := findSet(old, set.Type)
		if was != nil && was.equal(set) {
			sets[i] = was // keep the shared one
			continue
		}
		*changes = append(*changes, Change{Zone: origin, Old: was, New: set})
	}
	for _, set := range old {
		if set.Type != TypeSOA && findSet(sets, set.Type) == nil {
			*changes = append(*changes, Change{Zone: origin, Old: set})
		}
	}
	if len(*changes) > before {
		b.moved = b.moved || byObjects
		b.fileMoved = true
	} else if claimed == wasClaimed && link == was {
		return was, link
	}
	if soa := findSet(old, TypeSOA); soa != nil {
		sets = append(sets, soa)
		sortSets(sets)
	}
	b.put(name, n, sets, claimed, link)
	return was, link
}

// staticAlias returns the alias that a zone file's CNAME makes, or nil. What a
// file says is served as it stands: it is never flattened.
func (b *building) staticAlias(name Name) *alias {
	for _, static := range b.static.At(name) {
		if static.Type == TypeCNAME {
			return &alias{set: static.RRSet, from: static.From}
		}
	}
	return nil
}

// withBase adds the static records and the zone's own for the name. Addresses of
// a name server's name from elsewhere, or those of the target that it is
// flattened to, take the place of ours.
func (b *building) withBase(name Name, sets []*RRSet, flat bool) []*RRSet {
	base := b.base[name]
	for _, static := range b.static.At(name) {
		sets = append(sets, static.RRSet)
		if static.Type == TypeCNAME {
			base = nil
		}
	}
	if len(base) == 0 {
		sortSets(sets)
		return sets
	}
	claimedAddresses := flat || hasAddresses(sets)
	for _, set := range base {
		switch {
		case (set.Type == TypeA || set.Type == TypeAAAA) && claimedAddresses:
		case findSet(sets, set.Type) != nil:
		default:
			sets = append(sets, set)
		}
	}
	sortSets(sets)
	return sets
}

func findSet(sets []*RRSet, t Type) *RRSet {
	for _, set := range sets {
		if set.Type == t {
			return set
		}
	}
	return nil
}

func (r *RRSet) equal(other *RRSet) bool {
	return r.Name == other.Name && r.Type == other.Type && r.TTL == other.TTL && slices.Equal(r.Data, other.Data)
}

func sortChanges(changes []Change) {
	slices.SortFunc(changes, func(a, b Change) int {
		if a.Zone != b.Zone {
			return a.Zone.Compare(b.Zone)
		}
		x, y := a.set(), b.set()
		if x.Name != y.Name {
			return x.Name.Compare(y.Name)
		}
		return cmp.Compare(x.Type, y.Type)
	})
}

func (c Change) set() *RRSet {
	if c.New != nil {
		return c.New
	}
	return c.Old
}
