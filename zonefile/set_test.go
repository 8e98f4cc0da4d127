package zonefile

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

// TestUnsureFile: a file that was written just before it was read may have changed
// without its time telling. Then its text says whether it is read anew.
func TestUnsureFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path, included := filepath.Join(dir, "corp.zone"), filepath.Join(dir, "more")
	write(t, path, "$TTL 60\na A 192.0.2.1\n$INCLUDE more\n")
	write(t, included, "b A 192.0.2.1\n")
	// In the future, so that it is young on a machine of any speed.
	young := time.Now().Add(time.Hour)
	touch := func(path string) {
		t.Helper()
		if err := os.Chtimes(path, young, young); err != nil {
			t.Fatal(err)
		}
	}
	touch(path)
	touch(included)
	z := &zone{File: File{mustName(t, "corp.test"), path}}
	if !z.read() || z.problem != nil {
		t.Fatal("the file can't be read", z.problem)
	}
	for range 2 {
		if z.stale() {
			t.Error("a file that has not changed would be read anew")
		}
	}
	write(t, included, "b A 192.0.2.2\n")
	touch(included)
	if !z.stale() {
		t.Error("a file of the same length and time with another text would not be read anew")
	}
	if !z.read() || z.stale() {
		t.Error("it was read anew, and is stale all the same")
	}
	write(t, path, "$TTL 60\na A 192.0.2.7\n$INCLUDE more\n")
	touch(path)
	if !z.stale() {
		t.Error("the zone file itself would not be read anew")
	}
}

// TestReadTwice: a file that is included twice and changes in between has no sum
// that fits.
func TestReadTwice(t *testing.T) {
	t.Parallel()
	r := &reading{sums: map[string]*sum{}}
	r.note("a", sum{1})
	r.note("a", sum{1})
	if r.sums["a"] == nil {
		t.Error("the same text twice has a sum")
	}
	r.note("a", sum{2})
	r.note("a", sum{2})
	if r.sums["a"] != nil {
		t.Error("two texts have one sum")
	}
}
