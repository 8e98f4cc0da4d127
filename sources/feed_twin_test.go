package sources

import (
	"fmt"
	"log/slog"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/clusterzone/clusterzone/zones"
)

// drawn returns a random object of any kind, under one of few names, so that it
// often updates or contests another.
func (d *oddity) drawn() metav1.Object {
	objects := d.owners()
	for _, shelf := range d.world().shelves {
		for _, in := range shelf.in {
			objects = slices.AppendSeq(objects, maps.Values(in))
		}
	}
	slices.SortFunc(objects, func(a, b metav1.Object) int {
		return strings.Compare(string(KindOf(a))+a.GetNamespace()+a.GetName(), string(KindOf(b))+b.GetNamespace()+b.GetName())
	})
	obj := objects[d.IntN(len(objects))]
	obj.SetCreationTimestamp(metav1.Unix(1_700_000_000+int64(d.IntN(3)), 0))
	info, _ := Info(KindOf(obj))
	if info.Source != "" && info.Source != SourceNode && info.Source != SourcePod {
		obj.SetName(obj.GetName() + oneOf(d, "", "-2"))
		obj.SetNamespace(oneOf(d, "default", "default", "other"))
	}
	return obj
}

// twinFeed returns a feed of all sources under the options.
func twinFeed(t *testing.T, options Options, stateFile string) *Feed {
	t.Helper()
	tr, err := New(options)
	if err != nil {
		t.Fatal(err)
	}
	var origins []zones.Origin
	for _, text := range []string{"test", "a.test", "10.in-addr.arpa"} {
		name, err := zones.ParseName(text)
		if err != nil {
			t.Fatal(err)
		}
		origins = append(origins, zones.Origin{Name: name})
	}
	feed, err := NewFeed(FeedOptions{
		Table: zones.NewTable(zones.Options{Origins: origins, Sources: tr.Sources()}),
		Store: new(zones.Store), Translator: tr, Needs: tr.Needs(), From: "the test", StateFile: stateFile,
		Log: slog.New(slog.DiscardHandler), Now: func() time.Time { return time.Unix(1_800_000_000, 0) },
	})
	if err != nil {
		t.Fatal(err)
	}
	return feed
}

// content prints all that a feed serves, and all that it refuses and why.
func content(feed *Feed) string {
	var lines []string
	snap := feed.options.Store.Load()
	for _, origin := range snap.Origins() {
		for set := range snap.Zone(origin).RRSets() {
			if set.Type == zones.TypeSOA {
				continue // its serial is a matter of when
			}
			line := fmt.Sprint(origin, " ", set.Name, " ", set.TTL, " ", set.Type)
			for _, data := range set.Data {
				line += " " + data.Text(set.Type)
			}
			lines = append(lines, line)
		}
	}
	for _, e := range feed.options.Table.Endpoints() {
		lines = append(lines, recordLine(e.Name, e.TTL, e.Type, e.Targets, e.Options, e.SetIdentifier))
	}
	for _, source := range sourceNames {
		for owner := range feed.options.Table.Owners(source) {
			for _, skip := range feed.options.Table.SkippedOf(owner) {
				lines = append(lines, fmt.Sprintf("%s %q %q %s %s %s", owner, skip.Name, skip.Asked, skip.Type, skip.Reason, skip.Message))
			}
		}
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// report tells the feed of all objects in random order, with the word that each
// kind has come whole at a random moment, and commits at random moments.
func (d *oddity) report(feed *Feed, truth map[eventKey]metav1.Object, problems map[Kind]error) {
	var events []func()
	for event, obj := range truth {
		events = append(events, func() { feed.Set(event.kind, obj) })
	}
	mix(d, events)
	for _, kind := range Kinds(feed.options.Needs) {
		at := d.IntN(len(events) + 1)
		events = slices.Insert(events, at, func() { feed.Synced(kind, problems[kind]) })
	}
	for _, event := range events {
		event()
		if d.IntN(8) == 0 {
			feed.Apply()
		}
	}
	feed.Apply()
}

// TestFeedIsAFunctionOfTheObjects: after any events in any order, a feed serves
// what one serves that is told of the objects at the end alone, in another
// order; and so does one that starts from the first one's saved state.
func TestFeedIsAFunctionOfTheObjects(t *testing.T) {
	t.Parallel()
	for seed := range uint64(12) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			d := newOddity(seed, "own.a.test")
			options := d.options()
			options.Sources = slices.Clone(sourceNames)
			state := filepath.Join(t.TempDir(), "state")
			feed := twinFeed(t, options, state)
			truth := make(map[eventKey]metav1.Object)
			problems := make(map[Kind]error)
			if d.rarely() {
				problems[KindListenerSet] = absent
			}
			d.report(feed, nil, problems)
			for range 200 {
				obj := d.drawn()
				event := eventKey{KindOf(obj), objectKey{obj.GetNamespace(), obj.GetName()}}
				if event.kind == KindListenerSet && problems[event.kind] != nil {
					continue
				}
				if d.rarely() {
					delete(truth, event)
					feed.Gone(event.kind, event.key.namespace, event.key.name)
				} else {
					truth[event] = obj
					feed.Set(event.kind, obj)
				}
				if d.rarely() {
					feed.Apply()
				}
			}
			feed.Apply()
			want := content(feed)
			if strings.Count(want, "\n") < 20 {
				t.Fatalf("hardly anything is served:\n%s", want)
			}
			other := twinFeed(t, options, "")
			d.report(other, truth, problems)
			if got := content(other); got != want {
				t.Errorf("another order gives another content:\n%s", differing(got, want))
			}
			feed.saveState(true)
			next := twinFeed(t, options, state)
			d.report(next, truth, problems)
			if got := content(next); got != want {
				t.Errorf("a restart gives another content:\n%s", differing(got, want))
			}
		})
	}
}

// differing returns the lines that only one of two texts has.
func differing(got, want string) string {
	var out []string
	a, b := strings.Split(got, "\n"), strings.Split(want, "\n")
	for _, line := range a {
		if !slices.Contains(b, line) {
			out = append(out, "+ "+line)
		}
	}
	for _, line := range b {
		if !slices.Contains(a, line) {
			out = append(out, "- "+line)
		}
	}
	return strings.Join(out, "\n")
}
