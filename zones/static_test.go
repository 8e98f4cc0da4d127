package zones

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"
)

// static reads "name TTL type data" as a static set from line i of a file.
func static(tb testing.TB, i int, line string) StaticSet {
	tb.Helper()
	words := strings.SplitN(line, " ", 4)
	kind, err := ParseType(words[2])
	if err != nil {
		tb.Fatal(err)
	}
	name, err := ParseName(words[0])
	if err != nil {
		tb.Fatal(err)
	}
	set := &RRSet{Name: name, Type: kind}
	if _, err := fmt.Sscan(words[1], &set.TTL); err != nil {
		tb.Fatal(err)
	}
	for item := range strings.SplitSeq(words[3], ",") {
		data, err := ParseRdata(kind, item)
		if err != nil {
			tb.Fatal(err)
		}
		set.Data = append(set.Data, data)
	}
	set.Data = canonicalData(set.Data)
	return StaticSet{set, fmt.Sprintf("file f line %d", i)}
}

func statics(tb testing.TB, lines ...string) []StaticSet {
	var sets []StaticSet
	for i, line := range lines {
		sets = append(sets, static(tb, i+1, line))
	}
	return sets
}

func zoneText(z *Zone) string {
	var text strings.Builder
	for set := range z.RRSets() {
		for _, data := range set.Data {
			fmt.Fprintf(&text, "%s %d %s %s\n", set.Name, set.TTL, set.Type, data.Text(set.Type))
		}
	}
	return text.String()
}

func ask(name Name, kind Type, targets ...string) Claim {
	return Claim{Name: name, Type: kind, Targets: targets}
}

// TestStaticWins: what a file says at a name and type wins, a CNAME on either
// side included, and each object that loses by it is told where it stands.
func TestStaticWins(t *testing.T) {
	t.Parallel()
	corp := mustName(t, "corp.test")
	table := NewTable(Options{Origins: []Origin{{Name: corp, NegativeTTL: 5}}, DefaultTTL: 300})
	owner := Owner{Source: "ingress", Namespace: "shop", Name: "web"}
	table.Put(Object{Owner: owner, Claims: []Claim{
		ask(corp.Child("both"), TypeA, "192.0.2.1"), ask(corp.Child("both"), TypeAAAA, "2001:db8::1"),
		ask(corp.Child("alias"), TypeA, "192.0.2.1"), ask(corp.Child("alias"), TypeTXT, `"x"`),
		ask(corp.Child("data"), TypeCNAME, "lb.example"),
		ask(corp.Child("free"), TypeA, "192.0.2.1"),
	}})
	table.SetReady(true, "")
	table.SetStatic(corp, NewStatic(corp, slices.Values(statics(t, "both.corp.test 60 A 192.0.2.9", "alias.corp.test 60 CNAME both.corp.test", "data.corp.test 60 TXT \"y\""))))
	commit := table.Commit(noon())
	want := `corp.test 300 NS ns1.corp.test.
corp.test 300 SOA ns1.corp.test. hostmaster.corp.test. 1700000000 300 60 604800 5
alias.corp.test 60 CNAME both.corp.test.
both.corp.test 60 A 192.0.2.9
both.corp.test 300 AAAA 2001:db8::1
data.corp.test 60 TXT "y"
free.corp.test 300 A 192.0.2.1
`
	if got := zoneText(commit.Snapshot.Zone(corp)); got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
	var skipped []string
	for _, skip := range commit.Skipped {
		skipped = append(skipped, fmt.Sprintf("%s %s [%s]", skip.Type, skip.Message, skip.Reason))
	}
	wantSkipped := []string{
		"None alias.corp.test is a CNAME in file f line 2, which wins; take it out of the file, or choose another name [static-record]",
		"A the A records of both.corp.test stand in file f line 1, which wins; take them out of the file, or choose another name [static-record]",
		"CNAME a CNAME can't stand at data.corp.test beside the TXT records in file f line 3, which wins; take them out of the file, or choose another name [static-record]",
	}
	if !slices.Equal(skipped, wantSkipped) {
		t.Errorf("skipped:\n%s", strings.Join(skipped, "\n"))
	}
	x := table.Explain(corp.Child("both"), TypeNone, nil)
	if len(x.Records) != 2 || x.Records[0].From[0].Object != "file f line 1" || x.Records[1].From[0].Object != owner.String() {
		t.Errorf("explained: %+v", x.Records)
	}
	// The file lets go: the object has its names back.
	table.SetStatic(corp, nil)
	commit = table.Commit(noon().Add(time.Second))
	if len(table.SkippedOf(owner)) != 0 || !strings.Contains(zoneText(commit.Snapshot.Zone(corp)), "data.corp.test 300 CNAME lb.example.") {
		t.Errorf("without the file: %v\n%s", table.SkippedOf(owner), zoneText(commit.Snapshot.Zone(corp)))
	}
}

// TestStaticApex: a file's SOA and NS stand as they are written, in the parent's
// delegation too, and the addresses for our own name servers go.
func TestStaticApex(t *testing.T) {
	t.Parallel()
	corp, sub := mustName(t, "corp.test"), mustName(t, "sub.corp.test")
	table := NewTable(Options{Origins: []Origin{{Name: corp}, {Name: sub, NS: []NameServer{{Name: sub.Child("ns1"), Addresses: []netip.Addr{netip.MustParseAddr("192.0.2.53")}}}}}, DefaultTTL: 300})
	table.SetReady(true, "")
	before := zoneText(table.Commit(noon()).Snapshot.Zone(sub))
	table.SetStatic(corp, NewStatic(corp, slices.Values(statics(t, "sub.corp.test 60 DS 1 13 2 0123456789ABCDEF0123456789ABCDEF0123456789ABCDEF0123456789ABCDEF", "x.sub.corp.test 60 A 192.0.2.4"))))
	table.SetStatic(sub, NewStatic(sub, slices.Values(statics(t, "sub.corp.test 600 SOA a.sub.corp.test. b.sub.corp.test. 7 1 2 3 60", "sub.corp.test 600 NS ns.sub.corp.test", "ns.sub.corp.test 600 A 192.0.2.1"))))
	snap := table.Commit(noon().Add(time.Second)).Snapshot
	// The file's serial is lower than what was served, so that it steps.
	want := "sub.corp.test 600 NS ns.sub.corp.test.\nsub.corp.test 600 SOA a.sub.corp.test. b.sub.corp.test. 1700000001 1 2 3 60\nns.sub.corp.test 600 A 192.0.2.1\n"
	if got := zoneText(snap.Zone(sub)); got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
	parent := zoneText(snap.Zone(corp))
	if !strings.Contains(parent, "sub.corp.test 600 NS ns.sub.corp.test.\nsub.corp.test 60 DS ") || !strings.Contains(parent, "x.sub.corp.test 60 A 192.0.2.4") {
		t.Errorf("the parent holds\n%s", parent)
	}
	var a Answer
	snap.Lookup(sub.Child("no"), TypeA, &a)
	if a.Kind != NXDomain || a.Authority[0].Set.TTL != 60 {
		t.Errorf("a negative answer is %s with %+v", a.Kind, a.Authority[0].Set)
	}
	if snap.Lookup(sub, TypeDS, &a); a.Kind != Hit || a.Zone.Origin() != corp {
		t.Errorf("the DS at the child's apex is %s", a.Kind)
	}
	table.SetStatic(corp, nil)
	table.SetStatic(sub, nil)
	snap = table.Commit(noon().Add(2 * time.Second)).Snapshot
	if after := zoneText(snap.Zone(sub)); strings.ReplaceAll(after, "1700000002", "1700000000") != before {
		t.Errorf("without the files the child holds\n%s\nand before\n%s", after, before)
	}
	if parent := zoneText(snap.Zone(corp)); !strings.Contains(parent, "sub.corp.test 300 NS ns1.sub.corp.test.") || strings.Contains(parent, "x.sub") {
		t.Errorf("without the files the parent holds\n%s", parent)
	}
}

// TestStaticSerials: the serial starts from the file's, moves on when objects
// change the zone, and never goes back.
func TestStaticSerials(t *testing.T) {
	t.Parallel()
	corp := mustName(t, "corp.test")
	table := NewTable(Options{Origins: []Origin{{Name: corp}}, DefaultTTL: 300})
	file := func(serial uint32, address string) []StaticSet {
		return statics(t, fmt.Sprintf("corp.test 60 SOA a.corp.test. b.corp.test. %d 1 2 3 4", serial), "www.corp.test 60 A "+address)
	}
	owner := Owner{Source: "ingress", Name: "web"}
	const high = 4_000_000_000
	for i, step := range []struct {
		what string
		do   func()
		want uint32
	}{
		{"the file's own", func() { table.SetStatic(corp, NewStatic(corp, slices.Values(file(7, "192.0.2.1")))) }, 7},
		{"nothing new", func() { table.SetStatic(corp, NewStatic(corp, slices.Values(file(7, "192.0.2.1")))) }, 7},
		{"an object that loses changes nothing", func() {
			table.Put(Object{Owner: owner, Claims: []Claim{ask(corp.Child("www"), TypeA, "192.0.2.2")}})
		}, 7},
		{"a higher one in the file", func() { table.SetStatic(corp, NewStatic(corp, slices.Values(file(8, "192.0.2.2")))) }, 8},
		{"an object", func() {
			table.Put(Object{Owner: owner, Claims: []Claim{ask(corp.Child("a"), TypeA, "192.0.2.2")}})
		}, 1_700_000_004},
		{"a lower one in the file", func() { table.SetStatic(corp, NewStatic(corp, slices.Values(file(9, "192.0.2.3")))) }, 1_700_000_005},
		{"no records but another SOA", func() { table.SetStatic(corp, NewStatic(corp, slices.Values(file(10, "192.0.2.3")))) }, 1_700_000_006},
		{"a much higher one, by the circle of RFC 1982 lower", func() { table.SetStatic(corp, NewStatic(corp, slices.Values(file(high, "192.0.2.3")))) }, 1_700_000_007},
		{"a higher one and an object", func() {
			table.SetStatic(corp, NewStatic(corp, slices.Values(file(2_026_010_101, "192.0.2.4"))))
			table.Delete(owner)
		}, 2_026_010_101},
		{"an object again", func() {
			table.Put(Object{Owner: owner, Claims: []Claim{ask(corp.Child("a"), TypeA, "192.0.2.2")}})
		}, 2_026_010_102},
	} {
		step.do()
		zone := table.Commit(noon().Add(time.Duration(i) * time.Second)).Snapshot.Zone(corp)
		if zone.Serial() != step.want || !strings.Contains(zoneText(zone), fmt.Sprintf("b.corp.test. %d 1 2 3 4", step.want)) {
			t.Errorf("%s: the serial is %d, want %d\n%s", step.what, zone.Serial(), step.want, zoneText(zone))
		}
	}
}

// drawStatics draws the content of a zone's file, lawful as zone files are
// checked to be.
func drawStatics(t *testing.T, c chooser, origin Name) []StaticSet {
	seen := map[staticKey]bool{}
	var sets []StaticSet
	for i := range c.IntN(8) {
		claim := drawClaim(c)
		key := staticKey{claim.Name, Name(fmt.Sprint(claim.Type))}
		if claim.Type == TypeNone || claim.Type == TypeDNAME || !claim.Name.In(origin) || seen[key] {
			continue
		}
		if claim.Type == TypeCNAME && (claim.Name == origin || seen[staticKey{claim.Name, "any"}]) || seen[staticKey{claim.Name, "alias"}] {
			continue
		}
		seen[key], seen[staticKey{claim.Name, "any"}] = true, true
		if claim.Type == TypeCNAME {
			seen[staticKey{claim.Name, "alias"}] = true
			claim.Targets = claim.Targets[:1]
		}
		sets = append(sets, static(t, i, fmt.Sprintf("%s %d %s %s", claim.Name.FQDN(), 60, claim.Type, strings.Join(claim.Targets, ","))))
	}
	return sets
}

// TestStaticHistory: what is served depends on files and objects alone, not on
// what the files said before or in what order they came; and the lookup is the
// twin's.
func TestStaticHistory(t *testing.T) {
	t.Parallel()
	for seed := range uint64(120) {
		random := rand.New(rand.NewPCG(seed, 1))
		w := draw(random, 4, "web", "shop")
		stepwise := world{origins: w.origins, policy: w.policy, flatten: w.flatten}.table()
		at := noon()
		final := map[Name][]StaticSet{}
		objects := w.objects
		for range 6 {
			origin := w.origins[random.IntN(len(w.origins))].Name
			final[origin] = drawStatics(t, random, origin)
			stepwise.SetStatic(origin, NewStatic(origin, slices.Values(final[origin])))
			if random.IntN(2) == 0 && len(objects) > 0 {
				stepwise.Put(objects[0])
				objects = objects[1:]
			}
			if random.IntN(2) == 0 {
				at = at.Add(time.Second)
				stepwise.Commit(at)
			}
		}
		for _, object := range objects {
			stepwise.Put(object)
		}
		atOnce := w.table()
		for origin, sets := range final {
			atOnce.SetStatic(origin, NewStatic(origin, slices.Values(sets)))
		}
		stepwise.SetReady(true, "")
		atOnce.SetReady(true, "")
		at = at.Add(time.Second)
		a, b := stepwise.Commit(at).Snapshot, atOnce.Commit(at).Snapshot
		for _, origin := range a.Origins() {
			if err := Check(a.Zone(origin)); err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
			mask := func(z *Zone) string {
				return strings.ReplaceAll(zoneText(z), fmt.Sprint(" ", z.Serial(), " "), " SERIAL ")
			}
			if got, want := mask(a.Zone(origin)), mask(b.Zone(origin)); got != want {
				t.Fatalf("seed %d: %s in steps is\n%s\nand at once\n%s", seed, origin, got, want)
			}
		}
		if got, want := fmt.Sprint(stepwise.AllSkipped(always)), fmt.Sprint(atOnce.AllSkipped(always)); len(got) != len(want) {
			t.Fatalf("seed %d: skipped in steps is\n%s\nand at once\n%s", seed, got, want)
		}
		twins := twinOf(a, w.objects)
		for _, name := range universe() {
			for _, kind := range worldQueries {
				var answer Answer
				a.Lookup(name, kind, &answer)
				got, want := textAnswer(&answer).String(), twinLookup(twins, name.FQDN(), kind.String()).String()
				if got != want {
					t.Fatalf("seed %d: %s %s:\nLookup says %s\nthe twin  %s", seed, name.FQDN(), kind, got, want)
				}
			}
		}
	}
}

func always(*Skipped) bool { return true }
