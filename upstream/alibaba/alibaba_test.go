package alibaba_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/clusterzone/clusterzone/upstream/alibaba"
	"github.com/clusterzone/clusterzone/upstream/alibaba/alibabatest"
	"github.com/clusterzone/clusterzone/upstream/mirror"
	"github.com/clusterzone/clusterzone/upstream/mirror/mirrortest"
	"github.com/clusterzone/clusterzone/zones"
)

func name(t *testing.T, text string) zones.Name {
	t.Helper()
	n, err := zones.ParseName(text)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// keyFile writes a configuration file with keys, and returns its path.
func keyFile(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "alibaba-cloud.json")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

const someKeys = `{"regionId": "cn-hangzhou", "vpcId": "vpc-1", "accessKeyId": "LTAItest", "accessKeySecret": "hush"}`

// open returns the cloud over an account, fast.
func open(t *testing.T, c *alibabatest.Cloud, options alibaba.Options) mirror.Cloud {
	t.Helper()
	if options.ConfigFile == "" {
		options.ConfigFile = keyFile(t, someKeys)
	}
	options.Endpoint = c.URL
	if options.Rate == 0 {
		options.Rate = 1e6
	}
	options.Backoff = time.Millisecond
	cloud, err := alibaba.New(options)
	if err != nil {
		t.Fatal(err)
	}
	return cloud
}

// An account is a fake with one zone, example.com, in either product.
type account struct {
	*testing.T
	fake  *alibabatest.Cloud
	cloud mirror.Cloud
	zone  mirror.Zone
	id    string
}

func newAccount(t *testing.T, kind alibaba.ZoneType, more func(*alibabatest.Zone)) *account {
	t.Helper()
	zone := alibabatest.Zone{ID: "example.com", Name: "example.com"}
	if kind == alibaba.Private {
		zone = alibabatest.Zone{ID: "z-1", Name: "example.com", Private: true, VPC: "vpc-1"}
	}
	if more != nil {
		more(&zone)
	}
	a := &account{T: t, fake: alibabatest.New(t, zone), id: zone.ID}
	a.cloud = open(t, a.fake, alibaba.Options{ZoneType: kind})
	list, err := a.cloud.Provider.Zones(t.Context())
	if err != nil || len(list) != 1 {
		t.Fatalf("the zones are %v (%v)", list, err)
	}
	a.zone = list[0]
	a.fake.Forget()
	return a
}

// both runs a test for each product.
func both(t *testing.T, test func(a *account), more func(*alibabatest.Zone)) {
	t.Helper()
	for _, kind := range []alibaba.ZoneType{alibaba.Public, alibaba.Private} {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			test(newAccount(t, kind, more))
		})
	}
}

func (a *account) records() []mirror.Record {
	a.Helper()
	list, err := a.cloud.Provider.Records(a.Context(), a.zone)
	if err != nil {
		a.Fatal(err)
	}
	return list
}

func (a *account) at(below string, kind zones.Type) *mirror.Record {
	a.Helper()
	want := a.zone.Name
	if below != "@" {
		want = name(a.T, below+".example.com")
	}
	for _, r := range a.records() {
		if r.Name == want && r.Type == kind {
			return &r
		}
	}
	return nil
}

func (a *account) record(below string, kind zones.Type, ttl uint32, targets ...string) mirror.Record {
	a.Helper()
	r := mirror.Record{Name: name(a.T, below+".example.com"), Type: kind, Targets: targets}
	if ttl > 0 {
		r.TTL = zones.TTL{Seconds: ttl, Set: true}
	}
	return r
}

// apply writes changes, each in a group of its own.
func (a *account) apply(changes ...mirror.Change) []mirror.Result {
	var batch []mirror.Group
	for _, change := range changes {
		batch = append(batch, mirror.Group{Name: change.Record().Name, Changes: []mirror.Change{change}})
	}
	return a.cloud.Provider.Apply(a.Context(), a.zone, batch)
}

func (a *account) must(changes ...mirror.Change) {
	a.Helper()
	for _, result := range a.apply(changes...) {
		if result.Err != nil {
			a.Fatal(result.Err)
		}
	}
}

// actions are the names of the calls so far, those that write alone.
func (a *account) writes() []string {
	list := []string{}
	for _, call := range a.fake.Calls() {
		if action := call.Action; action[:8] != "Describe" {
			list = append(list, action)
		}
	}
	return list
}

func create(r mirror.Record) mirror.Change { return mirror.Change{Verb: mirror.Create, New: &r} }

func TestPassesTheExam(t *testing.T) {
	t.Parallel()
	for _, kind := range []alibaba.ZoneType{alibaba.Public, alibaba.Private} {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			many := 1100 // three pages
			if kind == alibaba.Private {
				many = 250
			}
			mirrortest.Run(t, mirrortest.Exam{
				Open: func(t *testing.T) (mirror.Cloud, zones.Name) {
					a := newAccount(t, kind, func(z *alibabatest.Zone) { z.Forbidden = []string{"forbidden"} })
					return a.cloud, a.zone.Name
				},
				Bad:  &mirror.Record{Name: name(t, "forbidden.example.org"), Type: zones.TypeA, Targets: []string{"192.0.2.1"}},
				Many: many,
			})
		})
	}
}
