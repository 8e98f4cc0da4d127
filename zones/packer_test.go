package zones

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// TestPackerIsEdit compiles random sets in canonical order of their names and in
// others: it gives the same zone, with the same cuts, empty non-terminals and
// count of wildcards, and objects may change it all the same.
func TestPackerIsEdit(t *testing.T) {
	t.Parallel()
	random := newRandom(t)
	for _, apex := range []Name{mustName(t, "corp.test"), Root} {
		for size := range 40 {
			sets := packerSets(random, apex, size*size)
			sorted := NewStatic(apex, slices.Values(sets))
			random.Shuffle(len(sets), func(i, j int) { sets[i], sets[j] = sets[j], sets[i] })
			mixed := NewStatic(apex, slices.Values(sets))
			// The last name alone in the wrong place.
			slices.SortFunc(sets, func(a, b StaticSet) int { return a.Name.Compare(b.Name) })
			late := NewStatic(apex, slices.Values(append(sets[min(1, len(sets)):], sets[:min(1, len(sets))]...)))
			for _, other := range []*Static{mixed, late} {
				if !sorted.Equal(other) || treeText(sorted.tree) != treeText(other.tree) || treeText(sorted.cuts) != treeText(other.cuts) ||
					sorted.tree.nodes != other.tree.nodes || sorted.tree.wildcards != other.tree.wildcards || sorted.Len() != other.Len() {
					t.Fatalf("%d sets in order:\n%s\nin another:\n%s", len(sets), treeText(sorted.tree), treeText(other.tree))
				}
			}
			checkSearch(t, sorted.tree)
			changed, same := sorted.tree.edit(apex, sorted.cuts), mixed.tree.edit(apex, mixed.cuts)
			for range 50 {
				name := treeName(random, apex)
				changed.put(name, nil, random.IntN(2) == 0, nil)
				same.put(name, nil, changed.get(name).claimed, nil)
			}
			nodes, cuts := changed.commit()
			otherNodes, otherCuts := same.commit()
			if treeText(nodes) != treeText(otherNodes) || treeText(cuts) != treeText(otherCuts) {
				t.Fatal("changes of the same tree give others")
			}
			checkSearch(t, nodes)
		}
	}
}

// packerSets draws sets in canonical order of their names, one of a name and type.
func packerSets(random *rand.Rand, apex Name, n int) []StaticSet {
	var sets []StaticSet
	seen := map[Name]map[Type]bool{}
	for range n {
		name := treeName(random, apex)
		kind := []Type{TypeA, TypeTXT, TypeNS, TypeMX}[random.IntN(4)]
		if seen[name][kind] {
			continue
		}
		if seen[name] == nil {
			seen[name] = map[Type]bool{}
		}
		seen[name][kind] = true
		data := Rdata(strings.Repeat("x", 1<<random.IntN(12)))
		sets = append(sets, StaticSet{&RRSet{Name: name, Type: kind, TTL: 60, Data: []Rdata{data}}, "file f line 7"})
	}
	slices.SortStableFunc(sets, func(a, b StaticSet) int { return a.Name.Compare(b.Name) })
	return sets
}

// checkSearch looks every node up by the way through the branches.
func checkSearch(t *testing.T, nodes tree) {
	t.Helper()
	var keys keyBuffer
	for e := range nodes.entries("") {
		if got := nodes.search(keys.key(e.name()), e.name()); got != e {
			t.Fatalf("%s is not found", e.name())
		}
	}
}

// TestNameOfKey: a name's key gives the name again.
func TestNameOfKey(t *testing.T) {
	t.Parallel()
	random := newRandom(t)
	for range 10_000 {
		name := Root
		for range random.IntN(6) {
			label := make([]byte, 1+random.IntN(63))
			for i := range label {
				label[i] = byte(random.IntN(1 << random.IntN(9)))
			}
			if longer := name.Child(string(label)); longer != "" {
				name = longer
			}
		}
		if got := NameOfKey(name.AppendKey(nil)); got != name {
			t.Fatalf("%q comes back as %q", string(name), string(got))
		}
	}
}

// TestBeginningIsNoChange: what a zone file brings to a zone that nobody has seen
// is counted and served, and listed by no commit; what it changes later is.
func TestBeginningIsNoChange(t *testing.T) {
	t.Parallel()
	corp := mustName(t, "corp.test")
	table := NewTable(Options{Origins: []Origin{{Name: corp}}, DefaultTTL: 300})
	set := func(lines ...string) { table.SetStatic(corp, NewStatic(corp, slices.Values(statics(t, lines...)))) }
	set("a.corp.test 60 A 192.0.2.1,192.0.2.2", "b.corp.test 60 CNAME left.example")
	set("a.corp.test 60 A 192.0.2.1", "c.corp.test 60 CNAME lb.example")
	table.SetReady(true, "")
	commit := table.Commit(noon())
	for _, change := range commit.Changes {
		if name := change.set().Name; name != corp && name != corp.Child("ns1") {
			t.Errorf("a change at %s", name)
		}
	}
	if zone := commit.Snapshot.Zone(corp); zone.records[TypeA] != 1 || zone.records[TypeCNAME] != 1 {
		t.Errorf("records are counted as %v", zone.records)
	}
	if len(commit.Wanted) != 1 || commit.Wanted[0] != mustName(t, "lb.example") {
		t.Errorf("wanted outside of the zones: %v", commit.Wanted)
	}
	set("a.corp.test 60 A 192.0.2.1", "d.corp.test 60 A 192.0.2.1")
	commit = table.Commit(noon())
	if len(commit.Changes) != 2 || commit.Snapshot.Zone(corp).records[TypeA] != 2 || len(commit.Unwanted) != 1 {
		t.Errorf("later: %d changes, %v, %v", len(commit.Changes), commit.Snapshot.Zone(corp).records, commit.Unwanted)
	}
}
