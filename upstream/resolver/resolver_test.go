package resolver

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/clusterzone/clusterzone/zones"
)

// A script is an asker that says what a test sets, after a time; the clock is
// the bubble's.
type script struct {
	mu      sync.Mutex
	says    map[zones.Type]found
	err     error
	errOf   map[zones.Type]error
	takes   time.Duration
	asked   []time.Time // A questions
	flying  map[zones.Name]int
	most    int // lookups in flight at once of all targets
	of      int // now
	doubled bool
	dead    map[netip.AddrPort]bool
	silent  map[zones.Name]bool // names whose questions get no answer
}

func (s *script) set(change func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change()
}

func (s *script) ask(ctx context.Context, server netip.AddrPort, name zones.Name, kind zones.Type) (found, error) {
	s.mu.Lock()
	takes, dead := s.takes, s.dead[server] || s.silent[name]
	if kind == zones.TypeA {
		s.asked = append(s.asked, time.Now())
		s.flying[name]++
		s.of++
		s.most = max(s.most, s.of)
		s.doubled = s.doubled || s.flying[name] > 1
	}
	s.mu.Unlock()
	if dead {
		takes = time.Hour
	}
	timer := time.NewTimer(takes)
	defer timer.Stop()
	var err error
	select {
	case <-timer.C:
	case <-ctx.Done():
		err = fmt.Errorf("does not answer within %s", attemptTimeout)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if kind == zones.TypeA {
		s.flying[name]--
		s.of--
	}
	switch {
	case err != nil:
		return found{}, err
	case s.err != nil:
		return found{}, s.err
	case s.errOf[kind] != nil:
		return found{}, s.errOf[kind]
	}
	return s.says[kind], nil
}

func v4(ttl uint32, addresses ...string) found {
	f := found{ttl: ttl}
	for _, address := range addresses {
		addr := netip.MustParseAddr(address)
		f.data = append(f.data, zones.Rdata(addr.AsSlice()))
	}
	return f
}

func name(t *testing.T, text string) zones.Name {
	t.Helper()
	n, err := zones.ParseName(text)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// run runs a resolver over the script in a bubble, and hands it to the test.
func run(t *testing.T, s *script, stale time.Duration, test func(t *testing.T, r *Resolver, store *zones.Store)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s.flying = map[zones.Name]int{}
		store := &zones.Store{}
		r, err := New(Options{
			Servers:   []netip.AddrPort{netip.MustParseAddrPort("192.0.2.1:53"), netip.MustParseAddrPort("192.0.2.2:53")},
			Stale:     stale,
			Publisher: store,
			Log:       slog.New(slog.DiscardHandler),
			Parallel:  4,
		})
		if err != nil {
			t.Fatal(err)
		}
		r.asker, r.jitter = s, func() float64 { return 0 }
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- r.Run(ctx) }()
		test(t, r, store)
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("Run returns %v", err)
		}
		if s.doubled {
			t.Error("two lookups of one target were in flight at once")
		}
	})
}

// pass lets the bubble's time pass.
func pass(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

// expect compares a family of a target with words: "waiting", "none",
// "ADDRESS TTL", "stale ADDRESS TTL" or "failed: PROBLEM".
func expect(t *testing.T, store *zones.Store, target zones.Name, kind zones.Type, want string) {
	t.Helper()
	synctest.Wait()
	known := store.Load().Targets().Get(target)
	got := "absent"
	if known != nil {
		switch family := known.Family(kind); {
		case family.Known && family.Set == nil:
			got = "none"
		case family.Known:
			got = fmt.Sprintf("%s %d", family.Set.Data[0].Text(kind), family.Set.TTL)
			if family.Stale {
				got = "stale " + got
			}
		case family.Problem == "":
			got = "waiting"
		default:
			got = "failed: " + family.Problem
		}
	}
	if got != want {
		t.Errorf("%s of %s is %q, want %q", kind, target, got, want)
	}
}

// A target is looked up when it is needed, and again so soon that no client
// holds an address longer than its TTL and a second; an address that changes is
// right in time.
func TestRefresh(t *testing.T) {
	t.Parallel()
	for _, ttl := range []uint32{0, 1, 2, 5, 60} {
		s := &script{says: map[zones.Type]found{zones.TypeA: v4(ttl, "198.51.100.1")}}
		run(t, s, time.Hour, func(t *testing.T, r *Resolver, store *zones.Store) {
			lb := name(t, "lb.example")
			r.Update([]zones.Name{lb}, nil)
			synctest.Wait()
			low := max(ttl, minTTL)
			serves := served(low)
			expect(t, store, lb, zones.TypeA, fmt.Sprintf("198.51.100.1 %d", serves))
			expect(t, store, lb, zones.TypeAAAA, "none")
			s.set(func() { s.says[zones.TypeA] = v4(ttl, "198.51.100.2") })
			pass(time.Duration(low+1-serves) * time.Second)
			expect(t, store, lb, zones.TypeA, fmt.Sprintf("198.51.100.2 %d", serves))
		})
	}
}

// A TTL of a week is no reason to look once a week.
func TestLongTTL(t *testing.T) {
	t.Parallel()
	s := &script{says: map[zones.Type]found{zones.TypeA: v4(604800, "198.51.100.1")}}
	run(t, s, time.Hour, func(t *testing.T, r *Resolver, store *zones.Store) {
		lb := name(t, "lb.example")
		r.Update([]zones.Name{lb}, nil)
		expect(t, store, lb, zones.TypeA, "198.51.100.1 300")
		pass(301 * time.Second)
		if len(s.asked) != 2 {
			t.Errorf("asked %d times in five minutes, want twice", len(s.asked))
		}
	})
}

// A resolver that dies leaves the last good addresses for the TTL and
// --stale-targets, then a failure; when it is back, so are the addresses.
func TestStaleThenFailed(t *testing.T) {
	t.Parallel()
	for _, problem := range []error{errNotThere, errors.New("says SERVFAIL")} {
		s := &script{says: map[zones.Type]found{zones.TypeA: v4(60, "198.51.100.1")}}
		run(t, s, 10*time.Minute, func(t *testing.T, r *Resolver, store *zones.Store) {
			lb := name(t, "lb.example")
			r.Update([]zones.Name{lb}, nil)
			expect(t, store, lb, zones.TypeA, "198.51.100.1 30")
			s.set(func() { s.err = problem })
			pass(59 * time.Second)
			expect(t, store, lb, zones.TypeA, "198.51.100.1 30")
			pass(2 * time.Second)
			expect(t, store, lb, zones.TypeA, "stale 198.51.100.1 30")
			pass(10*time.Minute - 3*time.Second)
			expect(t, store, lb, zones.TypeA, "stale 198.51.100.1 30")
			pass(4 * time.Second)
			want := "failed: the resolver 192.0.2.2:53 says SERVFAIL"
			if problem == errNotThere {
				want = "failed: it does not exist (192.0.2.1:53 says NXDOMAIN)"
			}
			expect(t, store, lb, zones.TypeA, want)
			expect(t, store, lb, zones.TypeAAAA, want)
			s.set(func() { s.err = nil })
			pass(lastRetry)
			expect(t, store, lb, zones.TypeA, "198.51.100.1 30")
			if good, failed := r.Lookups(); good < 2 || failed < 10 {
				t.Errorf("%d good and %d failed lookups are counted", good, failed)
			}
		})
	}
}

// Without --stale-targets, addresses end with their TTL.
func TestNoStale(t *testing.T) {
	t.Parallel()
	s := &script{says: map[zones.Type]found{zones.TypeA: v4(60, "198.51.100.1")}}
	run(t, s, 0, func(t *testing.T, r *Resolver, store *zones.Store) {
		lb := name(t, "lb.example")
		r.Update([]zones.Name{lb}, nil)
		synctest.Wait()
		s.set(func() { s.err = errors.New("says REFUSED") })
		pass(59 * time.Second)
		expect(t, store, lb, zones.TypeA, "198.51.100.1 30")
		pass(2 * time.Second)
		expect(t, store, lb, zones.TypeA, "failed: the resolver 192.0.2.2:53 says REFUSED")
	})
}

// The families that a target has are the ones that are served; a name without any
// is a failure, and one family that can't be looked up is one of its own.
func TestFamilies(t *testing.T) {
	t.Parallel()
	broken := "failed: the resolver 192.0.2.2:53 says SERVFAIL"
	for _, c := range []struct {
		name   string
		script *script
		a, v6  string
	}{
		{"both", &script{says: map[zones.Type]found{zones.TypeA: v4(60, "198.51.100.1"), zones.TypeAAAA: v4(20, "2001:db8::1")}}, "198.51.100.1 10", "2001:db8::1 10"},
		{"only AAAA", &script{says: map[zones.Type]found{zones.TypeAAAA: v4(60, "2001:db8::1")}}, "none", "2001:db8::1 30"},
		{"neither", &script{}, "failed: " + errNoAddresses.Error(), "failed: " + errNoAddresses.Error()},
		{"NXDOMAIN for AAAA alone", &script{
			says:  map[zones.Type]found{zones.TypeA: v4(60, "198.51.100.1")},
			errOf: map[zones.Type]error{zones.TypeAAAA: errNotThere},
		}, "198.51.100.1 30", "none"},
		{"SERVFAIL for AAAA alone", &script{
			says:  map[zones.Type]found{zones.TypeA: v4(60, "198.51.100.1")},
			errOf: map[zones.Type]error{zones.TypeAAAA: errors.New("says SERVFAIL")},
		}, "198.51.100.1 30", broken},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			run(t, c.script, time.Hour, func(t *testing.T, r *Resolver, store *zones.Store) {
				lb := name(t, "lb.example")
				r.Update([]zones.Name{lb}, nil)
				expect(t, store, lb, zones.TypeA, c.a)
				expect(t, store, lb, zones.TypeAAAA, c.v6)
			})
		})
	}
}

// A slow resolver delays its targets only as long as a lookup may take, with so
// many at once; what is no longer needed is forgotten, lookups in flight too.
func TestSlowAndMany(t *testing.T) {
	t.Parallel()
	s := &script{takes: time.Hour}
	run(t, s, time.Hour, func(t *testing.T, r *Resolver, store *zones.Store) {
		var names []zones.Name
		for i := range 10 {
			names = append(names, name(t, fmt.Sprintf("lb%d.example", i)))
		}
		r.Update(names, nil)
		for _, lb := range names {
			expect(t, store, lb, zones.TypeA, "waiting")
		}
		// Three at a time: the fourth is kept for what is known.
		pass(4*lookupTimeout + time.Second)
		for _, lb := range names {
			known := store.Load().Targets().Get(lb)
			if known.State() != "failed" {
				t.Errorf("%s is %s after %s", lb, known.State(), 4*lookupTimeout)
			}
		}
		if s.most > 4 {
			t.Errorf("%d lookups were in flight at once, want 4 at most", s.most)
		}
		r.Update(nil, names)
		r.Update(names[:1], names[1:2])
		synctest.Wait()
		left := 0
		for range store.Load().Targets().All() {
			left++
		}
		if left != 1 {
			t.Errorf("%d targets are left, want 1", left)
		}
		r.Update(nil, names)
		synctest.Wait()
		s.set(func() { s.asked = nil })
		pass(10 * time.Minute)
		if len(s.asked) > 0 {
			t.Errorf("%d lookups of targets that nobody needs", len(s.asked))
		}
	})
}

// Targets whose servers are silent, far more than can be looked up at once, hold up
// no other: one that is well is looked up in time from the first moment on, and a
// new one soon once the silent ones are known to be so.
func TestSilentTargetsHoldUpNoOther(t *testing.T) {
	t.Parallel()
	s := &script{says: map[zones.Type]found{zones.TypeA: v4(4, "198.51.100.1")}, silent: map[zones.Name]bool{}}
	run(t, s, time.Hour, func(t *testing.T, r *Resolver, store *zones.Store) {
		well := name(t, "well.example")
		r.Update([]zones.Name{well}, nil)
		expect(t, store, well, zones.TypeA, "198.51.100.1 2")
		var silent []zones.Name
		for i := range 40 {
			silent = append(silent, name(t, fmt.Sprintf("silent%d.example", i)))
		}
		s.set(func() {
			for _, lb := range silent {
				s.silent[lb] = true
			}
		})
		r.Update(silent, nil)
		for i := range 60 {
			address := fmt.Sprintf("198.51.100.%d", 2+i)
			s.set(func() { s.says[zones.TypeA] = v4(4, address) })
			pass(3 * time.Second)
			expect(t, store, well, zones.TypeA, address+" 2")
		}
		fresh := name(t, "fresh.example")
		r.Update([]zones.Name{fresh}, nil)
		expect(t, store, fresh, zones.TypeA, "198.51.100.61 2")
	})
}

// The server that answered last is asked first, so that a dead one costs its
// time-out once and not at each lookup.
func TestPrefersWhoAnswers(t *testing.T) {
	t.Parallel()
	first := netip.MustParseAddrPort("192.0.2.1:53")
	s := &script{
		says: map[zones.Type]found{zones.TypeA: v4(60, "198.51.100.1")},
		dead: map[netip.AddrPort]bool{first: true},
	}
	run(t, s, time.Hour, func(t *testing.T, r *Resolver, store *zones.Store) {
		lb, other := name(t, "lb.example"), name(t, "other.example")
		r.Update([]zones.Name{lb}, nil)
		expect(t, store, lb, zones.TypeA, "waiting")
		pass(attemptTimeout)
		expect(t, store, lb, zones.TypeA, "198.51.100.1 30")
		r.Update([]zones.Name{other}, nil)
		expect(t, store, other, zones.TypeA, "198.51.100.1 30")
	})
}

// Lookups that fail are tried again, at first soon and then seldom.
func TestRetries(t *testing.T) {
	t.Parallel()
	s := &script{err: errNotThere}
	run(t, s, time.Hour, func(t *testing.T, r *Resolver, _ *zones.Store) {
		began := time.Now()
		r.Update([]zones.Name{name(t, "lb.example")}, nil)
		pass(2 * time.Minute)
		var at []int
		for _, then := range s.asked {
			at = append(at, int(then.Sub(began)/time.Second))
		}
		if want := []int{0, 1, 3, 7, 15, 31, 61, 91}; !slices.Equal(at, want) {
			t.Errorf("lookups after %v seconds, want %v", at, want)
		}
	})
}
