package mirror_test

import (
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/clusterzone/clusterzone/upstream/memory"
	"github.com/clusterzone/clusterzone/upstream/mirror"
	"github.com/clusterzone/clusterzone/zones"
)

// drop takes the wishes of the names n from..to-1 back.
func (w *world) drop(from, to int) {
	w.Helper()
	var text strings.Builder
	for i := from; i < to; i++ {
		fmt.Fprintf(&text, "n%d.%s\n", i, origin)
	}
	w.want(text.String())
}

// count returns how many records are in the zone, ownership records left out.
func (w *world) count() int {
	if holds := w.holds(); holds != "" {
		return strings.Count(holds, "\n") + 1
	}
	return 0
}

func TestNothingIsWrittenBeforeTheSourcesWereRead(t *testing.T) {
	t.Parallel()
	inWorld(t, memory.DefaultLimits(), func(w *world) {
		w.want(addresses(5))
		w.wishes.change(func() { w.wishes.unready = "Ingresses from the API server" })
		w.run()
		w.pass(time.Hour)
		if sent := w.store.Count(memory.OpApply); sent != 0 {
			t.Errorf("%d batches were sent", sent)
		}
		if waiting := w.mirror.Status().Waiting; waiting != "the sources are not read yet: Ingresses from the API server" {
			t.Errorf("it waits for %q", waiting)
		}
		if x := w.mirror.Explain(w.name("n0.ex.com")); len(x) != 0 {
			t.Errorf("explain gives %+v", x)
		}
		w.wishes.change(func() { w.wishes.unready = "" })
		w.mirror.Wake()
		if w.pass(time.Second); w.count() != 5 {
			t.Errorf("%d records are there", w.count())
		}
	})
}

func TestNothingIsDeletedWhileTheWishesMayBeIncomplete(t *testing.T) {
	t.Parallel()
	inWorld(t, memory.DefaultLimits(), func(w *world) {
		w.want(addresses(20))
		w.run()
		w.wishes.change(func() { w.wishes.unsure = "the watch of Services is broken" })
		w.drop(0, 2)
		w.want("n5.ex.com 60 A 198.51.100.5")
		w.pass(time.Hour)
		if w.count() != 20 || !strings.Contains(w.holds(), "A n5.ex.com 198.51.100.5") {
			t.Errorf("the zone holds\n%s", w.holds())
		}
		w.held(mirror.GuardUnsure, 2)
		// The time of doubt doesn't count as time in which nobody asked.
		w.wishes.change(func() { w.wishes.unsure = "" })
		if w.pass(3 * time.Minute); w.count() != 20 {
			t.Errorf("%d records are there after three minutes of certainty", w.count())
		}
		if w.pass(10 * time.Minute); w.count() != 18 {
			t.Errorf("%d records are there in the end", w.count())
		}
	})
}

func TestADeletionWaitsForTimeAndCycles(t *testing.T) {
	t.Parallel()
	inWorld(t, memory.DefaultLimits(), func(w *world) {
		w.want(addresses(20))
		w.run()
		w.drop(0, 2)
		w.pass(4 * time.Minute)
		if w.count() != 20 {
			t.Errorf("%d records are there after four minutes", w.count())
		}
		w.held(mirror.GuardDelay, 2)
		// One comes back, and its time begins anew.
		w.want("n0.ex.com 60 A 192.0.2.1")
		w.pass(3 * time.Minute)
		if w.count() != 19 || !strings.Contains(w.holds(), "A n0.ex.com") {
			t.Errorf("the zone holds\n%s", w.holds())
		}
		w.drop(0, 1)
		if w.pass(4 * time.Minute); w.count() != 19 {
			t.Errorf("%d records are there", w.count())
		}
		if w.pass(3 * time.Minute); w.count() != 18 {
			t.Errorf("%d records are there", w.count())
		}
		// With the record went its ownership record.
		if n := len(w.store.Held(origin)); n != 36 {
			t.Errorf("%d records of all types are there", n)
		}
	})
}

func TestAStartDeletesNothingForSomeCycles(t *testing.T) {
	t.Parallel()
	inWorld(t, memory.DefaultLimits(), func(w *world) {
		w.want(addresses(20))
		w.run()
		guards := mirror.DefaultGuards()
		guards.DeleteAfter, guards.DeleteCycles = 0, 0
		w.options.Guards, w.options.Policy = &guards, mirror.Sync
		w.drop(0, 2)
		w.run()
		w.held(mirror.GuardObserve, 2)
		if w.pass(70 * time.Second); w.zone().HeldBy()[mirror.GuardObserve] != 2 {
			t.Errorf("the zone's status is %+v", w.zone())
		}
		if w.pass(2 * time.Minute); w.count() != 18 {
			t.Errorf("%d records are there", w.count())
		}
	})
}

func TestAnEmptyWishEmptiesNoZone(t *testing.T) {
	t.Parallel()
	inWorld(t, memory.DefaultLimits(), func(w *world) {
		w.want(addresses(5))
		w.run()
		w.drop(0, 5)
		w.pass(24 * time.Hour)
		if w.count() != 5 {
			t.Errorf("%d records are there", w.count())
		}
		w.held(mirror.GuardEmpty, 5)
	})
	inWorld(t, memory.DefaultLimits(), func(w *world) {
		w.options.Guards.AllowEmpty = func(z mirror.Zone) bool { return z.Name == w.name(origin) }
		w.want(addresses(5))
		w.run()
		w.drop(0, 5)
		if w.pass(8 * time.Minute); len(w.store.Held(origin)) != 0 {
			t.Errorf("the zone holds %v", w.store.Held(origin))
		}
	})
}

func TestAShareOfDeletionsIsTooMuch(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ have, gone, left int }{
		{10, 3, 7},      // 30 %
		{10, 4, 10},     // 40 %
		{100, 30, 70},   // 30 %
		{100, 31, 100},  // 31 %
		{9, 8, 1},       // too few to judge
		{400, 100, 300}, // at the most there may be
		{400, 101, 400}, // above it, though but 25 %
	} {
		t.Run(fmt.Sprintf("%d of %d", c.gone, c.have), func(t *testing.T) {
			t.Parallel()
			inWorld(t, memory.DefaultLimits(), func(w *world) {
				w.want(addresses(c.have))
				w.run()
				w.drop(0, c.gone)
				w.pass(8 * time.Minute)
				if got := w.count(); got != c.left {
					t.Errorf("%d records are left, not %d", got, c.left)
				}
				if c.left == c.have {
					w.held(mirror.GuardShare, c.gone)
				}
			})
		})
	}
}

func TestANameThatIsAwaitedKeepsItsRecords(t *testing.T) {
	t.Parallel()
	inWorld(t, memory.DefaultLimits(), func(w *world) {
		w.want(addresses(20))
		w.run()
		w.wishes.change(func() { w.wishes.awaited[w.name("n0.ex.com")] = true })
		w.drop(0, 1)
		if w.pass(20 * time.Hour); w.count() != 20 {
			t.Errorf("%d records are there", w.count())
		}
		w.held(mirror.GuardAwaited, 1)
		w.wishes.change(func() { delete(w.wishes.awaited, w.name("n0.ex.com")) })
		w.drop(0, 1)
		if w.pass(8 * time.Minute); w.count() != 19 {
			t.Errorf("%d records are there after the object was deleted", w.count())
		}
	})
	inWorld(t, memory.DefaultLimits(), func(w *world) {
		w.want(addresses(20))
		w.run()
		w.wishes.change(func() { w.wishes.awaited[w.name("n0.ex.com")] = true })
		w.drop(0, 1)
		if w.pass(25 * time.Hour); w.count() != 19 {
			t.Errorf("%d records are there after more than a day", w.count())
		}
	})
}

// An object whose author makes a mistake keeps the record that it has: the wish is
// blocked, and the name is not given up.
func TestARefusedWishKeepsItsRecords(t *testing.T) {
	t.Parallel()
	inWorld(t, memory.DefaultLimits(), func(w *world) {
		w.options.Cloud.Normalize = func(_ mirror.Zone, record mirror.Record) ([]mirror.Record, error) {
			if record.Type == zones.TypeCNAME {
				return nil, errors.New("no CNAME here")
			}
			return []mirror.Record{record}, nil
		}
		w.want(addresses(20))
		w.run()
		w.want("n0.ex.com 60 CNAME elsewhere.test")
		if w.pass(20 * time.Hour); w.count() != 20 {
			t.Errorf("%d records are there", w.count())
		}
		w.held(mirror.GuardRefused, 1)
		w.want("n0.ex.com")
		if w.pass(time.Hour); w.count() != 19 {
			t.Errorf("%d records are there after nothing asked for the name any longer", w.count())
		}
	})
}

// A zone that the cloud lists no longer is unknown, and what belongs to it goes into
// no zone above it.
func TestAZoneThatDisappearsIsNotEmpty(t *testing.T) {
	t.Parallel()
	inWorld(t, memory.DefaultLimits(), func(w *world) {
		w.store.AddZone(mirror.Zone{ID: "sub.ex.com", Name: w.name("sub.ex.com")})
		var hidden atomic.Bool
		w.options.Cloud = w.store.Cloud()
		w.options.Cloud.Provider = hider{w.store, &hidden}
		w.options.Cloud.Limits.ReadNames = 0
		w.want("www.sub.ex.com 60 A 192.0.2.1\nwww.ex.com 60 A 192.0.2.1")
		w.run()
		hidden.Store(true)
		w.pass(20 * time.Minute)
		w.want("new.sub.ex.com 60 A 192.0.2.1\nnew.ex.com 60 A 192.0.2.1")
		w.pass(5 * time.Minute)
		w.has("A www.ex.com 192.0.2.1", "A new.ex.com 192.0.2.1")
		if status := w.mirror.Status(); status.Zones[1].Problem == "" || status.Zones[0].Problem != "" {
			t.Errorf("the status is %+v", status)
		}
		hidden.Store(false)
		w.pass(20 * time.Minute)
		if n := len(w.store.Held("sub.ex.com")); n != 4 {
			t.Errorf("the zone that came back holds %v", w.store.Held("sub.ex.com"))
		}
	})
}

// Deletions that were planned from an old listing are planned anew.
func TestDeletionsNeedAFreshListing(t *testing.T) {
	t.Parallel()
	limits := memory.DefaultLimits()
	limits.BatchChanges, limits.Pause = 2, 10*time.Second
	inWorld(t, limits, func(w *world) {
		watch := &stopwatch{Store: w.store}
		w.options.Guards.DeleteAfter, w.options.Guards.DeleteCycles = 0, 0
		w.options.Cloud.Provider = watch
		w.want(addresses(20))
		w.run()
		w.pass(10 * time.Minute)
		w.drop(0, 2)
		// So much is written now that the deletions' turn comes minutes after the
		// listing.
		var more strings.Builder
		for i := range 20 {
			fmt.Fprintf(&more, "m%d.ex.com 60 A 192.0.2.1\n", i)
		}
		w.want(more.String())
		w.mirror.Wake()
		w.pass(2 * time.Minute)
		if w.count() <= 20 || watch.deletes.Load() > 0 {
			t.Errorf("after two minutes %d records are there, and %d were deleted", w.count(), watch.deletes.Load())
		}
		w.pass(15 * time.Minute)
		if w.count() != 38 {
			t.Errorf("%d records are there", w.count())
		}
		if watch.late.Load() > 0 || watch.deletes.Load() != 2 {
			t.Errorf("%d deletions were sent, and %d of them long after the listing", watch.deletes.Load(), watch.late.Load())
		}
	})
}

func TestARecordThatAnotherHandKeepsChangingIsFrozen(t *testing.T) {
	t.Parallel()
	inWorld(t, memory.DefaultLimits(), func(w *world) {
		w.want("www.ex.com 60 A 192.0.2.1")
		w.run()
		for i := range 5 {
			w.store.Put(origin, mirror.Record{Name: w.name("www.ex.com"), Type: zones.TypeA, TTL: zones.TTL{Seconds: 60, Set: true}, Targets: []string{fmt.Sprintf("203.0.113.%d", i)}})
			w.pass(2 * time.Minute)
		}
		w.has("A www.ex.com 203.0.113.4")
		w.held(mirror.GuardEdited, 1)
		if sent := w.store.Count(memory.OpApply); sent != 3 {
			t.Errorf("%d batches were sent", sent)
		}
		if w.pass(time.Hour); w.holds() != "A www.ex.com 192.0.2.1" {
			t.Errorf("after an hour of peace the zone holds\n%s", w.holds())
		}
	})
}

// A cloud that keeps something else than it was given is no reason to write for ever.
func TestTheSameChangeIsNotMadeForEver(t *testing.T) {
	t.Parallel()
	inWorld(t, memory.DefaultLimits(), func(w *world) {
		w.want("www.ex.com 60 A 192.0.2.1")
		w.store.Put(origin, mirror.Record{Name: w.name("www.ex.com"), Type: zones.TypeA, TTL: zones.TTL{Seconds: 300, Set: true}, Targets: []string{"192.0.2.1"}},
			mirror.Record{Name: w.name("a-www.ex.com"), Type: zones.TypeTXT, Targets: []string{`"heritage=external-dns,external-dns/owner=prod"`}})
		w.options.Cloud.Provider = stubborn{w.store}
		w.run()
		w.pass(time.Hour)
		w.held(mirror.GuardRepeat, 1)
		if sent := w.store.Count(memory.OpApply); sent != 3 {
			t.Errorf("%d batches were sent", sent)
		}
		// Another wish is tried again.
		w.want("www.ex.com 90 A 192.0.2.1")
		if w.pass(10 * time.Second); w.store.Count(memory.OpApply) < 4 {
			t.Errorf("%d batches were sent", w.store.Count(memory.OpApply))
		}
	})
}

func TestARecordThatFlapsIsHeld(t *testing.T) {
	t.Parallel()
	inWorld(t, memory.DefaultLimits(), func(w *world) {
		w.want("www.ex.com 60 A 192.0.2.1")
		w.run()
		for i := range 40 {
			w.pass(20 * time.Second)
			w.want(fmt.Sprintf("www.ex.com 60 A 192.0.2.%d", i%2+1))
		}
		w.pass(10 * time.Second)
		w.held(mirror.GuardFlap, 1)
		if sent := w.store.Count(memory.OpApply); sent > 10 {
			t.Errorf("%d batches were sent", sent)
		}
		// A record that only ever goes on to new targets doesn't flap.
		for i := range 40 {
			w.pass(20 * time.Second)
			w.want(fmt.Sprintf("roll.ex.com 60 A 198.51.100.%d", i))
		}
		w.pass(10 * time.Second)
		if !strings.Contains(w.holds(), "A roll.ex.com 198.51.100.39") {
			t.Errorf("the zone holds\n%s", w.holds())
		}
		// In time the wish of the other one is fulfilled.
		if w.pass(time.Hour); !strings.Contains(w.holds(), "A www.ex.com 192.0.2.2") {
			t.Errorf("after an hour of peace the zone holds\n%s", w.holds())
		}
	})
}

func TestOptionsThatMakeNoSense(t *testing.T) {
	t.Parallel()
	inWorld(t, memory.DefaultLimits(), func(w *world) {
		registry := func(options mirror.RegistryOptions) *mirror.Registry {
			r, err := mirror.NewRegistry(options)
			if err != nil {
				t.Fatal(err)
			}
			return r
		}
		for want, change := range map[string]func(*mirror.Options){
			"--policy=sync needs --registry=txt":                        func(o *mirror.Options) { o.Registry = registry(mirror.RegistryOptions{Noop: true}) },
			`--policy=sync needs a --txt-owner-id other than "default"`: func(o *mirror.Options) { o.Registry = registry(mirror.RegistryOptions{Owner: "default"}) },
			"--policy=everything is no policy":                          func(o *mirror.Options) { o.Policy = "everything" },
			"--managed-record-types has HINFO":                          func(o *mirror.Options) { o.Types = []zones.Type{zones.TypeHINFO} },
			"--interval can't be negative":                              func(o *mirror.Options) { o.Interval = -1 },
			"a mirror needs a cloud":                                    func(o *mirror.Options) { o.Wishes = nil },
		} {
			options := w.options
			change(&options)
			if _, err := mirror.New(options); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("it gives %v, not %s", err, want)
			}
		}
	})
}

// A preview says what would be done in time, and does nothing.
func TestAPreviewWritesNothing(t *testing.T) {
	t.Parallel()
	inWorld(t, memory.DefaultLimits(), func(w *world) {
		w.store.Put(origin, mirror.Record{Name: w.name("gone.ex.com"), Type: zones.TypeA, Targets: []string{"192.0.2.1"}},
			mirror.Record{Name: w.name("a-gone.ex.com"), Type: zones.TypeTXT, Targets: []string{`"heritage=external-dns,external-dns/owner=prod"`}},
			mirror.Record{Name: w.name("theirs.ex.com"), Type: zones.TypeA, Targets: []string{"192.0.2.1"}})
		w.want("www.ex.com 60 A 192.0.2.1\ntheirs.ex.com 60 A 192.0.2.2")
		m, err := mirror.New(w.options)
		if err != nil {
			t.Fatal(err)
		}
		plans, err := m.Preview(t.Context())
		if err != nil || len(plans) != 1 {
			t.Fatal(plans, err)
		}
		var text []string
		for _, c := range plans[0].Changes {
			text = append(text, c.Change)
		}
		const want = `create TXT a-www.ex.com "heritage=external-dns,external-dns/owner=prod,external-dns/resource=ingress/shop/web" ttl=300
create A www.ex.com 192.0.2.1 ttl=60
delete A gone.ex.com 192.0.2.1
delete TXT a-gone.ex.com "heritage=external-dns,external-dns/owner=prod"`
		if got := strings.Join(text, "\n"); got != want {
			t.Errorf("the preview is\n%s\nand not\n%s", got, want)
		}
		if len(plans[0].Blocked) != 1 || plans[0].Owned != 1 || plans[0].Foreign != 1 || w.store.Count(memory.OpApply) != 0 {
			t.Errorf("the preview is %+v", plans[0])
		}
		w.store.SetFault(func(call memory.Call) memory.Fault {
			if call.Op == memory.OpRecords {
				return memory.Fault{Err: errors.New("page 2 is missing")}
			}
			return memory.Fault{}
		})
		if plans, err := m.Preview(t.Context()); err != nil || plans[0].Problem != "page 2 is missing" {
			t.Errorf("the preview is %+v %v", plans, err)
		}
	})
}

func TestOnce(t *testing.T) {
	t.Parallel()
	inWorld(t, memory.DefaultLimits(), func(w *world) {
		w.want("www.ex.com 60 A 192.0.2.1")
		once := func() error {
			m, err := mirror.New(w.options)
			if err != nil {
				t.Fatal(err)
			}
			return m.Once(t.Context())
		}
		if err := once(); err != nil {
			t.Error(err)
		}
		w.has("A www.ex.com 192.0.2.1")
		w.store.SetFault(func(memory.Call) memory.Fault { return memory.Fault{Err: errors.New("no route to host")} })
		if err := once(); err == nil || err.Error() != "no route to host" {
			t.Error(err)
		}
		w.wishes.change(func() { w.wishes.unready = "Services" })
		if err := once(); err == nil || !strings.Contains(err.Error(), "nothing was mirrored: the sources are not read yet: Services") {
			t.Error(err)
		}
	})
}
