package route53

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/route53/types"

	"github.com/clusterzone/clusterzone/upstream/mirror"
)

// filled is a zone with n records, written by another hand.
func filled(t *testing.T, n int) (*fake, mirror.Cloud, mirror.Zone) {
	t.Helper()
	f := newFake(t, "Z1 example.com")
	ttl := int64(60)
	for i := range n {
		f.zones[0].put(fakeSet{Name: fmt.Sprintf("n%04d.example.com.", i), Type: "A", TTL: &ttl, Values: &fakeValues{[]string{"192.0.2.1"}}})
	}
	cloud := openAt(t, f.URL, nil)
	return f, cloud, zoneOf(t, &cloud, "example.com")
}

// Each way in which a listing can be less than the zone is an error, and none of it
// is returned.
func TestListingsAreWhole(t *testing.T) {
	t.Parallel()
	page := func(n int, fails failure) func(call) *failure {
		return func(c call) *failure {
			if c.op == opSets && c.n >= n { // again where the client asks again
				return &fails
			}
			return nil
		}
	}
	for what, c := range map[string]struct {
		fault func(call) *failure
		spoil func(*fakeZone)
		class mirror.Class
		says  string
	}{
		"an internal error on the second page": {fault: page(2, failure{status: 500, code: "InternalError", message: "oh"}), class: mirror.Failed, says: "InternalError: oh"},
		"throttled on the second page":         {fault: page(2, failure{status: 400, code: "Throttling", message: "Rate exceeded"}), class: mirror.Throttled, says: "Rate exceeded"},
		"the connection ends":                  {fault: page(3, failure{applied: true}), class: mirror.Failed, says: "EOF"},
		"denied":                               {fault: page(1, failure{status: 403, code: "AccessDenied", message: "no"}), class: mirror.Denied, says: "AccessDenied: no"},
		"fewer than are counted":               {spoil: func(z *fakeZone) { z.extra = 5 }, class: mirror.Failed, says: "it has 702 record sets, and Route 53 counts 707"},
		"more than are counted":                {spoil: func(z *fakeZone) { z.extra = -1 }, class: mirror.Failed, says: "counts 701"},
		"a page that is repeated":              {spoil: func(z *fakeZone) { z.sorted()[400] = z.sorted()[2] }, class: mirror.Failed, says: "twice"},
		"a name that is none":                  {spoil: func(z *fakeZone) { z.sorted()[400].Name = "a..example.com." }, class: mirror.Failed, says: `"a..example.com." is no name`},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			f, cloud, zone := filled(t, 700)
			if c.spoil != nil {
				c.spoil(f.zones[0])
			}
			f.setFault(c.fault)
			list, err := cloud.Provider.Records(t.Context(), zone)
			if list != nil || mirror.ClassOf(err, "") != c.class || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%d records and the error %v (%s)", len(list), err, mirror.ClassOf(err, ""))
			}
		})
	}
}

// A zone that changes while it is read is counted again.
func TestListingOfAChangingZone(t *testing.T) {
	t.Parallel()
	f, cloud, zone := filled(t, 10)
	f.setFault(func(c call) *failure {
		if c.op == opSets {
			f.zones[0].drop(fakeKey{"n0003.example.com.", "A", ""})
		}
		return nil
	})
	if list, err := cloud.Provider.Records(t.Context(), zone); err != nil || len(list) != 11 {
		t.Errorf("%d records, %v", len(list), err)
	}
}

// A role made for external-dns may list zones, and not read one.
func TestCountWithoutGetHostedZone(t *testing.T) {
	t.Parallel()
	f, cloud, zone := filled(t, 10)
	f.setFault(func(c call) *failure {
		if c.op == opZone {
			return &failure{status: http.StatusForbidden, code: "AccessDenied", message: "not authorized to perform: route53:GetHostedZone"}
		}
		return nil
	})
	for range 2 {
		if list, err := cloud.Provider.Records(t.Context(), zone); err != nil || len(list) != 12 {
			t.Fatalf("%d records, %v", len(list), err)
		}
	}
	if n := f.count(opZone); n != 1 {
		t.Errorf("the zone is asked for %d times, and not once", n)
	}
	f.zones[0].extra = 1
	if _, err := cloud.Provider.Records(t.Context(), zone); err == nil {
		t.Error("a listing that isn't whole is none the less")
	}
}

// What Route 53 says of a request as a whole concerns all groups of it.
func TestWritesThatFail(t *testing.T) {
	t.Parallel()
	for what, c := range map[string]struct {
		fails failure
		class mirror.Class
		there bool
	}{
		"throttled":             {failure{status: 400, code: "Throttling", message: "Rate exceeded"}, mirror.Throttled, false},
		"a request before it":   {failure{status: 400, code: "PriorRequestNotComplete", message: "wait"}, mirror.Throttled, false},
		"denied":                {failure{status: 403, code: "AccessDenied", message: "no"}, mirror.Denied, false},
		"no such zone":          {failure{status: 404, code: "NoSuchHostedZone", message: "none"}, mirror.Failed, false},
		"an internal error":     {failure{status: 500, code: "InternalError", message: "oh"}, mirror.Unknown, false},
		"the reply is lost":     {failure{applied: true}, mirror.Unknown, true},
		"a message of no group": {failure{status: 400, code: "InvalidChangeBatch", message: "something is wrong"}, mirror.Undone, false},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			f := newFake(t, "Z1 example.com")
			cloud := openAt(t, f.URL, func(o *Options) { o.Retries = 3 })
			zone := zoneOf(t, &cloud, "example.com")
			f.setFault(func(call) *failure { return &c.fails })
			got := classes(cloud.Provider.Apply(t.Context(), zone, creates(records(t, "a.example.com A 192.0.2.1", "b.example.com A 192.0.2.1")...)))
			if !slices.Equal(got, []mirror.Class{c.class, c.class}) {
				t.Errorf("the classes are %v, not %s", got, c.class)
			}
			// Only what was surely not applied is sent again.
			want := 1
			if c.class == mirror.Throttled {
				want = 3
			}
			if n := f.count(opChange); n != want {
				t.Errorf("%d requests were sent, not %d", n, want)
			}
			if _, there := f.zones[0].sets[fakeKey{"b.example.com.", "A", ""}]; there != c.there {
				t.Errorf("the record is there: %v", there)
			}
		})
	}
}

// One bad record among 900 costs one more request: the message tells which.
func TestOneBadRecord(t *testing.T) {
	t.Parallel()
	for _, line := range []string{
		"bad.example.com MX nonsense ttl=60",
		"n0000.example.com CNAME lb.example.net",
	} {
		f, cloud, zone := filled(t, 1)
		var list []mirror.Record
		for i := range 900 {
			list = append(list, record(t, fmt.Sprintf("m%04d.example.com A 192.0.2.1 ttl=60", i)))
		}
		list[450] = record(t, line)
		batch := creates(list...)
		results := cloud.Provider.Apply(t.Context(), zone, batch)
		var rest []mirror.Group
		for i, class := range classes(results) {
			switch {
			case class == mirror.Undone:
				rest = append(rest, batch[i])
			case class != mirror.BadChange || i != 450:
				t.Fatalf("group %d has the class %q: %v", i, class, results[i].Err)
			}
		}
		if got := classes(cloud.Provider.Apply(t.Context(), zone, rest)); len(got) != 899 || slices.ContainsFunc(got, func(c mirror.Class) bool { return c != "" }) {
			t.Errorf("the other %d groups have the classes %v", len(got), got)
		}
		if n := f.count(opChange); n != 2 {
			t.Errorf("%d requests were sent, not 2", n)
		}
	}
}

// A message that names nothing has the mirror halve the request: twice the
// logarithm of its size, and not its size.
func TestOneBadRecordUnnamed(t *testing.T) {
	t.Parallel()
	f := newFake(t, "Z1 example.com")
	cloud := openAt(t, f.URL, quick)
	var w wishes
	list := records(t, "bad.example.com A 192.0.2.66")
	for i := range 400 {
		list = append(list, record(t, fmt.Sprintf("n%04d.example.com A 192.0.2.1", i)))
	}
	w.set(list)
	f.setFault(func(c call) *failure {
		if c.op != opChange {
			return nil
		}
		body, again := readBody(t, c.request)
		c.request.Body = again
		if !strings.Contains(body, "192.0.2.66") {
			return nil
		}
		return &failure{status: http.StatusBadRequest, code: "InvalidChangeBatch", message: "it can't be"}
	})
	m := newMirror(t, cloud, &w, mirror.RegistryOptions{})
	if err := m.Once(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := f.count(opChange); n > 25 {
		t.Errorf("%d requests were sent", n)
	}
	if n := len(f.zones[0].sets); n != 2*400+2 {
		t.Errorf("the zone holds %d record sets", n)
	}
	if q := m.Status().Zones[0].Quarantined; q != 1 {
		t.Errorf("%d names are in quarantine", q)
	}
}

// The prose of a refusal, and whom it is about.
func TestRefusals(t *testing.T) {
	t.Parallel()
	n := testNormalizer(t, false)
	list := records(t,
		"example.com A 192.0.2.1",
		"web.example.com A 192.0.2.2",
		"*.web.example.com A 192.0.2.3",
		"web.example.com TXT \"x\"",
		"lb.example.com A web.example.com alias=true",
		"check.example.com A 192.0.2.5 set=one aws/weight=1 aws/health-check-id=11111111-2222",
	)
	var steps []step
	for i := range list {
		of, _, err := n.steps(&hosted{id: "Z1"}, &creates(list[i])[0])
		if err != nil {
			t.Fatal(err)
		}
		steps = append(steps, step{of[0], i})
	}
	for message, want := range map[string]string{
		`Tried to create resource record set [name='web.example.com.', type='A'] but it already exists`:                                                  "[1] conflict",
		`Tried to create resource record set [name='\052.web.example.com.', type='A'] but it already exists`:                                             "[2] conflict",
		`Tried to delete resource record set [name='web.example.com.', type='TXT'] but the values provided do not match the current values`:              "[3] conflict",
		`Tried to delete resource record set [name='check.example.com.', type='A', set-identifier='one'] but it was not found`:                           "[5] conflict",
		`RRSet of type A with DNS name web.example.com. is not permitted as it conflicts with other records with the same DNS name in zone example.com.`: "[1] bad change",
		`RRSet with DNS name web.example.com. is not permitted in zone example.com.`:                                                                     "[1 3] bad change",
		`Tried to create an alias that targets web.example.com., type A in zone Z1, but that target was not found`:                                       "[4] bad change",
		`Invalid Resource Record: 'FATAL problem: X encountered with '192.0.2.3''`:                                                                       "[2] bad change",
		`A health check with id 11111111-2222 does not exist.`:                                                                                           "[5] bad change",
		`Value at 'changeBatch.changes.2.member.resourceRecordSet.tTL' failed to satisfy constraint`:                                                     "[1] bad change",
		`Number of records limit of 1000 exceeded.`:                                                                                                      "[] bad change",
	} {
		if got := fmt.Sprint(culprits(message, steps), " ", classOf(message)); got != want {
			t.Errorf("%s: %s, and not %s", message, got, want)
		}
	}
	joined := &types.InvalidChangeBatch{Message: aws.String("[Tried to create resource record set [name='a.b.', type='A'] but it already exists, RRSet of type CNAME with DNS name c.d. is not permitted, at all]")}
	if got := messages(joined); len(got) != 2 || !strings.HasSuffix(got[0], "already exists") || got[1] != "RRSet of type CNAME with DNS name c.d. is not permitted, at all" {
		t.Errorf("the messages are %q", got)
	}
}
