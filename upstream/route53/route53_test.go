package route53

import (
	"bytes"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials"

	"github.com/clusterzone/clusterzone/upstream/mirror"
	"github.com/clusterzone/clusterzone/upstream/mirror/mirrortest"
	"github.com/clusterzone/clusterzone/zones"
)

// What requests of tests are signed with.
const (
	testKey    = "AKIDEXAMPLEOFTESTS"
	testSecret = "notA/SecretBut+looksLikeOneOf40Characters"
	testToken  = "token-of-a-session-that-never-was"
)

// openAt opens a cloud at a server, with credentials of its own and without the
// machine's.
func openAt(t *testing.T, url string, change func(*Options)) mirror.Cloud {
	t.Helper()
	options := Options{
		Endpoint: url, EvaluateTargetHealth: true, Retries: 1,
		Budgets: func(string) *Budget { return NewBudget(1e6, 1e6) },
	}
	if change != nil {
		change(&options)
	}
	cloud, err := open(t.Context(), options, withoutMachine, config.WithCredentialsProvider(credentials.NewStaticCredentialsProvider(testKey, testSecret, testToken)))
	if err != nil {
		t.Fatal(err)
	}
	return cloud
}

// withoutMachine leaves the files of the user's settings unread.
func withoutMachine(o *config.LoadOptions) error {
	o.SharedConfigFiles, o.SharedCredentialsFiles = []string{}, []string{}
	return nil
}

func name(t *testing.T, text string) zones.Name {
	t.Helper()
	n, err := zones.ParseName(text)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// record reads a record of one line: name, type, targets parted by commas and with
// tildes in place of blanks, and the rest as key=value, where ttl and set are fields of the record and others options.
func record(t *testing.T, line string) mirror.Record {
	t.Helper()
	fields := strings.Fields(line)
	if len(fields) < 3 {
		t.Fatalf("%q is no record", line)
	}
	kind, err := zones.ParseType(fields[1])
	if err != nil {
		t.Fatal(err)
	}
	r := mirror.Record{Name: name(t, fields[0]), Type: kind, Targets: []string{fields[2]}}
	if kind != zones.TypeTXT { // a text may hold a comma
		r.Targets = strings.Split(fields[2], ",")
	}
	for i, target := range r.Targets {
		r.Targets[i] = strings.ReplaceAll(target, "~", " ")
	}
	for _, field := range fields[3:] {
		key, value, _ := strings.Cut(field, "=")
		switch key {
		case "ttl":
			r.TTL.Set = true
			for _, c := range value {
				r.TTL.Seconds = r.TTL.Seconds*10 + uint32(c-'0')
			}
		case "set":
			r.SetIdentifier = value
		default:
			r.Options = append(r.Options, zones.Option{Key: key, Value: value})
		}
	}
	sortOptions(r.Options)
	return r
}

func records(t *testing.T, lines ...string) []mirror.Record {
	t.Helper()
	var list []mirror.Record
	for _, line := range lines {
		list = append(list, record(t, line))
	}
	return list
}

func TestPassesTheExam(t *testing.T) {
	t.Parallel()
	bad := record(t, "bad.example.org MX nonsense ttl=600")
	mirrortest.Run(t, mirrortest.Exam{
		Open: func(t *testing.T) (mirror.Cloud, zones.Name) {
			f := newFake(t, "Z1 example.com", "Z2 example.net")
			return openAt(t, f.URL, nil), name(t, "example.com")
		},
		Many: 700,
		Bad:  &bad,
		Wishes: records(t,
			"lb.example.org CNAME shop-1.eu-west-1.elb.amazonaws.com ttl=60",
			"nlb.example.org CNAME shop.elb.eu-west-1.amazonaws.com alias=A aws/evaluate-target-health=false",
			"example.org CNAME d111111abcdef8.cloudfront.net",
			"*.any.example.org CNAME shop-1.eu-west-1.elb.amazonaws.com",
			"plain.example.org CNAME shop-1.eu-west-1.elb.amazonaws.com alias=false",
			"own.example.org CNAME web.example.com alias=true",
			"vpc.example.org CNAME x.other.example alias=true aws/target-hosted-zone=Z0TARGET",
			"*.star.example.org CNAME *.target.example.net ttl=300",
			`octets.example.org TXT "caf\195\169~\"quoted\"~\\"~"c" ttl=300`,
			"weighted.example.org A 192.0.2.1 ttl=60 set=one aws/weight=1",
			"weighted.example.org A 192.0.2.2 ttl=60 set=two aws/weight=0 aws/health-check-id=11111111-2222-3333-4444-555555555555",
			"latency.example.org CNAME a.example.net ttl=60 set=eu aws/region=eu-west-1",
			"latency.example.org CNAME b.example.net ttl=60 set=us aws/region=us-east-1",
			"failover.example.org A 192.0.2.1 ttl=60 set=p aws/failover=PRIMARY aws/health-check-id=11111111-2222-3333-4444-555555555555",
			"failover.example.org A 192.0.2.2 ttl=60 set=s aws/failover=SECONDARY",
			"multi.example.org A 192.0.2.1 ttl=60 set=1 aws/multi-value-answer=",
			"multi.example.org A 192.0.2.2 ttl=60 set=2 aws/multi-value-answer=true",
			"geo.example.org A 192.0.2.1 ttl=60 set=eu aws/geolocation-continent-code=EU",
			"geo.example.org A 192.0.2.2 ttl=60 set=ny aws/geolocation-country-code=us aws/geolocation-subdivision-code=ny",
			"geo.example.org A 192.0.2.3 ttl=60 set=rest aws/geolocation-country-code=*",
			"near.example.org A 192.0.2.1 ttl=60 set=1 aws/geoproximity-region=eu-west-1",
			"near.example.org A 192.0.2.2 ttl=60 set=2 aws/geoproximity-coordinates=49.20,-074.01 aws/geoproximity-bias=-5",
			"near.example.org A 192.0.2.3 ttl=60 set=3 aws/geoproximity-local-zone-group=us-west-2-lax-1 aws/geoproximity-bias=+7",
			"shared.example.org CNAME shop-1.eu-west-1.elb.amazonaws.com set=one aws/weight=10",
		),
	})
}

// classes are the classes of a batch's results, "" for those without error.
func classes(results []mirror.Result) []mirror.Class {
	var list []mirror.Class
	for _, result := range results {
		if result.Err == nil {
			list = append(list, "")
			continue
		}
		list = append(list, mirror.ClassOf(result.Err, mirror.Unknown))
	}
	return list
}

// zoneOf finds the zone of a name.
func zoneOf(t *testing.T, cloud *mirror.Cloud, text string) mirror.Zone {
	t.Helper()
	list, err := cloud.Provider.Zones(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(list, func(z mirror.Zone) bool { return z.Name == name(t, text) })
	if i < 0 {
		t.Fatalf("%s is not among %v", text, list)
	}
	return list[i]
}

func creates(list ...mirror.Record) []mirror.Group {
	var batch []mirror.Group
	for i := range list {
		batch = append(batch, mirror.Group{Name: list[i].Name, Changes: []mirror.Change{{Verb: mirror.Create, New: &list[i]}}})
	}
	return batch
}

// readBody returns the body of a request, and one to put in its place.
func readBody(t *testing.T, r *http.Request) (string, io.ReadCloser) {
	t.Helper()
	text, err := io.ReadAll(r.Body)
	if err != nil {
		t.Error(err)
	}
	return string(text), io.NopCloser(bytes.NewReader(text))
}
