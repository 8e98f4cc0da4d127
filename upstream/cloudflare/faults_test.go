package cloudflare

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/clusterzone/clusterzone/upstream/mirror"
	"github.com/clusterzone/clusterzone/zones"
)

func ttl(seconds uint32) zones.TTL { return zones.TTL{Seconds: seconds, Set: true} }

func address(t *testing.T, label string, targets ...string) mirror.Record {
	return mirror.Record{Name: name(t, label+".example.com"), Type: zones.TypeA, Targets: targets, TTL: ttl(600)}
}

func create(records ...mirror.Record) mirror.Group {
	g := mirror.Group{Name: records[0].Name}
	for i := range records {
		g.Changes = append(g.Changes, mirror.Change{Verb: mirror.Create, New: &records[i]})
	}
	return g
}

// want fails where an error isn't of a class and doesn't say all words.
func want(t *testing.T, err error, class mirror.Class, words ...string) {
	t.Helper()
	if err == nil {
		t.Fatalf("it succeeds, and should be %s", class)
	}
	if got := mirror.ClassOf(err, "of no class"); got != class {
		t.Errorf("%v: it is %s, and should be %s", err, got, class)
	}
	for _, word := range words {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("%q doesn't say %q", err, word)
		}
	}
}

func isPage(r *http.Request, n string) bool {
	return strings.HasSuffix(r.URL.Path, "/dns_records") && r.URL.Query().Get("page") == n
}

func isBatch(r *http.Request) bool { return strings.HasSuffix(r.URL.Path, "/batch") }

func fill(f *fake, n int) {
	var list []fakeRecord
	for i := range n {
		list = append(list, fakeRecord{Name: fmt.Sprintf("n%03d.example.com", i), Type: "A", Content: "192.0.2.1", TTL: 300})
	}
	f.put(list...)
}

func TestListingsAreWholeOrErrors(t *testing.T) {
	t.Parallel()
	const empty = `{"success":true,"errors":[],"result":[],"result_info":{"page":2,"total_count":250}}`
	for what, c := range map[string]struct {
		trouble func(f *fake) func(n int, r *http.Request) trouble
		words   string // "" where the listing succeeds
	}{
		"an error of the server on the second page": {func(*fake) func(int, *http.Request) trouble {
			return func(_ int, r *http.Request) trouble {
				if isPage(r, "2") {
					return trouble{status: 502, body: "<html>Bad gateway</html>"}
				}
				return trouble{}
			}
		}, "502 Bad Gateway"},
		"an error that passes": {func(*fake) func(int, *http.Request) trouble {
			return func(n int, r *http.Request) trouble {
				if isPage(r, "2") && n%3 == 0 {
					return trouble{status: 500, body: `{"success":false,"errors":[{"code":1,"message":"x"}]}`}
				}
				return trouble{}
			}
		}, ""},
		"half of a page": {func(*fake) func(int, *http.Request) trouble {
			return func(_ int, r *http.Request) trouble { return trouble{cutBody: isPage(r, "3")} }
		}, "EOF"},
		"a page without entries": {func(*fake) func(int, *http.Request) trouble {
			return func(_ int, r *http.Request) trouble {
				if isPage(r, "2") {
					return trouble{status: 200, body: empty}
				}
				return trouble{}
			}
		}, "100 entries of 250"},
		"no total": {func(*fake) func(int, *http.Request) trouble {
			return func(_ int, r *http.Request) trouble {
				if isPage(r, "1") {
					return trouble{status: 200, body: `{"success":true,"result":[],"result_info":{}}`}
				}
				return trouble{}
			}
		}, "how many entries"},
		"a record that comes while pages are read": {func(f *fake) func(int, *http.Request) trouble {
			once := false
			return func(_ int, r *http.Request) trouble {
				if isPage(r, "2") && !once {
					once = true
					return trouble{edit: func() { f.put(fakeRecord{Name: "a.example.com", Type: "A", Content: "192.0.2.1", TTL: 1}) }}
				}
				return trouble{}
			}
		}, ""},
		"records that come all the time": {func(f *fake) func(int, *http.Request) trouble {
			return func(n int, r *http.Request) trouble {
				if isPage(r, "2") {
					return trouble{edit: func() {
						f.put(fakeRecord{Name: fmt.Sprintf("a%d.example.com", n), Type: "A", Content: "192.0.2.1", TTL: 1})
					}}
				}
				return trouble{}
			}
		}, "changed while it was read"},
		"an MX record without its priority": {func(f *fake) func(int, *http.Request) trouble {
			f.put(fakeRecord{Name: "mail.example.com", Type: "MX", Content: "mx.example.net", TTL: 1})
			return nil
		}, "MX mail.example.com"},
		"an SRV record without its data": {func(f *fake) func(int, *http.Request) trouble {
			f.put(fakeRecord{Name: "_sip._tcp.example.com", Type: "SRV", Content: "5\t5060\tsip.example.net", TTL: 1})
			return nil
		}, "without its data"},
		"success that is none": {func(*fake) func(int, *http.Request) trouble {
			return func(_ int, r *http.Request) trouble {
				if isPage(r, "1") {
					return trouble{status: 200, body: `{"success":false,"errors":[{"code":7,"message":"Not now."}]}`}
				}
				return trouble{}
			}
		}, "Not now (code 7)"},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			f := newFake("pro")
			fill(f, 250)
			cloud := open(t, f, func(o *Options) { o.PageSize = 100 })
			zone := theZone(t, cloud)
			f.trouble = c.trouble(f)
			list, err := cloud.Provider.Records(t.Context(), zone)
			if c.words == "" {
				if err != nil || len(list) != len(f.held()) {
					t.Errorf("%d records of %d, and %v", len(list), len(f.held()), err)
				}
				return
			}
			want(t, err, mirror.Failed, c.words, "example.com")
			if list != nil {
				t.Errorf("%d records beside an error", len(list))
			}
		})
	}
}

func TestWritesThatFailSayWhatIsKnown(t *testing.T) {
	t.Parallel()
	for what, c := range map[string]struct {
		trouble trouble
		class   mirror.Class
		written bool
	}{
		"the reply is lost":        {trouble{lost: true}, mirror.Unknown, true},
		"the reply is cut":         {trouble{cutBody: true}, mirror.Unknown, true},
		"a gateway's page":         {trouble{status: 502, body: "<html>"}, mirror.Unknown, false},
		"an internal error":        {trouble{status: 500, body: `{"success":false,"errors":[{"code":10001,"message":"Oops"}]}`}, mirror.Unknown, false},
		"a timeout at the edge":    {trouble{status: 524, body: ""}, mirror.Unknown, false},
		"no way to Cloudflare":     {trouble{err: &net.OpError{Op: "dial", Net: "tcp", Err: errors.New("no route to host")}}, mirror.Failed, false},
		"a token that is too weak": {trouble{status: 403, body: `{"success":false,"errors":[{"code":10000,"message":"Authentication error"}]}`}, mirror.Denied, false},
		"a redirect":               {trouble{status: 302, header: map[string]string{"Location": "https://elsewhere.test/"}}, mirror.Failed, false},
		"a success without result": {trouble{status: 200, body: `{"success":true,"result":{}}`}, mirror.Unknown, false},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			f := newFake("pro")
			cloud := open(t, f)
			zone := theZone(t, cloud)
			f.trouble = func(_ int, r *http.Request) trouble {
				if isBatch(r) {
					return c.trouble
				}
				return trouble{}
			}
			err := cloud.Provider.Apply(t.Context(), zone, []mirror.Group{create(address(t, "web", "192.0.2.1"))})[0].Err
			want(t, err, c.class, "example.com")
			if n := f.count("POST", "/batch"); n != 1 {
				t.Errorf("the batch was sent %d times", n)
			}
			if written := len(f.held()) > 0; written != c.written {
				t.Errorf("it was written: %v", written)
			}
		})
	}
}

func TestThrottling(t *testing.T) {
	t.Parallel()
	f := newFake("pro")
	cloud := open(t, f, func(o *Options) { o.Budget = mirror.NewBucket(2, 100) })
	budget := cloud.Provider.(*provider).client.budget
	zone := theZone(t, cloud)
	for _, c := range []struct {
		header string
		rate   float64
	}{
		{`"default";r=100;t=100`, 0.5}, {`"default";r=1199;t=300`, 1199. / 600}, {`"default";r=1199;t=60`, 2},
		{`"default";r=0;t=20`, 0.05}, {`"default"; r=400; t=100`, 2}, {"", 2}, {"nonsense;r=x;t=-4", 2},
	} {
		f.trouble = func(int, *http.Request) trouble { return trouble{header: map[string]string{"Ratelimit": c.header}} }
		if _, err := cloud.Provider.Records(t.Context(), zone); err != nil {
			t.Fatal(err)
		}
		if got := budget.Rate(); got != c.rate {
			t.Errorf("after %s the rate is %v, and should be %v", c.header, got, c.rate)
		}
	}
	f.trouble = func(int, *http.Request) trouble {
		return trouble{status: 429, header: map[string]string{"Retry-After": "137"}, body: `{"success":false,"errors":[{"code":10429,"message":"Rate limited"}]}`}
	}
	_, err := cloud.Provider.Records(t.Context(), zone)
	want(t, err, mirror.Throttled, "example.com")
	if e := (*mirror.Error)(nil); !errors.As(err, &e) || e.RetryAfter != 137*time.Second {
		t.Errorf("%v asks for no wait of 137 s", err)
	}
	// Until then, no call is made: it would be refused, too.
	before := len(f.calls)
	results := cloud.Provider.Apply(t.Context(), zone, []mirror.Group{create(address(t, "web", "192.0.2.1"))})
	want(t, results[0].Err, mirror.Throttled)
	if e := (*mirror.Error)(nil); !errors.As(results[0].Err, &e) || e.RetryAfter < 130*time.Second {
		t.Errorf("%v asks for no wait", results[0].Err)
	}
	if len(f.calls) != before {
		t.Error("a call was made though Cloudflare has asked to wait")
	}
}

func TestRetryAfterReadsDates(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 30, 16, 0, 0, 0, time.UTC)
	for text, want := range map[string]time.Duration{
		"": 0, "5": 5 * time.Second, "-3": 0, "99999999": time.Hour, "Mon, 30 Nov 2026 16:01:00 GMT": time.Minute, "Mon, 30 Nov 2026 15:01:00 GMT": 0, "soon": 0,
	} {
		if got := retryAfter(http.Header{"Retry-After": {text}}, now); got != want {
			t.Errorf("%q is %s, and should be %s", text, got, want)
		}
	}
}

func TestGroupsThatTheZoneHasOvertaken(t *testing.T) {
	t.Parallel()
	for what, c := range map[string]struct {
		edit  func(f *fake)
		group func(have mirror.Record) mirror.Group
		class mirror.Class // "" for success
	}{
		"what is created is there": {func(f *fake) {
			f.put(fakeRecord{Name: "new.example.com", Type: "A", Content: "192.0.2.7", TTL: 600})
		}, func(mirror.Record) mirror.Group { return create(address(t, "new", "192.0.2.7")) }, ""},
		"what is created is there with another TTL": {func(f *fake) {
			f.put(fakeRecord{Name: "new.example.com", Type: "A", Content: "192.0.2.7", TTL: 60})
		}, func(mirror.Record) mirror.Group { return create(address(t, "new", "192.0.2.7")) }, mirror.Conflict},
		"a CNAME stands at the name": {func(f *fake) {
			f.put(fakeRecord{Name: "new.example.com", Type: "CNAME", Content: "lb.example.net", TTL: 60})
		}, func(mirror.Record) mirror.Group { return create(address(t, "new", "192.0.2.7")) }, mirror.Conflict},
		"what is deleted is gone": {func(f *fake) { f.records[zoneID] = nil }, func(have mirror.Record) mirror.Group {
			return mirror.Group{Name: have.Name, Changes: []mirror.Change{{Verb: mirror.Delete, Old: &have}}}
		}, ""},
		"what is changed is gone": {func(f *fake) { f.records[zoneID] = nil }, func(have mirror.Record) mirror.Group {
			next := address(t, "web", "192.0.2.9")
			return mirror.Group{Name: have.Name, Changes: []mirror.Change{{Verb: mirror.Update, Old: &have, New: &next}}}
		}, mirror.Conflict},
	} {
		for _, pointers := range []bool{false, true} {
			f := newFake("pro")
			f.pointers = pointers
			f.put(fakeRecord{Name: "web.example.com", Type: "A", Content: "192.0.2.1", TTL: 600})
			cloud := open(t, f)
			zone := theZone(t, cloud)
			list, err := cloud.Provider.Records(t.Context(), zone)
			if err != nil {
				t.Fatal(err)
			}
			c.edit(f)
			groups := []mirror.Group{c.group(list[0])}
			if pointers { // another group is there, and isn't blamed
				groups = append(groups, create(address(t, "other", "192.0.2.1")))
			}
			results := cloud.Provider.Apply(t.Context(), zone, groups)
			if err := results[0].Err; c.class != "" {
				want(t, err, c.class)
			} else if err != nil {
				t.Errorf("%s: %v", what, err)
			}
			if pointers {
				want(t, results[1].Err, mirror.Undone)
			}
		}
	}
}

func TestFullZonesTakeWhatFits(t *testing.T) {
	t.Parallel()
	for _, quota := range []int{1000, 990} { // as the plan says, and less
		f := newFake("free")
		f.quota = quota
		fill(f, quota-5)
		cloud := open(t, f)
		zone := theZone(t, cloud)
		if _, err := cloud.Provider.Records(t.Context(), zone); err != nil {
			t.Fatal(err)
		}
		var groups []mirror.Group
		for i := range 8 {
			groups = append(groups, create(address(t, fmt.Sprintf("a%d", i), "192.0.2.1")))
		}
		results := cloud.Provider.Apply(t.Context(), zone, groups)
		var blamed int
		var again []mirror.Group
		for i := range results {
			switch mirror.ClassOf(results[i].Err, "") {
			case mirror.BadChange:
				blamed++
				want(t, results[i].Err, mirror.BadChange, "is full", "the plan free has 1000")
			case mirror.Undone:
				again = append(again, groups[i])
			}
		}
		switch {
		case quota == 1000 && blamed != 3, quota < 1000 && blamed != 8:
			t.Errorf("with room for 5, %d of 8 groups are blamed", blamed)
		case len(again)+blamed != 8:
			t.Errorf("%d groups are neither blamed nor sent again", 8-blamed-len(again))
		}
		if quota == 1000 {
			for _, result := range cloud.Provider.Apply(t.Context(), zone, again) {
				if result.Err != nil {
					t.Error(result.Err)
				}
			}
		}
	}
}

func TestPlansBoundBatches(t *testing.T) {
	t.Parallel()
	f := newFake("free")
	cloud := open(t, f, func(o *Options) { o.BatchChanges = 3500 })
	zone := theZone(t, cloud)
	var groups []mirror.Group
	for i := range 201 {
		groups = append(groups, create(address(t, fmt.Sprintf("a%d", i), "192.0.2.1")))
	}
	want(t, cloud.Provider.Apply(t.Context(), zone, groups)[0].Err, mirror.Undone)
	var targets []string
	for i := range 201 {
		targets = append(targets, fmt.Sprintf("192.0.2.%d", i))
	}
	want(t, cloud.Provider.Apply(t.Context(), zone, []mirror.Group{create(address(t, "web", targets...))})[0].Err, mirror.BadChange, "201", "200")
	if n := f.count("POST", "/batch"); n != 0 {
		t.Errorf("%d calls were made for what the plan doesn't take", n)
	}
	if err := cloud.Provider.Apply(t.Context(), zone, groups[:200])[0].Err; err != nil {
		t.Error(err)
	}
}

func TestZones(t *testing.T) {
	t.Parallel()
	f := newFake("pro")
	for i := range 120 {
		f.zones = append(f.zones, fakeZone(fmt.Sprintf("%032d", i), fmt.Sprintf("z%d.example.net", i), "free"))
	}
	f.zones[3]["type"] = "secondary"
	f.zones[4]["status"] = "pending"
	f.zones[4]["name"] = "b\u00fccher.example"
	cloud := open(t, f)
	list, err := cloud.Provider.Zones(t.Context())
	if err != nil || len(list) != 120 {
		t.Fatalf("%d zones, and %v", len(list), err)
	}
	if at := slices.IndexFunc(list, func(z mirror.Zone) bool { return z.Kind == "pending" }); at < 0 || list[at].Name.String() != "xn--bcher-kva.example" {
		t.Errorf("the pending zone isn't there by its name: %v", list)
	}
	one := open(t, f, func(o *Options) { o.ZoneIDs = []string{zoneID} })
	if list, err := one.Provider.Zones(t.Context()); err != nil || len(list) != 1 || list[0].ID != zoneID {
		t.Errorf("the one zone that was named: %v, %v", list, err)
	}
	for id, words := range map[string]string{"nothing": "nothing", f.zones[3]["id"].(string): "secondary"} {
		_, err := open(t, f, func(o *Options) { o.ZoneIDs = []string{id} }).Provider.Zones(t.Context())
		want(t, err, mirror.Failed, words)
	}
	r := address(t, "web")
	pending, active := mirror.Zone{ID: "1", Name: name(t, "example.com"), Handle: &zone{Status: "pending"}}, mirror.Zone{ID: "2", Name: name(t, "example.com"), Handle: &zone{Status: "active"}}
	if got := cloud.Place(&r, []mirror.Zone{pending, active}); len(got) != 1 || got[0].ID != "2" {
		t.Errorf("of two zones of one name, %v is chosen", got)
	}
	if got := cloud.Place(&r, []mirror.Zone{pending}); len(got) != 1 || got[0].ID != "1" {
		t.Errorf("of one zone, %v is chosen", got)
	}
}
