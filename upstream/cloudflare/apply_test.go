package cloudflare

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/clusterzone/clusterzone/upstream/mirror"
	"github.com/clusterzone/clusterzone/zones"
)

// fakeLines are the records of the fake, one a line.
func fakeLines(f *fake) string {
	list := slices.Clone(f.held())
	slices.SortFunc(list, func(a, b fakeRecord) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Type, b.Type), cmp.Compare(a.Content, b.Content))
	})
	var lines strings.Builder
	for _, r := range list {
		comment := ""
		if r.Comment != nil {
			comment = *r.Comment
		}
		fmt.Fprintf(&lines, "%s %s %s %s ttl=%d proxied=%v %q %v\n", strings.TrimLeft(r.ID, "0"), r.Name, r.Type, r.Content, r.TTL, r.Proxied, comment, r.Tags)
	}
	return lines.String()
}

// verbs are how many entries of each kind the last batch had.
func verbs(t *testing.T, f *fake) string {
	t.Helper()
	var body map[string][]any
	if err := json.Unmarshal([]byte(f.bodies[len(f.bodies)-1]), &body); err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%d deletes, %d patches, %d posts", len(body["deletes"]), len(body["patches"]), len(body["posts"]))
}

func TestUpdatesChangeInPlace(t *testing.T) {
	t.Parallel()
	comment := "by hand"
	set := func(records ...fakeRecord) []fakeRecord {
		for i := range records {
			records[i].Name, records[i].Type = "web.example.com", cmp.Or(records[i].Type, "A")
		}
		return records
	}
	for what, c := range map[string]struct {
		have    []fakeRecord
		targets []string
		ttl     zones.TTL
		options []zones.Option
		verbs   string // "" where nothing is sent
		want    string
	}{
		"one target for another": {
			set(fakeRecord{Content: "192.0.2.1", TTL: 300}, fakeRecord{Content: "192.0.2.2", TTL: 300}),
			[]string{"192.0.2.2", "192.0.2.3"}, ttl(300), nil, "0 deletes, 1 patches, 0 posts",
			"2 web.example.com A 192.0.2.2 ttl=300 proxied=false \"\" []\n1 web.example.com A 192.0.2.3 ttl=300 proxied=false \"\" []\n",
		},
		"more targets": {
			set(fakeRecord{Content: "192.0.2.1", TTL: 300}), []string{"192.0.2.1", "192.0.2.3"}, ttl(300), nil, "0 deletes, 0 patches, 1 posts",
			"1 web.example.com A 192.0.2.1 ttl=300 proxied=false \"\" []\n2 web.example.com A 192.0.2.3 ttl=300 proxied=false \"\" []\n",
		},
		"fewer targets": {
			set(fakeRecord{Content: "192.0.2.1", TTL: 300}, fakeRecord{Content: "192.0.2.2", TTL: 300}), []string{"192.0.2.2"}, ttl(300), nil, "1 deletes, 0 patches, 0 posts",
			"2 web.example.com A 192.0.2.2 ttl=300 proxied=false \"\" []\n",
		},
		"a set that is uneven": {
			set(fakeRecord{Content: "192.0.2.1", TTL: 300}, fakeRecord{Content: "192.0.2.2", TTL: 600, Comment: &comment, Tags: []string{"Team:blue"}}),
			[]string{"192.0.2.1", "192.0.2.2"}, zones.TTL{}, nil, "0 deletes, 1 patches, 0 posts",
			"1 web.example.com A 192.0.2.1 ttl=300 proxied=false \"\" []\n2 web.example.com A 192.0.2.2 ttl=300 proxied=false \"\" []\n",
		},
		"a TTL that nobody asks for": {set(fakeRecord{Content: "192.0.2.1", TTL: 300}), []string{"192.0.2.1"}, zones.TTL{}, nil, "", ""},
		"into the proxy": {
			set(fakeRecord{Content: "192.0.2.1", TTL: 300}), []string{"192.0.2.1"}, ttl(300), []zones.Option{{Key: optionProxied, Value: "1"}, {Key: optionTags, Value: "a:b"}},
			"0 deletes, 1 patches, 0 posts", "1 web.example.com A 192.0.2.1 ttl=1 proxied=true \"\" [a:b]\n",
		},
		"out of the proxy": {
			set(fakeRecord{Content: "192.0.2.1", TTL: 1, Proxied: true}), []string{"192.0.2.1"}, ttl(300), nil,
			"0 deletes, 1 patches, 0 posts", "1 web.example.com A 192.0.2.1 ttl=300 proxied=false \"\" []\n",
		},
		"a TXT that is stored without quotes": {set(fakeRecord{Type: "TXT", Content: "v=spf1 -all", TTL: 300}), []string{`"v=spf1 -all"`}, ttl(300), nil, "", ""},
		"a TXT in other parts":                {set(fakeRecord{Type: "TXT", Content: `"v=spf1 " "-all"`, TTL: 300}), []string{`"v=spf1 -all"`}, ttl(300), nil, "", ""},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			f := newFake("pro")
			for i := range c.have {
				c.have[i].Settings = map[string]any{"ipv4_only": true}
			}
			f.put(c.have...)
			cloud := open(t, f)
			zone := theZone(t, cloud)
			list, err := cloud.Provider.Records(t.Context(), zone)
			if err != nil || len(list) != 1 {
				t.Fatal(list, err)
			}
			wish := mirror.Record{Name: list[0].Name, Type: list[0].Type, Targets: c.targets, TTL: c.ttl, Options: c.options}
			normal, err := cloud.Normalize(zone, wish)
			if err != nil {
				t.Fatal(err)
			}
			differences := mirror.Differences(&list[0], &normal[0])
			if c.verbs == "" {
				if len(differences) > 0 {
					t.Errorf("it differs in %v", differences)
				}
				return
			}
			if len(differences) == 0 {
				t.Error("nothing differs")
			}
			result := cloud.Provider.Apply(t.Context(), zone, []mirror.Group{{Name: wish.Name, Changes: []mirror.Change{{Verb: mirror.Update, Old: &list[0], New: &normal[0]}}}})[0]
			if result.Err != nil {
				t.Fatal(result.Err)
			}
			if got := verbs(t, f); got != c.verbs {
				t.Errorf("the batch has %s, and should have %s", got, c.verbs)
			}
			if got := fakeLines(f); got != c.want {
				t.Errorf("Cloudflare holds\n%sand should hold\n%s", got, c.want)
			}
			for _, r := range f.held() {
				if r.Settings["ipv4_only"] != true && r.ID <= fmt.Sprintf("%032x", len(c.have)) {
					t.Errorf("the settings of %s are lost", r.Content)
				}
			}
			again, err := cloud.Provider.Records(t.Context(), zone)
			if err != nil || len(mirror.Differences(&again[0], &normal[0])) > 0 || len(mirror.Differences(&again[0], &result.Now[0])) > 0 {
				t.Errorf("%v reads back as %v (%v)", result.Now, again, err)
			}
		})
	}
}

// What is posted says what it must and no more.
func TestBodyOfABatch(t *testing.T) {
	t.Parallel()
	f := newFake("pro")
	cloud := open(t, f)
	zone := theZone(t, cloud)
	text := mirror.Record{Name: name(t, "a-web.example.com"), Type: zones.TypeTXT, Targets: []string{`"heritage=external-dns,external-dns/owner=prod"`}, TTL: ttl(1)}
	mail := mirror.Record{Name: name(t, "web.example.com"), Type: zones.TypeMX, Targets: []string{"10 mx.example.net"}, TTL: ttl(600)}
	if err := cloud.Provider.Apply(t.Context(), zone, []mirror.Group{create(text, mail)})[0].Err; err != nil {
		t.Fatal(err)
	}
	const want = `{"posts":[{"name":"a-web.example.com","type":"TXT","content":"\"heritage=external-dns,external-dns/owner=prod\"","ttl":1,"proxied":false},` +
		`{"name":"web.example.com","type":"MX","content":"mx.example.net","ttl":600,"proxied":false,"priority":10}]}`
	if got := f.bodies[0]; got != want {
		t.Errorf("the body is\n%s\nand should be\n%s", got, want)
	}
}

func TestOthersProductsAreLocked(t *testing.T) {
	t.Parallel()
	f := newFake("pro")
	f.put(fakeRecord{Name: "example.com", Type: "MX", Content: "route1.mx.cloudflare.net", Priority: new(int), TTL: 1, Meta: map[string]any{"read_only": true}},
		fakeRecord{Name: "caa.example.com", Type: "CAA", Content: `0 issue "ca.test"`, Data: json.RawMessage(`{"flags":0,"tag":"issue","value":"ca.test"}`), TTL: 1})
	cloud := open(t, f)
	list, err := cloud.Provider.Records(t.Context(), theZone(t, cloud))
	if err != nil || len(list) != 2 || list[0].Locked == "" && list[1].Locked == "" {
		t.Errorf("%v, %v", list, err)
	}
}

func TestNamesAreReadInFewCalls(t *testing.T) {
	t.Parallel()
	for what, c := range map[string]struct {
		page  int
		names []string
		calls int
		found int
	}{
		"a name and its ownership":       {5000, []string{"web", "a-web", "aaaa-web", "x.a-web"}, 1, 2},
		"names apart":                    {10, []string{"web", "other"}, 2, 2},
		"more than a page ends like it":  {10, []string{"b", "deep.b"}, 3, 2},
		"the zone itself, and all below": {10, []string{"@", "web"}, 2, 2},
		"a wildcard":                     {10, []string{"*.wild", "wild"}, 1, 1},
		"a listing is cheaper":           {5000, []string{"web", "other", "third"}, 1, 2},
		"a name that nobody has":         {5000, []string{"nothing"}, 1, 0},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			f := newFake("pro")
			for _, label := range []string{"example.com", "web.example.com", "a-web.example.com", "notweb.example.com", "other.example.com", "b.example.com", "deep.b.example.com", "*.wild.example.com"} {
				f.put(fakeRecord{Name: label, Type: "A", Content: "192.0.2.1", TTL: 300})
			}
			for i := range 20 {
				f.put(fakeRecord{Name: fmt.Sprintf("n%d.b.example.com", i), Type: "A", Content: "192.0.2.1", TTL: 300})
			}
			cloud := open(t, f, func(o *Options) { o.PageSize = c.page })
			zone := theZone(t, cloud)
			if _, err := cloud.Provider.Records(t.Context(), zone); err != nil {
				t.Fatal(err)
			}
			before := f.count("GET", "/dns_records")
			var names []zones.Name
			for _, label := range c.names {
				if label == "@" {
					names = append(names, zone.Name)
					continue
				}
				names = append(names, name(t, label+".example.com"))
			}
			list, err := cloud.Provider.(mirror.NameReader).RecordsAt(t.Context(), zone, names)
			if err != nil || len(list) != c.found {
				t.Errorf("%d records, and %v", len(list), err)
			}
			if calls := f.count("GET", "/dns_records") - before; calls != c.calls {
				t.Errorf("%d calls, and %d would do", calls, c.calls)
			}
		})
	}
}
