package zonefile

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

// Run "go test ./zonefile -update" after a change of words, and read the
// difference before it is committed.
var update = flag.Bool("update", false, "rewrite what the cases give")

func mustName(tb testing.TB, text string) zones.Name {
	tb.Helper()
	name, err := zones.ParseName(text)
	if err != nil {
		tb.Fatal(err)
	}
	return name
}

// TestFiles reads every *.zone of each archive in testdata as the zone corp.test;
// the file "want" holds what they say.
func TestFiles(t *testing.T) {
	t.Parallel()
	paths, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	for _, path := range paths {
		t.Run(filepath.Base(path), func(t *testing.T) {
			t.Parallel()
			archive, err := txtar.ParseFile(path)
			if err != nil {
				t.Fatal(err)
			}
			got := readArchive(t, archive)
			at := slices.IndexFunc(archive.Files, func(f txtar.File) bool { return f.Name == "want" })
			switch {
			case at < 0:
				t.Fatal("the archive has no file \"want\"")
			case *update:
				archive.Files[at].Data = []byte(got)
				if err := os.WriteFile(path, txtar.Format(archive), 0o644); err != nil {
					t.Fatal(err)
				}
			case got != string(archive.Files[at].Data):
				t.Errorf("got:\n%s\nwant:\n%s", got, archive.Files[at].Data)
			}
		})
	}
}

func readArchive(t *testing.T, archive *txtar.Archive) string {
	t.Helper()
	dir := t.TempDir()
	for _, file := range archive.Files {
		path := filepath.Join(dir, file.Name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, file.Data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	// What lies outside the folder, and a link to it.
	if err := os.WriteFile(filepath.Join(t.TempDir(), "outside"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/etc/hostname", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	for _, file := range archive.Files {
		if !strings.HasSuffix(file.Name, ".zone") {
			continue
		}
		fmt.Fprintf(&out, "> %s\n", file.Name)
		c, err := parse(mustName(t, "corp.test"), filepath.Join(dir, file.Name))
		if err != nil {
			fmt.Fprintf(&out, "fault: %v\n", err)
			continue
		}
		for set := range c.static.All() {
			for _, data := range set.Data {
				fmt.Fprintf(&out, "%s %d %s %s [%s]\n", set.Name, set.TTL, set.Type, data.Text(set.Type), set.From)
			}
		}
		for _, finding := range c.findings {
			fmt.Fprintf(&out, "finding: %v\n", finding)
		}
	}
	return strings.ReplaceAll(out.String(), dir+"/", "")
}

// FuzzParse: no text crashes the reader or makes it run on, and what it lets
// through has names of the zone and data that can be written and read again.
func FuzzParse(f *testing.F) {
	paths, err := filepath.Glob("testdata/*.txtar")
	if err != nil {
		f.Fatal(err)
	}
	for _, path := range paths {
		archive, err := txtar.ParseFile(path)
		if err != nil {
			f.Fatal(err)
		}
		for _, file := range archive.Files {
			f.Add(file.Data)
		}
	}
	dir := f.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "more"), []byte("more A 192.0.2.1\n"), 0o644); err != nil {
		f.Fatal(err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { _ = root.Close() })
	origin := mustName(f, "corp.test")
	f.Fuzz(func(t *testing.T, text []byte) {
		c := &content{}
		if err := c.parse(root, origin, filepath.Join(dir, "a.zone"), text); err != nil {
			return
		}
		table := zones.NewTable(zones.Options{Origins: []zones.Origin{{Name: origin}}})
		table.SetStatic(origin, c.static)
		if err := zones.Check(table.Commit(noon).Snapshot.Zone(origin)); err != nil {
			t.Error(err)
		}
		for set := range c.static.All() {
			for _, data := range set.Data {
				if text := data.Text(set.Type); text == "" && len(data) > 0 {
					t.Errorf("%s %s has no text", set.Name, set.Type)
				}
			}
		}
	})
}
