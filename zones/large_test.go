package zones_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/clusterzone/clusterzone/zones"
)

// TestLargeZone asks a zone that is large enough to be compacted for what it had
// from its file, for what objects changed since, and for what is not there.
func TestLargeZone(t *testing.T) {
	t.Parallel()
	const size = 20_000
	table := fileTable(t, size)
	corp := zones.Root.Child("test").Child("corp")
	app := func(i int) zones.Name {
		return corp.Child(fmt.Sprintf("team-%d", i%1000)).Child(fmt.Sprintf("app-%d", i))
	}
	var a zones.Answer
	ask := func(now zones.Commit, name zones.Name, kind zones.Type, want string) {
		t.Helper()
		now.Snapshot.Lookup(name, kind, &a)
		got := a.Kind.String()
		if a.Kind == zones.Hit {
			got = a.Section[0].Set.Data[0].Text(kind)
		}
		if got != want {
			t.Fatalf("%s %s is %s, not %s", name, kind, got, want)
		}
	}
	second := int64(1_800_000_000)
	commit := func() zones.Commit {
		second++
		now := table.Commit(time.Unix(second, 0))
		return now
	}
	put := func(i int, kind zones.Type, target string) {
		owner := zones.Owner{Source: "ingress", Name: fmt.Sprint(i)}
		table.Put(zones.Object{Owner: owner, Claims: []zones.Claim{{Name: app(i), Type: kind, Targets: []string{target}}}})
	}
	now := commit()
	for i := range size {
		ask(now, app(i), zones.TypeA, fmt.Sprintf("10.%d.%d.%d", i>>16, i>>8&255, i&255))
		ask(now, app(i), zones.TypeAAAA, "nodata")
		ask(now, app(i+size), zones.TypeA, "nxdomain")
	}
	// Objects change more and more names, until the zone is compacted anew, and
	// take them back.
	for _, step := range []int{1, 100, size} {
		for i := 0; i < size; i += size / step {
			put(i, zones.TypeAAAA, "2001:db8::1")
			put(i+size, zones.TypeA, "192.0.2.1")
		}
		now = commit()
		for i := 0; i < size; i += 997 {
			has := i%(size/step) == 0
			ask(now, app(i), zones.TypeA, fmt.Sprintf("10.%d.%d.%d", i>>16, i>>8&255, i&255))
			ask(now, app(i), zones.TypeAAAA, map[bool]string{true: "2001:db8::1", false: "nodata"}[has])
			ask(now, app(i+size), zones.TypeA, map[bool]string{true: "192.0.2.1", false: "nxdomain"}[has])
		}
		for _, owner := range slices.Collect(table.Owners("ingress")) {
			table.Delete(owner)
		}
		now = commit()
		ask(now, app(0), zones.TypeAAAA, "nodata")
		ask(now, app(size), zones.TypeA, "nxdomain")
	}
	// A shorter file takes names away.
	table.SetStatic(corp, zones.NewStatic(corp, fileSets(corp, size/2)))
	now = commit()
	if err := zones.Check(now.Snapshot.Zone(corp)); err != nil {
		t.Fatal(err)
	}
	ask(now, app(size/2-1), zones.TypeA, fmt.Sprintf("10.0.%d.%d", (size/2-1)>>8, (size/2-1)&255))
	ask(now, app(size-1), zones.TypeA, "nxdomain")
}
