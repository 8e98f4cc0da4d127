package peers_test

import (
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/clusterzone/clusterzone/test/daemon"
)

// lenient takes what generated zones do on purpose.
var lenient = []string{"-i", "none", "-k", "ignore", "-m", "ignore", "-M", "ignore", "-S", "ignore", "-n", "ignore", "-W", "ignore", "-T", "ignore", "-r", "ignore"}

// TestZoneFilesAreReadAsNamedReadsThem compares what we read of generated files with
// what named reads of them, and has named and ldns read what we print.
func TestZoneFilesAreReadAsNamedReadsThem(t *testing.T) {
	t.Parallel()
	compile := tool(t, "named-compilezone")
	dir := t.TempDir()
	all := slices.DeleteFunc(generateZones(manyZones, append(slices.Clone(dataKinds), unknownToKnot...)), func(z genZone) bool { return z.child })
	flags := []string{"records", "--log-level=error"}
	files := make([]string, len(all))
	for i, z := range all {
		files[i] = styled(t, dir, uint64(i), z)
		flags = append(flags, "--zone-file="+z.origin+"="+files[i])
	}
	out, errs, status := daemon.Run(t, program(t), flags...)
	if status != 0 {
		t.Fatalf("records: exit status %d: %s", status, errs)
	}
	printed := splitZones(out)
	inParallel(len(all), func(i int) {
		z := all[i]
		text, ok := printed[strings.ToLower(z.origin)]
		if !ok {
			t.Errorf("%s is not printed", z.origin)
			return
		}
		ours := filepath.Join(dir, filepath.Base(files[i])+".ours")
		write(t, ours, text)
		want := compiled(t, compile, z.origin, files[i])
		got := compiled(t, compile, z.origin, ours)
		if missing, extra := without(want, got), without(got, want); len(missing)+len(extra) > 0 {
			t.Errorf("%s: named reads other records of the file than we do; missing:%s\nnot there:%s", z.origin, missing, extra)
		}
		if strings.Contains(text, `q\"uote.`) {
			// What ldns-signzone writes of such a name, ldns-verify-zone can't read: the
			// backslash is gone.
			if out, err := exec.Command(tool(t, "ldns-read-zone"), ours).CombinedOutput(); err != nil {
				t.Errorf("%s: ldns-read-zone: %v\n%s", z.origin, err, out)
			}
			return
		}
		ldnsTakes(t, z.origin, ours)
	})
}

// compiled is what named reads of a zone file, a record a line, blanks and the case
// of names left aside.
func compiled(t testing.TB, path, origin, file string) set {
	args := append(slices.Clone(lenient), "-q", "-o", "-", origin, file)
	cmd := exec.Command(path, args...)
	cmd.Dir = filepath.Dir(file) // where $INCLUDE looks
	var errs strings.Builder
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		out, _ := exec.Command(path, slices.DeleteFunc(args, func(arg string) bool { return arg == "-q" })...).CombinedOutput()
		t.Errorf("named-compilezone %s: %v %s\n%s", file, err, &errs, out)
		return nil
	}
	var records set
	for line := range strings.Lines(string(out)) {
		records = append(records, strings.ToLower(strings.Join(strings.Fields(line), " ")))
	}
	slices.Sort(records)
	return slices.Compact(records)
}

// without are the records of s that t lacks.
func without(s, t set) set {
	return slices.DeleteFunc(slices.Clone(s), func(record string) bool { return slices.Contains(t, record) })
}

// splitZones parts what "records" prints by zone. The keys are origins in lower
// case.
func splitZones(text string) map[string]string {
	zones := map[string]string{}
	for _, part := range strings.Split("\n"+text, "\n$ORIGIN ")[1:] {
		origin, records, _ := strings.Cut(part, "\n")
		zones[origin] = records + "\n"
	}
	return zones
}

// ldnsTakes has ldns read a zone, add a digest of all of it (ZONEMD, RFC 8976), and
// verify that: the form in which ldns-verify-zone takes a zone without signatures.
func ldnsTakes(t testing.TB, origin, file string) {
	for _, command := range [][]string{
		{"ldns-signzone", "-Z", "-z", "simple:sha384", "-o", origin, "-f", file + ".digest", file},
		{"ldns-verify-zone", "-Z", file + ".digest"},
	} {
		if out, err := exec.Command(tool(t, command[0]), command[1:]...).CombinedOutput(); err != nil {
			t.Errorf("%s: %s: %v\n%s", origin, strings.Join(command, " "), err, out)
			return
		}
	}
}

// TestZonesOfObjectsAreTaken has named-checkzone and ldns read what "records" prints
// of all objects that the other tests have.
func TestZonesOfObjectsAreTaken(t *testing.T) {
	t.Parallel()
	check := tool(t, "named-checkzone")
	path, err := buildPlain()
	if err != nil {
		t.Fatal(err)
	}
	manifests := objectFiles(t)
	var mu sync.Mutex
	zones := 0
	inParallel(len(manifests), func(i int) {
		args := []string{"records", "--log-level=error", "--nameserver=ns1.corp.test=192.0.2.53", "--manifests=" + manifests[i]}
		for _, zone := range []string{"corp.test", "acme.test", "example.org", "example.com", "example.test", "internal.example", "10.in-addr.arpa"} {
			args = append(args, "--zone="+zone)
		}
		out, _, status := daemon.Run(t, path, args...)
		if status != 0 {
			return // of objects that are wrong on purpose, say
		}
		for origin, text := range splitZones(out) {
			if strings.Count(text, "\n") < 5 {
				continue // nothing but SOA, NS and its addresses
			}
			file := filepath.Join(t.TempDir(), "zone")
			write(t, file, text)
			if out, err := exec.Command(check, "-i", "local", origin, file).CombinedOutput(); err != nil {
				t.Errorf("%s: named-checkzone %s: %v\n%s%s", manifests[i], origin, err, out, text)
				continue
			}
			ldnsTakes(t, origin, file)
			mu.Lock()
			zones++
			mu.Unlock()
		}
	})
	if t.Logf("%d files of objects, %d zones", len(manifests), zones); zones < 100 {
		t.Errorf("%d zones hold records of objects; more should", zones)
	}
}

// objectFiles are the files of objects of deploy/example, and those of the other
// tests' cases.
func objectFiles(t testing.TB) []string {
	t.Helper()
	files := []string{root + "/deploy/example"}
	for _, pattern := range []string{"/sources/testdata/corpus/*/objects.yaml", "/sources/testdata/translate/*.txtar", "/test/script/testdata/*.txtar"} {
		found, err := filepath.Glob(root + pattern)
		if err != nil || len(found) == 0 {
			t.Fatalf("no files %s: %v", pattern, err)
		}
		for _, file := range found {
			if filepath.Ext(file) != ".txtar" {
				files = append(files, file)
				continue
			}
			archive, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			dir := t.TempDir()
			for _, part := range archive.Files {
				if filepath.Ext(part.Name) == ".yaml" {
					name := filepath.Join(dir, filepath.Base(part.Name))
					write(t, name, string(part.Data))
					files = append(files, name)
				}
			}
		}
	}
	return files
}

// inParallel calls do with the numbers below n, four at a time.
func inParallel(n int, do func(int)) {
	next := make(chan int)
	var workers sync.WaitGroup
	for range 4 {
		workers.Go(func() {
			for i := range next {
				do(i)
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	workers.Wait()
}
