package sources

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/clusterzone/clusterzone/zones"
)

// Use -update after a change of rules or words that is meant, and read the
// difference that it makes line by line: the files are the specification.
var update = flag.Bool("update", false, "write what the translations give into testdata/translate")

// TestTranslate runs the cases of testdata/translate/*.txtar. A case NAME has
// NAME.flags (one flag a line; may be missing), NAME.yaml (objects; common.yaml
// stands before those of every case; may be missing where New must refuse the
// flags) and NAME.want:
//
//	source namespace/name                       an object, then what it gives
//	+ name ttl type targets options set | where the name is from <- the targets
//	+ name exists | where the name is from      a name without records
//	- name type reason: message                 a Skipped; "quoted" where no name
//
// or the line "refused: " with New's error.
func TestTranslate(t *testing.T) {
	t.Parallel()
	paths, err := filepath.Glob("testdata/translate/*.txtar")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
			t.Parallel()
			runArchive(t, path)
		})
	}
}

func runArchive(t *testing.T, path string) {
	archive, err := txtar.ParseFile(path)
	if err != nil {
		t.Fatal(err)
	}
	files := make(map[string][]byte)
	for _, f := range archive.Files {
		if files[f.Name] != nil {
			t.Fatalf("%s stands twice", f.Name)
		}
		files[f.Name] = f.Data
	}
	for i, f := range archive.Files {
		name, ok := strings.CutSuffix(f.Name, ".want")
		if !ok {
			continue
		}
		got := translateCase(t, strings.Split(string(files[name+".flags"]), "\n"), slices.Concat(files["common.yaml"], []byte("\n---\n"), files[name+".yaml"]))
		if want := string(f.Data); got != want && !*update {
			t.Errorf("%s gives\n%s\nwant\n%s", name, got, want)
		}
		archive.Files[i].Data = []byte(got)
	}
	if *update {
		if err := os.WriteFile(path, txtar.Format(archive), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func translateCase(t *testing.T, flags []string, objects []byte) string {
	options, unreadable, err := parseFlags(flags)
	var tr *Translator
	if err == nil {
		tr, err = New(options)
	}
	if err != nil {
		return fmt.Sprintf("refused: %v\n", err)
	}
	var out strings.Builder
	for _, obj := range readScene(t, objects, unreadable).translate(tr) {
		checkObject(t, obj)
		printObject(&out, obj)
	}
	return out.String()
}

func printObject(out *strings.Builder, obj zones.Object) {
	fmt.Fprintln(out, obj.Owner)
	for _, c := range obj.Claims {
		if c.Type == zones.TypeNone {
			fmt.Fprintf(out, "+ %s exists | %s\n", c.Name, c.NameFrom)
			continue
		}
		line := recordLine(c.Name, c.TTL, c.Type, c.Targets, c.Options, c.SetIdentifier)
		if !c.TTL.Set { // tell an unset TTL from one of 0
			line = strings.Replace(line, "\t0\t", "\t-\t", 1)
		}
		fmt.Fprintf(out, "+ %s | %s <- %s\n", strings.ReplaceAll(line, "\t", " "), c.NameFrom, c.TargetsFrom)
	}
	for _, s := range obj.Skipped {
		what := s.Name.String()
		switch {
		case s.Asked != "":
			what = fmt.Sprintf("%q", s.Asked)
		case what == "":
			what = "*"
		}
		if s.Type != zones.TypeNone {
			what += " " + s.Type.String()
		}
		fmt.Fprintf(out, "- %s %s: %s\n", what, s.Reason, s.Message)
	}
}

// checkObject holds what is true of every translation.
func checkObject(t testing.TB, obj zones.Object) {
	t.Helper()
	type key struct {
		name zones.Name
		kind zones.Type
		set  string
	}
	seen := make(map[key]bool)
	typed := make(map[zones.Name]bool)
	for _, c := range obj.Claims {
		k := key{c.Name, c.Type, c.SetIdentifier}
		if seen[k] {
			t.Errorf("two claims on %s %s %q", c.Name, c.Type, c.SetIdentifier)
		}
		seen[k] = true
		typed[c.Name] = typed[c.Name] || c.Type != zones.TypeNone
		if host, err := zones.ParseHost(c.Name.String()); err != nil || host != c.Name {
			t.Errorf("claim on %q, which is no host name: %v", c.Name, err)
		}
		if c.NameFrom == "" || c.Type != zones.TypeNone && c.TargetsFrom == "" {
			t.Errorf("%s %s doesn't say where it is from", c.Name, c.Type)
		}
		if (c.Type == zones.TypeNone) != (len(c.Targets) == 0) {
			t.Errorf("%s %s has %d targets", c.Name, c.Type, len(c.Targets))
		}
		if !slices.IsSorted(c.Targets) || len(slices.Compact(slices.Clone(c.Targets))) != len(c.Targets) {
			t.Errorf("%s %s has targets out of order or twice: %q", c.Name, c.Type, c.Targets)
		}
		if !slices.IsSortedFunc(c.Options, func(a, b zones.Option) int { return strings.Compare(a.Key, b.Key) }) {
			t.Errorf("%s %s has options out of order: %v", c.Name, c.Type, c.Options)
		}
		for _, text := range c.Targets {
			if _, err := zones.ParseRdata(c.Type, text); err != nil {
				t.Errorf("%s %s has an impossible target: %v", c.Name, c.Type, err)
			}
		}
	}
	for _, c := range obj.Claims {
		if c.Type == zones.TypeNone && typed[c.Name] {
			t.Errorf("%s is claimed with records and without", c.Name)
		}
	}
	for i, s := range obj.Skipped {
		if s.Owner != obj.Owner || s.Reason == "" || s.Message == "" {
			t.Errorf("incomplete Skipped %+v", s)
		}
		if strings.HasSuffix(s.Message, ".") {
			t.Errorf("the message ends in a stop: %s", s.Message)
		}
		if i > 0 && s == obj.Skipped[i-1] {
			t.Errorf("Skipped twice: %+v", s)
		}
	}
}
