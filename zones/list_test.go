package zones

import (
	"fmt"
	"slices"
	"testing"
)

// TestRecordsInPages: pages of any size hold every set of the zone once, in
// order, and no name is parted.
func TestRecordsInPages(t *testing.T) {
	t.Parallel()
	w := world{origins: []Origin{{Name: mustName(t, "corp.test")}, {Name: mustName(t, "child.corp.test")}}}
	table := w.table()
	for i, host := range []string{"b.corp.test", "a.corp.test", "*.corp.test", "x.child.corp.test", "deep.er.corp.test"} {
		table.Put(Object{Owner: Owner{Source: "ingress", Namespace: "shop", Name: fmt.Sprint(i)}, Claims: []Claim{
			{Name: mustName(t, host), Type: TypeA, Targets: []string{"192.0.2.1"}},
			{Name: mustName(t, host), Type: TypeAAAA, Targets: []string{"2001:db8::1"}},
		}})
	}
	table.SetReady(true, "")
	zone := table.Commit(noon()).Snapshot.Zone(mustName(t, "corp.test"))
	var want []string
	for set := range zone.RRSets() {
		want = append(want, set.Name.String()+" "+set.Type.String())
	}
	for limit := 1; limit <= len(want)+1; limit++ {
		var got []string
		var from Name
		for range len(want) + 1 {
			sets, next := table.Records(mustName(t, "corp.test"), from, limit)
			if len(sets) < limit && next != "" {
				t.Fatalf("limit %d: a short page of %d sets", limit, len(sets))
			}
			for _, set := range sets {
				got = append(got, set.Name.String()+" "+set.Type.String())
				if set.Name == next || len(set.From) == 0 {
					t.Errorf("limit %d: %s is parted, or comes from nowhere: %v", limit, set.Name, set.From)
				}
			}
			if from = next; from == "" {
				break
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("limit %d: got %q, want %q", limit, got, want)
		}
	}
	if sets, next := table.Records(mustName(t, "other.test"), "", 10); sets != nil || next != "" {
		t.Errorf("a foreign zone has %v and goes on at %s", sets, next)
	}
}

// TestAllSkipped: those of sources, with or without a name, and those lost in
// contests.
func TestAllSkipped(t *testing.T) {
	t.Parallel()
	w := world{origins: []Origin{{Name: mustName(t, "corp.test")}}}
	table := w.table()
	claim := Claim{Name: mustName(t, "a.corp.test"), Type: TypeA, Targets: []string{"192.0.2.1"}}
	for i, namespace := range []string{"one", "two"} {
		table.Put(Object{Owner: Owner{Source: "ingress", Namespace: namespace, Name: "web"}, Created: noon().AddDate(0, i, 0), Claims: []Claim{claim},
			Skipped: []Skipped{{Asked: "b..corp.test", Reason: ReasonInvalidName, Message: "bad"}}})
	}
	table.Commit(noon())
	var got []string
	for _, skip := range table.AllSkipped(func(s *Skipped) bool { return s.Owner.Namespace == "two" }) {
		got = append(got, skip.Owner.Namespace+" "+string(skip.Reason))
	}
	slices.Sort(got)
	if want := []string{"two conflict", "two invalid-name"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
