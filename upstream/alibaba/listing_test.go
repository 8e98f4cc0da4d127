package alibaba_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/clusterzone/clusterzone/upstream/alibaba"
	"github.com/clusterzone/clusterzone/upstream/alibaba/alibabatest"
	"github.com/clusterzone/clusterzone/upstream/mirror"
	"github.com/clusterzone/clusterzone/zones"
)

// fill puts n addresses into the zone by another hand.
func (a *account) fill(n int) {
	var list []alibabatest.Record
	for i := range n {
		list = append(list, alibabatest.Record{RR: fmt.Sprintf("n%04d", i), Type: "A", Value: "192.0.2.1", TTL: 600})
	}
	a.fake.Put(a.id, list...)
}

func isListing(call alibabatest.Call) bool {
	return call.Action == "DescribeDomainRecords" || call.Action == "DescribeZoneRecords"
}

// onPage gives a fault to one page of listings.
func onPage(number string, fault alibabatest.Fault) func(alibabatest.Call) alibabatest.Fault {
	return func(call alibabatest.Call) alibabatest.Fault {
		if isListing(call) && call.Query["PageNumber"] == number {
			return fault
		}
		return alibabatest.Fault{}
	}
}

func TestListingsThatAreNotWholeAreErrors(t *testing.T) {
	t.Parallel()
	faults := map[string]struct {
		fault alibabatest.Fault
		class mirror.Class
		say   string
	}{
		"the second page fails":        {alibabatest.Fault{Code: "InternalError", Status: 500}, mirror.Failed, "InternalError"},
		"the second page is throttled": {alibabatest.Fault{Code: "Throttling.User"}, mirror.Throttled, "Throttling.User"},
		"the second page lacks one":    {alibabatest.Fault{Short: true}, mirror.Failed, "changed while it was read"},
		"a proxy answers":              {alibabatest.Fault{HTML: true}, mirror.Failed, "HTTP status 502"},
		"the connection is cut":        {alibabatest.Fault{Lost: true}, mirror.Failed, "DescribeDomainRecords DescribeZoneRecords"},
		"the rights end":               {alibabatest.Fault{Code: "Forbidden.RAM", Status: 403}, mirror.Denied, "Forbidden.RAM"},
	}
	for what, f := range faults {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			both(t, func(a *account) {
				a.fill(700)
				a.fake.SetFault(onPage("2", f.fault))
				list, err := a.cloud.Provider.Records(a.Context(), a.zone)
				if err == nil || mirror.ClassOf(err, "none") != f.class || list != nil {
					a.Fatalf("%d records and %v (%s), want class %s", len(list), err, mirror.ClassOf(err, "none"), f.class)
				}
				if !slices.ContainsFunc(strings.Fields(f.say), func(word string) bool { return strings.Contains(err.Error(), word) }) {
					a.Errorf("the error is %q", err)
				}
				a.fake.SetFault(nil)
				if got := len(a.records()); got != 700 {
					a.Errorf("%d records afterwards", got)
				}
			}, nil)
		})
	}
}

func TestAListingThatShiftsIsReadAgain(t *testing.T) {
	t.Parallel()
	both(t, func(a *account) {
		a.fill(700)
		done := false
		a.fake.SetFault(func(call alibabatest.Call) alibabatest.Fault {
			if done || !isListing(call) || call.Query["PageNumber"] != "2" {
				return alibabatest.Fault{}
			}
			done = true
			return alibabatest.Fault{Before: func() {
				a.fake.Put(a.id, alibabatest.Record{RR: "late", Type: "A", Value: "192.0.2.9", TTL: 600})
			}}
		})
		if got := len(a.records()); got != 701 {
			a.Errorf("%d records, want 701", got)
		}
	}, nil)
}

func TestZonesOfManyPagesAndOfTheVPCAlone(t *testing.T) {
	t.Parallel()
	var all []alibabatest.Zone
	for i := range 230 {
		all = append(all,
			alibabatest.Zone{ID: fmt.Sprintf("n%d.example", i), Name: fmt.Sprintf("n%d.example", i)},
			alibabatest.Zone{ID: fmt.Sprintf("z-%d", i), Name: "corp.example", Private: true, VPC: fmt.Sprintf("vpc-%d", i%2)})
	}
	fake := alibabatest.New(t, all...)
	few := open(t, fake, alibaba.Options{MinTTL: 60, Domains: func(n zones.Name) bool { return strings.HasPrefix(n.String(), "n1.") }})
	every := open(t, fake, alibaba.Options{MinTTL: 60})
	ours := open(t, fake, alibaba.Options{ZoneType: alibaba.Private})
	private := open(t, fake, alibaba.Options{ZoneType: alibaba.Private, ConfigFile: keyFile(t, "accessKeyId: LTAItest\naccessKeySecret: hush\n")})
	for _, c := range []struct {
		what  string
		cloud mirror.Cloud
		want  int
	}{{"domains", every, 230}, {"domains of a filter", few, 1}, {"zones of the VPC", ours, 115}, {"zones of all VPCs", private, 230}} {
		list, err := c.cloud.Provider.Zones(t.Context())
		if err != nil || len(list) != c.want {
			t.Errorf("%s: %d (%v), want %d", c.what, len(list), err, c.want)
		}
	}
	fake.Forget()
	if _, err := few.Provider.Zones(t.Context()); err != nil || len(fake.Calls()) != 3 {
		t.Errorf("%d calls (%v), want 3", len(fake.Calls()), err)
	}
	list, err := ours.Provider.Zones(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if got := ours.Place(&mirror.Record{Name: name(t, "www.corp.example")}, list[:3]); len(got) != 3 {
		t.Errorf("the record goes into %v, and should into all zones of the name", got)
	}
	parent := mirror.Zone{ID: "example", Name: name(t, "example")}
	if got := ours.Place(&mirror.Record{Name: name(t, "corp.example")}, append(list[:1:1], parent)); len(got) != 1 || got[0].ID != list[0].ID {
		t.Errorf("the apex of a zone goes into %v, and should into the zone itself", got)
	}
}

func TestWhatIsNotOursToWriteIsLocked(t *testing.T) {
	t.Parallel()
	a := newAccount(t, alibaba.Public, nil)
	a.fake.Put(a.id,
		alibabatest.Record{RR: "line", Type: "A", Value: "192.0.2.1", TTL: 600},
		alibabatest.Record{RR: "line", Type: "A", Value: "192.0.2.2", TTL: 600, Line: "telecom"},
		alibabatest.Record{RR: "off", Type: "A", Value: "192.0.2.1", TTL: 600, Disabled: true},
		alibabatest.Record{RR: "lock", Type: "A", Value: "192.0.2.1", TTL: 600, Locked: true},
		alibabatest.Record{RR: "go", Type: "REDIRECT_URL", Value: "https://example.net", TTL: 600},
		alibabatest.Record{RR: "free", Type: "A", Value: "192.0.2.1", TTL: 600},
	)
	got := map[string]string{}
	for _, r := range a.records() {
		got[r.Name.String()] = r.Locked
		if r.Locked == "" {
			continue
		}
		for _, change := range []mirror.Change{{Verb: mirror.Delete, Old: &r}, {Verb: mirror.Update, Old: &r, New: &r}} {
			if err := a.apply(change)[0].Err; mirror.ClassOf(err, "none") != mirror.BadChange {
				t.Errorf("%s gives %v", &change, err)
			}
		}
	}
	for below, reason := range map[string]string{"line": "resolution line telecom", "off": "disabled", "lock": "locked", "go": "REDIRECT_URL"} {
		if !strings.Contains(got[below+".example.com"], reason) {
			t.Errorf("%s is locked by %q, want %q", below, got[below+".example.com"], reason)
		}
	}
	if got["free.example.com"] != "" {
		t.Errorf("a plain record is locked: %s", got["free.example.com"])
	}
	if writes := a.writes(); len(writes) > 0 {
		t.Errorf("%v were called", writes)
	}
}

func TestOwnershipTextsOfOldVersions(t *testing.T) {
	t.Parallel()
	both(t, func(a *account) {
		const want = `"heritage=external-dns,external-dns/owner=prod,external-dns/resource=ingress/default/web"`
		bare := strings.Trim(want, `"`)
		a.fake.Put(a.id,
			alibabatest.Record{RR: "bare", Type: "TXT", Value: bare, TTL: 600},
			alibabatest.Record{RR: "quoted", Type: "TXT", Value: want, TTL: 600},
			alibabatest.Record{RR: "semicolons", Type: "TXT", Value: strings.ReplaceAll(bare, ",", ";"), TTL: 600},
		)
		for _, below := range []string{"bare", "quoted", "semicolons"} {
			if r := a.at(below, zones.TypeTXT); r == nil || !slices.Equal(r.Targets, []string{want}) {
				a.Errorf("%s reads as %+v", below, r)
			}
		}
	}, nil)
}

func TestTTLsOfTheEdition(t *testing.T) {
	t.Parallel()
	normal := func(cloud mirror.Cloud, zone mirror.Zone, ttl uint32) uint32 {
		list, err := cloud.Normalize(zone, mirror.Record{Name: zone.Name, Type: zones.TypeA, Targets: []string{"192.0.2.1"}, TTL: zones.TTL{Seconds: ttl, Set: true}})
		if err != nil {
			t.Fatal(err)
		}
		return list[0].TTL.Seconds
	}
	fake := alibabatest.New(t, alibabatest.Zone{ID: "paid.example", Name: "paid.example", MinTTL: 1}, alibabatest.Zone{ID: "free.example", Name: "free.example"})
	allowed := open(t, fake, alibaba.Options{})
	fake.SetFault(nil)
	list, err := allowed.Provider.Zones(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	fake.Forget()
	if _, err := allowed.Provider.Zones(t.Context()); err != nil || len(fake.Calls()) != 1 {
		t.Errorf("%d calls for the second list (%v): the editions should be remembered", len(fake.Calls()), err)
	}
	fake.SetFault(func(call alibabatest.Call) alibabatest.Fault {
		if call.Action == "DescribeDomainInfo" {
			return alibabatest.Fault{Code: "Forbidden.RAM", Status: 403}
		}
		return alibabatest.Fault{}
	})
	denied := open(t, fake, alibaba.Options{})
	guess, err := denied.Provider.Zones(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	fixed := open(t, fake, alibaba.Options{MinTTL: 120})
	for _, c := range []struct {
		what      string
		cloud     mirror.Cloud
		zone      mirror.Zone
		ttl, want uint32
	}{
		{"free", allowed, list[0], 60, 600},
		{"paid", allowed, list[1], 60, 60},
		{"longest", allowed, list[1], 900000, 86400},
		{"not allowed to ask", denied, guess[1], 60, 600},
		{"set by hand", fixed, list[0], 60, 120},
	} {
		if got := normal(c.cloud, c.zone, c.ttl); got != c.want {
			t.Errorf("%s: %s has %d, want %d", c.what, c.zone, got, c.want)
		}
	}
}
