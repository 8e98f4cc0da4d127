package fronts_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/miekg/dns"

	"github.com/clusterzone/clusterzone/test/daemon"
)

// elb is the name of an Ingress whose status holds the host name balancer alone.
const (
	elb      = "elb.corp.test"
	balancer = "lb-1.provider.test"
)

// addressed are the balancer's records with an address and a TTL in seconds.
func addressed(ip string, ttl int) []string {
	return []string{fmt.Sprintf("%s. %d A %s", balancer, ttl, ip), fmt.Sprintf("%s. %d AAAA 2001:db8:51::1", balancer, ttl)}
}

// A target's address that changes is known to a client behind CoreDNS within the
// TTL and a second. The change comes at the worst moment, when the old address was
// just looked up. Of six changes two must be in time: what takes longer may be a
// machine that had no time for us, but not always.
func TestTargetChanges(t *testing.T) {
	if !apart(t, clusterzone, coredns) {
		return
	}
	const ttl = 4
	o := startOutside(t)
	o.set(addressed("198.51.100.1", ttl)...)
	serve(t)
	clusterDNS(t).start(t)
	good := 0
	for round := range 6 {
		took := change(t, o, round, ttl)
		t.Logf("change %d: the last old address was asked for %s after it", round, took.Round(time.Millisecond))
		if took <= (ttl+1)*time.Second {
			good++
		}
		if good == 2 {
			return
		}
	}
	t.Errorf("%d of 6 changes were known within the TTL of %d seconds and a second", good, ttl)
}

// change changes the balancer's address, and returns how long after it the last
// question was asked that was still answered with the old one. Names of a wildcard
// lead to the balancer, and each is asked for first at another time: for the last one
// that has it, CoreDNS gets the old address just before that is looked up anew.
func change(t *testing.T, o *outside, round, ttl int) time.Duration {
	t.Helper()
	before, now := fmt.Sprintf("198.51.100.%d", round+1), fmt.Sprintf("198.51.100.%d", round+2)
	changed := make(chan time.Time, 1)
	o.afterNext(balancer+".", func() {
		o.set(addressed(now, ttl)...)
		changed <- time.Now()
	})
	var last time.Time
	isNew := func(name string) bool {
		sent := time.Now()
		for _, l := range libcs {
			// The final dot keeps the search list out.
			switch got := l.lookUp(t, name+"."); got {
			case now + " 2001:db8:51::1":
			case before + " 2001:db8:51::1":
				last = sent
				return false
			default:
				t.Fatalf("%s finds %q for %s", l.name, got, name)
			}
		}
		return true
	}
	worst, asked := elb, 0
	daemon.Await(t, func() error {
		asked++
		if fresh := fmt.Sprintf("r%d-%d.apps.corp.test", round, asked); !isNew(fresh) {
			worst = fresh
		}
		if !isNew(worst) || !isNew(elb) {
			return fmt.Errorf("%s or %s still has %s", worst, elb, before)
		}
		return nil
	})
	return last.Sub(<-changed)
}

func TestTargetsServerDies(t *testing.T) {
	if !apart(t, clusterzone, coredns, glibc, musl) {
		return
	}
	o := startOutside(t)
	testDeath(t, o, func() { o.sever(balancer+".", true) }, func() { o.sever(balancer+".", false) })
}

func TestResolverDies(t *testing.T) {
	if !apart(t, clusterzone, coredns, glibc, musl) {
		return
	}
	o := startOutside(t)
	testDeath(t, o, o.die, o.live)
}

// testDeath expects that a target that can't be looked up any longer keeps its last
// good addresses for a while; then the name is SERVFAIL, and never missing. When it
// can be looked up again, the addresses are back.
func testDeath(t *testing.T, o *outside, die, live func()) {
	t.Helper()
	o.set(addressed("198.51.100.1", 2)...)
	serve(t, "--stale-targets=5s")
	f := clusterDNS(t)
	f.start(t)
	const good, bad = "NOERROR  CNAME lb-1.provider.test.; A 198.51.100.1", "SERVFAIL"
	die()
	var seen []string // what CoreDNS said, each turn once
	stale := false
	daemon.Await(t, func() error {
		direct, err := ask(oursIP, elb, dns.TypeA)
		if err != nil {
			return err
		}
		stale = stale || direct.Rcode == dns.RcodeSuccess && hasEDE(direct, dns.ExtendedErrorCodeStaleAnswer)
		reply, err := ask(f.ip, elb, dns.TypeA)
		if err != nil {
			return err
		}
		got, err := describe(reply)
		if err != nil {
			t.Fatal(err)
		}
		if len(seen) == 0 || seen[len(seen)-1] != got {
			seen = append(seen, got)
		}
		if got != bad {
			return fmt.Errorf("%s is still %s", elb, got)
		}
		return nil
	})
	if !stale {
		t.Error("no answer said that its addresses were stale (extended error 3)")
	}
	if len(seen) != 2 || seen[0] != good {
		t.Errorf("CoreDNS says, one after the other, %q; want the addresses, then %s", seen, bad)
	}
	for _, l := range libcs {
		// The final dot keeps the search list out, which the resolver answers for.
		l.expect(t, elb+".", again)
		l.expect(t, "legacy.corp.test.", "10.20.0.11")
	}
	for _, q := range []question{{elb, dns.TypeTXT, "NOERROR  CNAME lb-1.provider.test."}, {elb, dns.TypeCNAME, "NOERROR  CNAME lb-1.provider.test."}} {
		q.check(t, f.ip)
	}
	live()
	await(t, f.ip, question{elb, dns.TypeA, good})
}

func hasEDE(reply *dns.Msg, code uint16) bool {
	if opt := reply.IsEdns0(); opt != nil {
		for _, option := range opt.Option {
			if ede, is := option.(*dns.EDNS0_EDE); is && ede.InfoCode == code {
				return true
			}
		}
	}
	return false
}

// While one target's server is silent, everything else is answered, and other
// targets are looked up.
func TestTargetsServerIsSlow(t *testing.T) {
	if !apart(t, clusterzone, coredns) {
		return
	}
	o := startOutside(t)
	o.set("slow.provider.test. 60 A 198.51.100.77")
	o.set(addressed("198.51.100.1", 2)...)
	release := o.hold("slow.provider.test.")
	defer release()
	serve(t, "--manifests=testdata/slow.yaml")
	f := clusterDNS(t)
	f.start(t)
	// The name itself gets an answer, and is not missing.
	for _, ip := range []string{oursIP, f.ip} {
		expectRcode(t, ip, "slow.corp.test", dns.TypeA, dns.RcodeServerFailure)
		expectRcode(t, ip, "slow.corp.test", dns.TypeHTTPS, dns.RcodeSuccess)
	}
	var clients sync.WaitGroup
	for range 8 {
		clients.Go(func() {
			for _, q := range questions(t) {
				q.check(t, f.ip)
				q.check(t, oursIP)
			}
		})
	}
	clients.Wait()
	o.set(addressed("198.51.100.2", 2)...)
	await(t, f.ip, question{elb, dns.TypeA, "NOERROR  CNAME lb-1.provider.test.; A 198.51.100.2"})
	expectRcode(t, oursIP, "slow.corp.test", dns.TypeA, dns.RcodeServerFailure)
	release()
	await(t, f.ip, question{"slow.corp.test", dns.TypeA, "NOERROR  CNAME slow.provider.test.; A 198.51.100.77"})
}
