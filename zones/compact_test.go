package zones

import (
	"fmt"
	"testing"
	"time"
)

// TestCompactedBesideChanges holds a compaction up while names come, change, go and
// come back: lookups are right all the time, whatever the tree of then still knew,
// and when the compaction has ended, the zone is compact and nothing else about it
// has changed.
func TestCompactedBesideChanges(t *testing.T) {
	t.Parallel()
	const size = compactNodes + 1000
	corp, err := ParseName("corp.test")
	if err != nil {
		t.Fatal(err)
	}
	app := func(i int) Name { return corp.Child(fmt.Sprintf("team-%d", i%100)).Child(fmt.Sprintf("app-%d", i)) }
	table := NewTable(Options{Origins: []Origin{{Name: corp}}})
	table.SetReady(true, "")
	is := map[int]string{} // what the twin says
	put := func(i int, target string) {
		is[i] = target
		table.Put(Object{Owner: Owner{Source: "ingress", Name: fmt.Sprint(i)}, Claims: []Claim{{Name: app(i), Type: TypeA, Targets: []string{target}}}})
	}
	remove := func(i int) {
		delete(is, i)
		table.Delete(Owner{Source: "ingress", Name: fmt.Sprint(i)})
	}
	b := table.zones[corp]
	second := noon()
	commit := func() Commit {
		t.Helper()
		second = second.Add(2 * time.Second)
		commit := table.Commit(second)
		if err := Check(commit.Snapshot.Zone(corp)); err != nil {
			t.Fatal(err)
		}
		var a Answer
		for i := range size + 2000 {
			commit.Snapshot.Lookup(app(i), TypeA, &a)
			got := ""
			if a.Kind == Hit {
				got = a.Section[0].Set.Data[0].Text(TypeA)
			}
			if got != is[i] {
				t.Fatalf("%s is %q (%s), want %q", app(i), got, a.Kind, is[i])
			}
		}
		return commit
	}
	for i := range size {
		put(i, "192.0.2.1")
	}
	if first := commit(); b.compacting != nil || b.zone.tree.exact == nil || !first.Again.IsZero() {
		t.Fatal("a zone is not compact at its first look")
	}

	for round := range 3 {
		memory := b.zone.tree.exact.memory
		for i := range size/changedShare + 200 {
			put(7*i%size, fmt.Sprintf("192.0.2.%d", 10+round))
		}
		began := commit()
		if b.compacting == nil || b.zone.tree.later == nil {
			t.Fatal("no compaction has begun though an eighth has changed")
		}
		if again := began.Again.Sub(second); again <= 0 || again > tidyPause {
			t.Errorf("the next commit is wanted %v later while a compaction is under way", again)
		}
		compact := <-b.compacting // held up here

		put(3, "198.51.100.1")       // was as it is in the compact tree
		put(7, "198.51.100.2")       // changed twice
		remove(14)                   // gone, then back
		remove(21)                   // gone for good
		put(size+round, "192.0.2.9") // new
		put(size+1000, "192.0.2.9")  // new, then gone
		commit()
		put(14, "198.51.100.3")
		remove(size + 1000)
		commit()
		if round == 2 {
			// So much changes that the old table of names is given up.
			for i := range size / goneShare {
				put(11*i%size, "203.0.113.1")
			}
			commit()
			if b.zone.tree.exact != nil {
				t.Error("the old table of names is kept though more than its share has changed")
			}
		}

		b.compacting <- compact
		serial := b.zone.serial
		done := commit()
		for i := 0; round == 2 && b.compacting != nil && i < 2; i++ { // that was enough for one more
			b.compacting <- <-b.compacting
			done = commit()
		}
		tree := b.zone.tree
		if b.compacting != nil || tree.later != nil || tree.exact == nil || tree.exact.memory == memory {
			t.Fatal("the compaction has ended, and the zone doesn't have it")
		}
		if len(done.Changes) > 0 || len(done.Stepped) > 0 || b.zone.serial != serial || !done.Again.IsZero() {
			t.Errorf("a compaction changes something: %v, %v, again %v", done.Changes, done.Stepped, done.Again)
		}
		put(21, "192.0.2.21")
		remove(size + round)
		commit()
	}
}

// TestCompactionOfAReplacedTree: a zone file that comes while the zone is being
// compacted is not lost to what the compaction gives.
func TestCompactionOfAReplacedTree(t *testing.T) {
	t.Parallel()
	corp, err := ParseName("corp.test")
	if err != nil {
		t.Fatal(err)
	}
	file := func(size int, data string) *Static {
		return NewStatic(corp, func(yield func(StaticSet) bool) {
			for i := range size {
				set := &RRSet{Name: corp.Child(fmt.Sprintf("file-%05d", i)), Type: TypeA, TTL: 300, Data: []Rdata{Rdata(data)}}
				if !yield(StaticSet{RRSet: set, From: fmt.Sprintf("corp.zone line %d", i+1)}) {
					return
				}
			}
		})
	}
	table := NewTable(Options{Origins: []Origin{{Name: corp}}})
	table.SetReady(true, "")
	table.SetStatic(corp, file(compactNodes+10, "\xc0\x00\x02\x01"))
	table.Commit(noon())
	for i := range compactNodes / changedShare * 2 {
		table.Put(Object{Owner: Owner{Source: "ingress", Name: fmt.Sprint(i)}, Claims: []Claim{{Name: corp.Child(fmt.Sprintf("app-%d", i)), Type: TypeA, Targets: []string{"192.0.2.2"}}}})
	}
	table.Commit(noon().Add(time.Second))
	b := table.zones[corp]
	if b.compacting == nil {
		t.Fatal("no compaction has begun")
	}
	compact := <-b.compacting
	for i := range compactNodes / changedShare * 2 {
		table.Delete(Owner{Source: "ingress", Name: fmt.Sprint(i)})
	}
	b.compacting <- compact
	table.SetStatic(corp, file(compactNodes+500, "\xc0\x00\x02\x03"))
	snap := table.Commit(noon().Add(2 * time.Second)).Snapshot
	for i := range 2 {
		if err := Check(snap.Zone(corp)); err != nil {
			t.Fatal(err)
		}
		var a Answer
		for _, want := range []struct{ label, data string }{{"file-00001", "192.0.2.3"}, {"file-16800", "192.0.2.3"}, {"app-1", ""}} {
			got := ""
			if snap.Lookup(corp.Child(want.label), TypeA, &a); a.Kind == Hit {
				got = a.Section[0].Set.Data[0].Text(TypeA)
			}
			if got != want.data {
				t.Errorf("after %d more commits %s is %q, want %q", i, want.label, got, want.data)
			}
		}
		snap = table.Commit(noon().Add(time.Hour)).Snapshot
	}
}
