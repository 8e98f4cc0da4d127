package sources

import (
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"testing"
	"time"

	"github.com/clusterzone/clusterzone/zones"
)

// TestCorpus runs the cases of testdata/corpus through the translations and a
// table without zones. testdata/corpus/README.md describes their form.
//
// Cases of other kinds are left out by this rule, and counted: a case runs if
// each of its --source flags names a source that this package translates.
func TestCorpus(t *testing.T) {
	t.Parallel()
	folders, err := filepath.Glob("testdata/corpus/*/flags")
	if err != nil || len(folders) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	ran := 0
	for _, path := range folders {
		folder := filepath.Dir(path)
		flags := readLines(t, path)
		if source := foreignSource(flags); source != "" {
			t.Logf("%s is left out: --source=%s is no source of this package", filepath.Base(folder), source)
			continue
		}
		ran++
		t.Run(filepath.Base(folder), func(t *testing.T) {
			t.Parallel()
			runCorpusCase(t, folder, flags)
		})
	}
	t.Logf("%d cases ran, %d left out", ran, len(folders)-ran)
}

func foreignSource(flags []string) string {
	for _, flag := range flags {
		if source, ok := strings.CutPrefix(flag, "--source="); ok && !slices.Contains(sourceNames, source) {
			return source
		}
	}
	return ""
}

func runCorpusCase(t *testing.T, folder string, flags []string) {
	options, _, err := parseFlags(flags)
	if err != nil {
		t.Fatal(err)
	}
	tr, err := New(options)
	if wanted, statErr := os.ReadFile(filepath.Join(folder, "clusterzone-error")); statErr == nil {
		if err == nil {
			t.Fatalf("New accepts what it must refuse: %s", wanted)
		}
		for word := range strings.FieldsSeq(string(wanted)) {
			if strings.HasPrefix(word, "--") && !strings.Contains(err.Error(), strings.TrimRight(word, ",")) {
				t.Errorf("the error doesn't name %s: %v", word, err)
			}
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(folder, "objects.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	table := zones.NewTable(zones.Options{Sources: tr.Sources()})
	for _, obj := range readScene(t, text, nil).translate(tr) {
		table.Put(obj)
	}
	table.Commit(time.Unix(1_800_000_000, 0))
	var got []string
	for _, e := range table.Endpoints() {
		got = append(got, recordLine(e.Name, e.TTL, e.Type, e.Targets, e.Options, e.SetIdentifier))
	}
	sort.Strings(got)
	path := filepath.Join(folder, "clusterzone.txt")
	if _, err := os.Stat(path); err != nil {
		path = filepath.Join(folder, "expected.txt")
	}
	if want := readLines(t, path); !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant (%s)\n%s", strings.Join(got, "\n"), filepath.Base(path), strings.Join(want, "\n"))
	}
}

// readLines returns the lines of a file that aren't empty.
func readLines(t testing.TB, path string) []string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(strings.Split(string(text), "\n"), func(line string) bool { return line == "" })
}
