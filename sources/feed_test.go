package sources

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/clusterzone/clusterzone/zones"
)

// A feedTest is a feed over zone corp.test whose steps the test makes itself.
type feedTest struct {
	*Feed
	t   *testing.T
	log *strings.Builder
	now time.Time
}

func newFeedTest(t *testing.T, change func(*FeedOptions)) *feedTest {
	t.Helper()
	wanted := DefaultOptions()
	wanted.Sources = []string{SourceIngress, SourceService}
	translator, err := New(wanted)
	if err != nil {
		t.Fatal(err)
	}
	ft := &feedTest{t: t, log: new(strings.Builder), now: time.Unix(1_800_000_000, 0)}
	origin, err := zones.ParseName("corp.test")
	if err != nil {
		t.Fatal(err)
	}
	options := FeedOptions{
		Table:      zones.NewTable(zones.Options{Origins: []zones.Origin{{Name: origin}}}),
		Store:      new(zones.Store),
		Translator: translator,
		Needs:      translator.Needs(),
		From:       "the API server",
		Log:        slog.New(slog.NewTextHandler(ft.log, nil)),
		Now:        func() time.Time { return ft.now },
	}
	if change != nil {
		change(&options)
	}
	if ft.Feed, err = NewFeed(options); err != nil {
		t.Fatal(err)
	}
	return ft
}

// syncAll settles every kind but those named.
func (ft *feedTest) syncAll(but ...Kind) {
	for _, kind := range Kinds(ft.options.Needs) {
		if !slices.Contains(but, kind) {
			ft.Synced(kind, nil)
		}
	}
}

// answer returns what the published snapshot answers for the A records of a name.
func (ft *feedTest) answer(host string) string { return answerOf(ft.t, ft.options.Store.Load(), host) }

func answerOf(t *testing.T, snap *zones.Snapshot, host string) string {
	t.Helper()
	name, err := zones.ParseName(host)
	if err != nil {
		t.Fatal(err)
	}
	var a zones.Answer
	snap.Lookup(name, zones.TypeA, &a)
	text := a.Kind.String()
	for _, entry := range a.Section {
		for _, data := range entry.Set.Data {
			text += " " + data.Text(zones.TypeA)
		}
	}
	return text
}

func (ft *feedTest) want(what, host, answer string) {
	ft.t.Helper()
	if got := ft.answer(host); got != answer {
		ft.t.Errorf("%s: %s is %q, want %q", what, host, got, answer)
	}
}

func shop(name, host, ip string) *networkingv1.Ingress {
	ingress := &networkingv1.Ingress{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: name, UID: "u"}}
	ingress.Spec.Rules = []networkingv1.IngressRule{{Host: host}}
	ingress.Status.LoadBalancer.Ingress = []networkingv1.IngressLoadBalancerIngress{{IP: ip}}
	return ingress
}

func headless(name, host string) *corev1.Service {
	return &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: name, Annotations: map[string]string{"external-dns.kubernetes.io/hostname": host}},
		Spec:       corev1.ServiceSpec{Type: corev1.ServiceTypeClusterIP, ClusterIP: corev1.ClusterIPNone},
	}
}

func endpoints(service, ip string) *discoveryv1.EndpointSlice {
	return &discoveryv1.EndpointSlice{
		ObjectMeta:  metav1.ObjectMeta{Namespace: "web", Name: service, Labels: map[string]string{discoveryv1.LabelServiceName: service}},
		AddressType: discoveryv1.AddressTypeIPv4,
		Endpoints:   []discoveryv1.Endpoint{{Addresses: []string{ip}}},
	}
}

var errForbidden = errors.New("forbidden")

func TestFeedAnswersNothingBeforeAllHasSynced(t *testing.T) {
	t.Parallel()
	ft := newFeedTest(t, nil)
	waiting := func(what, want string) {
		t.Helper()
		ft.Apply()
		snap := ft.options.Store.Load()
		if snap.Ready || snap.Waiting != want || ft.Status().Ready || ft.Status().Waiting != want {
			t.Errorf("%s: ready %t, waiting for %q (status %q), want %q", what, snap.Ready, snap.Waiting, ft.Status().Waiting, want)
		}
		ft.want(what, "shop.corp.test", "not ready")
	}
	ft.Set(KindIngress, shop("shop", "shop.corp.test", "192.0.2.1"))
	waiting("at the start", "Ingress, Service, EndpointSlice, Pod, Node from the API server")
	ft.syncAll(KindPod, KindEndpointSlice)
	waiting("some kinds", "EndpointSlice, Pod from the API server")
	ft.Synced(KindPod, &Unreachable{errors.New("connection refused")})
	ft.Synced(KindEndpointSlice, nil)
	waiting("an API server out of reach ends no wait", "Pod from the API server")
	ft.Synced(KindPod, nil)
	ft.Apply()
	ft.want("synced", "shop.corp.test", "hit 192.0.2.1")
	ft.want("synced", "none.corp.test", "nxdomain")
	if !ft.Status().Ready || ft.Status().Waiting != "" {
		t.Errorf("the status is %+v", ft.Status())
	}
}

func TestFeedApplies(t *testing.T) {
	t.Parallel()
	ft := newFeedTest(t, nil)
	ft.syncAll()
	ft.Set(KindIngress, shop("shop", "shop.corp.test", "192.0.2.1"))
	ft.Set(KindService, headless("db", "db.corp.test"))
	ft.Apply()
	ft.want("created", "shop.corp.test", "hit 192.0.2.1")
	ft.want("no endpoint yet", "db.corp.test", "nodata")

	ft.Set(KindEndpointSlice, endpoints("db", "192.0.2.9"))
	ft.Apply()
	ft.want("a slice came", "db.corp.test", "hit 192.0.2.9")

	ft.Set(KindIngress, shop("shop", "new.corp.test", "192.0.2.2"))
	ft.Gone(KindEndpointSlice, "web", "db")
	ft.Apply()
	ft.want("changed", "shop.corp.test", "nxdomain")
	ft.want("changed", "new.corp.test", "hit 192.0.2.2")
	ft.want("the slice went", "db.corp.test", "nodata")

	ft.Gone(KindIngress, "web", "shop")
	ft.Gone(KindService, "web", "db")
	ft.Apply()
	ft.want("deleted", "new.corp.test", "nxdomain")
	ft.want("deleted", "db.corp.test", "nxdomain")
	if n := len(ft.world.reads.of); n != 0 {
		t.Errorf("%d readers are left of objects that are gone", n)
	}
}

// TestFeedCollapsesBursts holds that a burst is one commit, of the newest state.
func TestFeedCollapsesBursts(t *testing.T) {
	t.Parallel()
	commits := 0
	ft := newFeedTest(t, func(o *FeedOptions) {
		o.OnCommit = func(zones.Commit) { commits++ }
	})
	ft.syncAll()
	ft.Apply()
	commits = 0
	for i := range 100 {
		ft.Set(KindIngress, shop("shop", "shop.corp.test", fmt.Sprintf("192.0.2.%d", i)))
	}
	ft.Set(KindIngress, shop("other", "other.corp.test", "192.0.2.200"))
	if n := len(ft.queue.batch.objects); n != 2 {
		t.Errorf("%d objects are queued, want 2", n)
	}
	ft.Apply()
	ft.want("a burst", "shop.corp.test", "hit 192.0.2.99")
	if commits != 1 {
		t.Errorf("a burst made %d commits, want 1", commits)
	}
	ft.Apply()
	if commits != 1 {
		t.Errorf("nothing made %d commits", commits-1)
	}
}

func TestFeedOneKindOffHarmsOneSource(t *testing.T) {
	t.Parallel()
	ft := newFeedTest(t, nil)
	ft.Set(KindService, headless("db", "db.corp.test"))
	ft.Set(KindEndpointSlice, endpoints("db", "192.0.2.9"))
	ft.syncAll(KindIngress)
	ft.Synced(KindIngress, errForbidden)
	ft.Apply()
	ft.want("Ingresses are off", "db.corp.test", "hit 192.0.2.9")
	status := ft.Status()
	if !status.Ready || status.Sources[0].Synced || !errors.Is(status.Sources[0].Kinds[0].Problem, errForbidden) {
		t.Errorf("the status hides the problem: %+v", status)
	}

	// Granted later: the objects come before the word that all have come.
	ft.Set(KindIngress, shop("shop", "shop.corp.test", "192.0.2.1"))
	ft.Apply()
	ft.want("not all Ingresses yet", "shop.corp.test", "nxdomain")
	ft.Synced(KindIngress, nil)
	ft.Apply()
	ft.want("Ingresses are on", "shop.corp.test", "hit 192.0.2.1")
}

func TestFeedWithEverySourceOffIsNotReady(t *testing.T) {
	t.Parallel()
	ft := newFeedTest(t, nil)
	for _, kind := range Kinds(ft.options.Needs) {
		ft.Synced(kind, errForbidden)
	}
	ft.Apply()
	ft.want("nothing can be read", "shop.corp.test", "not ready")
	if n := strings.Count(ft.log.String(), "forbidden"); n != 1 {
		t.Errorf("one reason for all kinds is logged %d times:\n%s", n, ft.log)
	}
}

// TestFeedKeepsAnswersThroughTrouble is DESIGN rule 3.
func TestFeedKeepsAnswersThroughTrouble(t *testing.T) {
	t.Parallel()
	ft := newFeedTest(t, nil)
	ft.Set(KindIngress, shop("shop", "shop.corp.test", "192.0.2.1"))
	ft.Set(KindService, headless("db", "db.corp.test"))
	ft.Set(KindEndpointSlice, endpoints("db", "192.0.2.9"))
	ft.syncAll()
	ft.Apply()
	serial := ft.options.Store.Load()
	for _, problem := range []error{errForbidden, &Unreachable{errors.New("connection refused")}} {
		for _, kind := range Kinds(ft.options.Needs) {
			ft.Synced(kind, problem)
			ft.Synced(kind, problem)
		}
		ft.Apply()
		ft.want("in trouble", "shop.corp.test", "hit 192.0.2.1")
		ft.want("in trouble", "db.corp.test", "hit 192.0.2.9")
		if got := ft.Status().Sources[0].Kinds[0]; got.Problem != problem || !got.Since.Equal(ft.now) || !ft.Status().Ready {
			t.Errorf("the status is %+v", ft.Status())
		}
	}
	if ft.options.Store.Load() != serial {
		t.Error("trouble made a new snapshot")
	}
	ft.syncAll()
	ft.Apply()
	if problem := ft.Status().Sources[0].Kinds[0].Problem; problem != nil {
		t.Errorf("the problem stays: %v", problem)
	}
}

// TestFeedCatchesPanics is DESIGN rule 6.
func TestFeedCatchesPanics(t *testing.T) {
	t.Parallel()
	var news []zones.Skipped
	ft := newFeedTest(t, func(o *FeedOptions) {
		o.Translator = nosy{}
		o.OnCommit = func(c zones.Commit) { news = append(news, c.Skipped...) }
	})
	ft.syncAll()
	bad := shop("bad", "bad.corp.test", "192.0.2.1")
	bad.Labels = map[string]string{"panics": "yes"}
	ft.Set(KindIngress, bad)
	ft.Set(KindIngress, shop("good", "good.corp.test", "192.0.2.2"))
	ft.Apply()
	text := fmt.Sprint(news)
	if !strings.Contains(text, "ingress web/bad: the object hits an internal error") || !strings.Contains(text, "ingress web/good: ") {
		t.Errorf("the skips are %s", text)
	}
	if !strings.Contains(ft.log.String(), "goroutine") || !strings.Contains(ft.log.String(), "ingress web/bad") {
		t.Errorf("the log has no stack: %s", ft.log)
	}
}

func TestFeedIgnoresKindsNobodyNeeds(t *testing.T) {
	t.Parallel()
	ft := newFeedTest(t, func(o *FeedOptions) { o.Needs = []Need{{Source: SourceIngress, Kinds: []Kind{KindIngress}}} })
	ft.Set(KindService, headless("db", "db.corp.test"))
	ft.Synced(KindIngress, nil)
	ft.Apply()
	ft.want("services are off", "db.corp.test", "nxdomain")
	if ft.world.count(KindService) != 0 {
		t.Error("a Service is kept for nobody")
	}
}

func TestFeedSavedState(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "state")
	withFile := func(o *FeedOptions) { o.StateFile = path }
	first := newFeedTest(t, withFile)
	first.Set(KindIngress, shop("stays", "stays.corp.test", "192.0.2.1"))
	first.Set(KindIngress, shop("goes", "goes.corp.test", "192.0.2.2"))
	first.Set(KindService, headless("db", "db.corp.test"))
	first.Set(KindEndpointSlice, endpoints("db", "192.0.2.9"))
	first.syncAll()
	first.Apply()
	first.saveState(true)

	next := newFeedTest(t, withFile)
	for _, host := range []string{"stays.corp.test 192.0.2.1", "goes.corp.test 192.0.2.2", "db.corp.test 192.0.2.9"} {
		name, ip, _ := strings.Cut(host, " ")
		next.want("from the file, at once", name, "hit "+ip)
	}
	if status := next.Status(); !status.Ready || !status.Saved.Equal(first.now) {
		t.Errorf("the status is %+v", status)
	}
	next.Apply()
	next.want("nothing has come yet", "goes.corp.test", "hit 192.0.2.2")

	next.Set(KindIngress, shop("stays", "stays.corp.test", "192.0.2.7"))
	next.Apply()
	next.want("Ingresses have not synced", "stays.corp.test", "hit 192.0.2.1")
	next.Synced(KindIngress, nil)
	next.Apply()
	next.want("Ingresses have synced", "stays.corp.test", "hit 192.0.2.7")
	next.want("Ingresses have synced", "goes.corp.test", "nxdomain")
	next.want("Services have not", "db.corp.test", "hit 192.0.2.9")

	// Without EndpointSlices the Service can't be told anew: the file stays.
	next.Set(KindService, headless("db", "db.corp.test"))
	next.Synced(KindEndpointSlice, errForbidden)
	next.syncAll(KindEndpointSlice)
	next.Apply()
	next.want("slices are off", "db.corp.test", "hit 192.0.2.9")
	if next.Status().Saved.IsZero() {
		t.Error("the status hides that an answer is from the file")
	}
	next.Set(KindEndpointSlice, endpoints("db", "192.0.2.10"))
	next.Synced(KindEndpointSlice, nil)
	next.Apply()
	next.want("slices are on", "db.corp.test", "hit 192.0.2.10")
	if !next.Status().Saved.IsZero() {
		t.Error("the status still names the file")
	}
}

func TestFeedKeepsSavedStateOfASourceThatIsOff(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "state")
	withFile := func(o *FeedOptions) { o.StateFile = path }
	first := newFeedTest(t, withFile)
	first.Set(KindIngress, shop("shop", "shop.corp.test", "192.0.2.1"))
	first.syncAll()
	first.Apply()
	first.saveState(true)

	next := newFeedTest(t, withFile)
	next.syncAll(KindIngress)
	next.Synced(KindIngress, errForbidden)
	next.Apply()
	next.want("nothing is deleted on a guess", "shop.corp.test", "hit 192.0.2.1")

	without := newFeedTest(t, func(o *FeedOptions) {
		withFile(o)
		o.Needs = o.Needs[1:]
	})
	without.want("a source that is no longer wanted", "shop.corp.test", "nxdomain")
}

func TestFeedStateFileFaults(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "state")
	if err := os.WriteFile(path, []byte(`{"Clusterzone":"saved st`), 0o600); err != nil {
		t.Fatal(err)
	}
	ft := newFeedTest(t, func(o *FeedOptions) { o.StateFile = path })
	ft.want("a broken file", "shop.corp.test", "not ready")
	if !strings.Contains(ft.log.String(), path) {
		t.Errorf("the log does not name the file: %s", ft.log)
	}
	options := ft.options
	options.StateFile = filepath.Join(t.TempDir(), "none", "state")
	if _, err := NewFeed(options); err == nil || !strings.Contains(err.Error(), options.StateFile) {
		t.Errorf("a folder that is not there: %v", err)
	}
}

// TestFeedSavesNowAndThen holds that saves are spaced, and that none is made
// when nothing has changed.
func TestFeedSavesNowAndThen(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "state")
	ft := newFeedTest(t, func(o *FeedOptions) { o.StateFile, o.StateEvery = path, 10*time.Second })
	settled := func() bool { // waits for a write under way
		ft.state.busy <- struct{}{}
		<-ft.state.busy
		_, err := os.Stat(path)
		return err == nil && os.Remove(path) == nil
	}
	ft.saveState(false)
	if settled() {
		t.Error("a feed that is not ready was saved")
	}
	ft.syncAll()
	ft.Apply()
	ft.saveState(false)
	if !settled() {
		t.Error("the first state was not saved")
	}
	ft.Set(KindIngress, shop("shop", "shop.corp.test", "192.0.2.1"))
	ft.Apply()
	ft.saveState(false)
	if settled() {
		t.Error("two saves within 10 seconds")
	}
	ft.now = ft.now.Add(10 * time.Second)
	ft.saveState(false)
	if !settled() {
		t.Error("a change was not saved after 10 seconds")
	}
	ft.now = ft.now.Add(time.Hour)
	ft.saveState(true)
	if settled() {
		t.Error("saved without a change")
	}
}

// TestFeedRun runs the loop: what an origin reports is answered, the hooks may
// look at the feed, and the state is saved at the end.
func TestFeedRun(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "state")
	var mu sync.Mutex
	found := make(chan string, 100)
	var ft *feedTest
	ft = newFeedTest(t, func(o *FeedOptions) {
		o.Now = time.Now
		o.StateFile = path
		o.OnCommit = func(c zones.Commit) {
			mu.Lock()
			defer mu.Unlock()
			ft.View(func(table *zones.Table, object func(zones.Owner) metav1.Object) {
				if object(zones.Owner{Source: SourceIngress, Namespace: "web", Name: "shop"}) != nil {
					found <- answerOf(t, c.Snapshot, "shop.corp.test")
				}
			})
		}
	})
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- ft.Run(ctx) }()
	ft.syncAll()
	ft.Set(KindIngress, shop("shop", "shop.corp.test", "192.0.2.1"))
	if got := <-found; got != "hit 192.0.2.1" {
		t.Errorf("the answer is %q", got)
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(path); err != nil {
		t.Errorf("nothing was saved at the end: %v", err)
	}
}
