package sources

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/clusterzone/clusterzone/zones"
)

// grace is how long the tests' feeds hold addresses.
const grace = 5 * time.Minute

func holding(o *FeedOptions) { o.HoldAddresses = grace }

// later moves the clock on and lets the feed do what is due.
func (ft *feedTest) later(d time.Duration) {
	ft.now = ft.now.Add(d)
	ft.Apply()
}

// held returns how many names are held.
func (ft *feedTest) held() (n int) {
	ft.View(func(table *zones.Table, _ func(zones.Owner) metav1.Object) { n = table.Counts().Held })
	return n
}

// blinked is the object with an empty status.
func blinked(name, host string) *networkingv1.Ingress {
	ing := shop(name, host, "")
	ing.Status = networkingv1.IngressStatus{}
	return ing
}

func newHoldTest(t *testing.T) *feedTest {
	t.Helper()
	ft := newFeedTest(t, holding)
	ft.syncAll()
	ft.Set(KindIngress, shop("shop", "shop.corp.test", "192.0.2.1"))
	ft.Apply()
	ft.later(2 * time.Second) // lets the serial step
	ft.want("before the blink", "shop.corp.test", "hit 192.0.2.1")
	return ft
}

func TestHoldThroughABlink(t *testing.T) {
	t.Parallel()
	ft := newHoldTest(t)
	serial := ft.options.Store.Load().Zone(nameOf(t, "corp.test")).Serial()
	for range 3 {
		ft.Set(KindIngress, blinked("shop", "shop.corp.test"))
		ft.later(time.Minute)
		ft.want("in the blink", "shop.corp.test", "hit 192.0.2.1")
	}
	if got := ft.options.Store.Load().Zone(nameOf(t, "corp.test")).Serial(); got != serial {
		t.Errorf("the serial moved from %d to %d, though no record changed", serial, got)
	}
	if n := ft.held(); n != 1 {
		t.Errorf("%d names are held, want 1", n)
	}
	ft.Set(KindIngress, shop("shop", "shop.corp.test", "192.0.2.1"))
	ft.later(time.Minute)
	ft.want("after the blink", "shop.corp.test", "hit 192.0.2.1")
	if n := ft.held(); n != 0 {
		t.Errorf("%d names are held after the blink", n)
	}
	ft.later(time.Hour)
	ft.want("long after", "shop.corp.test", "hit 192.0.2.1")
}

// TestHoldEndsInTime: neither early nor late, counted from the loss, whatever
// else happens to the object meanwhile; and the feed wakes for it.
func TestHoldEndsInTime(t *testing.T) {
	t.Parallel()
	ft := newHoldTest(t)
	ft.Set(KindIngress, blinked("shop", "shop.corp.test"))
	ft.Apply()
	if got := ft.nextWake(); got != grace {
		t.Errorf("the feed sleeps %s, want %s", got, grace)
	}
	ft.now = ft.now.Add(time.Minute)
	labelled := blinked("shop", "shop.corp.test")
	labelled.Labels = map[string]string{"touched": "yes"}
	ft.Set(KindIngress, labelled)
	ft.Apply()
	ft.later(grace - time.Minute - time.Nanosecond)
	ft.want("a moment before the end", "shop.corp.test", "hit 192.0.2.1")
	ft.later(time.Nanosecond)
	ft.want("at the end", "shop.corp.test", "nodata")
	if got := ft.nextWake(); got < time.Minute {
		t.Errorf("the feed wakes in %s for nothing", got)
	}
	if n := ft.held(); n != 0 {
		t.Errorf("%d names are held after the end", n)
	}
	ft.Set(KindIngress, shop("shop", "shop.corp.test", "192.0.2.2"))
	ft.Apply()
	ft.want("addresses again", "shop.corp.test", "hit 192.0.2.2")
	ft.Set(KindIngress, blinked("shop", "shop.corp.test"))
	ft.Apply()
	ft.want("the next blink", "shop.corp.test", "hit 192.0.2.2")
}

func TestHoldOff(t *testing.T) {
	t.Parallel()
	ft := newFeedTest(t, nil)
	ft.syncAll()
	ft.Set(KindIngress, shop("shop", "shop.corp.test", "192.0.2.1"))
	ft.Apply()
	ft.Set(KindIngress, blinked("shop", "shop.corp.test"))
	ft.Apply()
	ft.want("without --hold-addresses", "shop.corp.test", "nodata")
}

// TestHoldIsSaid: the skip and the log say what is held, since when and until
// when, each once.
func TestHoldIsSaid(t *testing.T) {
	t.Parallel()
	var news []zones.Skipped
	ft := newFeedTest(t, func(o *FeedOptions) {
		holding(o)
		o.OnCommit = func(c zones.Commit) { news = append(news, c.Skipped...) }
	})
	ft.syncAll()
	ft.Set(KindIngress, shop("shop", "shop.corp.test", "192.0.2.1"))
	ft.Apply()
	for i := range 3 {
		ing := blinked("shop", "shop.corp.test")
		ing.Labels = map[string]string{"turn": fmt.Sprint(i)}
		ft.Set(KindIngress, ing)
		ft.later(time.Second)
	}
	want := "ingress web/shop: the last good addresses are held until 2027-01-15T08:05:01Z, " +
		"since at 2027-01-15T08:00:01Z they were lost: status has no load-balancer address yet"
	if len(news) != 1 || news[0].String() != want || news[0].Reason != zones.ReasonHeld {
		t.Errorf("the skips are %v, want one: %s", news, want)
	}
	var x zones.Explanation
	ft.View(func(table *zones.Table, _ func(zones.Owner) metav1.Object) {
		x = table.Explain(nameOf(t, "shop.corp.test"), zones.TypeNone, nil)
	})
	if want := "shop.corp.test is served with the last good addresses of ingress web/shop, held until 2027-01-15T08:05:01Z"; x.Detail != want {
		t.Errorf("explain says %q, want %q", x.Detail, want)
	}
	ft.View(func(table *zones.Table, _ func(zones.Owner) metav1.Object) {
		o, _ := table.ObjectOf(zones.Owner{Source: SourceIngress, Namespace: "web", Name: "shop"})
		if len(o.Claims) != 1 || o.Claims[0].Type != zones.TypeA || len(o.Skipped) != 1 {
			t.Errorf("the object is %+v, want one claim and one skip", o)
		}
	})
	ft.later(time.Hour)
	for text, want := range map[string]int{"the last good ones are held": 1, "no addresses have come": 1} {
		if n := strings.Count(ft.log.String(), text); n != want {
			t.Errorf("%q is logged %d times, want %d:\n%s", text, n, want, ft.log)
		}
	}
}

// TestHoldEndsEarly: what ends a hold at once.
func TestHoldEndsEarly(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		what   string
		change func(*feedTest)
		want   string
	}{
		{"deletion", func(ft *feedTest) { ft.Gone(KindIngress, "web", "shop") }, "nxdomain"},
		{"deletion and creation at once", func(ft *feedTest) {
			ing := blinked("shop", "shop.corp.test")
			ing.UID = "another"
			ft.Gone(KindIngress, "web", "shop")
			ft.Set(KindIngress, ing)
		}, "nodata"},
		{"new addresses", func(ft *feedTest) { ft.Set(KindIngress, shop("shop", "shop.corp.test", "192.0.2.2")) }, "hit 192.0.2.2"},
		{"another host", func(ft *feedTest) { ft.Set(KindIngress, blinked("shop", "other.corp.test")) }, "nxdomain"},
		{"opt-out", func(ft *feedTest) {
			ing := blinked("shop", "shop.corp.test")
			ing.Annotations = map[string]string{prefixCurrent + keyController: "other"}
			ft.Set(KindIngress, ing)
		}, "nxdomain"},
		{"a target annotation", func(ft *feedTest) {
			ing := blinked("shop", "shop.corp.test")
			ing.Annotations = map[string]string{prefixCurrent + keyTarget: "192.0.2.3"}
			ft.Set(KindIngress, ing)
		}, "hit 192.0.2.3"},
		{"a status that makes no sense", func(ft *feedTest) { ft.Set(KindIngress, shop("shop", "shop.corp.test", "192.0.2.256")) }, "nodata"},
	} {
		ft := newHoldTest(t)
		ft.Set(KindIngress, blinked("shop", "shop.corp.test"))
		ft.later(time.Minute)
		ft.want(c.what+": held", "shop.corp.test", "hit 192.0.2.1")
		c.change(ft)
		ft.Apply()
		ft.want(c.what, "shop.corp.test", c.want)
		ft.want(c.what, "other.corp.test", map[bool]string{true: "nodata", false: "nxdomain"}[c.what == "another host"])
		if n := ft.held(); n != 0 {
			t.Errorf("%s: %d names are held", c.what, n)
		}
		ft.later(2 * time.Second) // lets the serial step
		commits := 0
		ft.options.OnCommit = func(zones.Commit) { commits++ }
		ft.later(time.Hour)
		ft.want(c.what+", later", "shop.corp.test", c.want)
		if commits > 0 {
			t.Errorf("%s: the end of a hold that was over made %d commits", c.what, commits)
		}
		if len(ft.holds.owners)+len(ft.holds.ends)+len(ft.holds.paused) > 0 {
			t.Errorf("%s: the feed still keeps %+v", c.what, ft.holds)
		}
	}
}

// TestHoldOneNameOfSeveral: a host that goes during a hold goes alone.
func TestHoldOneNameOfSeveral(t *testing.T) {
	t.Parallel()
	ft := newHoldTest(t)
	both := shop("shop", "shop.corp.test", "192.0.2.1")
	both.Spec.Rules = append(both.Spec.Rules, networkingv1.IngressRule{Host: "two.corp.test"})
	ft.Set(KindIngress, both)
	ft.Apply()
	lost := both.DeepCopy()
	lost.Status = networkingv1.IngressStatus{}
	ft.Set(KindIngress, lost)
	ft.later(time.Minute)
	ft.Set(KindIngress, blinked("shop", "two.corp.test"))
	ft.later(time.Minute)
	ft.want("a host went", "shop.corp.test", "nxdomain")
	ft.want("a host went", "two.corp.test", "hit 192.0.2.1")
	ft.Set(KindIngress, lost)
	ft.later(time.Minute)
	ft.want("it came back without addresses", "shop.corp.test", "nodata")
	ft.want("it came back without addresses", "two.corp.test", "hit 192.0.2.1")
}

// TestHoldsNot: what is no blink of a status is served at once.
func TestHoldsNot(t *testing.T) {
	t.Parallel()
	service := func(change func(*corev1.Service)) *corev1.Service {
		svc := headless("db", "db.corp.test")
		svc.Spec = corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer, ClusterIP: "10.96.0.9"}
		svc.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: "192.0.2.1"}, {IP: "192.0.2.2"}}
		change(svc)
		return svc
	}
	type step = func(*feedTest)
	set := func(change func(*corev1.Service)) step {
		return func(ft *feedTest) { ft.Set(KindService, service(change)) }
	}
	target := func(text string) step {
		return set(func(svc *corev1.Service) {
			svc.Annotations[prefixCurrent+keyTarget] = text
			svc.Status = corev1.ServiceStatus{}
		})
	}
	noStatus := set(func(svc *corev1.Service) { svc.Status = corev1.ServiceStatus{} })
	good := set(func(*corev1.Service) {})
	isHeadless := func(svc *corev1.Service) {
		svc.Spec = corev1.ServiceSpec{ClusterIP: corev1.ClusterIPNone}
		svc.Status = corev1.ServiceStatus{}
	}
	for _, c := range []struct {
		what                string
		before, after       step
		wantBefore, wantNow string
	}{
		{"a load balancer, for comparison", good, noStatus, "hit 192.0.2.1 192.0.2.2", "hit 192.0.2.1 192.0.2.2"},
		{"one of two addresses", good, set(func(svc *corev1.Service) {
			svc.Status.LoadBalancer.Ingress = svc.Status.LoadBalancer.Ingress[1:]
		}), "hit 192.0.2.1 192.0.2.2", "hit 192.0.2.2"},
		{"a target annotation that goes", target("192.0.2.7"), noStatus, "hit 192.0.2.7", "nodata"},
		{"external IPs that go", set(func(svc *corev1.Service) {
			svc.Spec.ExternalIPs = []string{"192.0.2.8"}
			svc.Status = corev1.ServiceStatus{}
		}), noStatus, "hit 192.0.2.8", "nodata"},
		{"another type of Service", good, set(isHeadless), "hit 192.0.2.1 192.0.2.2", "nodata"},
		{"endpoints that aren't ready", func(ft *feedTest) {
			set(isHeadless)(ft)
			ft.Set(KindEndpointSlice, endpoints("db", "192.0.2.9"))
		}, func(ft *feedTest) {
			slice, no := endpoints("db", "192.0.2.9"), false
			slice.Endpoints[0].Conditions.Ready = &no
			ft.Set(KindEndpointSlice, slice)
		}, "hit 192.0.2.9", "nodata"},
		{"Nodes that go", func(ft *feedTest) {
			set(func(svc *corev1.Service) { svc.Spec.Type = corev1.ServiceTypeNodePort })(ft)
			node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-1"}}
			node.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeExternalIP, Address: "192.0.2.10"}}
			ft.Set(KindNode, node)
		}, func(ft *feedTest) { ft.Gone(KindNode, "", "node-1") }, "hit 192.0.2.10", "nodata"},
	} {
		ft := newFeedTest(t, holding)
		ft.syncAll()
		c.before(ft)
		ft.Apply()
		ft.want(c.what+", before", "db.corp.test", c.wantBefore)
		c.after(ft)
		ft.Apply()
		ft.want(c.what, "db.corp.test", c.wantNow)
	}
}

// countingTranslator counts translations.
type countingTranslator struct {
	translation
	n int
}

func (c *countingTranslator) Translate(obj metav1.Object, beside neighbours) zones.Object {
	c.n++
	return c.translation.Translate(obj, beside)
}

// TestHoldManyAtOnce: a controller that restarts empties every status. That
// costs each object one translation, and one more when the holds end; the feed
// wakes once for all.
func TestHoldManyAtOnce(t *testing.T) {
	t.Parallel()
	const many = 300
	counting := &countingTranslator{}
	ft := newFeedTest(t, func(o *FeedOptions) {
		holding(o)
		counting.translation = o.Translator
		o.Translator = counting
	})
	ft.syncAll()
	each := func(make func(i int) *networkingv1.Ingress) {
		for i := range many {
			ft.Set(KindIngress, make(i))
		}
		ft.Apply()
	}
	all := func(what, answer string) {
		t.Helper()
		for i := range many {
			ft.want(what, fmt.Sprintf("h%d.corp.test", i), answer)
		}
	}
	spent := func(what string, want int) {
		t.Helper()
		if counting.n != want {
			t.Errorf("%s: %d translations, want %d", what, counting.n, want)
		}
		counting.n = 0
	}
	host := func(i int) string { return fmt.Sprintf("h%d.corp.test", i) }
	each(func(i int) *networkingv1.Ingress { return shop(fmt.Sprint("i", i), host(i), "192.0.2.1") })
	spent("created", many)
	each(func(i int) *networkingv1.Ingress { return blinked(fmt.Sprint("i", i), host(i)) })
	spent("blinked", many)
	all("blinked", "hit 192.0.2.1")
	if n := ft.held(); n != many {
		t.Errorf("%d names are held, want %d", n, many)
	}
	if n := strings.Count(ft.log.String(), "held"); n != 1 {
		t.Errorf("that they are held is logged %d times:\n%s", n, ft.log)
	}
	ft.Gone(KindIngress, "web", "i0")
	ft.later(grace / 2)
	counting.n = 0
	if got := ft.nextWake(); got != grace/2 {
		t.Errorf("the feed sleeps %s, want %s", got, grace/2)
	}
	ft.later(grace/2 - time.Nanosecond)
	spent("before the end", 0)
	ft.later(time.Nanosecond)
	spent("at the end", many-1)
	ft.Set(KindIngress, blinked("i0", host(0)))
	ft.Apply()
	all("at the end", "nodata")
}

// TestHoldIsSaved: holds come back from the state file as they were, and what
// was good when it was saved is held when the restarted feed first sees a blink.
func TestHoldIsSaved(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "state")
	first := newFeedTest(t, func(o *FeedOptions) { holding(o); o.StateFile = path })
	first.syncAll()
	created := metav1.NewTime(first.now.Add(-time.Hour))
	ingress := func(name, ip string) *networkingv1.Ingress {
		ing := shop(name, name+".corp.test", ip)
		ing.CreationTimestamp = created
		if ip == "" {
			ing.Status = networkingv1.IngressStatus{}
		}
		return ing
	}
	first.Set(KindIngress, ingress("held", "192.0.2.1"))
	first.Set(KindIngress, ingress("good", "192.0.2.2"))
	first.Set(KindIngress, ingress("gone", "192.0.2.3"))
	first.Set(KindIngress, ingress("reborn", "192.0.2.4"))
	first.Apply()
	first.Set(KindIngress, ingress("held", ""))
	first.Apply()
	first.saveState(true)

	restart := func(change func(*FeedOptions)) *feedTest {
		next := newFeedTest(t, func(o *FeedOptions) {
			holding(o)
			o.StateFile = path
			if change != nil {
				change(o)
			}
		})
		next.now = first.now.Add(time.Minute)
		return next
	}
	next := restart(nil)
	next.want("from the file", "held.corp.test", "hit 192.0.2.1")
	reborn := ingress("reborn", "")
	reborn.CreationTimestamp = metav1.NewTime(next.now)
	for _, ing := range []*networkingv1.Ingress{ingress("held", ""), ingress("good", ""), reborn} {
		next.Set(KindIngress, ing)
	}
	next.syncAll()
	next.Apply()
	next.want("read anew", "held.corp.test", "hit 192.0.2.1")
	next.want("blinked meanwhile", "good.corp.test", "hit 192.0.2.2")
	next.want("deleted meanwhile", "gone.corp.test", "nxdomain")
	next.want("another object of the name", "reborn.corp.test", "nodata")
	next.later(grace - time.Minute)
	next.want("the old hold is over", "held.corp.test", "nodata")
	next.want("the new one isn't", "good.corp.test", "hit 192.0.2.2")
	next.later(time.Minute)
	next.want("both are over", "good.corp.test", "nodata")

	// Without an API server nothing ends.
	alone := restart(nil)
	alone.later(time.Hour)
	alone.want("no API server", "held.corp.test", "hit 192.0.2.1")
	if got := alone.nextWake(); got < time.Minute {
		t.Errorf("the feed wakes in %s for nothing", got)
	}
	alone.Set(KindIngress, ingress("held", ""))
	alone.syncAll()
	alone.Apply()
	alone.want("the API server is back", "held.corp.test", "nodata")

	// A clock or flag that was another one can't make a hold last longer.
	short := restart(func(o *FeedOptions) { o.HoldAddresses = time.Minute })
	short.Set(KindIngress, ingress("held", ""))
	short.syncAll()
	short.Apply()
	short.later(time.Minute)
	short.want("a shorter --hold-addresses", "held.corp.test", "nodata")
	off := restart(func(o *FeedOptions) { o.HoldAddresses = 0 })
	off.Set(KindIngress, ingress("held", ""))
	off.syncAll()
	off.Apply()
	off.want("--hold-addresses=0", "held.corp.test", "nodata")
}

// TestHoldWaitsForTheAPIServer: while it can't be read, nobody knows whether
// addresses are back, and no answer changes.
func TestHoldWaitsForTheAPIServer(t *testing.T) {
	t.Parallel()
	ft := newHoldTest(t)
	ft.Set(KindIngress, blinked("shop", "shop.corp.test"))
	ft.Apply()
	ft.Synced(KindIngress, &Unreachable{errors.New("connection refused")})
	ft.later(time.Hour)
	ft.want("the API server is gone", "shop.corp.test", "hit 192.0.2.1")
	if got := ft.nextWake(); got < time.Minute {
		t.Errorf("the feed wakes in %s for nothing", got)
	}
	labelled := blinked("shop", "shop.corp.test")
	labelled.Labels = map[string]string{"touched": "yes"}
	ft.Set(KindIngress, labelled)
	ft.later(time.Second)
	ft.want("the object comes, but not all is read yet", "shop.corp.test", "hit 192.0.2.1")
	ft.Synced(KindIngress, nil)
	ft.later(time.Second)
	ft.want("the API server is back, the addresses aren't", "shop.corp.test", "nodata")
}

// nameOf parses a name that is one.
func nameOf(t testing.TB, text string) zones.Name {
	t.Helper()
	n, err := zones.ParseName(text)
	if err != nil {
		t.Fatal(err)
	}
	return n
}
