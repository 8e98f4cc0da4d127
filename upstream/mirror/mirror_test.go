package mirror_test

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/clusterzone/clusterzone/upstream/memory"
	"github.com/clusterzone/clusterzone/upstream/mirror"
	"github.com/clusterzone/clusterzone/zones"
)

func TestAChangeIsPushedWithinSecondsAndWithoutAListing(t *testing.T) {
	t.Parallel()
	inWorld(t, memory.DefaultLimits(), func(w *world) {
		w.want(addresses(20))
		w.run()
		if w.store.Count(memory.OpApply) != 1 {
			t.Fatalf("the first sync took %d batches", w.store.Count(memory.OpApply))
		}
		w.pass(10 * time.Second)
		listings := w.store.Count(memory.OpRecords)
		w.want("n3.ex.com 60 A 198.51.100.1\nnew.ex.com 60 AAAA 2001:db8::1")
		w.pass(2 * time.Second)
		if batches := w.store.Count(memory.OpApply); batches != 2 {
			t.Errorf("the push took %d batches", batches-1)
		}
		if more := w.store.Count(memory.OpRecords) - listings; more != 0 {
			t.Errorf("the push listed the zone %d times", more)
		}
		if holds := w.holds(); !strings.Contains(holds, "A n3.ex.com 198.51.100.1\n") || !strings.Contains(holds, "AAAA new.ex.com 2001:db8::1") {
			t.Errorf("the zone holds\n%s", holds)
		}
		// Many changes in a row are gathered: a push each five seconds.
		for i := range 30 {
			w.want(fmt.Sprintf("n4.ex.com 60 A 198.51.100.%d", i))
			w.pass(time.Second / 2)
		}
		if batches := w.store.Count(memory.OpApply); batches > 6 {
			t.Errorf("15 seconds of changes took %d pushes", batches-2)
		}
	})
}

func TestACycleThatHasNothingToDoWritesNothing(t *testing.T) {
	t.Parallel()
	inWorld(t, memory.DefaultLimits(), func(w *world) {
		w.want(addresses(20))
		w.run()
		w.pass(10 * time.Minute)
		if batches, listings := w.store.Count(memory.OpApply), w.store.Count(memory.OpRecords); batches != 1 || listings < 8 {
			t.Errorf("%d batches and %d listings in ten minutes", batches, listings)
		}
		status := w.mirror.Status()
		if status.Counts.NoChanges < 8 || status.LastSuccess.IsZero() || status.Waiting != "" || status.Problem != "" {
			t.Errorf("the status is %+v", status)
		}
		if zone := w.zone(); zone.Owned != 20 || zone.Wanted != 20 || zone.Records != 40 || len(zone.Held)+len(zone.Blocked) != 0 {
			t.Errorf("the zone's status is %+v", zone)
		}
		// The zones are asked for each ten minutes.
		if count := w.store.Count(memory.OpZones); count > 2 {
			t.Errorf("the zones were listed %d times", count)
		}
	})
}

func TestTheNumberOfPagesDoesntLimitABatch(t *testing.T) {
	t.Parallel()
	limits := memory.DefaultLimits()
	limits.BatchChanges, limits.Pause = 100, time.Second
	inWorld(t, limits, func(w *world) {
		w.want(addresses(500))
		w.run()
		if zone := w.zone(); zone.Planned != 500 || zone.Done < 50 || zone.Done > 100 {
			t.Errorf("after a moment %d of %d are done", zone.Done, zone.Planned)
		}
		w.pass(30 * time.Second)
		if batches := w.store.Count(memory.OpApply); batches != 10 {
			t.Errorf("%d batches of 100 changes for 1000 changes", batches)
		}
		for _, call := range w.store.Calls() {
			changes := 0
			for _, group := range call.Batch {
				changes += len(group.Changes)
			}
			if changes > 100 {
				t.Errorf("a batch has %d changes", changes)
			}
		}
		w.pass(2 * time.Minute)
		if zone := w.zone(); zone.Owned != 500 || zone.Problem != "" {
			t.Errorf("the status is %+v", zone)
		}
	})
}

func TestAGroupAboveTheLimitsHarmsItselfAlone(t *testing.T) {
	t.Parallel()
	limits := memory.DefaultLimits()
	limits.BatchValues = 10
	inWorld(t, limits, func(w *world) {
		w.want("big.ex.com 60 A 192.0.2.1,192.0.2.2,192.0.2.3,192.0.2.4,192.0.2.5,192.0.2.6,192.0.2.7,192.0.2.8,192.0.2.9,192.0.2.10\nsmall.ex.com 60 A 192.0.2.1")
		w.run()
		w.has("A small.ex.com 192.0.2.1")
		w.pass(90 * time.Second)
		if zone := w.zone(); zone.Quarantined != 1 {
			t.Errorf("the zone's status is %+v", zone)
		}
		if x := w.mirror.Explain(w.name("big.ex.com")); len(x) != 1 || x[0].State != "held" || !strings.Contains(x[0].Detail, "ask for fewer targets") {
			t.Errorf("explain gives %+v", x)
		}
	})
}

// One bad record of 500 is found by halving, and the others are written.
func TestABadRecordIsFoundAndPutAside(t *testing.T) {
	t.Parallel()
	inWorld(t, memory.DefaultLimits(), func(w *world) {
		w.options.Interval = 10 * time.Minute
		w.store.SetFault(refuse("n250."+origin, mirror.Undone))
		w.want(addresses(500))
		w.run()
		if lines := strings.Count(w.holds(), "\n") + 1; lines != 499 {
			t.Errorf("%d records were written", lines)
		}
		if calls := w.store.Count(memory.OpApply); calls > 20 {
			t.Errorf("it took %d batches", calls)
		}
		// The bad one is tried again by itself, less and less often, and for good once
		// the cloud takes it.
		before := w.store.Count(memory.OpApply)
		w.pass(time.Hour)
		if tries := w.store.Count(memory.OpApply) - before; tries < 3 || tries > 8 {
			t.Errorf("it was tried %d times in an hour", tries)
		}
		w.store.SetFault(nil)
		w.pass(70 * time.Minute)
		if lines := strings.Count(w.holds(), "\n") + 1; lines != 500 {
			t.Errorf("%d records are there in the end", lines)
		}
	})
}

// A cloud that names the culprit needs no halving.
func TestABadRecordThatIsNamed(t *testing.T) {
	t.Parallel()
	inWorld(t, memory.DefaultLimits(), func(w *world) {
		w.store.SetFault(refuse("n250."+origin, mirror.BadChange))
		var failed []string
		w.options.OnFailed = func(_ mirror.Zone, c mirror.Change, err error) {
			failed = append(failed, c.String()+": "+err.Error())
		}
		w.want(addresses(500))
		w.run()
		if lines, calls := strings.Count(w.holds(), "\n")+1, w.store.Count(memory.OpApply); lines != 499 || calls != 2 {
			t.Errorf("%d records were written by %d batches", lines, calls)
		}
		if len(failed) != 1 || failed[0] != "create A n250.ex.com 192.0.2.1 ttl=60: the value is not allowed" {
			t.Errorf("told of were %q", failed)
		}
	})
}

// refuse has the cloud refuse one name: with BadChange it says which, with Undone it
// doesn't.
func refuse(name string, class mirror.Class) func(memory.Call) memory.Fault {
	bad := func(g *mirror.Group) bool { return g.Name.String() == name }
	if class == mirror.BadChange {
		return func(memory.Call) memory.Fault {
			return memory.Fault{Bad: func(g *mirror.Group) error {
				if bad(g) {
					return &mirror.Error{Class: class, Err: errors.New("the value is not allowed")}
				}
				return nil
			}}
		}
	}
	return func(call memory.Call) memory.Fault {
		for i := range call.Batch {
			if bad(&call.Batch[i]) {
				return memory.Fault{Err: &mirror.Error{Class: class, Err: errors.New("some value is not allowed")}}
			}
		}
		return memory.Fault{}
	}
}

// A batch that was applied though its reply got lost is found by the next listing,
// with and without transactions.
func TestALostReplyDoublesNothing(t *testing.T) {
	t.Parallel()
	loose := memory.DefaultLimits()
	loose.Atomic, loose.CreateExclusive, loose.ReadNames = false, false, 0
	for kind, limits := range map[string]mirror.Limits{"with transactions": memory.DefaultLimits(), "without": loose} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			inWorld(t, limits, func(w *world) {
				lost := 0
				w.store.SetFault(func(call memory.Call) memory.Fault {
					if call.Op != memory.OpApply || lost == 3 {
						return memory.Fault{}
					}
					lost++
					return memory.Fault{Err: errors.New("connection reset"), Applied: true}
				})
				w.want(addresses(20))
				w.run()
				w.pass(2 * time.Minute)
				if zone := w.zone(); zone.Owned != 20 || zone.Records != 40 || zone.Problem != "" || lost != 1 {
					t.Errorf("%d replies were lost, the zone's status is %+v", lost, zone)
				}
				w.want("n1.ex.com 60 A 198.51.100.1")
				w.pass(10 * time.Second)
				w.want("n1.ex.com 60 A 198.51.100.2")
				w.pass(2 * time.Minute)
				if holds := w.holds(); !strings.Contains(holds, "A n1.ex.com 198.51.100.2\n") || lost != 3 {
					t.Errorf("%d replies were lost, and the zone holds\n%s", lost, holds)
				}
			})
		})
	}
}

func TestACloudThatAsksToWaitGetsTheTime(t *testing.T) {
	t.Parallel()
	inWorld(t, memory.DefaultLimits(), func(w *world) {
		w.store.SetFault(func(memory.Call) memory.Fault {
			return memory.Fault{Err: &mirror.Error{Class: mirror.Throttled, RetryAfter: 7 * time.Minute, Err: errors.New("rate exceeded")}}
		})
		w.want(addresses(1))
		w.run()
		calls := len(w.store.Calls())
		w.store.SetFault(nil)
		w.pass(6 * time.Minute)
		if more := len(w.store.Calls()) - calls; more != 0 {
			t.Errorf("%d calls were made before the time", more)
		}
		w.pass(2 * time.Minute)
		w.has("A n0.ex.com 192.0.2.1")
		if status := w.mirror.Status(); status.Counts.Throttled != 1 || status.Counts.SoftErrors != 0 || status.Problem != "" {
			t.Errorf("the status is %+v", status)
		}
	})
}

func TestErrorsOfTheCloudEndNothingAndAreTriedLessAndLessOften(t *testing.T) {
	t.Parallel()
	for _, class := range []mirror.Class{mirror.Denied, mirror.Failed} {
		t.Run(string(class), func(t *testing.T) {
			t.Parallel()
			inWorld(t, memory.DefaultLimits(), func(w *world) {
				w.store.SetFault(func(call memory.Call) memory.Fault {
					if call.Op == memory.OpApply {
						return memory.Fault{Err: &mirror.Error{Class: class, Err: errors.New("no")}}
					}
					return memory.Fault{}
				})
				w.want(addresses(3))
				w.run()
				w.pass(time.Hour)
				if tries := w.store.Count(memory.OpApply); tries < 5 || tries > 10 {
					t.Errorf("it was tried %d times in an hour", tries)
				}
				if status := w.mirror.Status(); status.Counts.SoftErrors == 0 || w.zone().Problem != "no" {
					t.Errorf("the status is %+v", status)
				}
				if x := w.mirror.Explain(w.name("n0.ex.com")); len(x) != 1 || x[0].State != "failing" {
					t.Errorf("explain gives %+v", x)
				}
				w.store.SetFault(nil)
				w.pass(20 * time.Minute)
				w.has("A n0.ex.com 192.0.2.1", "A n1.ex.com 192.0.2.2", "A n2.ex.com 192.0.2.3")
			})
		})
	}
}

// Another hand takes a name between listing and write: the record stays theirs.
func TestAForeignRecordThatComesMeanwhileStaysForeign(t *testing.T) {
	t.Parallel()
	loose := memory.DefaultLimits()
	loose.Atomic, loose.CreateExclusive = false, false
	for kind, limits := range map[string]mirror.Limits{"exclusive": memory.DefaultLimits(), "adding": loose} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			inWorld(t, limits, func(w *world) {
				w.want(addresses(2))
				w.run()
				w.pass(10 * time.Second)
				theirs := mirror.Record{Name: w.name("new.ex.com"), Type: zones.TypeA, Targets: []string{"203.0.113.9"}}
				w.store.Put(origin, theirs)
				w.want("new.ex.com 60 A 192.0.2.77\nn0.ex.com 60 A 192.0.2.78")
				w.pass(3 * time.Minute)
				w.has("A n0.ex.com 192.0.2.78", "A n1.ex.com 192.0.2.2", "A new.ex.com 203.0.113.9")
				zone := w.zone()
				if len(zone.Blocked) != 1 || zone.Blocked[0].Message != "the record in the zone has no owner" || zone.Problem != "" {
					t.Errorf("the zone's status is %+v", zone)
				}
			})
		})
	}
}

func TestADryRunSendsNothing(t *testing.T) {
	t.Parallel()
	inWorld(t, memory.DefaultLimits(), func(w *world) {
		w.want(addresses(5))
		w.run()
		w.has("A n0.ex.com 192.0.2.1", "A n1.ex.com 192.0.2.2", "A n2.ex.com 192.0.2.3", "A n3.ex.com 192.0.2.4", "A n4.ex.com 192.0.2.5")
		sent := w.store.Count(memory.OpApply)
		w.options.DryRun = true
		w.run() // a second one beside it, which must stay silent
		w.want("n0.ex.com 60 CNAME lb.example.net\nn1.ex.com\nn2.ex.com 60 A 192.0.2.99\nn9.ex.com 60 A 192.0.2.9")
		if w.pass(3 * time.Minute); w.mirror.Status().DryRun != true {
			t.Error("the status doesn't tell")
		}
		// The first one does what it must; the dry one sends nothing, so that all batches
		// are those of the first.
		for _, call := range w.store.Calls()[sent:] {
			if call.Op == memory.OpApply && len(call.Batch) == 0 {
				t.Error("an empty batch was sent")
			}
		}
	})
	inWorld(t, memory.DefaultLimits(), func(w *world) {
		w.options.DryRun = true
		w.store.Put(origin, mirror.Record{Name: w.name("gone.ex.com"), Type: zones.TypeA, Targets: []string{"192.0.2.1"}},
			mirror.Record{Name: w.name("a-gone.ex.com"), Type: zones.TypeTXT, Targets: []string{`"heritage=external-dns,external-dns/owner=prod"`}})
		w.want(addresses(5))
		w.run()
		w.want("n0.ex.com 60 CNAME lb.example.net")
		w.pass(20 * time.Minute)
		if sent := w.store.Count(memory.OpApply); sent != 0 {
			t.Errorf("%d batches were sent", sent)
		}
		if zone := w.zone(); zone.Planned != 6 || zone.Done != 0 {
			t.Errorf("the zone's status is %+v", zone)
		}
	})
}

func TestLosingTheLeaseStopsWritingBeforeTheNextBatch(t *testing.T) {
	t.Parallel()
	limits := memory.DefaultLimits()
	limits.BatchChanges, limits.Pause = 10, time.Second
	inWorld(t, limits, func(w *world) {
		lease := &gate{who: "pod-b"}
		w.options.Gate = lease
		w.want(addresses(50))
		w.run()
		w.pass(5 * time.Minute)
		if calls := len(w.store.Calls()); calls != 0 {
			t.Errorf("%d calls were made without the lease", calls)
		}
		if waiting := w.mirror.Status().Waiting; waiting != "another process writes: pod-b" {
			t.Errorf("it waits for %q", waiting)
		}
		lease.give("")
		w.mirror.Wake()
		w.pass(2500 * time.Millisecond)
		lease.give("pod-b")
		sent := w.store.Count(memory.OpApply)
		w.pass(5 * time.Minute)
		if more := w.store.Count(memory.OpApply) - sent; sent != 3 || more != 0 {
			t.Errorf("%d batches were sent with the lease and %d without", sent, more)
		}
		// Another process finishes; what it wrote is read before anything is written.
		lease.give("")
		w.mirror.Wake()
		w.pass(2 * time.Minute)
		if zone := w.zone(); zone.Owned != 50 || zone.Problem != "" {
			t.Errorf("the zone's status is %+v", zone)
		}
	})
}

// One zone that can't be read leaves the others alone.
func TestAZoneThatFailsHarmsItselfAlone(t *testing.T) {
	t.Parallel()
	inWorld(t, memory.DefaultLimits(), func(w *world) {
		w.store.AddZone(mirror.Zone{ID: "other.com", Name: w.name("other.com")})
		w.store.SetFault(func(call memory.Call) memory.Fault {
			if call.Op == memory.OpRecords && call.Zone == origin {
				return memory.Fault{Err: &mirror.Error{Class: mirror.Failed, Err: errors.New("page 2 of 3: internal error")}}
			}
			return memory.Fault{}
		})
		w.want("www.ex.com 60 A 192.0.2.1\nwww.other.com 60 A 192.0.2.1")
		w.run()
		if len(w.store.Held(origin)) != 0 || len(w.store.Held("other.com")) != 2 {
			t.Errorf("the zones hold %v and %v", w.store.Held(origin), w.store.Held("other.com"))
		}
		if status := w.mirror.Status(); status.Counts.Incomplete != 1 || status.Zones[0].Problem != "page 2 of 3: internal error" || status.Zones[1].Problem != "" {
			t.Errorf("the status is %+v", status)
		}
	})
}

// Whoever reads the log or an object's events is told once what is in the way.
func TestABlockedWishIsToldOfOnce(t *testing.T) {
	t.Parallel()
	inWorld(t, memory.DefaultLimits(), func(w *world) {
		var told []string
		w.options.OnBlocked = func(_ mirror.Zone, b mirror.Blocked) {
			told = append(told, b.Type.String()+" "+b.Name.String()+" "+b.Owner)
		}
		theirs := []mirror.Record{
			{Name: w.name("www.ex.com"), Type: zones.TypeA, Targets: []string{"203.0.113.1"}},
			{Name: w.name("a-www.ex.com"), Type: zones.TypeTXT, Targets: []string{`"heritage=external-dns,external-dns/owner=other"`}},
		}
		w.store.Put(origin, theirs...)
		w.want("www.ex.com 60 A 192.0.2.1\nweb.ex.com 60 A 192.0.2.1")
		w.run()
		w.pass(10 * time.Minute)
		w.want("web.ex.com 60 A 192.0.2.2") // a push of another name
		w.pass(10 * time.Minute)
		if len(told) != 1 || told[0] != "A www.ex.com other" {
			t.Errorf("told of were %q", told)
		}
		if x := w.mirror.Explain(w.name("www.ex.com")); x[0].State != "blocked" || len(x[0].Records) != 1 {
			t.Errorf("explain gives %+v", x)
		}
		if x := w.mirror.Explain(w.name("web.ex.com")); x[0].State != "in sync" || x[0].Records[0] != "A 192.0.2.2 ttl=60" {
			t.Errorf("explain gives %+v", x)
		}
		if zone := w.zone(); zone.Verified[zones.TypeA] != 1 || zone.OwnedTypes[zones.TypeA] != 1 || zone.Foreign != 1 {
			t.Errorf("the zone's status is %+v", zone)
		}
		// It goes, and comes back.
		w.store.Take(origin, theirs[0].Name, zones.TypeA, "")
		w.store.Take(origin, theirs[1].Name, zones.TypeTXT, "")
		w.pass(2 * time.Minute)
		w.has("A web.ex.com 192.0.2.2", "A www.ex.com 192.0.2.1")
	})
}

func TestTheStatusWarns(t *testing.T) {
	t.Parallel()
	limits := memory.DefaultLimits()
	limits.MaxRecords = 44
	inWorld(t, limits, func(w *world) {
		var log strings.Builder
		w.options.Log = slog.New(slog.NewTextHandler(&log, nil))
		registry, err := mirror.NewRegistry(mirror.RegistryOptions{Owner: "default"})
		if err != nil {
			t.Fatal(err)
		}
		w.options.Registry, w.options.Policy = registry, mirror.UpsertOnly
		w.want(addresses(19))
		w.run()
		if w.pass(2 * time.Minute); w.zone().Warning != "" {
			t.Errorf("the warning is %q", w.zone().Warning)
		}
		w.want(strings.ReplaceAll(addresses(19), "192.0.2.", "198.51.100."))
		w.mirror.Wake()
		if w.pass(time.Second); w.zone().Warning != "19 of 19 records change at once" {
			t.Errorf("the warning is %q", w.zone().Warning)
		}
		w.want("last.ex.com 60 A 192.0.2.1")
		if w.pass(2 * time.Minute); w.zone().Warning != "the zone holds 40 of the 44 records that it may hold" {
			t.Errorf("the warning is %q", w.zone().Warning)
		}
		if !strings.Contains(log.String(), "give this one a --txt-owner-id of its own") {
			t.Errorf("the log is\n%s", log.String())
		}
	})
}

// A zone that is tried again and again costs the others no call, and no change of
// theirs is lost.
func TestTryingOneZoneAgainLeavesTheOthersInTheirTime(t *testing.T) {
	t.Parallel()
	inWorld(t, memory.DefaultLimits(), func(w *world) {
		w.store.AddZone(mirror.Zone{ID: "other.com", Name: w.name("other.com")})
		w.store.SetFault(func(call memory.Call) memory.Fault {
			if call.Op == memory.OpApply && call.Zone == origin {
				return memory.Fault{Err: errors.New("connection reset")}
			}
			return memory.Fault{}
		})
		w.want("www.ex.com 60 A 192.0.2.1\nwww.other.com 60 A 192.0.2.1")
		w.run()
		for i := range 100 {
			w.pass(6 * time.Second)
			w.want(fmt.Sprintf("www.other.com 60 A 192.0.2.%d", i))
		}
		w.pass(10 * time.Second)
		listings := map[string]int{}
		for _, call := range w.store.Calls() {
			if call.Op == memory.OpRecords {
				listings[call.Zone]++
			}
		}
		if listings["other.com"] > 13 || listings[origin] < 6 {
			t.Errorf("in ten minutes the zones were listed %v times", listings)
		}
		for _, r := range w.store.Held("other.com") {
			if r.Type == zones.TypeA && r.Targets[0] != "192.0.2.99" {
				t.Errorf("the other zone holds %v", r.Targets)
			}
		}
	})
}
