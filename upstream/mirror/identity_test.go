package mirror_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/clusterzone/clusterzone/upstream/memory"
	"github.com/clusterzone/clusterzone/upstream/mirror"
	"github.com/clusterzone/clusterzone/zones"
)

// kept is a Memory that outlives the mirrors of a test, which run one after another.
type kept struct {
	last          mirror.Identity
	read, written error
	writes        int
}

func (k *kept) Recall(context.Context) (mirror.Identity, error) { return k.last, k.read }

func (k *kept) Remember(_ context.Context, identity mirror.Identity) error {
	if k.written != nil {
		return k.written
	}
	k.last = identity
	k.writes++
	return nil
}

// putOwned puts a record of the owner prod into the zone.
func (w *world) putOwned(label, address string) {
	w.store.Put(origin, mirror.Record{Name: w.name(label + "." + origin), Type: zones.TypeA, TTL: zones.TTL{Seconds: 60, Set: true}, Targets: []string{address}},
		mirror.Record{Name: w.name("a-" + label + "." + origin), Type: zones.TypeTXT, TTL: zones.TTL{Seconds: 300, Set: true}, Targets: []string{`"heritage=external-dns,external-dns/owner=prod"`}})
}

// restarts runs a mirror, which loses a wish, and another one after it with what
// changed, which loses two. It returns how that one is in the end, and what it deleted.
func restarts(t *testing.T, memories *kept, change func(*mirror.Options)) (status mirror.Status, deleted int) {
	t.Helper()
	inWorld(t, memory.DefaultLimits(), func(w *world) {
		w.options.Memory = memories
		w.options.Identity = mirror.Identity{"zones": "ex.com", "domain-filter": ""}
		w.want(addresses(20))
		stop := w.runUntil()
		w.drop(0, 1)
		if w.pass(time.Hour); w.count() != 19 {
			t.Fatalf("the first run leaves %d records", w.count())
		}
		stop()
		change(&w.options)
		stop = w.runUntil()
		before := w.count()
		w.drop(1, 3)
		w.want("new.ex.com 60 A 192.0.2.1")
		w.pass(time.Hour)
		status, deleted = w.mirror.Status(), before+1-w.count()
		if status.Doubt != "" {
			w.held(mirror.GuardDoubt, 2)
		}
		stop()
	})
	return status, deleted
}

func TestARestartWithTheSameSettingsHasNoDoubt(t *testing.T) {
	t.Parallel()
	memories := &kept{}
	status, deleted := restarts(t, memories, func(*mirror.Options) {})
	if status.Doubt != "" || deleted != 2 || memories.writes != 1 {
		t.Errorf("doubt %q; %d records deleted; remembered %d times", status.Doubt, deleted, memories.writes)
	}
	if last := memories.last; last["owner"] != "prod" || last["zones"] != "ex.com" {
		t.Errorf("what is remembered is %v", last)
	}
}

// Whatever decides which records are this mirror's: changed, it holds deletions until
// somebody acknowledges it, and nothing else.
func TestChangedSettingsHoldDeletions(t *testing.T) {
	t.Parallel()
	registry := func(o *mirror.Options, change mirror.RegistryOptions) {
		made, err := mirror.NewRegistry(change)
		if err != nil {
			t.Error(err)
		}
		o.Registry = made
	}
	for _, c := range []struct {
		says   string
		change func(*mirror.Options)
	}{
		{`domain-filter was not set and is "shop.ex.com"`, func(o *mirror.Options) {
			o.Identity = mirror.Identity{"zones": "ex.com", "domain-filter": "shop.ex.com"}
		}},
		{`zones was "ex.com" and is "ex.com,ex.org"`, func(o *mirror.Options) { o.Identity = mirror.Identity{"zones": "ex.com,ex.org"} }},
		{`provider was "inmemory" and is "other"`, func(o *mirror.Options) { o.Cloud.Name = "other" }},
		{`wildcard replacement was not set and is "any"`, func(o *mirror.Options) {
			registry(o, mirror.RegistryOptions{Owner: "prod", Wildcard: "any"})
		}},
	} {
		if status, deleted := restarts(t, &kept{}, c.change); deleted != 0 || !strings.Contains(status.Doubt, c.says) || !strings.Contains(status.Doubt, "--mirror-acknowledge=") {
			t.Errorf("%s: %d records deleted; doubt %q", c.says, deleted, status.Doubt)
		}
	}
}

// Records of another owner are never deleted; those of one whose name this instance
// takes are, unless the change is doubted.
func TestAnotherOwnerIsDoubted(t *testing.T) {
	t.Parallel()
	inWorld(t, memory.DefaultLimits(), func(w *world) {
		memories := &kept{last: mirror.Identity{"owner": "mine"}}
		w.options.Memory = memories
		w.putOwned("www", "192.0.2.9")
		w.want("new.ex.com 60 A 192.0.2.1")
		w.options.Guards.AllowEmpty = func(mirror.Zone) bool { return true }
		stop := w.runUntil()
		w.pass(time.Hour)
		w.has("A new.ex.com 192.0.2.1", "A www.ex.com 192.0.2.9")
		if doubt := w.mirror.Status().Doubt; !strings.Contains(doubt, `owner was "mine" and is "prod"`) {
			t.Errorf("the doubt is %q", doubt)
		}
		stop()
		w.options.Acknowledged = strings.Repeat("0", 12)
		stop = w.runUntil()
		w.pass(time.Hour)
		w.has("A new.ex.com 192.0.2.1", "A www.ex.com 192.0.2.9")
		mark := w.mirror.Identity().Mark()
		if !strings.HasSuffix(w.mirror.Status().Doubt, "--mirror-acknowledge="+mark) {
			t.Errorf("the doubt doesn't tell the mark %s: %q", mark, w.mirror.Status().Doubt)
		}
		stop()
		w.options.Acknowledged = mark
		stop = w.runUntil()
		w.pass(time.Hour)
		w.has("A new.ex.com 192.0.2.1")
		if memories.last["owner"] != "prod" {
			t.Errorf("what is remembered is %v", memories.last)
		}
		stop()
		// From now on it is what it was.
		w.options.Acknowledged = ""
		stop = w.runUntil()
		w.pass(time.Minute)
		if doubt := w.mirror.Status().Doubt; doubt != "" {
			t.Errorf("the doubt is %q", doubt)
		}
		stop()
	})
}

func TestWithoutAMemoryNothingIsDeleted(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		memories kept
		says     string
	}{
		{kept{read: errors.New("out of reach")}, "can't be read: out of reach"},
		{kept{written: errors.New("read only")}, "can't be kept for the next run: read only"},
	} {
		inWorld(t, memory.DefaultLimits(), func(w *world) {
			w.options.Memory = &c.memories
			w.want(addresses(20))
			stop := w.runUntil()
			w.drop(0, 2)
			w.want("new.ex.com 60 A 192.0.2.1")
			if w.pass(time.Hour); w.count() != 21 || !strings.HasSuffix(w.mirror.Status().Doubt, c.says) {
				t.Errorf("%d records; doubt %q", w.count(), w.mirror.Status().Doubt)
			}
			stop()
			// As soon as it is there again, deletions go on.
			c.memories.read, c.memories.written = nil, nil
			stop = w.runUntil()
			if w.pass(time.Hour); w.count() != 19 {
				t.Errorf("%d records are there with the memory", w.count())
			}
			stop()
		})
	}
}

// What writes nothing leaves the memory as it is.
func TestADryRunRemembersNothing(t *testing.T) {
	t.Parallel()
	inWorld(t, memory.DefaultLimits(), func(w *world) {
		memories := &kept{}
		w.options.Memory, w.options.DryRun = memories, true
		w.want(addresses(2))
		stop := w.runUntil()
		w.pass(time.Hour)
		stop()
		w.options.DryRun = false
		m, err := mirror.New(w.options)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := m.Preview(w.Context()); err != nil {
			t.Error(err)
		}
		if memories.writes != 0 {
			t.Errorf("remembered %d times: %v", memories.writes, memories.last)
		}
		// A preview tells the guard.
		w.putOwned("old", "192.0.2.1")
		memories.last = mirror.Identity{"owner": "other"}
		m, err = mirror.New(w.options)
		if err != nil {
			t.Fatal(err)
		}
		plans, err := m.Preview(w.Context())
		if err != nil || len(plans) != 1 || len(plans[0].Held) != 1 || plans[0].Held[0].Guard != mirror.GuardDoubt {
			t.Errorf("the preview is %+v (%v)", plans, err)
		}
	})
}

func TestMarks(t *testing.T) {
	t.Parallel()
	one := mirror.Identity{"a": "1", "b": "2"}
	if mark := one.Mark(); len(mark) != 12 || mark != (mirror.Identity{"b": "2", "a": "1"}).Mark() {
		t.Errorf("the mark is %s", mark)
	}
	for _, other := range []mirror.Identity{nil, {"a": "1"}, {"a": "1", "b": "3"}, {"a": "1", "c": "2"}, {"a": "1\nb=2"}} {
		if other.Mark() == one.Mark() {
			t.Errorf("%v has the same mark", other)
		}
	}
}
