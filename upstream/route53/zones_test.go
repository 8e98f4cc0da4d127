package route53

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/clusterzone/clusterzone/upstream/mirror"
	"github.com/clusterzone/clusterzone/zones"
)

func TestZones(t *testing.T) {
	t.Parallel()
	f := newFake(t, "Z01AAA example.com", "Z02BBB example.com private", "Z03CCC sub.example.com", "Z04DDD example.net", "Z05EEE 0/25.2.0.192.in-addr.arpa")
	f.zones[4].name = `0\05725.2.0.192.in-addr.arpa.`
	f.zones[0].tags = map[string]string{"team": "dns", "stage": "prod"}
	f.zones[3].tags = map[string]string{"team": "web", "stage": ""}
	com := func(n zones.Name) bool { return n.In(name(t, "example.com")) }
	for _, c := range []struct {
		what, want string
		change     func(*Options)
	}{
		{"all", "Z01AAA Z02BBB Z03CCC Z04DDD Z05EEE", nil},
		{"public", "Z01AAA Z03CCC Z04DDD Z05EEE", func(o *Options) { o.ZoneType = kindPublic }},
		{"private", "Z02BBB", func(o *Options) { o.ZoneType = kindPrivate }},
		{"suffixes of IDs", "Z02BBB Z04DDD", func(o *Options) { o.ZoneIDs = []string{"BBB", "/hostedzone/Z04DDD"} }},
		{"a domain", "Z01AAA Z02BBB Z03CCC", func(o *Options) { o.Covers = com }},
		{"a domain below a zone", "", func(o *Options) {
			o.Covers = func(n zones.Name) bool { return n.In(name(t, "a.sub.example.com")) }
			o.Domains = []zones.Name{name(t, "a.sub.example.com")}
		}},
		{"a domain below a zone, with its parents", "Z01AAA Z02BBB Z03CCC", func(o *Options) {
			o.Covers = func(n zones.Name) bool { return n.In(name(t, "a.sub.example.com")) }
			o.Domains, o.MatchParent = []zones.Name{name(t, "a.sub.example.com")}, true
		}},
		{"a tag", "Z01AAA", func(o *Options) { o.ZoneTags = []string{"team=dns"} }},
		{"a tag of any value", "Z01AAA Z04DDD", func(o *Options) { o.ZoneTags = []string{"stage"} }},
		{"an empty tag", "Z04DDD", func(o *Options) { o.ZoneTags = []string{"stage="} }},
		{"two tags", "Z01AAA", func(o *Options) { o.ZoneTags = []string{"team=dns", "stage"} }},
	} {
		cloud := openAt(t, f.URL, c.change)
		list, err := cloud.Provider.Zones(t.Context())
		if err != nil {
			t.Fatalf("%s: %v", c.what, err)
		}
		var ids []string
		for _, zone := range list {
			ids = append(ids, zone.ID)
		}
		if got := strings.Join(ids, " "); got != c.want {
			t.Errorf("%s: the zones are %q, and not %q", c.what, got, c.want)
		}
	}
	cloud := openAt(t, f.URL, nil)
	list, err := cloud.Provider.Zones(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if got := list[1].String() + list[4].String(); got != "example.com (private, Z02BBB)0/25.2.0.192.in-addr.arpa (public, Z05EEE)" {
		t.Errorf("the zones in words are %s", got)
	}
}

// A part of the zones is an error: none of them is returned.
func TestZonesAreWhole(t *testing.T) {
	t.Parallel()
	f := newFake(t, "Z1 a.test", "Z2 b.test", "Z3 c.test")
	for op, class := range map[string]mirror.Class{opZones: mirror.Denied, opTags: mirror.Throttled} {
		f.setFault(func(c call) *failure {
			if c.op != op || op == opZones && c.request.URL.Query().Get("marker") == "" {
				return nil
			}
			if class == mirror.Denied {
				return &failure{status: http.StatusForbidden, code: "AccessDenied", message: "no"}
			}
			return &failure{status: http.StatusBadRequest, code: "Throttling", message: "Rate exceeded"}
		})
		cloud := openAt(t, f.URL, func(o *Options) { o.ZoneTags = []string{"team"} })
		if list, err := cloud.Provider.Zones(t.Context()); mirror.ClassOf(err, "") != class || list != nil {
			t.Errorf("%s: the zones are %v, the error is %v", op, list, err)
		}
	}
}

func TestPlace(t *testing.T) {
	t.Parallel()
	zone := func(id, origin, kind string) mirror.Zone {
		return mirror.Zone{ID: id, Name: name(t, origin), Kind: kind}
	}
	candidates := []mirror.Zone{
		zone("Z1", "sub.example.com", kindPrivate), zone("Z2", "sub.example.com", kindPublic), zone("Z3", "sub.example.com", kindPublic),
		zone("Z4", "example.com", kindPrivate), zone("work/Z5", "example.com", kindPublic),
	}
	for line, want := range map[string]string{
		"a.sub.example.com A 192.0.2.1":                                     "Z1 Z2 Z4",
		"a.sub.example.com A 192.0.2.1 aws/hosted-zone-id=Z5":               "work/Z5",
		"a.sub.example.com A 192.0.2.1 aws/hosted-zone-id=/hostedzone/Z3":   "Z3",
		"a.sub.example.com A 192.0.2.1 aws/hosted-zone-id=Z9-of-nobody-yet": "Z1",
	} {
		r := record(t, line)
		var ids []string
		for _, zone := range place(&r, slices.Clone(candidates)) {
			ids = append(ids, zone.ID)
		}
		if got := strings.Join(ids, " "); got != want {
			t.Errorf("%s goes to %s, and not to %s", line, got, want)
		}
	}
}

// Each profile is an account, and a zone's ID says which.
func TestProfiles(t *testing.T) {
	t.Parallel()
	f := newFake(t, "Z1 example.com")
	files := profiles(t)
	used := map[string]bool{}
	cloud, err := open(t.Context(), Options{
		Endpoint: f.URL, Profiles: []string{"two", "one", "one"}, Retries: 1,
		Budgets: func(credentials string) *Budget { used[credentials] = true; return NewBudget(1e6, 1e6) },
	}, files)
	if err != nil {
		t.Fatal(err)
	}
	list, err := cloud.Provider.Zones(t.Context())
	if err != nil || len(list) != 2 || list[0].ID != "one/Z1" || list[1].ID != "two/Z1" {
		t.Errorf("the zones are %v, %v", list, err)
	}
	if len(used) != 2 || !used["one "] || !used["two "] {
		t.Errorf("the budgets are for %v", used)
	}
	for i, key := range []string{"AKIDONE", "AKIDTWO"} {
		if header := f.calls[i].request.Header.Get("Authorization"); !strings.Contains(header, key) {
			t.Errorf("call %d is signed by %s, not with %s", i, header, key)
		}
	}
}
