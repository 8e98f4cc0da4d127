package zones

import (
	"fmt"
	"slices"
	"strings"
)

// The twin is a second lookup, slow and obvious: it works on names in text and
// flat lists of record sets, and scans them all for each step of RFC 1034
// section 4.3.2 as RFC 6672 section 3.2 has it. It shares no code with Lookup,
// so that the two are seldom wrong in the same way.
//
// It knows only names whose labels hold neither dots nor backslashes.

// A twinZone is one zone: its record sets, and names that exist without any.
type twinZone struct {
	origin  string
	sets    []twinSet
	present []string
	flat    []twinSet // CNAMEs that are hidden behind their target's addresses
	// targets says what is known of names outside; nil where nobody looks them up.
	targets map[string][]twinSet
}

type twinSet struct {
	owner, kind string
	ttl         uint32
	data        []string
}

// A twinAnswer is an Answer in text, one line a record.
type twinAnswer struct {
	kind, zone, end, wildcard      string
	authoritative                  bool
	section, authority, additional []string
	flat                           *twinFlat
	byDNAME                        bool // the last link
}

// A twinFlat remembers where a chain first came through a flattened name.
type twinFlat struct {
	owner string
	zone  *twinZone
	lines int // of the section before it
}

func (a twinAnswer) String() string {
	var text strings.Builder
	fmt.Fprintf(&text, "%s, zone %q, end %q, wildcard %q, AA %v\n", a.kind, a.zone, a.end, a.wildcard, a.authoritative)
	for _, section := range []struct {
		name  string
		lines []string
	}{{"answer", a.section}, {"authority", a.authority}, {"additional", a.additional}} {
		for _, line := range section.lines {
			fmt.Fprintf(&text, "  %-10s %s\n", section.name, line)
		}
	}
	return text.String()
}

// twinLookup answers the question for a name and a type in text.
func twinLookup(zones []twinZone, qname, qtype string) twinAnswer {
	a := twinChain(zones, qname, qtype)
	if a.flat == nil {
		return a
	}
	if qtype == "ANY" {
		if a = twinLookup(zones, qname, "A"); a.kind == "nodata" {
			a = twinLookup(zones, qname, "AAAA")
		}
		return a
	}
	if a.kind == "unresolved" {
		return a
	}
	if a.kind == "delegation" {
		return twinAnswer{kind: "unresolved", zone: a.zone, end: a.end, wildcard: a.wildcard}
	}
	// The client sees what came before, and addresses whose TTL is the lowest
	// from there on.
	hidden := a.section[a.flat.lines:]
	lowest := uint32(1<<32 - 1)
	for _, line := range hidden {
		var ttl uint32
		_, _ = fmt.Sscan(strings.Fields(line)[1], &ttl)
		lowest = min(lowest, ttl)
	}
	a.section, a.authority, a.additional, a.end = slices.Clone(a.section[:a.flat.lines]), nil, nil, a.flat.zone.origin
	a.kind = "nodata"
	for _, line := range hidden {
		if fields := strings.Fields(line); fields[2] == qtype {
			a.kind = "hit"
			a.section = append(a.section, fmt.Sprintf("%s %d %s %s", a.flat.owner, lowest, qtype, fields[3]))
		}
	}
	if a.kind == "nodata" {
		a.authority = a.flat.zone.soa()
	}
	return a
}

// outside answers for a target in none of the zones, to which a record of the
// chain leads.
func (a *twinAnswer) outside(zone *twinZone, target, qtype string) {
	if qtype != "A" && qtype != "AAAA" || zone.targets == nil && a.flat == nil {
		return
	}
	known, looked := zone.targets[target]
	switch {
	case !looked && a.byDNAME:
	case !looked:
		*a = twinAnswer{kind: "unresolved", zone: a.zone, end: a.end, wildcard: a.wildcard, flat: a.flat}
	default:
		for _, set := range known {
			if set.kind == qtype {
				a.section = append(a.section, set.lines(target)...)
			}
		}
	}
}

// twinChain follows the chain to its end; what is flattened shows.
func twinChain(zones []twinZone, qname, qtype string) twinAnswer {
	zone := twinZoneFor(zones, qname, qtype)
	if zone == nil {
		return twinAnswer{kind: "not ours"}
	}
	a := twinAnswer{zone: zone.origin, authoritative: true}
	var passed []string // by the chain
	for {
		a.end = zone.origin
		passed = append(passed, qname)
		a.byDNAME = false
		next := a.step(zones, zone, qname, qtype, len(passed)-1)
		if next == "" {
			return a
		}
		a.kind = "hit"
		last := zone
		zone = twinZoneFor(zones, next, qtype)
		if zone == nil {
			a.outside(last, next, qtype)
			return a
		}
		if slices.Contains(passed, next) {
			return a
		}
		qname = next
	}
}

// twinZoneFor is step 2: the zone that is the nearest ancestor; for DS at an
// origin the one above (RFC 4035 section 3.1.4.1).
func twinZoneFor(zones []twinZone, name, qtype string) *twinZone {
	if zone := twinNearest(zones, name); zone == nil || qtype != "DS" || zone.origin != name || name == "." {
		return zone
	}
	if above := twinNearest(zones, twinParent(name)); above != nil {
		return above
	}
	return twinNearest(zones, name)
}

func twinNearest(zones []twinZone, name string) *twinZone {
	var best *twinZone
	for i := range zones {
		if twinBelow(name, zones[i].origin) && (best == nil || twinBelow(zones[i].origin, best.origin)) {
			best = &zones[i]
		}
	}
	return best
}

// step is step 3 for one name of a chain that has passed so many links. It
// returns the name to go on with, or "".
func (a *twinAnswer) step(zones []twinZone, zone *twinZone, qname, qtype string, links int) string {
	encloser := zone.origin
	for _, name := range twinPath(zone.origin, qname) {
		if !zone.exists(name) {
			break
		}
		encloser = name
		// 3b: out of the authoritative data. DS belongs to the side above.
		if ns := zone.set(name, "NS"); ns != nil && name != zone.origin && !(name == qname && qtype == "DS") {
			a.kind, a.authoritative = "delegation", len(a.section) > 0
			a.authority = ns.lines(name)
			a.additional = twinAddresses(zones, ns, name)
			return ""
		}
		// 3c, first half: what is below a DNAME is redirected, though there were
		// records (RFC 6672 section 2.4 forbids them, section 5.2 occludes them).
		if dname := zone.set(name, "DNAME"); dname != nil && name != qname {
			next := a.redirect(dname, qname, links)
			a.byDNAME = true
			if qtype == "CNAME" || qtype == "ANY" {
				return "" // as BIND: the CNAME is the answer (for ANY, NSD and Knot go on)
			}
			return next
		}
	}
	// 3a: the whole name matched.
	source := qname
	if encloser != qname {
		// 3c, second half: a wildcard at the closest encloser (RFC 4592).
		source = "*." + strings.TrimPrefix(encloser, ".")
		labels := strings.Split(strings.TrimSuffix(strings.TrimSuffix(qname, encloser), "."), ".")
		if !zone.exists(source) || slices.Contains(labels, "_acme-challenge") {
			a.kind = "nxdomain"
			a.authority = zone.soa()
			return ""
		}
		if a.wildcard == "" {
			a.wildcard = source
		}
	}
	if set := zone.match(source, qtype); set != nil {
		a.kind = "hit"
		a.section = append(a.section, set.lines(qname)...)
		a.additional = twinAddresses(zones, set, qname)
		return ""
	}
	if alias := zone.set(source, "CNAME"); alias != nil {
		a.kind = "hit"
		if links == 16 {
			return ""
		}
		a.section = append(a.section, alias.lines(qname)...)
		return alias.data[0]
	}
	if flat := zone.hidden(source); flat != nil && (qtype == "A" || qtype == "AAAA" || qtype == "ANY") {
		if a.flat == nil {
			a.flat = &twinFlat{qname, zone, len(a.section)}
		}
		if qtype == "ANY" || links == 16 {
			return ""
		}
		a.section = append(a.section, flat.lines(qname)...)
		return flat.data[0]
	}
	a.kind = "nodata"
	a.authority = zone.soa()
	return ""
}

func (z *twinZone) hidden(name string) *twinSet {
	for i := range z.flat {
		if z.flat[i].owner == name {
			return &z.flat[i]
		}
	}
	return nil
}

// redirect puts the DNAME, once, and a CNAME made from it into the answer.
func (a *twinAnswer) redirect(dname *twinSet, qname string, links int) string {
	a.kind = "hit"
	if links == 16 {
		return ""
	}
	line := dname.lines(dname.owner)[0]
	if !slices.Contains(a.section, line) {
		a.section = append(a.section, line)
	}
	next := strings.TrimSuffix(qname, strings.TrimPrefix(dname.owner, ".")) + strings.TrimPrefix(dname.data[0], ".")
	if len(next)+1 > 255 {
		a.kind = "name too long"
		return ""
	}
	a.section = append(a.section, fmt.Sprintf("%s %d CNAME %s", qname, dname.ttl, next))
	return next
}

// match returns the set for a type; for ANY the one that RFC 8482 section 4.1
// lets us choose: A, AAAA, CNAME, else the lowest type.
func (z *twinZone) match(name, qtype string) *twinSet {
	if qtype != "ANY" {
		return z.set(name, qtype)
	}
	for _, kind := range []string{"A", "AAAA", "CNAME", "NS", "SOA", "MX", "TXT", "SRV", "DNAME", "SVCB", "HTTPS"} {
		if set := z.set(name, kind); set != nil {
			return set
		}
	}
	return nil
}

func (z *twinZone) set(name, kind string) *twinSet {
	for i := range z.sets {
		if z.sets[i].owner == name && z.sets[i].kind == kind {
			return &z.sets[i]
		}
	}
	return nil
}

// exists reports whether a name exists: it or a descendant has records or was
// claimed (RFC 4592 section 2.2.2, RFC 8020).
func (z *twinZone) exists(name string) bool {
	below := func(other string) bool { return twinBelow(other, name) }
	return slices.ContainsFunc(z.present, below) ||
		slices.ContainsFunc(z.sets, func(set twinSet) bool { return below(set.owner) })
}

// soa returns the SOA for a negative answer (RFC 2308 section 3).
func (z *twinZone) soa() []string {
	set := *z.set(z.origin, "SOA")
	fields := strings.Fields(set.data[0])
	var minimum uint32
	_, _ = fmt.Sscan(fields[len(fields)-1], &minimum)
	set.ttl = min(set.ttl, minimum)
	return set.lines(z.origin)
}

// twinAddresses lists the addresses of the names that NS, MX, SRV, SVCB and HTTPS records
// point at, each name once, wherever we have them.
func twinAddresses(zones []twinZone, set *twinSet, owner string) []string {
	field := map[string]int{"NS": 0, "MX": 1, "SRV": 3, "SVCB": 1, "HTTPS": 1}
	at, points := field[set.kind]
	if !points {
		return nil
	}
	var lines, done []string
	for _, data := range set.data {
		fields := strings.Fields(data)
		target := fields[at]
		if target == "." && (set.kind == "SVCB" || set.kind == "HTTPS") {
			if fields[0] == "0" {
				continue
			}
			target = owner
		}
		zone := twinNearest(zones, target)
		if zone == nil || slices.Contains(done, target) {
			continue
		}
		done = append(done, target)
		for _, kind := range []string{"A", "AAAA"} {
			if addresses := zone.set(target, kind); addresses != nil {
				lines = append(lines, addresses.lines(target)...)
			}
			flat := zone.hidden(target)
			if flat == nil {
				continue
			}
			for _, set := range zone.targets[flat.data[0]] {
				if set.kind == kind && twinNearest(zones, flat.data[0]) == nil {
					set.ttl = min(set.ttl, flat.ttl)
					lines = append(lines, set.lines(target)...)
				}
			}
		}
	}
	return lines
}

func (s *twinSet) lines(owner string) []string {
	var lines []string
	for _, data := range s.data {
		lines = append(lines, fmt.Sprintf("%s %d %s %s", owner, s.ttl, s.kind, data))
	}
	return lines
}

// twinBelow reports whether name is ancestor or below it.
func twinBelow(name, ancestor string) bool {
	return name == ancestor || ancestor == "." || strings.HasSuffix(name, "."+ancestor)
}

func twinParent(name string) string {
	if _, rest, _ := strings.Cut(name, "."); rest != "" {
		return rest
	}
	return "."
}

// twinPath lists the names from the origin down to name, both included.
func twinPath(origin, name string) []string {
	path := []string{name}
	for name != origin {
		name = twinParent(name)
		path = append(path, name)
	}
	slices.Reverse(path)
	return path
}

// twinOf flattens a snapshot's zones for the twin; names that were claimed
// without getting a record come from the objects.
func twinOf(snap *Snapshot, objects []Object) []twinZone {
	var zones []twinZone
	for _, origin := range snap.Origins() {
		zone := twinZone{origin: origin.FQDN(), present: []string{origin.FQDN()}, targets: twinTargets(snap.Targets())}
		for flat := range snap.Zone(origin).Flattened() {
			zone.flat = append(zone.flat, twinSet{flat.Name.FQDN(), "CNAME", flat.TTL, []string{flat.Target.FQDN()}})
		}
		for set := range snap.Zone(origin).RRSets() {
			zone.sets = append(zone.sets, textOf(set))
		}
		zones = append(zones, zone)
	}
	// A child zone of ours is a name in its parent's (RFC 8020: what says that
	// it isn't denies all of the child).
	for _, origin := range snap.Origins() {
		if zone := twinNearest(zones, twinParent(origin.FQDN())); zone != nil && origin != Root {
			zone.present = append(zone.present, origin.FQDN())
		}
	}
	for _, object := range objects {
		for _, claim := range object.Claims {
			if zone := twinNearest(zones, claim.Name.FQDN()); zone != nil {
				zone.present = append(zone.present, claim.Name.FQDN())
			}
		}
	}
	return zones
}

// twinTargets lists the addresses of the targets outside that can be resolved.
func twinTargets(targets *Targets) map[string][]twinSet {
	if targets == nil {
		return nil
	}
	known := map[string][]twinSet{}
	for target := range targets.All() {
		if target.A.Known && target.AAAA.Known {
			known[target.Name.FQDN()] = []twinSet{}
			for _, family := range []Family{target.A, target.AAAA} {
				if family.Set != nil {
					known[target.Name.FQDN()] = append(known[target.Name.FQDN()], textOf(family.Set))
				}
			}
		}
	}
	return known
}

func textOf(set *RRSet) twinSet {
	text := twinSet{owner: set.Name.FQDN(), kind: set.Type.String(), ttl: set.TTL}
	for _, data := range set.Data {
		text.data = append(text.data, data.Text(set.Type))
	}
	return text
}

// textAnswer writes an Answer in the twin's form.
func textAnswer(a *Answer) twinAnswer {
	section := func(entries []Entry) []string {
		var lines []string
		for _, entry := range entries {
			set := textOf(entry.Set)
			lines = append(lines, set.lines(entry.Owner.FQDN())...)
		}
		return lines
	}
	text := twinAnswer{
		kind:          a.Kind.String(),
		authoritative: a.Authoritative,
		section:       section(a.Section),
		authority:     section(a.Authority),
		additional:    section(a.Additional),
	}
	if a.Zone != nil {
		text.zone, text.end = a.Zone.Origin().FQDN(), a.End.Origin().FQDN()
	}
	if a.Wildcard != "" {
		text.wildcard = a.Wildcard.FQDN()
	}
	return text
}
