package zones

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
)

// noon is when the tests' commits happen.
func noon() time.Time { return time.Unix(1_700_000_000, 0) }

// newRandom returns a source of choices whose seed is printed if the test
// fails.
func newRandom(t *testing.T) *rand.Rand {
	t.Helper()
	seed := rand.Uint64()
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("seed %d", seed)
		}
	})
	return rand.New(rand.NewPCG(seed, 0))
}

// TestLookupIsTwin draws worlds and asks each about every name of a closed
// universe: Lookup gives what the twin gives, section by section, octet by
// octet.
func TestLookupIsTwin(t *testing.T) {
	t.Parallel()
	random := newRandom(t)
	names := universe()
	var answer Answer
	pairs, kinds := 0, map[Kind]int{}
	outcomes := []Kind{NotOurs, Hit, NoData, NXDomain, Delegation, TooLong, Unresolved}
	tame := func() bool {
		return slices.ContainsFunc(outcomes, func(kind Kind) bool { return kinds[kind] == 0 })
	}
	// Rare outcomes take some luck: then more worlds are drawn.
	for round := 0; round < 30 || tame() && round < 600; round++ {
		w := draw(random, 20, "web")
		snap, twin := w.build(t)
		for _, name := range names {
			for _, kind := range worldQueries {
				if fault := compareWithTwin(snap, twin, name, kind, &answer); fault != "" {
					w.report(t, name, kind)
					return
				}
				kinds[answer.Kind]++
				pairs++
			}
		}
	}
	t.Logf("%d questions: %v", pairs, kinds)
	if tame() {
		t.Errorf("an outcome is missing: the worlds are too tame")
	}
}

// build commits the world once and flattens it for the twin.
func (w world) build(t testing.TB) (*Snapshot, []twinZone) {
	t.Helper()
	snap := w.table().Commit(noon()).Snapshot.withTargets(w.targets())
	for _, origin := range snap.Origins() {
		if err := Check(snap.Zone(origin)); err != nil {
			t.Fatalf("%v in\n%s", err, w)
		}
	}
	return snap, twinOf(snap, w.objects)
}

// compareWithTwin returns both answers if they differ, else "".
func compareWithTwin(snap *Snapshot, twin []twinZone, name Name, kind Type, answer *Answer) string {
	snap.Lookup(name, kind, answer)
	got := textAnswer(answer).String()
	want := twinLookup(twin, name.FQDN(), kind.String()).String()
	if got == want {
		return ""
	}
	return fmt.Sprintf("Lookup says %sthe twin  %s", got, want)
}

// report shrinks a world in which Lookup and twin differ and prints it.
func (w world) report(t testing.TB, name Name, kind Type) {
	t.Helper()
	smallest := w.shrink(func(smaller world) bool {
		var answer Answer
		snap, twin := smaller.build(t)
		return compareWithTwin(snap, twin, name, kind, &answer) != ""
	})
	snap, twin := smallest.build(t)
	fault := compareWithTwin(snap, twin, name, kind, new(Answer))
	t.Errorf("%s %s:\n%sin\n%swhich gives\n%s", name.FQDN(), kind, fault, smallest, dumpZones(twin))
}

func dumpZones(twin []twinZone) string {
	var text strings.Builder
	for _, zone := range twin {
		fmt.Fprintf(&text, "zone %s, claimed %v\n", zone.origin, zone.present)
		for _, set := range zone.sets {
			for _, line := range set.lines(set.owner) {
				fmt.Fprintf(&text, "  %s\n", line)
			}
		}
	}
	return text.String()
}
