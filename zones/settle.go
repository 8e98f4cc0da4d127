package zones

import (
	"cmp"
	"fmt"
	"slices"
	"sort"
)

// settleName settles one name and brings its zone, its reason on the wire and
// the counts up to date. byObjects says that objects changed what they ask for
// there, and not a zone file alone; outside is as noteAlias has it.
func (t *Table) settleName(name Name, byObjects bool, result *Commit, outside map[Name]bool) {
	e := t.names[name]
	if e == nil {
		e = &entry{} // of static records alone
	}
	b := t.zoneOf(name)
	settled := t.settle(name, e.claims, b)
	for i := range e.lost {
		t.counts.skip(&e.lost[i], -1)
	}
	for i := range settled.lost {
		t.counts.skip(&settled.lost[i], +1)
	}
	t.noteSkips(e.lost, settled.lost)
	e.lost = settled.lost
	t.noteHeld(e, settled.holding())
	if b != nil {
		was, link := b.update(name, &settled, byObjects, &result.Changes)
		t.noteAlias(was, link, outside)
		t.pending[b] = struct{}{}
		t.setReason(name, e, len(settled.sets) > 0 || link != nil || len(b.static[name]) > 0)
	}
	if len(e.claims) == 0 && len(e.skipped) == 0 {
		delete(t.names, name)
	}
}

// A reason is the sentence that a negative answer for a name carries.
type reason struct {
	text string
	// partial says that the name has records all the same: the reason tells of
	// kind only, or where that is TypeNone, of addresses.
	partial bool
	kind    Type
}

// concerns reports whether the reason tells why there are no records of type t.
func (r reason) concerns(t Type) bool {
	switch {
	case !r.partial:
		return true
	case r.kind == TypeNone || r.kind == TypeCNAME:
		return t == TypeA || t == TypeAAAA || t == r.kind
	}
	return r.kind == t
}

// setReason keeps why the name, or a type of it, is missing.
func (t *Table) setReason(name Name, e *entry, hasRecords bool) {
	var buf keyBuffer
	var why reason
	for _, skip := range e.allSkipped() {
		if !hasRecords || !skip.Reason.remark() {
			why = reason{skip.String(), hasRecords, skip.Type}
			break
		}
	}
	if why.text == "" {
		t.reasons.Delete(buf.key(name))
		return
	}
	if old, ok := t.reasons.Get(buf.key(name)); ok && old == why {
		return
	}
	t.reasons.Insert(append([]byte(nil), buf.key(name)...), why)
}

// allSkipped returns the name's skips in a fixed order: reasons before remarks,
// those of the whole name before those of one type.
func (e *entry) allSkipped() []Skipped {
	all := append(slices.Clone(e.skipped), e.lost...)
	sortSkipped(all)
	return all
}

func sortSkipped(skips []Skipped) {
	slices.SortFunc(skips, func(a, b Skipped) int {
		return cmp.Or(
			cmp.Compare(a.Reason.Weight(), b.Reason.Weight()),
			cmp.Compare(min(a.Type, 1), min(b.Type, 1)),
			a.Owner.compare(b.Owner),
			a.Name.Compare(b.Name),
			cmp.Compare(a.Type, b.Type),
			cmp.Compare(a.Reason, b.Reason),
			cmp.Compare(a.Message, b.Message),
		)
	})
}

// A settlement is what remains of the claims on one name.
type settlement struct {
	kept    []contribution // in the order of precedence
	sets    []*RRSet       // for the zone, sorted by type
	alias   *alias         // the CNAME, in sets or flattened; nil without
	claimed bool
	lost    []Skipped
}

// settle decides who gets the name and what stands there. b is the zone of the
// name, nil where there is none. It reads nothing but its arguments and the
// Table's options.
func (t *Table) settle(name Name, claims []contribution, b *building) settlement {
	if b == nil && len(t.zones) > 0 {
		var s settlement
		for _, c := range oneEach(askedFor(claims)) {
			s.lose(c, TypeNone, ReasonOutOfZone, fmt.Sprintf("%s lies in none of the served zones; serve its domain with --zone", name))
		}
		return s
	}
	s := t.arbitrate(name, claims, staticOf(b, name))
	s.claimed = len(s.kept) > 0
	if b != nil {
		s.build(name, b, t.options)
	}
	return s
}

// staticOf returns the static sets of a name in a zone; b may be nil.
func staticOf(b *building, name Name) []StaticSet {
	if b == nil {
		return nil
	}
	return b.static[name]
}

// arbitrate settles the contests between the claims on one name, and with what
// a zone file says there.
func (t *Table) arbitrate(name Name, claims []contribution, static []StaticSet) settlement {
	s := settlement{kept: claims}
	if len(claims) > 1 {
		s.kept = slices.SortedStableFunc(slices.Values(claims), contribution.precedence)
		s.contest(t.options.Policy)
	}
	s.dropStatic(name, static)
	if len(claims) > 1 || len(claims) == 1 && len(claims[0].claim.Targets) > 1 {
		s.dropAliases(name)
	}
	return s
}

// precedence orders contributions to one name: the oldest object first (one of
// unknown age after all others), then by the order of the sources, namespace
// and name (DESIGN rule 5), then by what tells one object's claims apart.
func (c contribution) precedence(other contribution) int {
	a, b := c.object, other.object
	return cmp.Or(
		compareAge(a, b),
		cmp.Compare(a.rank, b.rank),
		a.Owner.compare(b.Owner),
		cmp.Compare(c.claim.Type, other.claim.Type),
		cmp.Compare(c.claim.SetIdentifier, other.claim.SetIdentifier),
	)
}

func compareAge(a, b *object) int {
	switch {
	case a.Created.IsZero() && b.Created.IsZero():
		return 0
	case a.Created.IsZero():
		return 1
	case b.Created.IsZero():
		return -1
	}
	return a.Created.Compare(b.Created)
}

// contest keeps the winner's contributions and those united with them.
func (s *settlement) contest(policy Policy) {
	winner := s.kept[0].object.Owner
	wins := func(o Owner) bool { return true }
	switch policy {
	case PolicyNamespace:
		wins = func(o Owner) bool { return o.Namespace == winner.Namespace }
	case PolicyFirst:
		wins = func(o Owner) bool { return o == winner }
	}
	losers := deleteFunc(s.kept, func(c contribution) bool { return wins(c.object.Owner) })
	if len(losers) == 0 {
		return
	}
	s.kept = deleteFunc(s.kept, func(c contribution) bool { return !wins(c.object.Owner) })
	for _, c := range oneEach(askedFor(losers)) {
		why := "the oldest object that asks for it"
		if compareAge(s.kept[0].object, c.object) == 0 {
			why = "which comes first of the objects of one age by source, namespace and name"
		}
		s.lose(c, TypeNone, ReasonConflict, fmt.Sprintf("%s belongs to %s, %s; choose another name, or delete that object", c.claim.Name, winner, why))
	}
}

// askedFor leaves out what was only derived: nobody misses it.
func askedFor(list []contribution) []contribution {
	return deleteFunc(list, func(c contribution) bool { return c.claim.Derived })
}

// oneEach returns the first contribution of each object.
func oneEach(list []contribution) []contribution {
	seen := map[*object]bool{}
	return deleteFunc(list, func(c contribution) bool {
		if seen[c.object] {
			return true
		}
		seen[c.object] = true
		return false
	})
}

// dropAliases lets no CNAME stand beside other data, and no second CNAME
// (RFC 1034 section 3.6.2, RFC 2181 section 10.1; SOURCES item 4).
func (s *settlement) dropAliases(name Name) {
	var other *contribution
	for i, c := range s.kept {
		if c.claim.Type != TypeCNAME && c.claim.Type != TypeNone {
			other = &s.kept[i]
			break
		}
	}
	if other != nil {
		kind, owner := other.claim.Type, other.object.Owner
		s.loseAliases(func(c contribution) string {
			return fmt.Sprintf("the CNAME to %s can't stand beside the %s records of %s at %s", c.claim.Targets[0], kind, owner, name)
		})
		s.keepLowest(TypeDNAME)
		return
	}
	s.keepLowest(TypeCNAME)
}

// loseAliases drops every CNAME claim, for the reason that why gives.
func (s *settlement) loseAliases(why func(contribution) string) {
	for _, c := range s.kept {
		if c.claim.Type == TypeCNAME && len(c.claim.Targets) > 0 {
			s.lose(c, TypeCNAME, ReasonCNAMEConflict, why(c))
		}
	}
	s.kept = deleteFunc(s.kept, func(c contribution) bool { return c.claim.Type == TypeCNAME })
}

// keepLowest leaves the lowest target among all claims of a type that may have
// one record only. Claims of other set-identifiers keep theirs for the mirrors.
func (s *settlement) keepLowest(single Type) {
	lowest := map[string]string{} // set-identifier -> target
	for _, c := range s.kept {
		if c.claim.Type != single {
			continue
		}
		for _, target := range c.claim.Targets {
			if low, ok := lowest[c.claim.SetIdentifier]; !ok || target < low {
				lowest[c.claim.SetIdentifier] = target
			}
		}
	}
	if len(lowest) == 0 {
		return
	}
	kept := make([]contribution, 0, len(s.kept))
	for _, c := range s.kept {
		low := lowest[c.claim.SetIdentifier]
		if c.claim.Type != single || len(c.claim.Targets) == 1 && c.claim.Targets[0] == low {
			kept = append(kept, c)
			continue
		}
		for _, target := range c.claim.Targets {
			if target != low {
				s.lose(c, single, ReasonCNAMEConflict, fmt.Sprintf("a name can have one %s only: %s is served, %s is not", single, low, target))
			}
		}
		if slices.Contains(c.claim.Targets, low) {
			narrowed := *c.claim
			narrowed.Targets = []string{low}
			kept = append(kept, contribution{c.object, &narrowed})
		}
	}
	s.kept = kept
}

func (s *settlement) lose(c contribution, t Type, reason Reason, message string) {
	s.lost = append(s.lost, Skipped{Owner: c.object.Owner, Name: c.claim.Name, Type: t, Reason: reason, Message: message})
}

// build makes the record sets for the zone from what was kept: the targets of
// all contributions to a type, with the lowest TTL that any of them sets.
func (s *settlement) build(name Name, b *building, o Options) {
	for _, kind := range s.types() {
		set := &RRSet{Name: name, Type: kind, TTL: o.DefaultTTL}
		var ttl TTL
		for _, c := range s.kept {
			if c.claim.Type == kind {
				ttl = ttl.min(c.claim.TTL)
				set.Data = s.pack(set.Data, c)
			}
		}
		if len(set.Data) == 0 {
			continue
		}
		if ttl.Set {
			set.TTL = ttl.Seconds
		}
		set.Data = canonicalData(set.Data)
		if kind == TypeCNAME || kind == TypeDNAME {
			set.Data = lowestText(set.Data, kind) // of several set-identifiers
		}
		if kind == TypeCNAME {
			s.alias = &alias{set, s.from(TypeCNAME), o.Flatten || len(b.base[name]) > 0 || s.wantsFlat()}
			if s.alias.flat {
				continue
			}
		}
		s.sets = append(s.sets, set)
	}
}

// from names the oldest object whose claim of the type was kept.
func (s *settlement) from(kind Type) string {
	for _, c := range s.kept {
		if c.claim.Type == kind {
			return c.object.Owner.String()
		}
	}
	return ""
}

// wantsFlat reports whether an object asks for addresses in place of its CNAME.
// Beside the zone's own records (the apex with its SOA and NS, a name server's
// name: RFC 1034 section 3.6.2, RFC 2181 section 10.3) nobody has to ask.
func (s *settlement) wantsFlat() bool {
	for _, c := range s.kept {
		if c.claim.Type == TypeCNAME && slices.Contains(c.claim.Options, Option{optionAlias, "true"}) {
			return true
		}
	}
	return false
}

// optionAlias is the claim's option that asks for flattening.
const optionAlias = "alias"

// types returns the record types that were kept, in ascending order.
func (s *settlement) types() []Type {
	var types []Type
	for _, c := range s.kept {
		if c.claim.Type != TypeNone && !slices.Contains(types, c.claim.Type) {
			types = append(types, c.claim.Type)
		}
	}
	slices.Sort(types)
	return types
}

// pack appends the data of a claim's targets.
func (s *settlement) pack(data []Rdata, c contribution) []Rdata {
	for _, target := range c.claim.Targets {
		packed, err := ParseRdata(c.claim.Type, target)
		if err != nil {
			s.lose(c, c.claim.Type, ReasonInvalidTarget, err.Error())
			continue
		}
		data = append(data, packed)
	}
	return data
}

// lowestText leaves the datum whose text is lowest.
func lowestText(data []Rdata, kind Type) []Rdata {
	return []Rdata{slices.MinFunc(data, func(a, b Rdata) int {
		return cmp.Compare(a.Text(kind), b.Text(kind))
	})}
}

// An Endpoint is one settled record set as external-dns would see it: what a
// mirror starts from, and a line of "records -o endpoints".
type Endpoint struct {
	Name          Name
	Type          Type
	Targets       []string // sorted as text
	TTL           TTL
	Options       []Option
	SetIdentifier string
	Owner         Owner // the oldest contributor
}

// Endpoints returns the settled claims of every name that a zone (or, without
// zones, anybody) would serve, sorted by name, type and set-identifier. Flattened
// aliases are among them.
func (t *Table) Endpoints() []Endpoint {
	var all []Endpoint
	for name, e := range t.names {
		list, _ := t.endpoints(name, e)
		all = append(all, list...)
	}
	sort.Slice(all, func(i, j int) bool {
		a, b := all[i], all[j]
		return cmp.Or(a.Name.Compare(b.Name), cmp.Compare(a.Type, b.Type), cmp.Compare(a.SetIdentifier, b.SetIdentifier)) < 0
	})
	return all
}

// endpoints also says whether an object that has the name waits for its targets.
func (t *Table) endpoints(name Name, e *entry) (list []Endpoint, awaited bool) {
	if len(t.zones) > 0 && t.zoneOf(name) == nil {
		return nil, false
	}
	for _, c := range t.arbitrate(name, e.claims, staticOf(t.zoneOf(name), name)).kept {
		claim := c.claim
		if claim.Type == TypeNone || len(claim.Targets) == 0 {
			awaited = true
			continue
		}
		i := slices.IndexFunc(list, func(p Endpoint) bool {
			return p.Type == claim.Type && p.SetIdentifier == claim.SetIdentifier
		})
		if i < 0 {
			list = append(list, Endpoint{Name: name, Type: claim.Type, SetIdentifier: claim.SetIdentifier, Options: claim.Options, Owner: c.object.Owner})
			i = len(list) - 1
		}
		list[i].TTL = list[i].TTL.min(claim.TTL)
		list[i].Targets = append(list[i].Targets, claim.Targets...)
	}
	for i := range list {
		slices.Sort(list[i].Targets)
		list[i].Targets = slices.Compact(list[i].Targets)
	}
	return list, awaited
}
