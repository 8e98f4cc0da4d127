package route53

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/clusterzone/clusterzone/upstream/mirror"
	"github.com/clusterzone/clusterzone/zones"
)

func testNormalizer(t *testing.T, preferCNAME bool) *normalizer {
	t.Helper()
	aliases, err := newAliasZones("", "")
	if err != nil {
		t.Fatal(err)
	}
	return &normalizer{aliases: aliases, preferCNAME: preferCNAME, evaluate: true}
}

// TestNormalize reads wishes, the lines that begin with ">", and compares what becomes of
// each: the lines behind it, which begin with "=" or, for an error, "!".
func TestNormalize(t *testing.T) {
	t.Parallel()
	zone := mirror.Zone{ID: "Z1", Name: name(t, "example.com"), Kind: kindPublic}
	files, err := filepath.Glob("testdata/normalize/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no files: %v", err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			n := testNormalizer(t, strings.Contains(file, "cname"))
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var got strings.Builder
			for line := range strings.Lines(string(text)) {
				if line[0] == '=' || line[0] == '!' {
					continue
				}
				got.WriteString(line)
				if wish, ok := strings.CutPrefix(line, ">"); ok {
					got.WriteString(outcome(t, n, zone, record(t, wish)))
				}
			}
			if *update {
				if err := os.WriteFile(file, []byte(got.String()), 0o644); err != nil {
					t.Fatal(err)
				}
			} else if got.String() != string(text) {
				t.Errorf("%s: it becomes\n%s", file, got.String())
			}
		})
	}
}

func outcome(t *testing.T, n *normalizer, zone mirror.Zone, want mirror.Record) string {
	t.Helper()
	list, err := n.normalize(zone, want)
	if err != nil {
		return "! " + err.Error() + "\n"
	}
	var text strings.Builder
	for _, r := range list {
		fmt.Fprintf(&text, "= %s %s %s", r.Name, r.Type, strings.ReplaceAll(strings.Join(r.Targets, ","), " ", "~"))
		if r.TTL.Set {
			fmt.Fprintf(&text, " ttl=%d", r.TTL.Seconds)
		}
		if r.SetIdentifier != "" {
			fmt.Fprintf(&text, " set=%s", r.SetIdentifier)
		}
		for _, option := range r.Options {
			fmt.Fprintf(&text, " %s=%s", option.Key, option.Value)
		}
		text.WriteByte('\n')
		again, err := n.normalize(zone, r)
		if err != nil || len(again) != 1 || len(mirror.Differences(&r, &again[0])) > 0 {
			t.Errorf("the normal form of %s isn't its own: %v, %v", r.Name, again, err)
		}
	}
	return text.String()
}

func TestAliasZones(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "zones.txt")
	if err := os.WriteFile(file, []byte("# ours\n\nmars-1.elb.amazonaws.com  Z0MARS\n.eu-west-1.elb.amazonaws.com /hostedzone/Z0OVER\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	cloud := openAt(t, "http://127.0.0.1:1", func(o *Options) { o.AliasZones = file })
	n := cloud.Provider.(*provider).normal
	for target, want := range map[string]string{
		"a.mars-1.elb.amazonaws.com": "Z0MARS", "a.eu-west-1.elb.amazonaws.com": "Z0OVER", "a.us-east-1.elb.amazonaws.com": "Z35SXDOTRQ7X7K",
		"mars-1.elb.amazonaws.com.example.com": "", "xmars-1.elb.amazonaws.com": "", "elb.us-east-1.amazonaws.com": "Z26RNL4JYFTOTI",
	} {
		if got := n.aliases.of(name(t, target)); got != want {
			t.Errorf("the zone of %s is %q and not %q", target, got, want)
		}
	}
	for text, want := range map[string]string{
		"one":          `f:1: "one" isn't a suffix`,
		"a..b Z1":      `f:1: "a..b" is no name`,
		"\na.test z-1": `f:2: "z-1" is no ID`,
	} {
		if _, err := newAliasZones("f", text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q gives the error %v, not %s", text, err, want)
		}
	}
	if _, err := New(t.Context(), Options{AliasZones: filepath.Join(t.TempDir(), "none")}); err == nil || !strings.Contains(err.Error(), "--aws-alias-zones-file can't be read") {
		t.Errorf("a file that isn't there gives %v", err)
	}
}

func TestOptions(t *testing.T) {
	t.Parallel()
	for want, options := range map[string]Options{
		"--aws-batch-change-size=4000 is more":              {BatchChanges: 4000},
		"--aws-batch-change-size-values=1001 is more":       {BatchValues: 1001},
		"--aws-batch-change-size-bytes=-1 can't":            {BatchChars: -1},
		"--aws-api-retries=99 is more":                      {Retries: 99},
		"--aws-batch-change-interval=-1ns can't":            {BatchInterval: -1},
		"--aws-zone-type=shared is none":                    {ZoneType: "shared"},
		"--aws-assume-role=admin is no ARN":                 {AssumeRole: "admin"},
		"--aws-assume-role-external-id needs":               {ExternalID: "x"},
		"--aws-profile is empty":                            {Profiles: []string{""}},
		"--zone-id-filter is empty":                         {ZoneIDs: []string{""}},
		"--aws-zone-tags==x has no key":                     {ZoneTags: []string{"=x"}},
		"the settings of AWS can't be read (--aws-profile,": {Profiles: []string{"a-profile-that-nobody-has"}},
	} {
		if _, err := open(t.Context(), options, withoutMachine); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("the error is %v, not %s", err, want)
		}
	}
	cloud := openAt(t, "http://127.0.0.1:1", func(o *Options) { o.BatchChanges, o.BatchChars = 10, 500 })
	if l := cloud.Limits; l.BatchChanges != 10 || l.BatchChars != 500 || l.BatchValues != 1000 || l.Pause.String() != "1s" || l.OwnershipTTL != (zones.TTL{Seconds: 300, Set: true}) {
		t.Errorf("the limits are %+v", l)
	}
}
