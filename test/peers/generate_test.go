package peers_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
)

// A genZone is a generated zone: the same for the same seed.
type genZone struct {
	origin string // absolute
	lines  []genLine
	child  bool // another zone lies around it
}

// A genLine is one record in master file form, its owner absolute.
type genLine struct {
	owner string
	ttl   int
	kind  string
	data  string
}

// A generator makes one zone.
type generator struct {
	*rand.Rand
	origin string
	other  string   // the origin of another zone
	types  []string // of data
	order  []string // owners, as they came
	kinds  map[string][]string
	lines  []genLine
}

// generateZones makes n zones with data of these types. Each tenth has a second
// zone inside.
func generateZones(n int, types []string) []genZone {
	var all []genZone
	for seed := range n {
		r := rand.New(rand.NewPCG(uint64(seed), 1035))
		origin := fmt.Sprintf("z%d.test.", seed)
		for range r.IntN(3) {
			origin = pick(r, "a", "corp", "Up") + "." + origin
		}
		other := "none.invalid."
		if seed > 0 {
			other = all[len(all)-1].origin
		}
		z := generateZone(r, origin, other, types)
		all = append(all, z)
		if seed%10 == 0 && z.lines[1].kind != "DNAME" {
			inside := generateZone(r, "in."+origin, origin, types)
			inside.child = true
			all = append(all, inside)
		}
	}
	return all
}

func generateZone(r *rand.Rand, origin, other string, types []string) genZone {
	g := &generator{Rand: r, origin: origin, other: other, types: types, kinds: map[string][]string{}}
	g.apex()
	dname := slices.Contains(g.kinds[strings.ToLower(origin)], "DNAME")
	for range 2 + r.IntN(12) {
		if dname {
			break // nothing lies below (RFC 6672 section 2.4)
		}
		g.name()
	}
	return genZone{origin: origin, lines: g.lines}
}

func pick[T any](r *rand.Rand, of ...T) T { return of[r.IntN(len(of))] }

func (g *generator) apex() {
	g.add(g.origin, pick(g.Rand, 60, 300, 3600), "SOA", fmt.Sprintf("ns1.%s host\\.master.%s %d 3600 600 86400 %d",
		g.origin, g.origin, 1+g.IntN(1<<30), pick(g.Rand, 0, 5, 60, 300, 86400)))
	ttl := g.ttl()
	if g.IntN(6) == 0 {
		g.add(g.origin, ttl, "DNAME", g.target())
		g.add(g.origin, ttl, "NS", "ns.outside.invalid.")
		return
	}
	g.add(g.origin, ttl, "NS", "ns1."+g.origin)
	g.add("ns1."+g.origin, g.ttl(), "A", "192.0.2.53")
	if g.IntN(2) == 0 {
		g.add(g.origin, ttl, "NS", "ns.outside.invalid.")
	}
	for range g.IntN(3) {
		g.data(g.origin)
	}
}

// name adds a name: with data, an alias, a cut, or a DNAME.
func (g *generator) name() {
	owner := g.origin
	if g.IntN(2) == 0 {
		owner = pick(g.Rand, g.order...)
	}
	for range 1 + g.IntN(3) {
		owner = g.label() + "." + owner
	}
	if len(owner) > 150 || g.has(owner, "CNAME", "DNAME", "NS") || g.below(owner) {
		return
	}
	switch role := g.IntN(20); {
	case len(g.kinds[strings.ToLower(owner)]) > 0 || role < 10:
		for range 1 + g.IntN(3) {
			g.data(owner)
		}
	case role < 14:
		g.add(owner, g.ttl(), "CNAME", g.target())
	case role < 16:
		if g.parent(owner) {
			return
		}
		g.add(owner, g.ttl(), "DNAME", g.target())
		if g.IntN(3) == 0 {
			g.data(owner)
		}
	default:
		g.cut(owner)
	}
}

// cut delegates owner: to servers below it, beside it and outside, with DS or
// without, and with data that the cut hides.
func (g *generator) cut(owner string) {
	if strings.Contains(owner, "*") {
		return // RFC 4592 section 4.2 discourages it, and the peers differ
	}
	ttl := g.ttl()
	for i := range 1 + g.IntN(3) {
		var server string
		switch g.IntN(4) {
		case 0, 1:
			server = fmt.Sprintf("ns%d.%s", i, owner)
		case 2:
			server = "ns1." + g.origin
		default:
			server = "ns.outside.invalid."
		}
		if server == "ns1."+g.origin && !g.has(server, "A") {
			server = "ns.outside.invalid."
		}
		g.add(owner, ttl, "NS", server)
		if strings.HasSuffix(server, "."+owner) {
			g.add(server, g.ttl(), "A", g.a())
			if g.IntN(2) == 0 {
				g.add(server, g.ttl(), "AAAA", g.aaaa())
			}
		}
	}
	for _, cut := range g.order { // a sibling's server, whose glue is the sibling's
		if g.IntN(4) == 0 && g.has("ns0."+cut, "A") && cut != g.origin && !strings.HasSuffix(cut, "."+owner) {
			g.add(owner, ttl, "NS", "ns0."+cut)
		}
	}
	if g.IntN(2) == 0 {
		g.add(owner, g.ttl(), "DS", "12345 8 2 "+strings.Repeat("a1B2", 16))
	}
	if g.IntN(3) == 0 {
		g.add("hidden."+owner, g.ttl(), "TXT", `"below a cut"`)
	}
}

// data adds a record set of any type.
func (g *generator) data(owner string) {
	kind := pick(g.Rand, g.types...)
	if g.has(owner, kind) {
		return
	}
	ttl := g.ttl()
	seen := map[string]bool{}
	for range 1 + g.IntN(3) {
		data := rdata[kind](g)
		g.add(owner, ttl, kind, data)
		if g.IntN(20) == 0 {
			g.add(owner, ttl, kind, data) // twice: one record (RFC 2181 section 5)
		}
		if seen[data] {
			break
		}
		seen[data] = true
	}
}

func (g *generator) add(owner string, ttl int, kind, data string) {
	key := strings.ToLower(owner)
	if len(g.kinds[key]) == 0 {
		g.order = append(g.order, owner)
	}
	g.kinds[key] = append(g.kinds[key], kind)
	g.lines = append(g.lines, genLine{owner, ttl, kind, data})
}

func (g *generator) has(owner string, kinds ...string) bool {
	return slices.ContainsFunc(kinds, func(kind string) bool { return slices.Contains(g.kinds[strings.ToLower(owner)], kind) })
}

// below says whether owner lies below a cut or a DNAME: glue is added with its cut,
// and below a DNAME nothing may be.
func (g *generator) below(owner string) bool {
	return slices.ContainsFunc(g.order, func(up string) bool {
		return strings.HasSuffix(strings.ToLower(owner), "."+strings.ToLower(up)) && (g.has(up, "DNAME") || g.has(up, "NS") && up != g.origin)
	})
}

// parent says whether a name lies below owner.
func (g *generator) parent(owner string) bool {
	return slices.ContainsFunc(g.order, func(down string) bool { return strings.HasSuffix(strings.ToLower(down), "."+strings.ToLower(owner)) })
}

func (g *generator) label() string {
	return pick(g.Rand, "a", "b", "c", "d", "www", "WwW", "_tcp", "_443", "x--y", `with\.dot`, `sp\032ace`, `\200\255`, `q\"uote`, "*", "*",
		strings.Repeat("l", 63))
}

func (g *generator) ttl() int { return pick(g.Rand, 0, 1, 60, 300, 3600, 86400, 604800) }

func (g *generator) a() string { return fmt.Sprintf("192.0.2.%d", g.IntN(256)) }

func (g *generator) aaaa() string { return fmt.Sprintf("2001:db8::%x", g.IntN(1<<16)) }

// target is a name that a record leads to: mostly one of the zone, which may be
// there or not, and may be the record's own; at times one of another zone.
func (g *generator) target() string {
	switch g.IntN(20) {
	case 0, 1:
		return "www.outside.invalid."
	case 4:
		return pick(g.Rand, "", "ns1.", "nx.", "a.") + g.other
	case 2:
		return g.label() + "." + g.origin
	case 3, 5:
		return g.label() + "." + pick(g.Rand, append(g.order, g.origin)...)
	default:
		return pick(g.Rand, append(g.order, g.origin)...)
	}
}
