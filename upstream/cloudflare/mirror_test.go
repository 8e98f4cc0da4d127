package cloudflare

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/clusterzone/clusterzone/upstream/mirror"
	"github.com/clusterzone/clusterzone/zones"
)

// A wished is what is asked of a mirror: addresses by name.
type wished struct {
	mu sync.Mutex
	at map[zones.Name][]zones.Endpoint
}

// Read implements mirror.Wishes.
func (w *wished) Read(names []zones.Name) mirror.Wanted {
	w.mu.Lock()
	defer w.mu.Unlock()
	var wanted mirror.Wanted
	for name, endpoints := range w.at {
		if names == nil || slices.Contains(names, name) {
			wanted.Endpoints = append(wanted.Endpoints, endpoints...)
		}
	}
	return wanted
}

// A story is a mirror with the fake as its cloud, in time that passes only when all
// wait for it.
type story struct {
	*testing.T
	fake   *fake
	wishes *wished
	mirror *mirror.Mirror
	budget *mirror.Bucket // nil for one that never waits
}

func tell(t *testing.T, f *fake, tale func(*story)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		tale(&story{T: t, fake: f, wishes: &wished{at: map[zones.Name][]zones.Endpoint{}}})
	})
}

func (s *story) run(batch, page int) {
	s.Helper()
	cloud := open(s.T, s.fake, func(o *Options) {
		o.BatchChanges, o.PageSize = batch, page
		if s.budget != nil {
			o.Budget = s.budget
		}
	})
	registry, err := mirror.NewRegistry(mirror.RegistryOptions{Owner: "prod"})
	if err != nil {
		s.Fatal(err)
	}
	guards := mirror.DefaultGuards()
	guards.ObserveCycles = 0
	s.mirror, err = mirror.New(mirror.Options{
		Name: "test", Cloud: cloud, Registry: registry, Wishes: s.wishes, Log: slog.New(slog.DiscardHandler), Policy: mirror.Sync, Guards: &guards,
		Interval: interval,
	})
	if err != nil {
		s.Fatal(err)
	}
	ctx, cancel := context.WithCancel(s.Context())
	done := make(chan error)
	go func() { done <- s.mirror.Run(ctx) }()
	s.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			s.Error(err)
		}
	})
	synctest.Wait()
}

const interval = 5 * time.Minute

func (s *story) pass(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

// betweenCycles waits until the next complete cycle, which comes at a time left to
// chance, has just been: what is counted in the minutes after it is not of a cycle.
func (s *story) betweenCycles() {
	s.pass(time.Until(s.mirror.Status().NextCycle) + 30*time.Second)
}

// wish asks for an address (or for nothing more, where it is "") and tells the mirror.
func (s *story) wish(label, target string) {
	s.Helper()
	n := name(s.T, label+".example.com")
	s.wishes.mu.Lock()
	delete(s.wishes.at, n)
	if target != "" {
		kind := zones.TypeA
		if strings.HasSuffix(target, ".test") || strings.HasSuffix(target, ".com") {
			kind = zones.TypeCNAME
		}
		s.wishes.at[n] = []zones.Endpoint{{Name: n, Type: kind, Targets: []string{target}, TTL: ttl(300), Owner: zones.Owner{Source: "ingress", Namespace: "shop", Name: "web"}}}
	}
	s.wishes.mu.Unlock()
	if s.mirror != nil {
		s.mirror.Notify([]zones.Name{n})
	}
}

// settled fails where the zone doesn't hold exactly the wishes, each with one
// ownership record, and others' records, or where another cycle writes.
func (s *story) settled(others int) {
	s.Helper()
	s.pass(12 * interval)
	seen := map[string]int{}
	for _, r := range s.fake.held() {
		seen[r.Name+" "+r.Type]++
		if seen[r.Name+" "+r.Type] > 1 {
			s.Errorf("%s %s is there %d times", r.Type, r.Name, seen[r.Name+" "+r.Type])
		}
	}
	wishes := s.wishes.Read(nil).Endpoints
	for _, e := range wishes {
		kind := strings.ToLower(e.Type.String())
		if seen[e.Name.String()+" "+e.Type.String()] != 1 || seen[kind+"-"+e.Name.String()+" TXT"] != 1 {
			s.Errorf("%s %s isn't there with its ownership", e.Type, e.Name)
		}
	}
	if len(seen) != 2*len(wishes)+others {
		s.Errorf("there are %d records for %d wishes and %d of others", len(seen), len(wishes), others)
	}
	writes := s.fake.count("POST", "/batch")
	s.pass(2 * interval)
	if again := s.fake.count("POST", "/batch") - writes; again > 0 {
		s.Errorf("%d batches were sent for nothing", again)
	}
}

func TestOneChangeIsOneBatch(t *testing.T) {
	t.Parallel()
	tell(t, newFake("pro"), func(s *story) {
		for i := range 60 {
			s.wish(fmt.Sprintf("n%d", i), "192.0.2.1")
		}
		s.run(3500, 10)
		s.settled(0)
		if n := s.fake.count("POST", "/batch"); n != 1 {
			s.Errorf("the first sync took %d batches", n)
		}
		for _, step := range []struct{ label, target string }{{"n7", "192.0.2.77"}, {"fresh", "192.0.2.1"}} {
			s.betweenCycles()
			before := len(s.fake.made())
			s.wish(step.label, step.target)
			s.pass(10 * time.Second)
			calls := s.fake.made()[before:]
			if len(calls) != 2 || !strings.Contains(calls[0], "name.endswith="+step.label+".example.com") || !strings.HasPrefix(calls[1], "POST") {
				s.Errorf("%s took the calls %q", step.label, calls)
			}
		}
		s.settled(0)
	})
}

func TestOneBadRecordOfMany(t *testing.T) {
	t.Parallel()
	for _, pointers := range []bool{false, true} {
		f := newFake("pro")
		f.pointers = pointers
		tell(t, f, func(s *story) {
			for i := range 899 {
				s.wish(fmt.Sprintf("n%d", i), "192.0.2.1")
			}
			s.wish("bad", "bad.example.com") // a CNAME that points at itself
			s.run(3500, 5000)
			s.pass(time.Minute)
			if n := len(s.fake.held()); n != 2*899 {
				s.Errorf("%d records are there for 899 that are good", n)
			}
			most := 22 // 2 log2(900), and one
			if pointers {
				most = 2
			}
			if n := s.fake.count("POST", "/batch"); n > most {
				s.Errorf("it took %d batches", n)
			}
		})
	}
}

func TestTroubleOnTheWayConverges(t *testing.T) {
	t.Parallel()
	for what, start := range map[string]func(s *story) (others int){
		"replies are lost": func(s *story) int {
			s.fake.trouble = func(n int, r *http.Request) trouble { return trouble{lost: isBatch(r) && n < 6} }
			return 0
		},
		"replies are cut": func(s *story) int {
			s.fake.trouble = func(n int, _ *http.Request) trouble { return trouble{cutBody: n < 12 && n%2 == 0} }
			return 0
		},
		"the cloud throttles": func(s *story) int {
			s.fake.trouble = func(n int, _ *http.Request) trouble {
				if n == 3 || n == 5 {
					return trouble{status: 429, header: map[string]string{"Retry-After": "200"}}
				}
				return trouble{}
			}
			return 0
		},
		"listings lag behind": func(s *story) int {
			s.fake.stale = 4
			return 0
		},
		"another hand writes between plan and batch": func(s *story) int {
			once := false
			s.fake.trouble = func(_ int, r *http.Request) trouble {
				if !isBatch(r) || once {
					return trouble{}
				}
				once = true
				return trouble{edit: func() {
					s.fake.put(fakeRecord{Name: "theirs.example.com", Type: "CNAME", Content: "lb.test", TTL: 300})
				}}
			}
			s.wish("theirs", "192.0.2.1")
			return 1
		},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			tell(t, newFake("pro"), func(s *story) {
				for i := range 30 {
					s.wish(fmt.Sprintf("n%d", i), "192.0.2.1")
				}
				others := start(s)
				s.run(20, 5000)
				for i := range 5 {
					s.pass(time.Minute)
					s.wish(fmt.Sprintf("n%d", i), fmt.Sprintf("192.0.2.%d", 100+i))
				}
				s.wish("n29", "")
				s.pass(12 * interval)
				if others > 0 {
					s.wish("theirs", "") // it is theirs, and stays
				}
				s.settled(others)
			})
		})
	}
}

// The budget of a credential is kept over a first sync.
func TestCallsKeepToTheBudget(t *testing.T) {
	t.Parallel()
	tell(t, newFake("free"), func(s *story) {
		s.budget = mirror.NewBucket(rate, burst)
		for i := range 150 {
			s.wish(fmt.Sprintf("n%d", i), "192.0.2.1")
		}
		var at []time.Time
		s.fake.trouble = func(int, *http.Request) trouble {
			at = append(at, time.Now())
			return trouble{}
		}
		s.run(10, 5000)
		s.settled(0)
		for i := range at {
			j := i
			for j < len(at) && at[j].Sub(at[i]) < time.Minute {
				j++
			}
			if n := j - i; n > burst+60*rate {
				s.Fatalf("%d calls in a minute", n)
			}
		}
	})
}

// BenchmarkListing prints what a cycle in which nothing changes asks of the API for
// 50 000 records with their ownership; the time includes that of the fake.
func BenchmarkListing(b *testing.B) {
	const n = 50000
	for b.Loop() {
		f := newFake("enterprise")
		p := newProvider(&Options{Credentials: Credentials{Token: fakeToken}, Budget: mirror.NewBucket(1e9, 1e9)})
		p.client.web.Transport = f
		z := mirror.Zone{ID: zoneID, Name: zones.Root, Handle: newZone("enterprise")}
		var list []fakeRecord
		for i := range n {
			list = append(list,
				fakeRecord{Name: fmt.Sprintf("n%d.example.com", i), Type: "A", Content: "192.0.2.1", TTL: 300},
				fakeRecord{Name: fmt.Sprintf("a-n%d.example.com", i), Type: "TXT", Content: `"heritage=external-dns,external-dns/owner=prod,external-dns/resource=ingress/default/web"`, TTL: 1})
		}
		f.put(list...)
		records, err := p.Records(b.Context(), z)
		if err != nil || len(records) != 2*n {
			b.Fatal(len(records), err)
		}
		b.ReportMetric(float64(len(f.calls)), "calls/listing")
	}
}
