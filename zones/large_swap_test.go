package zones_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/clusterzone/clusterzone/zones"
)

// TestLargeZoneUnderChanges looks names up in a zone that is large enough to be
// compacted, while every commit changes some of them and every few compacts the
// zone anew: what one snapshot says is of one commit.
func TestLargeZoneUnderChanges(t *testing.T) {
	t.Parallel()
	const (
		size    = 20_000
		names   = 400 // that each commit changes
		commits = 15  // so that they add up to more than an eighth of the zone, twice
	)
	table := fileTable(t, size)
	corp := zones.Root.Child("test").Child("corp")
	changed := func(i int) zones.Name { return corp.Child("new").Child(fmt.Sprintf("name-%d", i)) }
	var store zones.Store
	round := 0
	change := func() {
		// All of a commit have one address, among them those of all commits before.
		for i := range names {
			owner := zones.Owner{Source: "ingress", Name: fmt.Sprint(round, i)}
			table.Put(zones.Object{Owner: owner, Claims: []zones.Claim{{Name: changed(round*names + i), Type: zones.TypeA, Targets: []string{"192.0.2.1"}}}})
		}
		for _, i := range []int{0, 1} {
			owner := zones.Owner{Source: "ingress", Name: fmt.Sprint("mark", i)}
			name := changed(-1).Child(fmt.Sprint("mark-", i*1000))
			table.Put(zones.Object{Owner: owner, Claims: []zones.Claim{{Name: name, Type: zones.TypeA, Targets: []string{fmt.Sprintf("10.0.0.%d", round)}}}})
		}
		round++
		store.Swap(table.Commit(time.Unix(1_800_000_001+int64(round), 0)).Snapshot)
	}
	change()
	done := make(chan struct{})
	var all sync.WaitGroup
	all.Go(func() {
		defer close(done)
		for range commits {
			change()
		}
	})
	for range 2 {
		all.Go(func() {
			var a zones.Answer
			ask := func(snap *zones.Snapshot, name zones.Name) string {
				if snap.Lookup(name, zones.TypeA, &a); a.Kind != zones.Hit {
					return a.Kind.String()
				}
				return a.Section[0].Set.Data[0].Text(zones.TypeA)
			}
			for i := 0; ; i++ {
				select {
				case <-done:
					return
				default:
				}
				snap := store.Load()
				first, second := ask(snap, changed(-1).Child("mark-0")), ask(snap, changed(-1).Child("mark-1000"))
				if first != second {
					t.Errorf("one snapshot says %s and %s", first, second)
					return
				}
				var number int
				if _, err := fmt.Sscanf(first, "10.0.0.%d", &number); err != nil {
					t.Errorf("the mark is %q", first)
					return
				}
				last, next := (number+1)*names-1, (number+1)*names
				if got := ask(snap, changed(last)); got != "192.0.2.1" {
					t.Errorf("the last name of commit %d is %s in its snapshot", number, got)
					return
				}
				if got := ask(snap, changed(next)); got != "nxdomain" {
					t.Errorf("the first name of the commit after %d is %s before", number, got)
					return
				}
				app := i * 7919 % size
				if got := ask(snap, corp.Child(fmt.Sprintf("team-%d", app%1000)).Child(fmt.Sprintf("app-%d", app))); got != fmt.Sprintf("10.%d.%d.%d", app>>16, app>>8&255, app&255) {
					t.Errorf("name %d of the file is %s", app, got)
					return
				}
			}
		})
	}
	all.Wait()
}
