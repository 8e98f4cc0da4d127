package server

import (
	"net/netip"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// limited runs queries through Respond and a limiter, at times of the test's
// own.
type limited struct {
	*worker
	t     *testing.T
	world *world
	at    time.Time
}

const limitedWorld = `zone corp.test
zone other.test
www.corp.test 60 A 192.0.2.10
api.corp.test 60 A 192.0.2.11
*.wild.corp.test 60 A 192.0.2.12
team.corp.test 60 NS ns.elsewhere.example
moved.corp.test 60 DNAME other.test`

func newLimited(t *testing.T, o RateLimit) *limited {
	r := (&Server{
		Options: Options{Cookies: NewCookies(secret(t, "e5e973e5a6b2a43f48e7dc849e37bfcf"))}, RateLimit: o,
	}).newRun()
	return &limited{worker: r.newWorker(), t: t, world: worldOf(t, limitedWorld), at: time.Now()}
}

// ask returns "reply", "short" or "drop".
func (l *limited) ask(words string) string {
	l.t.Helper()
	query, peer := askFor(l.t, words)
	peer.Time = uint32(l.at.Unix())
	snap := l.world.snapshot()
	reply, outcome := l.responder.Respond(nil, query, snap, peer)
	reply, outcome = l.limit(reply, query, peer, outcome, l.at)
	switch {
	case outcome.Dropped == DropLimited && len(reply) == 0:
		return "drop"
	case outcome.Dropped == Answered && outcome.Size == len(reply) && outcome.Short:
		return "short"
	case outcome.Dropped == Answered && outcome.Size == len(reply):
		return "reply"
	}
	l.t.Fatalf("%s: outcome %+v with %d octets", words, outcome, len(reply))
	return ""
}

func (l *limited) expect(words string, want ...string) {
	l.t.Helper()
	for i, want := range want {
		if got := l.ask(words); got != want {
			l.t.Errorf("query %d for %s gets: %s, want %s", i+1, words, got, want)
		}
	}
}

// TestRateLimit: as many at once as a second has, then every second one short;
// and again so many when a second is over.
func TestRateLimit(t *testing.T) {
	t.Parallel()
	l := newLimited(t, RateLimit{PerSecond: 3})
	const ask = "www.corp.test A from=198.51.100.7"
	l.expect(ask, "reply", "reply", "reply", "drop", "short", "drop", "short")
	l.at = l.at.Add(time.Second / 3)
	l.expect(ask, "reply", "drop", "short")
	l.at = l.at.Add(time.Hour)
	l.expect(ask, "reply", "reply", "reply", "drop")
	if r := newLimiter(RateLimit{}); r != nil {
		t.Error("nothing is to be limited, and there is a limiter")
	}
}

// TestRateLimitNetworks: a /24 and a /56 count as one, others for themselves.
func TestRateLimitNetworks(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ first, same, other string }{
		{"198.51.100.7", "198.51.100.200", "198.51.101.7"},
		{"198.51.100.7", "::ffff:198.51.100.200", "::ffff:198.51.101.7"},
		{"2001:db8:1:100::7", "2001:db8:1:1ff::8", "2001:db8:1:200::7"},
	} {
		l := newLimited(t, RateLimit{PerSecond: 1})
		l.expect("www.corp.test A from="+test.first, "reply")
		l.expect("www.corp.test A from="+test.same, "drop")
		l.expect("www.corp.test A from="+test.other, "reply")
	}
}

// TestRateLimitIdentity: what counts as the same reply, so that nobody gets
// more by making up names.
func TestRateLimitIdentity(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		what, first, second string
		same                bool
	}{
		{"two names", "www.corp.test A", "api.corp.test A", false},
		{"two types", "www.corp.test A", "www.corp.test AAAA", false},
		{"two absent types", "www.corp.test AAAA", "www.corp.test TXT", true},
		{"upper case", "www.corp.test A", "WWW.corp.test A", true},
		{"two absent names", "a.corp.test A", "b.corp.test AAAA", true},
		{"absent names of two zones", "a.corp.test A", "a.other.test A", false},
		{"names of a wildcard", "a.wild.corp.test A", "b.wild.corp.test A", true},
		{"names of a wildcard without the type", "a.wild.corp.test TXT", "b.wild.corp.test TXT", true},
		{"names below a delegation", "a.team.corp.test A", "b.team.corp.test TXT", true},
		{"names below a DNAME", "ns1.moved.corp.test A", "a.ns1.moved.corp.test A", false},
		{"absent names below a DNAME", "a.moved.corp.test A", "b.moved.corp.test A", true},
		{"names that are not ours", "a.example A", "b.example A", true},
		{"an error and an absent name", "a.example A", "a.corp.test A", false},
	} {
		l := newLimited(t, RateLimit{PerSecond: 1})
		l.expect(test.first, "reply")
		want := "reply"
		if test.same {
			want = "drop"
		}
		if got := l.ask(test.second); got != want {
			t.Errorf("%s: %s, want %s", test.what, got, want)
		}
	}
}

// TestRateLimitShort: what is sent in the place of a reply.
func TestRateLimitShort(t *testing.T) {
	t.Parallel()
	for words, want := range map[string]string{
		"www.corp.test A from=198.51.100.7 rd":      "NOERROR tc rd, udp 31 octets\n;www.corp.test. IN A\n",
		"absent.corp.test A from=198.51.100.7 edns": "NOERROR tc, udp 45 octets\n;absent.corp.test. IN A\nadditional: OPT v0 1232\n",
		"www.other.example A from=198.51.100.7":     "REFUSED, udp 35 octets\n;www.other.example. IN A\n",
		"www.corp.test A from=198.51.100.100 option=10:2464c4abcf10c957": "BADCOOKIE, udp 70 octets\n;www.corp.test. IN A\n" +
			"additional: OPT v0 1232 COOKIE 2464c4abcf10c957010000005cf79f111f8130c3eee29480\n",
		"www.corp.test A option=10:2464c4abcf10c957 version=1": "BADVERS, udp 42 octets\n;www.corp.test. IN A\nadditional: OPT v0 1232\n",
	} {
		l := newLimited(t, RateLimit{PerSecond: 1})
		query, peer := askFor(t, words)
		peer.Time = 0x5cf79f11
		_, outcome := l.responder.Respond(nil, query, l.world.snapshot(), peer)
		reply, outcome := l.responder.short(nil, query, peer, outcome)
		if got := describe(reply, UDP); got != want || !outcome.Short || outcome.Size != len(reply) {
			t.Errorf("%s:\n%s%+v, want\n%s", words, got, outcome, want)
		}
	}
}

// TestRateLimitExempt: networks, and clients that don't forge their address.
func TestRateLimitExempt(t *testing.T) {
	t.Parallel()
	l := newLimited(t, RateLimit{PerSecond: 1, Exempt: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}})
	l.expect("www.corp.test A from=10.1.2.3", "reply", "reply", "reply")
	l.expect("www.corp.test A from=::ffff:10.1.2.3", "reply", "reply")
	cookie := " from=198.51.100.100 option=10:2464c4abcf10c957"
	l.expect("www.corp.test A"+cookie, "reply", "drop", "short")
	l.at = time.Unix(0x5cf79f11, 0)
	l.expect("www.corp.test A"+cookie+"010000005cf79f111f8130c3eee29480", "reply", "reply")
	l.expect("www.corp.test A"+cookie+"010000005cf79f111f8130c3eee29481", "drop")
	key, err := NewTSIGKey(testKey, "hmac-sha256", testSecret)
	if err != nil {
		t.Fatal(err)
	}
	l.responder.Keys, l.at = NewTSIGKeys(key), time.Unix(1_700_000_000, 0)
	signed := "www.corp.test A from=192.0.2.1 key=" + testKey
	l.expect(signed+" secret=MDEyMzQ1Njc4OWFiY2RlZg=", "reply", "reply", "reply")
	l.expect(signed, "drop") // with another secret
}

// TestRateLimitForgets: the table is of fixed size. Where it is full, the oldest
// are forgotten; four times as many queries as it has buckets bring one of them
// back a few times, not more.
func TestRateLimitForgets(t *testing.T) {
	t.Parallel()
	l := newLimiter(RateLimit{PerSecond: 1})
	at := l.started
	victim := netip.MustParseAddr("198.51.100.7")
	forgotten := 0
	for i := range uint64(4 * limitShards * limitSets * limitWays) {
		at = at.Add(time.Microsecond)
		l.judge(netip.MustParseAddr("203.0.113.1"), i, at)
		if i%1000 == 0 && l.judge(victim, 1, at) == pressureNone {
			forgotten++
		}
	}
	// About 4, and far from all: how names fall on sets differs from run to run.
	if forgotten > 20 {
		t.Errorf("a limited network was forgotten %d times in 260 queries", forgotten)
	}
}

// TestRateLimitServes: the loop applies the limit over UDP, never over TCP, and
// the metrics say so.
func TestRateLimitServes(t *testing.T) {
	t.Parallel()
	bothLoops(t, func(t *testing.T, plain bool) {
		registry := prometheus.NewRegistry()
		metrics := NewMetrics(registry)
		addr, stop := startStoppable(t, &Server{
			plain: plain,
			View:  viewOf(worldOf(t, limitedWorld)), Metrics: metrics, Readers: 1,
			RateLimit: RateLimit{PerSecond: 1}, Options: Options{Cookies: NewCookies(NewCookieSecret())},
		})
		udp, tcp := dial(t, "udp", addr), dial(t, "tcp", addr)
		for i := range 20 {
			query, _ := askFor(t, "absent.corp.test A")
			send(t, tcp, framed(query))
			if len(receiveFramed(t, tcp)) == 0 {
				t.Fatalf("query %d over TCP got nothing", i)
			}
		}
		query, _ := askFor(t, "absent.corp.test A option=10:0102030405060708")
		for range 200 {
			send(t, udp, query)
		}
		probe, _ := askFor(t, "www.corp.test A id=77")
		send(t, udp, probe)
		full, short := 0, 0
		for {
			reply := receive(t, udp)
			if reply[1] == 77 {
				break
			}
			if reply[3]&0xf == byte(BadCookie)&0xf {
				short++
			} else {
				full++
			}
		}
		if full == 0 || short == 0 || full+short > 190 {
			t.Errorf("of 200 queries %d got a reply and %d a short one", full, short)
		}
		if err := stop(); err != nil {
			t.Fatal(err)
		}
		if got := metrics.sum().short.Load(); int(got) != short {
			t.Errorf("%v short replies counted, %d came", got, short)
		}
		if got := metrics.sum().dropped[UDP][DropLimited].Load(); int(got) != 200-full-short {
			t.Errorf("%v dropped replies counted, %d did not come", got, 200-full-short)
		}
		if got := metrics.sum().cookies[CookieClient].Load(); got != 200 {
			t.Errorf("%v cookies counted, want 200", got)
		}
	})
}
