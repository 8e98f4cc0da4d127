package adminpage_test

import (
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/clusterzone/clusterzone/adminpage"
	"github.com/clusterzone/clusterzone/zones"
)

// Run "go test ./adminpage -update" after a change of the page, and read the
// difference before it is committed.
var update = flag.Bool("update", false, "rewrite the golden pages")

// A fake is Data of fixed values.
type fake struct {
	overview adminpage.Overview
	names    map[zones.Name]zones.Explanation
	sets     []zones.ListedSet
	next     zones.Name
}

func (f *fake) Overview() adminpage.Overview { return f.overview }

func (f *fake) Explain(name zones.Name, kind zones.Type) zones.Explanation {
	x, known := f.names[name]
	if !known {
		x = zones.Explanation{Name: name, Outcome: zones.NXDomain.String(), Detail: name.String() + " does not exist: queries get NXDOMAIN", Next: "no object asks for this name: look for a misspelt host"}
	}
	x.Type = kind
	return x
}

func (f *fake) Records(zone, from zones.Name, limit int) (sets []zones.ListedSet, next zones.Name, known bool) {
	if zone != dns("corp.test") {
		return nil, "", false
	}
	if from != "" {
		return f.sets[1:], "", true
	}
	return f.sets, f.next, true
}

// dns makes a name of a text that is one.
func dns(text string) zones.Name {
	name, err := zones.ParseName(text)
	if err != nil {
		panic(err)
	}
	return name
}

var (
	then = time.Date(2026, 1, 12, 8, 0, 0, 0, time.UTC)
	evil = `<script>alert("x")</script>`
)

// full is a server with something of everything, hostile words among it: what
// stands in objects is whatever somebody wrote there.
func full() *fake {
	web := zones.Owner{Source: "ingress", Namespace: "shop", Name: "web"}
	from := []zones.ExplainedSource{{Object: web.String(), Created: then, NameFrom: "spec.rules[].host", TargetsFrom: "status.loadBalancer.ingress[]", Held: &zones.Hold{Since: then, Until: then.Add(5 * time.Minute)}}}
	set := zones.ExplainedSet{Type: zones.TypeA, TTL: 300, Data: []string{"192.0.2.10"}, From: from}
	shop := zones.Explanation{
		Name: dns("shop.corp.test"), Outcome: zones.Hit.String(), Detail: "shop.corp.test is served", Zone: dns("corp.test"), Serial: 1796043122, Records: []zones.ExplainedSet{set},
		Skipped: []zones.ExplainedSkip{{Object: "ingress sandbox/" + evil, Reason: zones.ReasonConflict, Message: evil + " belongs to ingress shop/web"}},
	}
	return &fake{
		overview: adminpage.Overview{
			Ready: true, Committed: then, LastEvent: then, Saved: then,
			Zones: []adminpage.Zone{
				{Name: dns("corp.test"), Serial: 1796043122, Names: 5, Records: map[zones.Type]int{zones.TypeA: 2, zones.TypeNS: 1}},
				{Name: dns("lab.corp.test"), Serial: 7, Names: 1, Problem: "corp.zone:3: " + evil},
			},
			Sources: []adminpage.Source{
				{Name: "ingress", Synced: true, Objects: 3, Kinds: []adminpage.Kind{{Name: "Ingress", Synced: true, Objects: 3, LastEvent: then}}},
				{Name: "service", Objects: 1, Kinds: []adminpage.Kind{{Name: "Service", Problem: "services is forbidden: " + evil, Since: then}}},
				{Name: "crd", Kinds: []adminpage.Kind{{Name: "DNSEndpoint", Absent: true}}},
				{Name: "node", Kinds: []adminpage.Kind{{Name: "Node"}}},
			},
			Skipped: []zones.Skipped{
				{Owner: web, Name: dns("pay.corp.test"), Reason: zones.ReasonNoAddress, Message: "status has no load-balancer address yet"},
				{Owner: web, Asked: evil, Reason: zones.ReasonInvalidName, Message: `"` + evil + `" is no host name`},
			},
			Changes: []adminpage.Change{
				{At: then, Change: zones.Change{Zone: dns("corp.test"), New: &zones.RRSet{Name: dns("shop.corp.test"), Type: zones.TypeA, TTL: 300}}},
				{At: then, Change: zones.Change{Zone: dns("corp.test"), Old: &zones.RRSet{Name: dns("old.corp.test"), Type: zones.TypeA, TTL: 300}}},
			},
		},
		names: map[zones.Name]zones.Explanation{
			dns("shop.corp.test"): shop,
			dns("www.corp.test"): {
				Name: dns("www.corp.test"), Outcome: zones.Hit.String(), Detail: "www.corp.test is served", Zone: dns("corp.test"), Serial: 1796043122, Target: &shop,
				Records: []zones.ExplainedSet{{Type: zones.TypeCNAME, TTL: 300, Data: []string{"shop.corp.test."}, From: from}},
			},
			dns("cdn.corp.test"): {
				Name: dns("cdn.corp.test"), Outcome: zones.Unresolved.String(), Detail: "lb.example can't be looked up: queries for addresses get SERVFAIL", Zone: dns("corp.test"),
				Outside: &zones.ExplainedTarget{Name: dns("lb.example"), State: "failed", Problem: evil},
			},
		},
		sets: []zones.ListedSet{{Name: dns("corp.test"), ExplainedSet: set}, {Name: dns("shop.corp.test"), ExplainedSet: set}},
		next: dns("shop.corp.test"),
	}
}

// mirrored is a server with mirrors in each state, and full of hostile words.
func mirrored() *fake {
	f := full()
	corp := dns("corp.test")
	f.overview.Mirrors = []adminpage.Mirror{
		{
			Name: "public", Provider: "aws", Policy: "sync", Owner: "one", Leads: true, LastCycle: then, LastSuccess: then,
			Doubt: `what decides which records are this mirror's has changed since it wrote last: owner was "` + evil + `" and is "one"; if that is meant, acknowledge it with --mirror-acknowledge=0123456789ab`,
			Zones: []adminpage.MirrorZone{
				{Name: dns("lab.corp.test"), ID: "ZLAB", Owned: 1, Wanted: 1},
				{
					Name: corp, ID: "ZCORP", Owned: 40, Foreign: 3, Wanted: 41, Planned: 12, Done: 5, Warning: "20 of 40 records change at once",
					Held: []adminpage.MirrorHeld{
						{Name: dns("old.corp.test"), Change: "delete A old.corp.test 192.0.2.1", Guard: "delay", Why: "nothing must ask for it in 2 cycles and for 5m0s", Until: then.Add(5 * time.Minute)},
						{Name: dns("shop.corp.test"), Change: "delete A shop.corp.test 192.0.2.10", Guard: "too-many", Why: "20 of 40 records would be deleted or replaced, more than 30 %", Asked: true},
					},
					Blocked: []adminpage.MirrorBlocked{{Name: dns("pay.corp.test"), Type: zones.TypeA, Object: "ingress/shop/" + evil, Why: "the record belongs to the owner " + evil}},
				},
			},
		},
		{Name: "second", Provider: "cloudflare", Policy: "upsert-only", Owner: "one", Writer: "dns-abc_x has the lease dns/clusterzone-cloudflare-one", Waiting: "another process writes: dns-abc_x has the lease dns/clusterzone-cloudflare-one"},
		{Name: "third", Provider: "alibabacloud", Policy: "create-only", Leads: true, Problem: "the zones can't be listed: " + evil, LastCycle: then},
		{
			Name: "fourth", Provider: "inmemory", Policy: "upsert-only", Owner: "one", DryRun: true, Leads: true, LastCycle: then.Add(time.Hour), LastSuccess: then,
			Zones: []adminpage.MirrorZone{{Name: corp, ID: "corp.test", Owned: 1, Wanted: 2}},
		},
	}
	return f
}

func waiting() *fake {
	return &fake{overview: adminpage.Overview{Waiting: "Ingress", Sources: []adminpage.Source{{Name: "ingress", Kinds: []adminpage.Kind{{Name: "Ingress"}}}}}}
}

func get(data adminpage.Data, target string) *http.Response {
	recorder := httptest.NewRecorder()
	adminpage.Handler(data).ServeHTTP(recorder, httptest.NewRequest(http.MethodGet, target, nil))
	return recorder.Result()
}

func text(t *testing.T, response *http.Response) string {
	t.Helper()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}

// TestPages: the page in each state, as the golden files in testdata have it.
func TestPages(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		file, target string
		data         *fake
		code         int
	}{
		{"empty", "/", &fake{overview: adminpage.Overview{Ready: true}}, http.StatusOK},
		{"notready", "/", waiting(), http.StatusOK},
		{"ready", "/", full(), http.StatusOK},
		{"mirrors", "/", mirrored(), http.StatusOK},
		{"name", "/name?name=Shop.corp.test.&type=a", full(), http.StatusOK},
		{"alias", "/name?name=www.corp.test&type=HTTPS", full(), http.StatusOK},
		{"outside", "/name?name=cdn.corp.test", full(), http.StatusOK},
		{"missing", "/name?name=absent.corp.test", full(), http.StatusOK},
		{"noname", "/name?name=+", full(), http.StatusBadRequest},
		{"badname", "/name?name=%3Cscript%3E..x", full(), http.StatusBadRequest},
		{"badtype", "/name?name=shop.corp.test&type=%22%3E%3Cb%3E", full(), http.StatusBadRequest},
		{"zone", "/zone?name=corp.test", full(), http.StatusOK},
		{"zonenext", "/zone?name=corp.test&from=shop.corp.test", full(), http.StatusOK},
		{"nozone", "/zone?name=other.test", full(), http.StatusNotFound},
	} {
		response := get(c.data, c.target)
		if response.StatusCode != c.code {
			t.Errorf("%s: status %d, want %d", c.target, response.StatusCode, c.code)
		}
		got, path := text(t, response), "testdata/"+c.file+".html"
		if *update {
			if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if got != string(want) {
			t.Errorf("%s differs from %s:\n%s", c.target, path, got)
		}
		harmless(t, c.target, got)
	}
}

var (
	tags     = regexp.MustCompile(`<([a-z0-9]+)`)
	handlers = regexp.MustCompile(`<[^>]*\s(on[a-z]+|style)\s*=`)
	sources  = regexp.MustCompile(`(?:href|src|action)="([^"]*)"`)
)

// harmless fails the test where a page holds a tag or an attribute that the
// template doesn't have, or names another place than this server.
func harmless(t *testing.T, target, page string) {
	t.Helper()
	if n := strings.Count(page, "<script"); n != 1 {
		t.Errorf("%s holds %d script tags", target, n)
	}
	for _, tag := range tags.FindAllStringSubmatch(page, -1) {
		if tag[1] == "b" || tag[1] == "style" || tag[1] == "iframe" {
			t.Errorf("%s holds a tag <%s>", target, tag[1])
		}
	}
	if found := handlers.FindString(page); found != "" {
		t.Errorf("%s holds an inline handler or style: %s", target, found)
	}
	for _, match := range sources.FindAllStringSubmatch(page, -1) {
		if !strings.HasPrefix(match[1], "/") && !strings.HasPrefix(match[1], "#") || strings.HasPrefix(match[1], "//") {
			t.Errorf("%s leads elsewhere: %s", target, match[1])
		}
	}
}

// TestHeaders: every answer carries the policy, errors and assets included.
func TestHeaders(t *testing.T) {
	t.Parallel()
	for target, kind := range map[string]string{
		"/": "text/html; charset=utf-8", "/name": "text/html; charset=utf-8", "/zone?name=a..b": "text/html; charset=utf-8",
		"/assets/page.css": "text/css; charset=utf-8", "/assets/page.js": "text/javascript; charset=utf-8", "/assets/icon.svg": "image/svg+xml",
		"/assets/none": "text/plain; charset=utf-8",
	} {
		header := get(full(), target).Header
		policy := header.Get("Content-Security-Policy")
		if !strings.HasPrefix(policy, "default-src 'none'; ") || strings.Contains(policy, "unsafe") || strings.Contains(policy, "http") {
			t.Errorf("%s: the policy is %q", target, policy)
		}
		for name, want := range map[string]string{"Content-Type": kind, "X-Content-Type-Options": "nosniff", "X-Frame-Options": "DENY", "Referrer-Policy": "no-referrer"} {
			if got := header.Get(name); got != want {
				t.Errorf("%s: %s is %q, want %q", target, name, got, want)
			}
		}
	}
}

// TestLongLists: what doesn't fit is counted, and what can be mended comes first.
func TestLongLists(t *testing.T) {
	t.Parallel()
	data := &fake{overview: adminpage.Overview{Ready: true}}
	for i := range 1000 {
		name := dns(fmt.Sprintf("z%04d.test", i))
		data.overview.Zones = append(data.overview.Zones, adminpage.Zone{Name: name})
		data.overview.Skipped = append(data.overview.Skipped, zones.Skipped{Owner: zones.Owner{Source: "ingress", Name: "quiet"}, Name: name, Reason: zones.ReasonClass})
	}
	data.overview.Skipped = append(data.overview.Skipped, zones.Skipped{Owner: zones.Owner{Source: "ingress", Name: "loud"}, Reason: zones.ReasonInvalidName})
	page := text(t, get(data, "/"))
	for _, want := range []string{"800 more are not shown", "801 more are not shown", "ingress loud", "200 zones and 800 more"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page doesn't say %q", want)
		}
	}
	if rows := strings.Count(page, `<tr role="row"><td`); rows != 400 {
		t.Errorf("%d rows, want 400", rows)
	}
}

// TestManyMirroredZones: what somebody has to look at comes first, and what doesn't
// fit is counted.
func TestManyMirroredZones(t *testing.T) {
	t.Parallel()
	m := adminpage.Mirror{Name: "public", Leads: true}
	for i := range 300 {
		zone := adminpage.MirrorZone{Name: dns(fmt.Sprintf("z%04d.test", i)), ID: "Z"}
		zone.Held = []adminpage.MirrorHeld{{Name: dns(fmt.Sprintf("quiet.z%04d.test", i)), Guard: "policy"}}
		m.Zones = append(m.Zones, zone)
	}
	m.Zones[299].Problem = "it is locked"
	m.Zones[299].Held[0] = adminpage.MirrorHeld{Name: dns("loud.test"), Guard: "empty", Asked: true}
	for i := range 100 {
		m.Zones = append(m.Zones, adminpage.MirrorZone{Name: dns(fmt.Sprintf("calm%04d.test", i)), ID: "Z"})
	}
	page := text(t, get(&fake{overview: adminpage.Overview{Ready: true, Mirrors: []adminpage.Mirror{m}}}, "/"))
	for _, want := range []string{"350 more are not shown", "200 more are not shown", "loud.test", "look at it"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page doesn't say %q", want)
		}
	}
	if strings.Contains(page, "calm") {
		t.Error("zones in step push others out")
	}
}

// TestMirrorStates: each state has its word.
func TestMirrorStates(t *testing.T) {
	t.Parallel()
	zone := adminpage.MirrorZone{Name: dns("corp.test")}
	failing, writing := zone, zone
	failing.Problem, writing.Planned = "no", 3
	for want, m := range map[string]adminpage.Mirror{
		`tag good">in step<`:      {Leads: true, Zones: []adminpage.MirrorZone{zone}},
		`tag quiet">writing<`:     {Leads: true, Zones: []adminpage.MirrorZone{zone, writing}},
		`tag quiet">dry run<`:     {Leads: true, DryRun: true, Zones: []adminpage.MirrorZone{writing}},
		`tag quiet">standing by<`: {Waiting: "another writes"},
		`tag warn">waiting<`:      {Leads: true, Waiting: "the sources are not read yet"},
		`tag bad">failing<`:       {Leads: true, Zones: []adminpage.MirrorZone{failing}},
	} {
		page := text(t, get(&fake{overview: adminpage.Overview{Ready: true, Mirrors: []adminpage.Mirror{m}}}, "/"))
		if !strings.Contains(page, want) {
			t.Errorf("%+v doesn't show %s", m, want)
		}
	}
}

// TestRecent: the last hundred changes, the newest first.
func TestRecent(t *testing.T) {
	t.Parallel()
	var recent adminpage.Recent
	if list := recent.List(); len(list) != 0 {
		t.Errorf("at first there are %d changes", len(list))
	}
	for i := range 7 {
		var changes []zones.Change
		for k := range 30 {
			changes = append(changes, zones.Change{New: &zones.RRSet{TTL: uint32(30*i + k)}})
		}
		recent.Note(then, changes)
	}
	list := recent.List()
	if len(list) != 100 || list[0].Set().TTL != 209 || list[99].Set().TTL != 110 {
		t.Fatalf("%d changes from %d to %d; want 100 from 209 to 110", len(list), list[0].Set().TTL, list[len(list)-1].Set().TTL)
	}
	recent.Note(then, make([]zones.Change, 1000))
	if n := len(recent.List()); n != 100 {
		t.Errorf("a commit of 1000 changes leaves %d", n)
	}
	set := &zones.RRSet{}
	for want, change := range map[string]zones.Change{"added": {New: set}, "removed": {Old: set}, "changed": {Old: set, New: set}} {
		if got := (adminpage.Change{Change: change}).What(); got != want {
			t.Errorf("a change that is %s is called %s", want, got)
		}
	}
}
