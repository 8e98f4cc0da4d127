package sources

import (
	"fmt"
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/clusterzone/clusterzone/zones"
)

// A counter counts translations by object.
type counter struct {
	translation
	counts map[string]int
}

func (c *counter) Translate(obj metav1.Object, beside neighbours) zones.Object {
	c.counts[obj.GetName()]++
	return c.translation.Translate(obj, beside)
}

// TestFeedTranslatesAhead: while objects of a kind still come, those that wait for
// nothing else are translated, once, and nothing of it is to be seen before the
// kind was read whole.
func TestFeedTranslatesAhead(t *testing.T) {
	t.Parallel()
	counts := make(map[string]int)
	ft := newFeedTest(t, func(o *FeedOptions) { o.Translator = &counter{o.Translator, counts} })
	ft.syncAll(KindIngress, KindService, KindEndpointSlice)
	ft.Set(KindIngress, shop("a", "a.corp.test", "192.0.2.1"))
	ft.Set(KindIngress, shop("b", "b.corp.test", "192.0.2.2"))
	ft.Set(KindIngress, shop("c", "c.corp.test", "192.0.2.3"))
	ft.Set(KindService, headless("s", "s.corp.test"))
	ft.Apply()
	if counts["a"] != 1 || counts["b"] != 1 || counts["c"] != 1 {
		t.Errorf("Ingresses are not translated while others come: %v", counts)
	}
	if counts["s"] != 0 {
		t.Error("a Service is translated before its EndpointSlices are known")
	}
	ft.want("half read", "a.corp.test", "not ready")

	ft.Set(KindIngress, shop("b", "b.corp.test", "192.0.2.9"))
	ft.Gone(KindIngress, "web", "c")
	ft.Apply()
	ft.Set(KindIngress, shop("a", "a.corp.test", "192.0.2.8")) // due once more when all is read
	ft.syncAll()
	ft.Apply()
	ft.want("moved last", "a.corp.test", "hit 192.0.2.8")
	ft.want("moved meanwhile", "b.corp.test", "hit 192.0.2.9")
	ft.want("gone meanwhile", "c.corp.test", "nxdomain")
	if counts["a"] != 2 || counts["b"] != 2 || counts["c"] != 1 || counts["s"] != 1 {
		t.Errorf("translated so often: %v", counts)
	}
	if len(ft.dirty) != 0 {
		t.Errorf("%d objects are left to translate", len(ft.dirty))
	}
}

// TestFeedAheadStaysBehind: what was translated of a kind that turned out to be
// forbidden halfway is not served, until the kind can be read.
func TestFeedAheadStaysBehind(t *testing.T) {
	t.Parallel()
	ft := newFeedTest(t, nil)
	ft.Set(KindIngress, shop("a", "a.corp.test", "192.0.2.1"))
	ft.Apply()
	ft.Synced(KindIngress, errForbidden)
	ft.Apply()
	ft.Set(KindIngress, shop("b", "b.corp.test", "192.0.2.2"))
	ft.syncAll(KindIngress)
	ft.Apply()
	if left := slices.Collect(ft.options.Table.Owners(SourceIngress)); len(left) > 0 {
		t.Errorf("half of a kind is left in the table: %v", left)
	}
	ft.want("a kind half read", "a.corp.test", "nxdomain")
	ft.Synced(KindIngress, nil)
	ft.Apply()
	ft.want("read whole", "a.corp.test", "hit 192.0.2.1")
	ft.want("read whole", "b.corp.test", "hit 192.0.2.2")
}

// TestFeedGathersUntilServing: as long as nothing is served, objects wake the feed by
// hundreds, and reports at once; from then on each object does.
func TestFeedGathersUntilServing(t *testing.T) {
	t.Parallel()
	ft := newFeedTest(t, nil)
	awake := func() bool {
		select {
		case <-ft.queue.wake:
			return true
		default:
			return false
		}
	}
	awake()
	for i := range objectsAtOnce {
		if awake() {
			t.Fatalf("%d objects wake the feed", i)
		}
		ft.Set(KindIngress, shop(fmt.Sprint("i", i), fmt.Sprintf("i%d.corp.test", i), "192.0.2.1"))
	}
	if !awake() {
		t.Errorf("%d objects don't wake the feed", objectsAtOnce)
	}
	if wait := ft.nextWake(); wait > time.Second {
		t.Errorf("a few objects wait for %v", wait)
	}
	ft.Synced(KindService, nil)
	if !awake() {
		t.Error("a report doesn't wake the feed")
	}
	ft.syncAll()
	ft.Apply()
	awake()
	ft.Set(KindIngress, shop("a", "a.corp.test", "192.0.2.1"))
	if !awake() {
		t.Error("one object doesn't wake a feed that serves")
	}
}

// TestStatusIsTheCallers: what a caller does to a status, nobody else sees.
func TestStatusIsTheCallers(t *testing.T) {
	t.Parallel()
	ft := newFeedTest(t, nil)
	ft.Set(KindIngress, shop("a", "a.corp.test", "192.0.2.1"))
	ft.syncAll()
	ft.Apply()
	mine := ft.Status()
	mine.Sources[0].Objects = 99
	mine.Sources[0].Kinds[0].Objects = 99
	if is := ft.Status(); is.Sources[0].Objects != 1 || is.Sources[0].Kinds[0].Objects != 1 {
		t.Errorf("a caller's change of its status is everybody's: %+v", is.Sources[0])
	}
}
