package zones

import (
	"fmt"
	"os"
	"regexp"
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

// TestReasons: the list holds every reason that is declared.
func TestReasons(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("claim.go")
	if err != nil {
		t.Fatal(err)
	}
	declared := regexp.MustCompile(`(?m)^\tReason\w+\s+Reason = "([a-z-]+)"`).FindAllSubmatch(text, -1)
	var want []Reason
	for _, match := range declared {
		want = append(want, Reason(match[1]))
	}
	if got := Reasons(); len(want) == 0 || !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestRecordsAt: the sets of one name, with the objects that won.
func TestRecordsAt(t *testing.T) {
	t.Parallel()
	corp := mustName(t, "corp.test")
	w := world{origins: []Origin{{Name: corp}}}
	table := w.table()
	name := mustName(t, "a.corp.test")
	for i, namespace := range []string{"one", "two"} {
		table.Put(Object{Owner: Owner{Source: "ingress", Namespace: namespace, Name: "web"}, Created: noon().AddDate(0, i, 0),
			Claims: []Claim{{Name: name, Type: TypeA, Targets: []string{"192.0.2.1"}}}})
	}
	table.Commit(noon())
	sets := table.RecordsAt(corp, name)
	if len(sets) != 1 || len(sets[0].From) != 1 || sets[0].From[0].Object != "ingress one/web" {
		t.Errorf("got %+v", sets)
	}
	if sets := table.RecordsAt(corp, mustName(t, "b.corp.test")); sets != nil {
		t.Errorf("a missing name has %+v", sets)
	}
	if sets := table.RecordsAt(mustName(t, "other.test"), name); sets != nil {
		t.Errorf("a foreign zone has %+v", sets)
	}
}
