package mirror

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/clusterzone/clusterzone/zones"
)

// A zone as a version of external-dns leaves it is taken over without a change to
// any record; ownership records may be added.
func TestTakingOverChangesNoRecord(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/takeover/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal("no cases", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			t.Parallel()
			archive, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			in, _ := input(t, archive)
			plan := NewPlan(in)
			checkPlan(t, &in, &plan)
			for _, step := range plan.Steps {
				if c := step.Change; !c.Ownership || c.Verb != Create {
					t.Errorf("taking over would %s", &c)
				}
			}
			if len(plan.Blocked) > 0 || plan.Dangling > 0 {
				t.Errorf("blocked are %v, dangling %d", plan.Blocked, plan.Dangling)
			}
			got := show(&plan, Sync)
			i := slices.IndexFunc(archive.Files, func(f txtar.File) bool { return f.Name == "plan" })
			if i < 0 {
				archive.Files, i = append(archive.Files, txtar.File{Name: "plan"}), len(archive.Files)
			}
			if *update {
				archive.Files[i].Data = []byte(got)
				if err := os.WriteFile(file, txtar.Format(archive), 0o666); err != nil {
					t.Fatal(err)
				}
				return
			}
			if want := string(archive.Files[i].Data); got != want {
				t.Errorf("the plan is\n%s\nand should be\n%s", got, want)
			}
			var minor int
			if _, err := fmt.Sscanf(filepath.Base(file), "v0.%d", &minor); err != nil {
				t.Fatal(err)
			}
			handBack(t, &in, &plan, minor)
		})
	}
}

// handBack makes the plan come true and asks the versions of external-dns from one
// on whose the records are then.
func handBack(t *testing.T, in *Input, plan *Plan, from int) {
	t.Helper()
	z := newZoneState(in.Zone)
	for _, r := range in.Observed {
		z.put(r)
	}
	for _, group := range groups(plan.Steps) {
		for _, change := range group.Changes {
			if change.Old != nil {
				z.drop(change.Old.key())
			}
			if change.New != nil {
				z.put(*change.New)
			}
		}
	}
	after := z.all()
	for _, want := range in.Wishes {
		for _, minor := range []int{from, 14, 18, 22, 23} {
			if minor < from {
				continue
			}
			if owner := ownerBy(in.Registry, minor, after, &want); owner != "prod" {
				t.Errorf("for v0.%d %s %s belongs to %q", minor, want.Type, want.Name, owner)
			}
		}
	}
	in.Observed = after
	if again := NewPlan(*in); len(again.Steps) > 0 {
		t.Errorf("after the plan there is another one: %s", show(&again, Sync))
	}
}

// ownerBy asks, by the rules of a version of external-dns, who owns a record: it is
// the slow twin of ownership, and goes from the record to the names.
func ownerBy(r *Registry, minor int, all []Record, record *Record) string {
	first, rest, _ := strings.Cut(record.Name.String(), ".")
	if first == "*" && r.affix.wildcard != "" {
		first = r.affix.wildcard
	}
	named := func(word string) string {
		if strings.Contains(r.affix.prefix+r.affix.suffix, "%{record_type}") {
			return strings.ReplaceAll(r.affix.prefix, "%{record_type}", word) + first + strings.ReplaceAll(r.affix.suffix, "%{record_type}", word) + "." + rest
		}
		if word != "" {
			word += "-"
		}
		return fmt.Sprintf("%s%s%s%s.%s", r.affix.prefix, word, first, r.affix.suffix, rest)
	}
	word := strings.ToLower(record.Type.String())
	names := []string{named(word)}
	if record.Type == zones.TypeA && record.alias() {
		names = []string{named("a"), named("cname")}
		if minor < 22 {
			names = names[1:]
		}
	}
	if record.Type != zones.TypeAAAA {
		names = append(names, named(""))
	}
	for _, name := range names {
		for _, text := range all {
			if text.Type == zones.TypeTXT && text.Name.String() == name && text.SetIdentifier == record.SetIdentifier {
				if l, ok := r.read(&text); ok {
					return l.owner()
				}
			}
		}
	}
	return ""
}

// What this program writes into an empty zone is read as its own by every version,
// and the texts are to the octet what external-dns makes of the pairs that it reads,
// so that it can delete them.
func TestHandingBackAZoneThatBeganHere(t *testing.T) {
	t.Parallel()
	wishes := `
		www.ex.com 60 A 192.0.2.1,192.0.2.2 by=ingress/shop/web
		www.ex.com 60 AAAA 2001:db8::1 by=ingress/shop/web
		api.ex.com - CNAME lb.example.net by=httproute/shop/api
		elb.ex.com - A lb-1.eu-west-1.elb.amazonaws.com alias=true by=service/shop/elb
		elb.ex.com - AAAA lb-1.eu-west-1.elb.amazonaws.com alias=true by=service/shop/elb
		*.apps.ex.com 60 A 192.0.2.3 by=service/shop/apps
		w.ex.com 60 A 192.0.2.1 set=blue aws/weight=10 by=ingress/shop/blue`
	for _, options := range []RegistryOptions{
		{Owner: "prod"},
		{Owner: "prod", Prefix: "own-"},
		{Owner: "prod", Prefix: "_own-%{record_type}.", Wildcard: "any"},
		{Owner: "prod", Suffix: "-own", Wildcard: "any"},
		{Owner: "prod", Key: strings.Repeat("k", 32)},
	} {
		registry, err := NewRegistry(options)
		if err != nil {
			t.Fatal(err)
		}
		in := Input{
			Zone: Zone{ID: "Z", Name: parse(t, "ex.com")}, Registry: registry, Wishes: records(t, wishes),
			Limits: Limits{OwnershipTTL: zones.TTL{Seconds: 300, Set: true}}, Types: []zones.Type{zones.TypeA, zones.TypeAAAA, zones.TypeCNAME},
		}
		plan := NewPlan(in)
		handBack(t, &in, &plan, 12)
		for _, step := range plan.Steps {
			for _, change := range step.Before {
				l, ok := registry.read(change.New)
				if !ok {
					t.Fatalf("%s can't be read", &change)
				}
				text, err := registry.written(l, l.nonce)
				if err != nil || change.New.Targets[0] != `"`+text+`"` || change.New.TTL.Seconds != 300 || change.New.SetIdentifier != step.Change.New.SetIdentifier {
					t.Errorf("%s would be deleted as %s (%v)", &change, text, err)
				}
			}
			// Versions before v0.22 ask for the one form of an alias, later ones for the
			// other first.
			if r := step.Change.New; r.alias() && r.Type == zones.TypeA && len(step.Before) != 2 {
				t.Errorf("%s has %d ownership records", &step.Change, len(step.Before))
			}
		}
	}
}
