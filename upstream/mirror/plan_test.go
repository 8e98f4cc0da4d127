package mirror

import (
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/clusterzone/clusterzone/zones"
)

var update = flag.Bool("update", false, "write what plans are now into the golden files; read the difference before it is committed")

// A case is a file: what is in the zone, what is wished, and the plan.
func TestPlans(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/plan/*.txtar")
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
			in, policy := input(t, archive)
			plan := NewPlan(in)
			checkPlan(t, &in, &plan)
			got := show(&plan, policy)
			i := slices.IndexFunc(archive.Files, func(f txtar.File) bool { return f.Name == "plan" })
			if i < 0 {
				archive.Files = append(archive.Files, txtar.File{Name: "plan"})
				i = len(archive.Files) - 1
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
		})
	}
}

// input reads a case.
func input(t testing.TB, archive *txtar.Archive) (Input, Policy) {
	t.Helper()
	part := map[string]string{}
	for _, file := range archive.Files {
		part[file.Name] = string(file.Data)
	}
	set := settings(part["settings"])
	origin := "ex.com"
	if set["zone"] != "" {
		origin = set["zone"]
	}
	options := RegistryOptions{
		Owner: "prod", Prefix: set["prefix"], Suffix: set["suffix"], Wildcard: set["wildcard"], Key: set["key"],
		Noop: set["registry"] == "noop", SingleAlias: set["single-alias"] == "true",
	}
	registry, err := NewRegistry(options)
	if err != nil {
		t.Fatal(err)
	}
	in := Input{
		Zone: Zone{ID: origin, Name: parse(t, origin)}, Registry: registry,
		Observed: records(t, part["zone"]), Wishes: records(t, part["wishes"]),
		Limits:        Limits{OwnershipTTL: zones.TTL{Seconds: 300, Set: true}, NoAsterisk: set["no-asterisk"] == "true"},
		Types:         []zones.Type{zones.TypeA, zones.TypeAAAA, zones.TypeCNAME},
		ClaimDangling: set["claim-dangling"] == "true",
		MigrateFrom:   set["migrate-from"],
	}
	if names := set["adopt"]; names != "" {
		in.Adopt = func(n zones.Name) bool { return slices.Contains(strings.Split(names, ","), n.String()) }
	}
	if names := set["protect"]; names != "" {
		in.Protected = func(n zones.Name) bool { return slices.Contains(strings.Split(names, ","), n.String()) }
	}
	if domain := set["covers"]; domain != "" {
		in.Covers = func(n zones.Name) bool { return n.In(parse(t, domain)) }
	}
	policy := Sync
	if set["policy"] != "" {
		policy = Policy(set["policy"])
	}
	return in, policy
}

// checkPlan holds what is true of every plan, whatever is in the zone.
func checkPlan(t testing.TB, in *Input, plan *Plan) {
	t.Helper()
	ours := func(r *Record) bool {
		l, ok := in.Registry.read(r)
		return ok && (l.owner() == in.Registry.options.Owner || in.MigrateFrom != "" && l.owner() == in.MigrateFrom)
	}
	for _, step := range plan.Steps {
		for _, change := range slices.Concat(step.Before, []Change{step.Change}, step.After) {
			old := change.Old
			switch {
			case old == nil:
			case old.Locked != "":
				t.Errorf("%s changes a locked record", &change)
			case change.Ownership && !ours(old) && !in.ClaimDangling:
				t.Errorf("%s changes the ownership record of another", &change)
			case change.Ownership && len(old.Targets) != 1:
				t.Errorf("%s changes an ownership record that holds data of others", &change)
			case !change.Ownership && !slices.Contains(in.Types, old.Type):
				t.Errorf("%s changes a record of a type that nobody manages", &change)
			case !change.Ownership && !in.Registry.options.Noop && !slices.ContainsFunc(in.Observed, func(r Record) bool { return ours(&r) && r.SetIdentifier == old.SetIdentifier }):
				t.Errorf("%s changes a record though nothing in the zone is ours", &change)
			}
			if next := change.New; next != nil && !next.Name.In(in.Zone.Name) {
				t.Errorf("%s lies outside of the zone", &change)
			}
			if next := change.New; change.Verb == Create && slices.ContainsFunc(in.Observed, func(r Record) bool { return r.key() == next.key() }) {
				t.Errorf("%s creates what is there", &change)
			}
		}
	}
}
