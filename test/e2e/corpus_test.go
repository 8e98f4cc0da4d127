package e2e_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/clusterzone/clusterzone/test/kubetest"
)

// corpus is where the cases of objects, flags and records are.
const corpus = root + "/sources/testdata/corpus"

// TestRecordsOfTheCorpusFromTheAPIServer runs the cases of the corpus, whose
// README describes them, with objects that an API server with all definitions
// has taken in, and their statuses in a step of their own.
func TestRecordsOfTheCorpusFromTheAPIServer(t *testing.T) {
	folders, err := filepath.Glob(corpus + "/*/flags")
	if err != nil || len(folders) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	c := kubetest.Start(t, kubetest.Options{CRDs: definitions(t, "experimental")})
	for _, path := range folders {
		folder := filepath.Dir(path)
		t.Run(filepath.Base(folder), func(t *testing.T) {
			runCase(t, c, folder, lines(t, path))
		})
	}
}

func runCase(t *testing.T, c *kubetest.Cluster, folder string, flags []string) {
	c.Reset(t)
	if wanted, err := os.ReadFile(filepath.Join(folder, "clusterzone-error")); err == nil {
		expectRefusal(t, c.Kubeconfig(t, c.Admin()), flags, string(wanted))
		return
	} else if !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	objects, err := os.ReadFile(filepath.Join(folder, "objects.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	c.Apply(t, objects)
	_, kubeconfig := user(t, c, reader()...)
	out, errs, status := run(t, append([]string{"records", "--output=endpoints", kubeconfig}, flags...)...)
	if status != 0 {
		t.Fatalf("exit status %d: %s", status, errs)
	}
	path := filepath.Join(folder, "clusterzone.txt")
	if _, err := os.Stat(path); err != nil {
		path = filepath.Join(folder, "expected.txt")
	}
	if want := lines(t, path); !slices.Equal(split(out), want) {
		t.Errorf("got\n%s\nwant (%s)\n%s", out, filepath.Base(path), strings.Join(want, "\n"))
	}
}

// expectRefusal expects exit status 2 and a sentence that names the flags that
// wanted names.
func expectRefusal(t *testing.T, kubeconfig string, flags []string, wanted string) {
	t.Helper()
	_, errs, status := run(t, append([]string{"records", "--output=endpoints", "--kubeconfig=" + kubeconfig}, flags...)...)
	if status != 2 {
		t.Errorf("exit status %d, want 2: %s", status, errs)
	}
	for word := range strings.FieldsSeq(wanted) {
		if strings.HasPrefix(word, "--") && !strings.Contains(errs, strings.TrimRight(word, ",")) {
			t.Errorf("the error doesn't name %s: %s", word, errs)
		}
	}
}

// lines returns the lines of a file that aren't empty.
func lines(t testing.TB, path string) []string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return split(string(text))
}

func split(text string) []string {
	return slices.DeleteFunc(strings.Split(text, "\n"), func(line string) bool { return line == "" })
}
