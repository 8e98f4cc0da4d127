package sources

import (
	"fmt"
	"log/slog"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/clusterzone/clusterzone/zones"
)

// A history is a random sequence of events in the life of a cluster, and what
// there is of it at the moment. Names, namespaces, hosts, addresses and ages are
// few, so that objects meet, contest names and come back.
type history struct {
	*oddity
	options Options
	policy  zones.Policy
	off     map[Kind]error // kinds that can't be read
	truth   map[eventKey]metav1.Object
	now     time.Time
}

func newHistory(seed uint64) *history {
	d := newOddity(seed, "lb.elb.test")
	for range 12 { // mostly what can be served
		d.texts = append(d.texts, "a.test", "b.a.test", "c.test", "10.0.0.1", "10.0.0.3", "2001:db8::1")
	}
	h := &history{oddity: d, options: d.options(), off: make(map[Kind]error), truth: make(map[eventKey]metav1.Object), now: time.Unix(1_800_000_000, 0)}
	if d.IntN(2) == 0 { // filters leave little
		h.options = DefaultOptions()
		d.otherOptions(&h.options)
		h.options.NamespaceDomains = nil
		h.options.FQDNTemplates = []string{"{{.Name}}.tpl.test"}
	}
	h.options.Sources = slices.Clone(sourceNames)
	if h.rarely() {
		mix(d, h.options.Sources)
	}
	h.options.ReverseZones = []zones.Name{reverseZone("10.in-addr.arpa"), reverseZone("8.b.d.0.1.0.0.2.ip6.arpa")}
	h.policy = oneOf(d, zones.PolicyNamespace, zones.PolicyNamespace, zones.PolicyFirst, zones.PolicyMerge)
	for _, info := range kinds {
		if d.IntN(20) == 0 {
			h.off[info.Kind] = oneOf[error](d, errForbidden, errForbidden, absent)
		}
	}
	return h
}

// object returns a random object of any kind.
func (h *history) object() metav1.Object {
	all := h.owners()
	world := h.world()
	for kind := range world.shelves {
		for key := range world.keys(kind) {
			all = append(all, world.get(kind, key))
		}
	}
	// Which one comes last of a map is not the seed's choice without an order.
	slices.SortFunc(all, func(a, b metav1.Object) int {
		return strings.Compare(string(KindOf(a))+a.GetName(), string(KindOf(b))+b.GetName())
	})
	class := &networkingv1.IngressClass{ObjectMeta: metav1.ObjectMeta{Name: "a.test"}}
	class.Annotations = map[string]string{networkingv1.AnnotationIsDefaultIngressClass: oneOf(h.oddity, "true", "false")}
	obj := all[h.IntN(len(all))]
	if h.IntN(25) == 0 {
		obj = class
	}
	if info, _ := Info(KindOf(obj)); info.Namespaced {
		obj.SetNamespace(oneOf(h.oddity, "default", "default", "elsewhere"))
		if info.Source != "" && h.rarely() {
			obj.SetName(obj.GetName() + "-2")
		}
	}
	return obj
}

// event reports a change to the feed, which is one of something or of nothing.
func (h *history) event(f *Feed) {
	if h.IntN(5) == 0 && len(h.truth) > 0 {
		h.delete(f, h.keys()[h.IntN(len(h.truth))])
		return
	}
	obj := h.object()
	kind := KindOf(obj)
	if h.off[kind] != nil {
		return
	}
	key := eventKey{kind, objectKey{obj.GetNamespace(), obj.GetName()}}
	// An object keeps its age as long as it lives.
	obj.SetCreationTimestamp(metav1.NewTime(h.now.Add(-time.Duration(h.IntN(4)) * time.Hour).Truncate(time.Hour)))
	obj.SetUID("1")
	if old := h.truth[key]; old != nil {
		obj.SetCreationTimestamp(old.GetCreationTimestamp())
		obj.SetUID(old.GetUID())
		if h.IntN(10) == 0 { // one that was deleted and made anew unseen
			obj.SetUID("2")
			obj.SetCreationTimestamp(metav1.NewTime(h.now.Truncate(time.Hour)))
		}
	}
	h.truth[key] = obj
	f.Set(kind, obj)
	for h.rarely() { // told twice, as a relist does
		f.Set(kind, obj.(runtime.Object).DeepCopyObject().(metav1.Object))
	}
}

func (h *history) delete(f *Feed, key eventKey) {
	delete(h.truth, key)
	f.Gone(key.kind, key.key.namespace, key.key.name)
}

// keys are those of all objects, in an order that depends on the seed alone.
func (h *history) keys() []eventKey {
	return slices.SortedFunc(maps.Keys(h.truth), func(a, b eventKey) int {
		return strings.Compare(fmt.Sprint(a), fmt.Sprint(b))
	})
}

// feed returns a new feed, to which nothing was reported.
func (h *history) feed(t *testing.T, stateFile string) *Feed {
	t.Helper()
	tr, err := New(h.options)
	if err != nil {
		t.Fatal(err)
	}
	options := zones.Options{Sources: tr.Sources(), Policy: h.policy, DefaultTTL: 300}
	for _, origin := range append([]zones.Name{nameOf(t, "test"), nameOf(t, "a.test")}, h.options.ReverseZones...) {
		options.Origins = append(options.Origins, zones.Origin{Name: origin})
	}
	f, err := NewFeed(FeedOptions{
		Table: zones.NewTable(options), Store: new(zones.Store), Translator: tr, Needs: tr.Needs(), From: "the API server",
		Log: slog.New(slog.DiscardHandler), Now: func() time.Time { return h.now }, StateFile: stateFile,
	})
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// sync reports all kinds, in any order, each after what there is of it where
// that is to be told as well.
func (h *history) sync(f *Feed, tell bool) {
	needed := Kinds(f.options.Needs)
	mix(h.oddity, needed)
	for _, kind := range needed {
		if problem := h.off[kind]; problem != nil {
			f.Synced(kind, problem)
			continue
		}
		if tell {
			h.tell(f, kind)
		}
		f.Synced(kind, nil)
		if h.rarely() {
			f.Apply()
		}
	}
	f.Apply()
}

// allow has the kinds read that could not be. Until then a restarted feed keeps
// what it has saved of whom they concern: nothing is deleted on a guess.
func (h *history) allow(f *Feed) {
	for kind := range h.off {
		f.Synced(kind, nil)
	}
	clear(h.off)
	f.Apply()
}

// tell reports the objects of a kind, in any order.
func (h *history) tell(f *Feed, kind Kind) {
	keys := h.keys()
	mix(h.oddity, keys)
	for _, key := range keys {
		if key.kind == kind {
			f.Set(kind, h.truth[key])
		}
		if h.IntN(10) == 0 {
			f.Apply()
		}
	}
}

// publication writes all that a feed's users can see, but for serials.
func publication(f *Feed) string {
	var b strings.Builder
	snap := f.options.Store.Load()
	fmt.Fprintf(&b, "ready %v\n", snap.Ready)
	for _, origin := range snap.Origins() {
		for set := range snap.Zone(origin).RRSets() {
			if set.Type == zones.TypeSOA {
				continue
			}
			fmt.Fprintf(&b, "%s %d %s", set.Name, set.TTL, set.Type)
			for _, data := range set.Data {
				fmt.Fprintf(&b, " [%s]", data.Text(set.Type))
			}
			b.WriteString("\n")
		}
		fmt.Fprintf(&b, "%d names\n", snap.Zone(origin).Names())
	}
	f.View(func(table *zones.Table, _ func(zones.Owner) metav1.Object) {
		for _, e := range table.Endpoints() {
			fmt.Fprintf(&b, "endpoint %+v\n", e)
		}
		var skipped []string
		for _, skip := range table.AllSkipped(func(*zones.Skipped) bool { return true }) {
			skipped = append(skipped, fmt.Sprintf("skipped [%s] %s %s %s\n", skip.Reason, skip.Name, skip.Type, skip))
		}
		slices.Sort(skipped)
		b.WriteString(strings.Join(skipped, ""))
		counts := table.Counts()
		maps.DeleteFunc(counts.Claims, func(_ string, n int) bool { return n == 0 })
		maps.DeleteFunc(counts.Skipped, func(_ zones.SkipKind, n int) bool { return n == 0 })
		fmt.Fprintf(&b, "%+v\n", counts)
	})
	return b.String()
}

// TestFeedIsAFunctionOfTheObjects: after any sequence of events, in whatever batches
// they come and whenever the kinds sync, what is published is what a new feed
// publishes that is told of the same objects in another order; and a restart with
// a saved state serves the same from its first moment, and what has changed
// meanwhile once all is read. Nothing is held here: a hold remembers on purpose.
func TestFeedIsAFunctionOfTheObjects(t *testing.T) {
	t.Parallel()
	var served atomic.Int64 // record sets, at the ends of lives
	t.Cleanup(func() {
		if n := served.Load(); n < 200 && !t.Failed() {
			t.Errorf("only %d record sets were served: the objects are too odd", n)
		}
	})
	for seed := range uint64(10) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			h := newHistory(seed)
			state := filepath.Join(t.TempDir(), "state")
			f := h.feed(t, state)
			for range h.IntN(30) { // events before anything has synced
				h.event(f)
			}
			h.sync(f, false)
			for life := range 3 {
				for range 6 {
					for range h.IntN(25) {
						h.event(f)
						if h.rarely() {
							f.Apply()
						}
					}
					f.Apply()
					h.now = h.now.Add(time.Second)
					anew := h.feed(t, "")
					h.sync(anew, true)
					sameAs(t, fmt.Sprintf("life %d, %d objects", life, len(h.truth)), f, publication(anew))
				}
				before := publication(f)
				served.Add(int64(strings.Count(before, "endpoint {")))
				f.saveState(true)
				f = h.feed(t, state)
				sameAs(t, fmt.Sprintf("life %d, restarted", life), f, before)
				for range h.IntN(10) { // while it was away
					h.event(h.feed(t, ""))
				}
				h.sync(f, true)
				h.allow(f)
			}
		})
	}
}

func sameAs(t *testing.T, when string, f *Feed, want string) {
	t.Helper()
	got := publication(f)
	if got == want {
		return
	}
	gots, wants := strings.Split(got, "\n"), strings.Split(want, "\n")
	var diff []string
	for _, line := range gots {
		if !slices.Contains(wants, line) {
			diff = append(diff, "- "+line)
		}
	}
	for _, line := range wants {
		if !slices.Contains(gots, line) {
			diff = append(diff, "+ "+line)
		}
	}
	t.Fatalf("%s: published (-) is not what it should be (+):\n%s", when, strings.Join(diff[:min(len(diff), 20)], "\n"))
}
