package mirror_test

import (
	"testing"
	"time"

	"github.com/clusterzone/clusterzone/upstream/memory"
	"github.com/clusterzone/clusterzone/upstream/mirror"
)

// Of two processes the one with the lease writes. When it loses the lease amid its
// batches the other one finishes, and nothing is written twice.
func TestTheNextLeaderFinishes(t *testing.T) {
	t.Parallel()
	limits := memory.DefaultLimits()
	limits.BatchChanges, limits.Pause = 10, time.Second
	inWorld(t, limits, func(w *world) {
		first, second := &gate{}, &gate{who: "pod-a"}
		w.want(addresses(50))
		w.options.Gate = first
		w.run()
		w.options.Gate = second
		a := w.mirror
		w.run()
		w.pass(3500 * time.Millisecond)
		first.give("pod-b")
		second.give("")
		w.mirror.Wake()
		w.pass(5 * time.Minute)
		if zone := w.zone(); zone.Owned != 50 || zone.Verified == nil || zone.Problem != "" {
			t.Errorf("the zone's status is %+v", zone)
		}
		created := map[string]int{}
		for _, call := range w.store.Calls() {
			for _, group := range call.Batch {
				for _, change := range group.Changes {
					if change.Verb != mirror.Create {
						t.Errorf("a first sync does %s", &change)
					}
					created[change.New.Type.String()+change.New.Name.String()]++
				}
			}
		}
		for what, times := range created {
			if times != 1 {
				t.Errorf("%s was created %d times", what, times)
			}
		}
		if len(created) != 100 {
			t.Errorf("%d records were created", len(created))
		}
		if waiting := a.Status().Waiting; waiting != "another process writes: pod-b" {
			t.Errorf("the first one waits for %q", waiting)
		}
		// And back again: what the other one has written meanwhile is read first.
		w.want("n1.ex.com 60 A 198.51.100.7")
		w.pass(time.Minute)
		second.give("pod-a")
		first.give("")
		w.wishes.change(func() { delete(w.wishes.at, w.name("n2.ex.com")) })
		a.Wake()
		w.pass(9 * time.Minute)
		if w.count() != 49 {
			t.Errorf("%d records are there", w.count())
		}
	})
}
