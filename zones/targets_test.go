package zones

import (
	"slices"
	"testing"
)

// TestCommitTellsOutsideTargets: a target is wanted when the first name leads to
// it, and unwanted when the last one no longer does; targets in the zones never.
func TestCommitTellsOutsideTargets(t *testing.T) {
	t.Parallel()
	table := world{origins: []Origin{{Name: mustName(t, "test")}}}.table()
	put := func(object, name, target string) {
		table.Put(Object{
			Owner:  Owner{Source: "ingress", Namespace: "shop", Name: object},
			Claims: []Claim{{Name: mustName(t, name), Type: TypeCNAME, Targets: []string{target}}},
		})
	}
	expect := func(what string, wanted, unwanted, all []Name) {
		t.Helper()
		commit := table.Commit(noon())
		slices.Sort(commit.Wanted)
		outside := table.Outside()
		slices.Sort(outside)
		if !slices.Equal(commit.Wanted, wanted) || !slices.Equal(commit.Unwanted, unwanted) || !slices.Equal(outside, all) {
			t.Errorf("%s: wanted %v, unwanted %v, all %v", what, commit.Wanted, commit.Unwanted, outside)
		}
	}
	a, b := mustName(t, "a.example"), mustName(t, "b.example")
	put("one", "www.test", "a.example")
	put("two", "test", "a.example") // flattened
	put("three", "in.test", "www.test")
	expect("two names", []Name{a}, nil, []Name{a})
	put("one", "www.test", "b.example")
	expect("one moves", []Name{b}, nil, []Name{a, b})
	put("two", "test", "b.example")
	expect("the other one follows", nil, []Name{a}, []Name{b})
	put("one", "www.test", "a.example")
	put("one", "www.test", "b.example")
	expect("there and back", nil, nil, []Name{b})
	table.Delete(Owner{Source: "ingress", Namespace: "shop", Name: "one"})
	table.Delete(Owner{Source: "ingress", Namespace: "shop", Name: "two"})
	expect("all gone", nil, []Name{b}, nil)
}

// TestStoreJoinsTargets: zones and targets are swapped one without the other, and
// a snapshot that was loaded stays as it was.
func TestStoreJoinsTargets(t *testing.T) {
	t.Parallel()
	var store Store
	w := world{origins: []Origin{{Name: mustName(t, "test")}}, outside: 3, objects: []Object{{
		Owner:  Owner{Source: "ingress", Name: "web"},
		Claims: []Claim{{Name: mustName(t, "www.test"), Type: TypeCNAME, Targets: []string{"lb.provider.example"}}},
	}}}
	ask := func(what string, snap *Snapshot, want Kind, records int) {
		t.Helper()
		var answer Answer
		if snap.Lookup(mustName(t, "www.test"), TypeA, &answer); answer.Kind != want || len(answer.Section) != records {
			t.Errorf("%s: %s", what, textAnswer(&answer))
		}
	}
	store.SwapTargets(NewTargets())
	table := w.table()
	store.Swap(table.Commit(noon()).Snapshot)
	before := store.Load()
	ask("not looked up", before, Unresolved, 0)
	store.SwapTargets(w.targets())
	ask("looked up", store.Load(), Hit, 2)
	store.Swap(table.Commit(noon().Add(1)).Snapshot)
	ask("other zones", store.Load(), Hit, 2)
	store.SwapTargets(w.targets().With(nil, []Name{mustName(t, "lb.provider.example")}))
	ask("gone again", store.Load(), Unresolved, 0)
	store.SwapTargets(nil)
	ask("nobody looks", store.Load(), Hit, 1)
	ask("an old snapshot", before, Unresolved, 0)
}

// TestExplainOutside: the explanation of a name, and of one that is flattened,
// tells the state of the target.
func TestExplainOutside(t *testing.T) {
	t.Parallel()
	lb := mustName(t, "lb.provider.example")
	table := world{origins: []Origin{{Name: mustName(t, "test")}}, objects: []Object{{
		Owner: Owner{Source: "ingress", Namespace: "shop", Name: "web"},
		Claims: []Claim{
			{Name: mustName(t, "www.test"), Type: TypeCNAME, Targets: []string{"lb.provider.example"}},
			{Name: mustName(t, "test"), Type: TypeCNAME, Targets: []string{"lb.provider.example"}},
		},
	}}}.table()
	table.Commit(noon())
	set := &RRSet{Name: lb, Type: TypeA, TTL: 30, Data: []Rdata{"\xc6\x33\x64\x01"}}
	for state, family := range map[string]Family{
		"resolved": {Known: true, Set: set, Good: noon()},
		"stale":    {Known: true, Set: set, Good: noon(), Stale: true, Problem: "SERVFAIL"},
		"failed":   {Problem: "SERVFAIL"},
		"waiting":  {},
	} {
		target := &Target{Name: lb, A: family, AAAA: Family{Known: true}}
		targets := NewTargets().With([]*Target{target}, nil)
		for _, name := range []string{"www.test", "test"} {
			x := table.Explain(mustName(t, name), TypeNone, targets)
			if x.Outside == nil || x.Outside.State != state || x.Outside.Problem != family.Problem || len(x.Outside.Addresses) > 0 != family.Known {
				t.Errorf("%s with a %s target: %+v", name, state, x.Outside)
			}
			if unresolved := x.Outcome == Unresolved.String(); unresolved == family.Known {
				t.Errorf("%s with a %s target is %s", name, state, x.Outcome)
			}
		}
		x := table.Explain(mustName(t, "test"), TypeA, targets)
		if flat := len(x.Records) == 1 && x.Records[0].From[0].FlattenedTo == lb; flat != family.Known {
			t.Errorf("the flattened apex with a %s target has %+v", state, x.Records)
		}
	}
}
