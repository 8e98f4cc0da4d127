package zones

import (
	"fmt"
	"net/netip"
	"strings"
	"time"
)

// A world is a small random set of zones and objects for property tests: few
// labels, so that names meet, cover and contest one another all the time.
type world struct {
	origins []Origin
	policy  Policy
	objects []Object
	flatten bool
	outside int // what is known of targets outside: 0 nobody looks, 1 nothing, 2 one family, 3 all
}

// targets is what is known of the targets outside of the world's zones.
func (w world) targets() *Targets {
	if w.outside == 0 {
		return nil
	}
	targets := NewTargets()
	for i, text := range worldOutside {
		if w.outside == 1 {
			break
		}
		name, err := ParseName(text)
		if err != nil {
			panic(err)
		}
		target := &Target{Name: name, A: Family{Known: true}, AAAA: Family{Known: true}}
		ttl := uint32(20 + 25*i)
		target.A.Set = &RRSet{Name: name, Type: TypeA, TTL: ttl, Data: []Rdata{"\xc6\x33\x64\x01", "\xc6\x33\x64\x02"}}
		if w.outside == 3 {
			target.AAAA.Set = &RRSet{Name: name, Type: TypeAAAA, TTL: ttl, Data: []Rdata{"\x20\x01\x0d\xb8\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x09"}}
		}
		targets = targets.With([]*Target{target}, nil)
	}
	return targets
}

// worldOutside are the targets outside; with fewer zones there are others, too,
// that nobody has looked up.
var worldOutside = [...]string{"lb.provider.example", "other", "a.other", "b", "*"}

// A chooser makes the choices of a world: *rand.Rand, or the octets of a fuzz
// input.
type chooser interface{ IntN(n int) int }

// octetChooser takes each choice from the next octet; zeros at the end.
type octetChooser struct{ octets []byte }

func (c *octetChooser) IntN(n int) int {
	if len(c.octets) == 0 {
		return 0
	}
	octet := c.octets[0]
	c.octets = c.octets[1:]
	return int(octet) % n
}

var (
	worldLabels = [...]string{"a", "b", "*", acmeChallenge}
	worldLong   = strings.Repeat("l", 60)
	worldTypes  = [...]Type{TypeA, TypeAAAA, TypeTXT, TypeCNAME, TypeCNAME, TypeDNAME, TypeNS, TypeMX, TypeSRV, TypeNone, TypeSVCB, TypeHTTPS}
	// worldQueries are the types that properties ask for.
	worldQueries = [...]Type{TypeA, TypeTXT, TypeCNAME, TypeDNAME, TypeNS, TypeSOA, TypeDS, TypeMX, TypeSRV, TypeSVCB, TypeHTTPS, TypeANY}
)

// draw makes a world of up to so many objects in the namespaces given.
func draw(c chooser, objects int, namespaces ...string) world {
	w := world{policy: Policy(c.IntN(3)), flatten: c.IntN(6) == 1, outside: c.IntN(4)}
	for _, text := range [...]string{"test", "a.test", "b.a.test", "other", "*.test", "."} {
		// The first is always there, the root seldom.
		switch {
		case text == "test", text == ".", text == "*.test":
			if text != "test" && c.IntN(8) != 1 {
				continue
			}
		case c.IntN(2) == 0:
			continue
		}
		w.origins = append(w.origins, drawOrigin(c, text))
	}
	for i := range 1 + c.IntN(objects) {
		w.objects = append(w.objects, drawObject(c, i, namespaces))
	}
	return w
}

func drawOrigin(c chooser, text string) Origin {
	name, err := ParseName(text)
	if err != nil {
		panic(err)
	}
	o := Origin{Name: name, NegativeTTL: uint32(5 * c.IntN(3)), TTL: uint32(8 * c.IntN(3))}
	if c.IntN(2) == 0 {
		return o
	}
	for range 1 + c.IntN(2) {
		server := NameServer{Name: drawName(c)}
		if c.IntN(2) == 0 {
			server.Addresses = append(server.Addresses, netip.MustParseAddr("192.0.2.53"), netip.MustParseAddr("2001:db8::53"))
		}
		o.NS = append(o.NS, server)
	}
	return o
}

func drawObject(c chooser, i int, namespaces []string) Object {
	o := Object{
		Owner:   Owner{Source: []string{"ingress", "service"}[c.IntN(2)], Namespace: namespaces[c.IntN(len(namespaces))], Name: fmt.Sprintf("o%d", i)},
		Created: time.Unix(int64(c.IntN(3)), 0),
	}
	for range 1 + c.IntN(2) {
		o.Claims = append(o.Claims, drawClaim(c))
	}
	return o
}

func drawClaim(c chooser) Claim {
	claim := Claim{Name: drawName(c), Type: worldTypes[c.IntN(len(worldTypes))]}
	if c.IntN(2) == 0 {
		claim.TTL = TTL{Seconds: uint32(30 * c.IntN(3)), Set: true}
	}
	if claim.Type == TypeNone {
		return claim
	}
	if claim.Type == TypeCNAME && c.IntN(4) == 1 {
		claim.Options = []Option{{optionAlias, "true"}}
	}
	for range 1 + c.IntN(2) {
		target := drawTarget(c, claim.Type)
		if len(claim.Targets) == 0 || claim.Targets[0] != target {
			claim.Targets = append(claim.Targets, target)
		}
	}
	return claim
}

func drawTarget(c chooser, t Type) string {
	switch t {
	case TypeA:
		return fmt.Sprintf("192.0.2.%d", 1+c.IntN(3))
	case TypeAAAA:
		return fmt.Sprintf("2001:db8::%d", 1+c.IntN(3))
	case TypeTXT:
		return fmt.Sprintf("%q", worldLabels[c.IntN(len(worldLabels))])
	case TypeMX:
		return "10 " + drawName(c).FQDN()
	case TypeSVCB, TypeHTTPS:
		target := drawName(c).FQDN()
		if c.IntN(2) == 0 {
			target = "."
		}
		return fmt.Sprintf("%d %s", c.IntN(3), target)
	case TypeSRV:
		return fmt.Sprintf("0 50 %d %s", 80+c.IntN(2), drawName(c).FQDN())
	case TypeDNAME:
		if c.IntN(6) == 1 { // so long that a loop of two or three links ends in YXDOMAIN
			return worldLong + "." + worldLong + "." + drawName(c).String()
		}
	}
	if c.IntN(8) == 1 {
		return "lb.provider.example"
	}
	return drawName(c).String()
}

// drawName draws a name of up to three labels below "test", or seldom of one
// below "other" or the root.
func drawName(c chooser) Name {
	name := Root.Child("test")
	depth := c.IntN(4)
	switch c.IntN(12) {
	case 1:
		name, depth = Root.Child("other"), depth%2
	case 2:
		name, depth = Root, depth%2
		if depth == 0 {
			return Root.Child("test")
		}
	}
	for range depth {
		// The asterisk and the challenge are rarer than the others.
		label := c.IntN(7)
		name = name.Child(worldLabels[[...]int{0, 0, 1, 1, 2, 2, 3}[label]])
	}
	return name
}

// universe lists every name that questions are asked for.
func universe() []Name {
	names := []Name{Root, Root.Child("other"), Root.Child("a"), Root.Child("*"), Root.Child("other").Child("a"), Root.Child("other").Child("b").Child("a")}
	level := []Name{Root.Child("test")}
	for range 4 {
		names = append(names, level...)
		var next []Name
		for _, name := range level {
			for _, label := range worldLabels {
				next = append(next, name.Child(label))
			}
		}
		level = next
	}
	// Some names of a fourth and fifth label.
	for i, name := range level {
		if i%7 == 0 {
			names = append(names, name, name.Child("a"))
		}
	}
	return append(names, Root.Child("test").Child(worldLong).Child(worldLong), Root.Child("test").Child("a").Child(worldLong).Child(worldLong))
}

// table puts the world's objects into a new Table.
func (w world) table() *Table {
	t := NewTable(Options{Origins: w.origins, Sources: []string{"ingress", "service"}, Policy: w.policy, DefaultTTL: 300, Flatten: w.flatten})
	t.SetReady(true, "")
	for _, object := range w.objects {
		t.Put(object)
	}
	return t
}

// String writes the world as one can read it.
func (w world) String() string {
	var text strings.Builder
	for _, o := range w.origins {
		fmt.Fprintf(&text, "zone %s TTL %d negative %d NS", o.Name.FQDN(), o.TTL, o.NegativeTTL)
		for _, server := range o.NS {
			fmt.Fprintf(&text, " %s %v", server.Name.FQDN(), server.Addresses)
		}
		text.WriteByte('\n')
	}
	fmt.Fprintf(&text, "flatten %t, outside %d\n", w.flatten, w.outside)
	for _, o := range w.objects {
		fmt.Fprintf(&text, "%s, created %d\n", o.Owner, o.Created.Unix())
		for _, claim := range o.Claims {
			fmt.Fprintf(&text, "  %s %v %s %q\n", claim.Name.FQDN(), claim.TTL, claim.Type, claim.Targets)
		}
	}
	return text.String()
}

// shrink takes objects, claims and zones away as long as the fault stays.
func (w world) shrink(fails func(world) bool) world {
	for again := true; again; {
		again = false
		for _, smaller := range w.smaller() {
			if fails(smaller) {
				w, again = smaller, true
				break
			}
		}
	}
	return w
}

// smaller lists the worlds with one thing less.
func (w world) smaller() []world {
	var worlds []world
	for i := range w.origins {
		less := w
		less.origins = without(w.origins, i)
		worlds = append(worlds, less)
	}
	for i, object := range w.objects {
		less := w
		less.objects = without(w.objects, i)
		worlds = append(worlds, less)
		for j := range object.Claims {
			if len(object.Claims) > 1 {
				less.objects = append(without(w.objects, i), object)
				last := &less.objects[len(less.objects)-1]
				last.Claims = without(object.Claims, j)
				worlds = append(worlds, less)
			}
		}
	}
	return worlds
}

func without[T any](list []T, i int) []T {
	return append(append([]T(nil), list[:i]...), list[i+1:]...)
}
