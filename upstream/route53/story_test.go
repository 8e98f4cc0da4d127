package route53

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/route53/types"
	"golang.org/x/tools/txtar"

	"github.com/clusterzone/clusterzone/upstream/mirror"
	"github.com/clusterzone/clusterzone/zones"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// wishes are what a mirror of a test reads.
type wishes struct{ endpoints []zones.Endpoint }

// Read implements mirror.Wishes.
func (w *wishes) Read([]zones.Name) mirror.Wanted {
	return mirror.Wanted{Endpoints: w.endpoints}
}

func (w *wishes) set(list []mirror.Record) {
	w.endpoints = nil
	for _, r := range list {
		w.endpoints = append(w.endpoints, zones.Endpoint{
			Name: r.Name, Type: r.Type, Targets: r.Targets, TTL: r.TTL, Options: r.Options, SetIdentifier: r.SetIdentifier,
			Owner: zones.Owner{Source: "ingress", Namespace: "default", Name: "web"},
		})
	}
}

// newMirror returns a mirror without the guards that wait: what a story takes away
// goes at once.
func newMirror(t *testing.T, cloud mirror.Cloud, wishes *wishes, registry mirror.RegistryOptions) *mirror.Mirror {
	t.Helper()
	registry.Owner = "prod"
	r, err := mirror.NewRegistry(registry)
	if err != nil {
		t.Fatal(err)
	}
	m, err := mirror.New(mirror.Options{
		Name: "test", Cloud: cloud, Registry: r, Wishes: wishes, Log: slog.New(slog.DiscardHandler), Policy: mirror.Sync,
		Guards: &mirror.Guards{
			MaxDeleteShare: 1, MaxDeletes: 10000, FreshFor: time.Hour, Window: time.Minute, MaxEdits: 10000, MaxFlaps: 10000, MaxRepeats: 10000,
			AllowEmpty: func(mirror.Zone) bool { return true },
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// settle makes cycles until one finds nothing to write: the second, or the third
// where an ownership record is left over.
func settle(t *testing.T, m *mirror.Mirror) {
	t.Helper()
	for range 4 {
		before := m.Status().Counts.Batches
		m.Wake() // a zone that was just read is read again
		if err := m.Once(t.Context()); err != nil {
			t.Fatal(err)
		}
		if m.Status().Counts.Batches == before {
			return
		}
	}
	t.Error("after four cycles there is still something to write")
}

// A story is wishes, step by step, and what a zone holds after each.
type story struct {
	registry mirror.RegistryOptions
	steps    [][]mirror.Record
	want     []string
}

func readStory(t *testing.T, file string) (*txtar.Archive, story) {
	t.Helper()
	archive, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var s story
	for _, part := range archive.Files {
		switch _, what, _ := strings.Cut(part.Name, " "); what {
		case "wishes":
			var list []mirror.Record
			for line := range strings.Lines(string(part.Data)) {
				list = append(list, record(t, line))
			}
			s.steps = append(s.steps, list)
		case "zone":
			s.want = append(s.want, string(part.Data))
		case "":
			for field := range strings.FieldsSeq(string(part.Data)) {
				switch key, value, _ := strings.Cut(field, "="); key {
				case "prefix":
					s.registry.Prefix = value
				case "wildcard":
					s.registry.Wildcard = value
				default:
					t.Fatalf("%s: %s is no option of a story", file, key)
				}
			}
		}
	}
	return archive, s
}

// exact begins the names of stories that need a server without moto's flaws.
const exact = "exact-"

// tell plays stories against one zone each of what open gives.
func tell(t *testing.T, all bool, open func(t *testing.T) mirror.Cloud) {
	t.Helper()
	files, err := filepath.Glob("testdata/stories/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no stories: %v", err)
	}
	for _, file := range files {
		if strings.HasPrefix(filepath.Base(file), exact) && !all {
			continue
		}
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			archive, s := readStory(t, file)
			cloud := open(t)
			var w wishes
			m := newMirror(t, cloud, &w, s.registry)
			var got []string
			for _, list := range s.steps {
				w.set(list)
				settle(t, m)
				got = append(got, holds(t, &cloud)+blocks(m))
			}
			if *update {
				rewrite(t, file, archive, got)
				return
			}
			for i := range got {
				if i >= len(s.want) || got[i] != s.want[i] {
					t.Errorf("%s: after step %d the zone holds\n%s", file, i+1, got[i])
				}
			}
		})
	}
}

func rewrite(t *testing.T, file string, archive *txtar.Archive, got []string) {
	t.Helper()
	var parts []txtar.File
	step := 0
	for _, part := range archive.Files {
		if strings.HasSuffix(part.Name, " zone") {
			continue
		}
		parts = append(parts, part)
		if strings.HasSuffix(part.Name, " wishes") {
			step++
			parts = append(parts, txtar.File{Name: fmt.Sprintf("%d zone", step), Data: []byte(got[step-1])})
		}
	}
	archive.Files = parts
	if err := os.WriteFile(file, txtar.Format(archive), 0o644); err != nil {
		t.Fatal(err)
	}
}

// holds returns the record sets of the zone as Route 53 has them, but for SOA and NS.
func holds(t *testing.T, cloud *mirror.Cloud) string {
	t.Helper()
	zone := zoneOf(t, cloud, "example.com")
	sets, err := zone.Handle.(*hosted).list(context.WithoutCancel(t.Context()))
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for i := range sets {
		if set := &sets[i]; set.Type != types.RRTypeSoa && set.Type != types.RRTypeNs {
			lines = append(lines, words(set))
		}
	}
	slices.Sort(lines)
	return strings.Join(lines, "")
}

func words(set *types.ResourceRecordSet) string {
	var text bytes.Buffer
	fmt.Fprintf(&text, "%s %s", plainName(aws.ToString(set.Name)), set.Type)
	if set.TTL != nil {
		fmt.Fprintf(&text, " ttl=%d", *set.TTL)
	}
	if set.SetIdentifier != nil {
		fmt.Fprintf(&text, " set=%s", *set.SetIdentifier)
	}
	for _, option := range routingOf(set) {
		fmt.Fprintf(&text, " %s=%s", option.Key, option.Value)
	}
	if alias := set.AliasTarget; alias != nil {
		fmt.Fprintf(&text, " alias %s in %s, evaluate %v", plainName(aws.ToString(alias.DNSName)), aws.ToString(alias.HostedZoneId), alias.EvaluateTargetHealth)
	}
	for _, value := range set.ResourceRecords {
		fmt.Fprintf(&text, " %s", aws.ToString(value.Value))
	}
	text.WriteByte('\n')
	return text.String()
}

// blocks are the wishes that a mirror couldn't fulfil.
func blocks(m *mirror.Mirror) string {
	var text strings.Builder
	for _, zone := range m.Status().Zones {
		for _, b := range zone.Blocked {
			fmt.Fprintf(&text, "blocked %s %s: %s\n", b.Name, b.Type, b.Message)
		}
	}
	return text.String()
}

func TestStories(t *testing.T) {
	t.Parallel()
	tell(t, true, func(t *testing.T) mirror.Cloud {
		return openAt(t, newFake(t, "Z1 example.com").URL, quick)
	})
}

// quick leaves out the pause between two requests.
func quick(o *Options) { o.BatchInterval = time.Nanosecond }

// TestLarge is TestCloudLarge against the server of the tests.
func TestLarge(t *testing.T) {
	t.Parallel()
	f := newFake(t, "Z1 example.com")
	large(t, openAt(t, f.URL, quick))
	if pages := f.count(opSets); pages < 2*6000/pageSize {
		t.Errorf("%d pages were read, fewer than the records need", pages)
	}
}

func large(t *testing.T, cloud mirror.Cloud) {
	t.Helper()
	const many = 3000
	var w wishes
	m := newMirror(t, cloud, &w, mirror.RegistryOptions{})
	// An ownership record has 86 characters and counts as one value, and a request
	// takes 32 000 characters: the first sync is bound by them.
	for _, step := range []struct {
		what, ttl     string
		most, records int
	}{
		{"the first sync", "60", 11, 2 * many},
		{"a change of all", "61", 8, 2 * many},
		{"a deletion of all", "", 11, 0},
	} {
		var list []mirror.Record
		for i := 0; i < many && step.ttl != ""; i++ {
			list = append(list, record(t, fmt.Sprintf("n%04d.example.com A 192.0.2.%d ttl=%s", i, i%250+1, step.ttl)))
		}
		w.set(list)
		before := m.Status().Counts.Batches
		settle(t, m)
		batches := int(m.Status().Counts.Batches - before)
		t.Logf("%s: %d requests", step.what, batches)
		if batches > step.most {
			t.Errorf("%s takes %d requests, more than %d", step.what, batches, step.most)
		}
		if got := strings.Count(holds(t, &cloud), "\n"); got != step.records {
			t.Errorf("after %s the zone holds %d records and not %d", step.what, got, step.records)
		}
	}
}
