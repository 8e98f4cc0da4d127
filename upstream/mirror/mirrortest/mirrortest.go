package mirrortest

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/clusterzone/clusterzone/upstream/mirror"
	"github.com/clusterzone/clusterzone/zones"
)

// An Exam says what is examined.
type Exam struct {
	// Open returns a cloud with one zone that nothing else writes to, empty but
	// for what the cloud puts there itself (SOA, NS), and that zone's name. It is
	// called once for each question; what it starts ends with t.
	Open func(t *testing.T) (mirror.Cloud, zones.Name)
	// Wishes are further records to be written and read back, beside those that
	// the exam has for each type: what is special to the provider (aliases,
	// routing policies, proxied records). Names are below the zone "example.org",
	// which stands for the zone's own name.
	Wishes []mirror.Record
	// Bad is a record that the cloud refuses for what stands in it though Normalize
	// lets it pass, with a name below "example.org". Nil leaves that question out.
	Bad *mirror.Record
	// Many is how many records the question about paging writes: more than
	// two pages of the cloud's. 0 means 250.
	Many int
}

// Run asks all questions, each as a subtest of its own.
func Run(t *testing.T, exam Exam) {
	t.Helper()
	if exam.Many == 0 {
		exam.Many = 250
	}
	for _, q := range questions() {
		t.Run(q.name, func(t *testing.T) {
			t.Parallel()
			s := &sitting{T: t, exam: exam}
			s.cloud, s.origin = exam.Open(t)
			s.zone = s.find()
			q.ask(s)
		})
	}
}

type question struct {
	name string
	ask  func(*sitting)
}

func questions() []question {
	return slices.Concat(readingQuestions(), writingQuestions(), batchQuestions())
}

// A sitting is one question being asked.
type sitting struct {
	*testing.T
	exam   Exam
	cloud  mirror.Cloud
	origin zones.Name
	zone   mirror.Zone
}

func (s *sitting) find() mirror.Zone {
	s.Helper()
	list, err := s.cloud.Provider.Zones(s.Context())
	if err != nil {
		s.Fatalf("zones: %v", err)
	}
	for _, zone := range list {
		if zone.Name == s.origin {
			return zone
		}
	}
	s.Fatalf("the zone %s is not among %v", s.origin, list)
	return mirror.Zone{}
}

// name returns a name below the zone; "" and "@" are the zone itself.
func (s *sitting) name(below string) zones.Name {
	s.Helper()
	if below == "" || below == "@" {
		return s.origin
	}
	name, err := zones.ParseName(below + "." + s.origin.String())
	if err != nil {
		s.Fatal(err)
	}
	return name
}

// moved puts a record of the exam, below example.org, into the zone.
func (s *sitting) moved(r mirror.Record) mirror.Record {
	s.Helper()
	example, err := zones.ParseName("example.org")
	if err != nil {
		s.Fatal(err)
	}
	if !r.Name.In(example) {
		s.Fatalf("%s doesn't lie in example.org", r.Name)
	}
	r.Name = r.Name[:len(r.Name)-len(example)] + s.origin
	return r
}

// normal returns a wish as the mirror would plan it.
func (s *sitting) normal(r mirror.Record) []mirror.Record {
	s.Helper()
	if r.TTL.Set && r.Type != zones.TypeTXT {
		r.TTL.Seconds = max(r.TTL.Seconds, s.cloud.Limits.MinTTL)
		if high := s.cloud.Limits.MaxTTL; high > 0 {
			r.TTL.Seconds = min(r.TTL.Seconds, high)
		}
	}
	if s.cloud.Normalize == nil {
		return []mirror.Record{r}
	}
	list, err := s.cloud.Normalize(s.zone, r)
	if err != nil {
		s.Fatalf("normalize %s %s: %v", r.Type, r.Name, err)
	}
	return list
}

func (s *sitting) records() []mirror.Record {
	s.Helper()
	list, err := s.cloud.Provider.Records(s.Context(), s.zone)
	if err != nil {
		s.Fatalf("records: %v", err)
	}
	return list
}

// at returns the record of the name, type and set identifier of r; nil where
// there is none.
func (s *sitting) at(r mirror.Record) *mirror.Record {
	s.Helper()
	var found *mirror.Record
	for _, have := range s.records() {
		if have.Name == r.Name && have.Type == r.Type && have.SetIdentifier == r.SetIdentifier {
			if found != nil {
				s.Fatalf("%s %s is listed twice", r.Type, r.Name)
			}
			found = &have
		}
	}
	return found
}

func (s *sitting) apply(batch ...mirror.Group) []mirror.Result {
	s.Helper()
	return s.applyWith(s.Context(), batch)
}

func (s *sitting) applyWith(ctx context.Context, batch []mirror.Group) []mirror.Result {
	s.Helper()
	results := s.cloud.Provider.Apply(ctx, s.zone, batch)
	if len(results) != len(batch) {
		s.Fatalf("%d results for %d groups", len(results), len(batch))
	}
	for i, result := range results {
		created := 0
		for _, change := range batch[i].Changes {
			if change.New != nil {
				created++
			}
		}
		if result.Err == nil && result.Now != nil && len(result.Now) != created {
			s.Errorf("group %d gives %d records for %d that its changes make", i, len(result.Now), created)
		}
	}
	return results
}

// must applies changes, each in a group of its own, and fails where one does.
func (s *sitting) must(changes ...mirror.Change) []mirror.Result {
	s.Helper()
	var batch []mirror.Group
	for _, change := range changes {
		batch = append(batch, group(change))
	}
	results := s.apply(batch...)
	for i, result := range results {
		if result.Err != nil {
			s.Fatalf("%s: %v", &changes[i], result.Err)
		}
	}
	return results
}

func group(changes ...mirror.Change) mirror.Group {
	return mirror.Group{Name: changes[0].Record().Name, Changes: changes}
}

func create(r mirror.Record) mirror.Change { return mirror.Change{Verb: mirror.Create, New: &r} }

func remove(r mirror.Record) mirror.Change { return mirror.Change{Verb: mirror.Delete, Old: &r} }

// wants fails where the zone doesn't hold exactly what was wished.
func (s *sitting) wants(want mirror.Record) mirror.Record {
	s.Helper()
	have := s.at(want)
	if have == nil {
		s.Fatalf("%s %s isn't there", want.Type, want.Name)
	}
	if found := mirror.Differences(have, &want); len(found) > 0 {
		s.Fatalf("%s %s reads back as %v %v %v, not %v %v %v: %v", want.Type, want.Name, have.Targets, have.TTL, have.Options, want.Targets, want.TTL, want.Options, found)
	}
	return *have
}

func ttl(seconds uint32) zones.TTL { return zones.TTL{Seconds: seconds, Set: true} }

// samples are records of every type that the cloud holds.
func (s *sitting) samples() []mirror.Record {
	all := []mirror.Record{
		{Name: s.name("web"), Type: zones.TypeA, Targets: []string{"192.0.2.1"}, TTL: ttl(600)},
		{Name: s.name("several"), Type: zones.TypeA, Targets: []string{"192.0.2.1", "192.0.2.2", "192.0.2.3"}, TTL: ttl(600)},
		{Name: s.name("@"), Type: zones.TypeA, Targets: []string{"192.0.2.9"}, TTL: ttl(600)},
		{Name: s.name("*.wild"), Type: zones.TypeA, Targets: []string{"192.0.2.4"}, TTL: ttl(600)},
		{Name: s.name("a.b.c.deep"), Type: zones.TypeA, Targets: []string{"192.0.2.5"}},
		{Name: s.name("web"), Type: zones.TypeAAAA, Targets: []string{"2001:db8::1"}, TTL: ttl(600)},
		{Name: s.name("alias"), Type: zones.TypeCNAME, Targets: []string{"lb.example.net"}, TTL: ttl(600)},
		{Name: s.name("_x.text"), Type: zones.TypeTXT, Targets: []string{`"v=spf1 -all"`}, TTL: ttl(600)},
		{Name: s.name("mail"), Type: zones.TypeMX, Targets: []string{"10 mx.example.net"}, TTL: ttl(600)},
		{Name: s.name("_sip._tcp"), Type: zones.TypeSRV, Targets: []string{"0 5 5060 sip.example.net"}, TTL: ttl(600)},
		{Name: s.name("child"), Type: zones.TypeNS, Targets: []string{"ns.example.net"}, TTL: ttl(600)},
	}
	return slices.DeleteFunc(all, func(r mirror.Record) bool {
		return !slices.Contains(s.cloud.Limits.Types, r.Type)
	})
}

// ownership is an ownership record as external-dns writes it.
func (s *sitting) ownership(below string) mirror.Record {
	return mirror.Record{
		Name: s.name(below), Type: zones.TypeTXT, TTL: s.cloud.Limits.OwnershipTTL,
		Targets: []string{`"heritage=external-dns,external-dns/owner=prod,external-dns/resource=ingress/default/web"`},
	}
}

// addresses are n records at n names.
func (s *sitting) addresses(n int) []mirror.Record {
	var list []mirror.Record
	for i := range n {
		list = append(list, mirror.Record{Name: s.name(fmt.Sprintf("n%04d", i)), Type: zones.TypeA, Targets: []string{fmt.Sprintf("192.0.2.%d", i%250+1)}, TTL: ttl(600)})
	}
	return list
}
