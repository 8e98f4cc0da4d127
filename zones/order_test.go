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

// TestAnyPathGivesTheSameTable puts and deletes objects at random, with commits
// in between, and compares with a fresh Table that is given the final objects
// in another order: the same zones, endpoints, skips and answers' reasons.
// Meanwhile serials behave, and snapshots that were published never change.
func TestAnyPathGivesTheSameTable(t *testing.T) {
	t.Parallel()
	random := newRandom(t)
	for range 80 {
		w := draw(random, 12, "web", "shop", "db")
		path := walk(t, random, w)
		if t.Failed() {
			t.Fatalf("while walking\n%s", w)
		}
		random.Shuffle(len(w.objects), func(i, j int) { w.objects[i], w.objects[j] = w.objects[j], w.objects[i] })
		fresh := w.table()
		fresh.Commit(noon())
		if got, want := dumpTable(path), dumpTable(fresh); got != want {
			t.Fatalf("the path gives\n%s\nbut all at once gives\n%s\nof\n%s", got, want, w)
		}
	}
}

// TestSettleIsWorkDoneBefore: a Table that settles now and then before it is ready
// comes to what one comes to that is given all at once, and tells of no changes.
// Once it is ready, Settle leaves everything to Commit.
func TestSettleIsWorkDoneBefore(t *testing.T) {
	t.Parallel()
	random := newRandom(t)
	for range 80 {
		w := draw(random, 12, "web", "shop", "db")
		table := NewTable(Options{Origins: w.origins, Sources: []string{"ingress", "service"}, Policy: w.policy, DefaultTTL: 300, Flatten: w.flatten})
		for i := range 2 * len(w.objects) {
			other := drawObject(random, i, []string{"web"})
			other.Owner = w.objects[random.IntN(len(w.objects))].Owner
			table.Put(other)
			switch random.IntN(4) {
			case 0:
				table.Settle()
			case 1:
				table.Delete(other.Owner)
			case 2:
				if snap := table.Commit(noon()).Snapshot; snap.Ready {
					t.Fatal("a table that is not ready gives a snapshot that is")
				}
			}
		}
		for _, i := range random.Perm(len(w.objects)) {
			table.Put(w.objects[i])
			if random.IntN(3) == 0 {
				table.Settle()
			}
		}
		table.Settle()
		table.SetReady(true, "")
		first := table.Commit(noon())
		if len(first.Changes) > 0 || len(first.Names) > 0 {
			t.Errorf("what was settled before is told once more: %v, %v", first.Changes, first.Names)
		}
		fresh := w.table()
		all := fresh.Commit(noon())
		if got, want := dumpTable(table), dumpTable(fresh); got != want {
			t.Fatalf("settling on the way gives\n%s\nbut all at once gives\n%s\nof\n%s", got, want, w)
		}
		if got, want := slices.Sorted(slices.Values(table.Outside())), slices.Sorted(slices.Values(all.Wanted)); !slices.Equal(got, want) {
			t.Errorf("outside targets %v, want %v", got, want)
		}

		name := w.origins[0].Name.Child("settled-late")
		table.Put(Object{Owner: Owner{Source: "ingress", Namespace: "web", Name: "late"}, Claims: []Claim{{Name: name, Type: TypeA, Targets: []string{"192.0.2.99"}}}})
		table.Settle()
		if second := table.Commit(noon()); !slices.Contains(second.Names, name) || len(second.Changes) == 0 {
			t.Errorf("a change of a ready table is lost in Settle: %v, %v", second.Changes, second.Names)
		}
	}
}

// walk leads a Table by detours to the objects of w, and watches its steps.
func walk(t *testing.T, random *rand.Rand, w world) *Table {
	t.Helper()
	table := world{origins: w.origins, policy: w.policy, flatten: w.flatten}.table()
	var watch watcher
	now := noon()
	// Detours: objects of these owners that ask for something else, or go.
	for i := range 3 * len(w.objects) {
		object := w.objects[random.IntN(len(w.objects))]
		if random.IntN(3) == 0 {
			table.Delete(object.Owner)
		} else {
			other := drawObject(random, i, []string{object.Owner.Namespace})
			other.Owner = object.Owner
			table.Put(other)
		}
		if random.IntN(2) == 0 {
			now = now.Add(time.Duration(random.IntN(5)-1) * 700 * time.Millisecond) // at times backwards
			watch.see(t, table.Commit(now), now)
		}
	}
	for _, i := range random.Perm(len(w.objects)) {
		table.Put(w.objects[i])
		if random.IntN(3) == 0 {
			watch.see(t, table.Commit(now), now)
		}
	}
	watch.see(t, table.Commit(now), now)
	now = now.Add(10 * time.Second)
	last := table.Commit(now)
	watch.see(t, last, now)
	if !last.Again.IsZero() {
		t.Errorf("after ten quiet seconds Commit wants to be called again at %v", last.Again)
	}
	if len(last.Changes) > 0 || len(last.Skipped) > 0 {
		t.Errorf("a commit without a Put reports %v, %v", last.Changes, last.Skipped)
	}
	return table
}

// A watcher holds what must be true from commit to commit.
type watcher struct {
	last    *Snapshot
	then    string        // the last snapshot's zones, as they were when published
	changed map[Name]bool // zones that changed since their serial moved
}

func (w *watcher) see(t *testing.T, commit Commit, now time.Time) {
	t.Helper()
	if w.changed == nil {
		w.changed = map[Name]bool{}
	}
	for _, origin := range commit.Snapshot.Origins() {
		zone := commit.Snapshot.Zone(origin)
		if err := Check(zone); err != nil {
			t.Error(err)
		}
		if w.last == nil {
			continue
		}
		before := w.last.Zone(origin)
		changed := dumpZone(zone, false) != dumpZone(before, false)
		if changed != changesZone(commit.Changes, origin) {
			t.Errorf("zone %s: the commit's changes %v don't say whether the records changed", origin, commit.Changes)
		}
		w.changed[origin] = w.changed[origin] || changed
		switch {
		case zone.Serial() < before.Serial():
			t.Errorf("zone %s: the serial went back from %d to %d", origin, before.Serial(), zone.Serial())
		case zone.Serial() > before.Serial() && !w.changed[origin]:
			t.Errorf("zone %s: the serial moved to %d, the records did not", origin, zone.Serial())
		case zone.Serial() > before.Serial():
			w.changed[origin] = false
		case w.changed[origin] && commit.Again.IsZero():
			t.Errorf("zone %s: the records changed, the serial is still %d and no commit is asked for", origin, zone.Serial())
		}
	}
	if w.last != nil {
		if is := dumpSnapshot(w.last); is != w.then {
			t.Errorf("a published snapshot changed from\n%s\nto\n%s", w.then, is)
		}
	}
	if !commit.Again.IsZero() && commit.Again.Sub(now) > time.Second {
		t.Errorf("at %v the next commit is wanted at %v, more than a second later", now, commit.Again)
	}
	w.last, w.then = commit.Snapshot, dumpSnapshot(commit.Snapshot)
}

func changesZone(changes []Change, origin Name) bool {
	return slices.ContainsFunc(changes, func(c Change) bool { return c.Zone == origin })
}

// TestCommitTellsItsChanges replays Commit.Changes on the record sets of the
// snapshot before: that gives those of the snapshot after.
func TestCommitTellsItsChanges(t *testing.T) {
	t.Parallel()
	random := newRandom(t)
	for range 100 {
		w := draw(random, 12, "web", "shop")
		table := world{origins: w.origins, policy: w.policy}.table()
		sets := recordSets(table.Commit(noon()).Snapshot)
		for _, object := range w.objects {
			if random.IntN(4) == 0 {
				object.Claims = nil // of an owner that may have asked for something before
			}
			table.Put(object)
			commit := table.Commit(noon())
			for _, change := range commit.Changes {
				if change.Old != nil {
					key := change.Zone.FQDN() + setLine(change.Old)
					if !sets[key] {
						t.Errorf("%s goes, but wasn't there", key)
					}
					delete(sets, key)
				}
				if change.New != nil {
					sets[change.Zone.FQDN()+setLine(change.New)] = true
				}
			}
			if got := recordSets(commit.Snapshot); !maps.Equal(got, sets) {
				t.Fatalf("the changes lead to\n%v\nthe snapshot holds\n%v\nof\n%s", sets, got, w)
			}
		}
	}
}

func recordSets(snap *Snapshot) map[string]bool {
	sets := map[string]bool{}
	for _, origin := range snap.Origins() {
		for set := range snap.Zone(origin).RRSets() {
			if set.Type != TypeSOA {
				sets[origin.FQDN()+setLine(set)] = true
			}
		}
	}
	return sets
}

func setLine(set *RRSet) string {
	text := textOf(set)
	return fmt.Sprintf(" %s %d %s %q", text.owner, text.ttl, text.kind, text.data)
}

// TestSerialGoesOnWhenTheClockWentBack: a clock set back by an hour freezes no
// serial for an hour.
func TestSerialGoesOnWhenTheClockWentBack(t *testing.T) {
	t.Parallel()
	table := world{origins: []Origin{{Name: Root.Child("test")}}}.table()
	put := func(address string) {
		table.Put(Object{Owner: Owner{Source: "ingress", Name: "o"}, Claims: []Claim{{Name: Root.Child("test").Child("a"), Type: TypeA, Targets: []string{address}}}})
	}
	put("192.0.2.1")
	first := table.Commit(noon()).Snapshot.Zone(Root.Child("test")).Serial()
	put("192.0.2.2")
	earlier := noon().Add(-time.Hour)
	commit := table.Commit(earlier)
	if !commit.Again.IsZero() {
		commit = table.Commit(commit.Again)
		if commit.Snapshot.Committed.After(earlier.Add(time.Second)) {
			t.Errorf("with the clock at %v the serial has to wait until %v", earlier, commit.Snapshot.Committed)
		}
	}
	if got := commit.Snapshot.Zone(Root.Child("test")).Serial(); got != first+1 {
		t.Errorf("the serial after %d is %d", first, got)
	}
}

// dumpTable writes all that a Table's users can see, serials left out.
func dumpTable(table *Table) string {
	var text strings.Builder
	snap := table.snapshot
	for _, origin := range snap.Origins() {
		text.WriteString(dumpZone(snap.Zone(origin), true))
		fmt.Fprintf(&text, "records %v\n", snap.Zone(origin).Records())
	}
	for _, endpoint := range table.Endpoints() {
		fmt.Fprintf(&text, "endpoint %v\n", endpoint)
	}
	for _, name := range universe() {
		if reason := snap.reason(name, TypeA); reason != "" {
			fmt.Fprintf(&text, "reason %s: %s\n", name, reason)
		}
		if e := table.names[name]; e != nil {
			for _, skip := range e.allSkipped() {
				fmt.Fprintf(&text, "skipped %s %s %s\n", name, skip.Reason, skip)
			}
		}
	}
	fmt.Fprintf(&text, "outside %v\n", table.outside)
	fmt.Fprintf(&text, "counts %v\n", table.Counts())
	return text.String()
}

func dumpSnapshot(snap *Snapshot) string {
	var text strings.Builder
	for _, origin := range snap.Origins() {
		text.WriteString(dumpZone(snap.Zone(origin), true))
		fmt.Fprintln(&text, snap.Zone(origin).Serial())
	}
	return text.String()
}

// dumpZone writes a zone's records and, if asked, the nodes without records.
func dumpZone(zone *Zone, nodes bool) string {
	var text strings.Builder
	fmt.Fprintf(&text, "zone %s\n", zone.Origin().FQDN())
	for n := range zone.tree.walk() {
		if nodes {
			fmt.Fprintf(&text, "%s claimed %v\n", n.name.FQDN(), n.claimed)
		}
		if link := n.flattened(); link != nil && nodes {
			fmt.Fprintf(&text, "flattened %s of %s\n", setLine(link.set), link.from)
		}
		for _, set := range n.sets {
			if set.Type != TypeSOA {
				fmt.Fprintln(&text, setLine(set))
			}
		}
	}
	return text.String()
}
