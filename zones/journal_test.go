package zones

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
)

// recordsOf are the records of sets as text.
func recordsOf(sets ...*RRSet) map[string]bool {
	records := map[string]bool{}
	for _, set := range sets {
		for _, data := range set.Data {
			records[fmt.Sprintf("%s %d %s %s", set.Name, set.TTL, set.Type, data.Text(set.Type))] = true
		}
	}
	return records
}

func editionRecords(e *Edition) map[string]bool {
	return recordsOf(append(slices.Collect(e.RRSets()), e.SOA())...)
}

// apply does what a secondary does with a step (RFC 1995 section 4).
func apply(t *testing.T, records map[string]bool, step *Step) {
	t.Helper()
	for record := range recordsOf(append(slices.Clone(step.Removed), step.From)...) {
		if !records[record] {
			t.Fatalf("a step removes %q, which is not there", record)
		}
		delete(records, record)
	}
	for record := range recordsOf(append(slices.Clone(step.Added), step.To)...) {
		if records[record] {
			t.Fatalf("a step adds %q, which is there", record)
		}
		records[record] = true
	}
}

// TestJournalIsExact runs random changes of objects, zone files and outside
// targets past a Journal. Whoever got the content of a serial, and follows the
// steps, has what the edition has; no serial ever names two contents; and once
// things are calm, the last edition is what queries get.
func TestJournalIsExact(t *testing.T) {
	t.Parallel()
	random := newRandom(t)
	followed, whole := 0, 0
	for range 60 {
		a, b := runJournal(t, random)
		followed, whole = followed+a, whole+b
	}
	t.Logf("followed by steps: %d, by the whole zone: %d", followed, whole)
	if followed < 100 || whole == 0 {
		t.Errorf("the worlds are too tame")
	}
}

func runJournal(t *testing.T, random *rand.Rand) (followed, whole int) {
	w := draw(random, 20, "web")
	table := NewTable(Options{Origins: w.origins, Sources: []string{"ingress", "service"}, Policy: w.policy, DefaultTTL: 300, Flatten: w.flatten})
	journal, store := NewJournal(10+random.IntN(200), noon()), &Store{}
	// contents are those of each zone by serial, as secondaries know them.
	contents := map[Name]map[uint32]map[string]bool{}
	now := noon()
	var again time.Time
	commit := func() {
		done := table.Commit(now)
		again = done.Again
		store.Swap(done.Snapshot)
		noted := journal.Note(done, store.Load())
		for _, origin := range noted.Stepped {
			edition := journal.Edition(origin)
			is := editionRecords(edition)
			if contents[origin] == nil {
				contents[origin] = map[uint32]map[string]bool{}
			}
			if _, twice := contents[origin][edition.Serial()]; twice {
				t.Fatalf("the serial %d of %s was given out twice", edition.Serial(), origin)
			}
			for serial, known := range contents[origin] {
				steps, ok := edition.Since(serial)
				if !ok {
					whole++
					continue
				}
				followed++
				records := maps.Clone(known)
				for _, step := range steps {
					apply(t, records, step)
				}
				if !maps.Equal(records, is) {
					t.Fatalf("%s: steps from %d to %d give\n%v\nnot\n%v\nin\n%s", origin, serial, edition.Serial(), records, is, w)
				}
			}
			contents[origin][edition.Serial()] = is
		}
	}
	commit() // not ready: nobody gets anything
	table.SetReady(true, "")
	for _, o := range w.objects {
		table.Put(o)
	}
	for range 25 {
		for range random.IntN(3) {
			o := w.objects[random.IntN(len(w.objects))]
			if random.IntN(3) == 0 {
				table.Delete(o.Owner)
			} else {
				o.Claims = slices.Clone(o.Claims)
				o.Claims[0] = drawClaim(random)
				table.Put(o)
			}
		}
		switch random.IntN(5) {
		case 0:
			mail := statics(t, fmt.Sprintf("mail.test 60 MX 10 a.test,%d b.test", random.IntN(3)))[:random.IntN(2)]
			table.SetStatic(w.origins[0].Name, NewStatic(w.origins[0].Name, slices.Values(mail)))
		case 1:
			other := w
			other.outside = random.IntN(4)
			store.SwapTargets(other.targets())
		}
		stepZones(table, journal.Outdated(store.Load()))
		commit()
		now = now.Add(time.Duration(random.IntN(1500)) * time.Millisecond)
	}
	for range 3 { // calm
		if now = now.Add(time.Second); !again.IsZero() && now.Before(again) {
			now = again
		}
		stepZones(table, journal.Outdated(store.Load()))
		commit()
	}
	checkCalm(t, journal, store.Load())
	return followed, whole
}

// stepZones is Step for several zones.
func stepZones(t *Table, origins []Name) {
	for _, origin := range origins {
		t.Step(origin)
	}
}

// checkCalm compares each edition with the zone and with what queries for
// flattened names get.
func checkCalm(t *testing.T, journal *Journal, snap *Snapshot) {
	t.Helper()
	for _, origin := range snap.Origins() {
		edition, zone := journal.Edition(origin), snap.Zone(origin)
		live := slices.Collect(zone.RRSets())
		for flat := range zone.Flattened() {
			var answer Answer
			for i, kind := range []Type{TypeA, TypeAAAA} {
				snap.Lookup(flat.Name, kind, &answer)
				set := edition.flat[flat.Name].sets[i]
				switch {
				case answer.Kind == Hit && answer.Section[0].Set.Type == kind: // else a DNAME stands above
					if set == nil || !slices.Equal(set.Data, canonicalData(slices.Clone(answer.Section[0].Set.Data))) {
						t.Errorf("%s %s: the edition has %v", flat.Name, kind, set)
					}
				case answer.Kind != Unresolved && set != nil:
					t.Errorf("%s %s: the edition has %v, queries get nothing", flat.Name, kind, set)
				}
				if set != nil {
					live = append(live, set)
				}
			}
		}
		if is, want := editionRecords(edition), recordsOf(live...); !maps.Equal(is, want) {
			t.Errorf("%s: the edition is\n%v\nqueries get\n%v", origin, is, want)
		}
		if edition.Records() != len(recordsOf(live...)) {
			t.Errorf("%s: Records says %d of %d", origin, edition.Records(), len(recordsOf(live...)))
		}
	}
}

// TestSerialNamesOneContent: changes within a second are served at once, and
// reach secondaries with the next serial.
func TestSerialNamesOneContent(t *testing.T) {
	t.Parallel()
	origin := mustName(t, "corp.test")
	table := NewTable(Options{Origins: []Origin{{Name: origin}}, DefaultTTL: 300})
	table.SetReady(true, "")
	journal, store := NewJournal(100, time.Time{}), &Store{}
	put := func(at time.Time, text string) Commit {
		if text != "" {
			table.Put(Object{Owner: Owner{Source: "ingress", Name: "o"}, Claims: []Claim{ask(mustName(t, "www.corp.test"), TypeA, text)}})
		}
		done := table.Commit(at)
		store.Swap(done.Snapshot)
		journal.Note(done, store.Load())
		return done
	}
	put(noon(), "192.0.2.1")
	put(noon().Add(300*time.Millisecond), "192.0.2.2")
	last := put(noon().Add(600*time.Millisecond), "192.0.2.3")
	edition := journal.Edition(origin)
	if live := zoneText(last.Snapshot.Zone(origin)); !strings.Contains(live, "192.0.2.3") {
		t.Errorf("queries get\n%s", live)
	}
	if records := editionRecords(edition); !records["www.corp.test 300 A 192.0.2.1"] {
		t.Errorf("secondaries get %v", records)
	}
	if edition.Serial() != uint32(noon().Unix()) || last.Again != noon().Add(time.Second) {
		t.Errorf("serial %d, again at %v", edition.Serial(), last.Again)
	}
	put(last.Again, "")
	next := journal.Edition(origin)
	steps, ok := next.Since(edition.Serial())
	if !ok || len(steps) != 1 {
		t.Fatalf("%d steps lead from %d to %d", len(steps), edition.Serial(), next.Serial())
	}
	if got, want := recordsOf(steps[0].Removed...), (map[string]bool{"www.corp.test 300 A 192.0.2.1": true}); !maps.Equal(got, want) {
		t.Errorf("removed: %v", got)
	}
	if got, want := recordsOf(steps[0].Added...), (map[string]bool{"www.corp.test 300 A 192.0.2.3": true}); !maps.Equal(got, want) {
		t.Errorf("added: %v", got)
	}
	if _, known := next.Since(edition.Serial() - 1); known {
		t.Error("a serial that was never given out is known")
	}
}

// TestSerialOfTheStart: a process that begins in the second in which another one
// ended may not give that one's serial to its own content.
func TestSerialOfTheStart(t *testing.T) {
	t.Parallel()
	origin := mustName(t, "corp.test")
	table := NewTable(Options{Origins: []Origin{{Name: origin}}, DefaultTTL: 300})
	table.SetReady(true, "")
	journal, store := NewJournal(100, noon().Add(300*time.Millisecond)), &Store{}
	if outdated := journal.Outdated(store.Load()); len(outdated) > 0 {
		t.Errorf("before the first snapshot, %v need a serial", outdated)
	}
	commit := func(at time.Time) Commit {
		done := table.Commit(at)
		store.Swap(done.Snapshot)
		journal.Note(done, store.Load())
		return done
	}
	commit(noon().Add(400 * time.Millisecond))
	if edition := journal.Edition(origin); edition != nil {
		t.Fatalf("secondaries get %d, which may be another process's", edition.Serial())
	}
	stepZones(table, journal.Outdated(store.Load()))
	again := commit(noon().Add(500 * time.Millisecond)).Again
	if journal.Edition(origin) != nil || again != noon().Add(time.Second) {
		t.Errorf("the serial steps again at %v", again)
	}
	commit(again)
	if edition := journal.Edition(origin); edition == nil || edition.Serial() != uint32(noon().Unix())+1 {
		t.Errorf("the edition is %v", edition)
	}
	if outdated := journal.Outdated(store.Load()); len(outdated) > 0 {
		t.Errorf("with an edition, %v need a serial", outdated)
	}
}

// TestJournalIsBounded: old steps go first, and a difference larger than the
// zone is none.
func TestJournalIsBounded(t *testing.T) {
	t.Parallel()
	origin := mustName(t, "corp.test")
	table := NewTable(Options{Origins: []Origin{{Name: origin}}, DefaultTTL: 300})
	table.SetReady(true, "")
	journal, store := NewJournal(20, time.Time{}), &Store{}
	var serials []uint32
	for i := range 30 {
		table.Put(Object{Owner: Owner{Source: "ingress", Name: "o"}, Claims: []Claim{ask(mustName(t, "www.corp.test"), TypeA, fmt.Sprintf("192.0.2.%d", 1+i))}})
		done := table.Commit(noon().Add(time.Duration(i) * time.Second))
		store.Swap(done.Snapshot)
		journal.Note(done, store.Load())
		serials = append(serials, journal.Edition(origin).Serial())
	}
	edition := journal.Edition(origin)
	if size := journal.Size(); size.Records != 20 || size.Steps != 5 || size.Missing != 0 { // each step: two SOAs and two addresses
		t.Errorf("the journal holds %+v", size)
	}
	for i, serial := range serials {
		if _, ok := edition.Since(serial); ok != (i >= 24 && i < 29) {
			t.Errorf("the steps since edition %d are known: %t", i, ok)
		}
	}
	if NewJournal(0, time.Time{}).Edition(origin) != nil {
		t.Error("an empty journal has an edition")
	}
}

// TestUnresolvedStays: secondaries keep the addresses of a flattened name whose
// target can't be looked up any longer, and get none that nobody ever knew.
func TestUnresolvedStays(t *testing.T) {
	t.Parallel()
	origin, target := mustName(t, "corp.test"), mustName(t, "lb.example")
	table := NewTable(Options{Origins: []Origin{{Name: origin}}, DefaultTTL: 300, Flatten: true})
	table.SetReady(true, "")
	table.Put(Object{Owner: Owner{Source: "ingress", Name: "o"}, Claims: []Claim{ask(mustName(t, "www.corp.test"), TypeCNAME, "lb.example")}})
	journal, store := NewJournal(100, time.Time{}), &Store{}
	store.SwapTargets(NewTargets())
	second := 0
	commit := func() Noted {
		done := table.Commit(noon().Add(time.Duration(second) * time.Second))
		second++
		store.Swap(done.Snapshot)
		return journal.Note(done, store.Load())
	}
	noted := commit()
	if len(noted.Missing) != 1 || noted.Missing[0].Target != target || journal.Edition(origin).Missing() != 1 {
		t.Errorf("missing: %v", noted.Missing)
	}
	if outdated := journal.Outdated(store.Load()); len(outdated) > 0 {
		t.Errorf("%v has a name without addresses, as before", outdated)
	}
	family := func(data ...Rdata) Family {
		return Family{Known: true, Set: &RRSet{Name: target, Type: TypeA, TTL: 20, Data: data}}
	}
	store.SwapTargets(NewTargets().With([]*Target{{Name: target, A: family("\xc0\x00\x02\x01"), AAAA: Family{Known: true}}}, nil))
	if outdated := journal.Outdated(store.Load()); !slices.Equal(outdated, []Name{origin}) {
		t.Fatalf("outdated: %v", outdated)
	}
	table.Step(origin)
	commit()
	want := "www.corp.test 20 A 192.0.2.1"
	if !editionRecords(journal.Edition(origin))[want] {
		t.Errorf("%q is missing in %v", want, editionRecords(journal.Edition(origin)))
	}
	for _, targets := range []*Targets{
		NewTargets().With([]*Target{{Name: target, A: Family{Known: true, Set: &RRSet{Name: target, Type: TypeA, TTL: 7, Data: []Rdata{"\xc0\x00\x02\x01"}}}, AAAA: Family{Known: true}}}, nil),
		NewTargets().With([]*Target{{Name: target, A: Family{Problem: "no reply"}, AAAA: Family{Problem: "no reply"}}}, nil),
	} {
		store.SwapTargets(targets)
		if outdated := journal.Outdated(store.Load()); len(outdated) > 0 {
			t.Errorf("%v steps though its addresses stay", outdated)
		}
	}
	table.Step(origin)
	commit()
	if !editionRecords(journal.Edition(origin))[want] {
		t.Errorf("%q has gone from %v", want, editionRecords(journal.Edition(origin)))
	}
	store.SwapTargets(NewTargets().With([]*Target{{Name: target, A: Family{Known: true}, AAAA: Family{Known: true}}}, nil))
	if outdated := journal.Outdated(store.Load()); !slices.Equal(outdated, []Name{origin}) {
		t.Errorf("outdated: %v", outdated)
	}
}
