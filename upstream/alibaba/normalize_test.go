package alibaba

import (
	"slices"
	"strings"
	"testing"

	"github.com/clusterzone/clusterzone/upstream/mirror"
	"github.com/clusterzone/clusterzone/zones"
)

func zoneOf(t *testing.T, text string) mirror.Zone {
	t.Helper()
	name, err := zones.ParseName(text)
	if err != nil {
		t.Fatal(err)
	}
	return mirror.Zone{ID: text, Name: name}
}

func TestNames(t *testing.T) {
	t.Parallel()
	zone := zoneOf(t, "sub.example.com")
	for text, rr := range map[string]string{
		"sub.example.com": "@", "www.sub.example.com": "www", "*.sub.example.com": "*", "*.a.sub.example.com": "*.a", "_x._tcp.sub.example.com": "_x._tcp",
	} {
		name := zoneOf(t, text).Name
		if got := rrOf(zone, name); got != rr {
			t.Errorf("%s is called %s, want %s", text, got, rr)
		}
		if back, err := nameOf(zone, rr); err != nil || back != name {
			t.Errorf("%s is read as %s (%v)", rr, back, err)
		}
	}
	if list := records(zone, []object{{rr: "a..b", kind: "A", value: "192.0.2.1"}, {rr: "www", kind: "A", value: "192.0.2.1"}}); len(list) != 1 {
		t.Errorf("%d records, want the one whose name is one", len(list))
	}
}

func TestNormalForm(t *testing.T) {
	t.Parallel()
	zone := zoneOf(t, "example.com")
	for _, c := range []struct {
		product      ZoneType
		kind         zones.Type
		target, want string // want starts with "!" where it is an error
	}{
		{Public, zones.TypeMX, "10 mx.example.net.", "10 mx.example.net"},
		{Public, zones.TypeMX, "0 mx.example.net", "!a preference from 1 to 50, not 0"},
		{Public, zones.TypeMX, "60 mx.example.net", "!a preference from 1 to 50, not 60"},
		{Private, zones.TypeMX, "60 mx.example.net", "60 mx.example.net"},
		{Private, zones.TypeMX, "100 mx.example.net", "!a preference from 1 to 99, not 100"},
		{Public, zones.TypeMX, "mx.example.net", "!isn't the data of an MX"},
		{Public, zones.TypeSRV, "0  5 5060 sip.example.net.", "0 5 5060 sip.example.net"},
		{Public, zones.TypeCNAME, "lb.example.net.", "lb.example.net"},
		{Public, zones.TypeTXT, `"a" "b"`, `"ab"`},
	} {
		list, err := normalizer(Options{ZoneType: c.product})(zone, mirror.Record{
			Name: zone.Name, Type: c.kind, Targets: []string{c.target}, Options: []zones.Option{{Key: "alias", Value: "true"}},
		})
		if message, bad := strings.CutPrefix(c.want, "!"); bad {
			if err == nil || !strings.Contains(err.Error(), message) {
				t.Errorf("%s %s gives %v, want %q", c.kind, c.target, err, message)
			}
			continue
		}
		if err != nil || len(list) != 1 || !slices.Equal(list[0].Targets, []string{c.want}) || list[0].Options != nil {
			t.Errorf("%s %s becomes %+v (%v), want %s", c.kind, c.target, list, err, c.want)
		}
	}
}
