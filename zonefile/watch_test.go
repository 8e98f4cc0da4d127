package zonefile

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/clusterzone/clusterzone/zones"
)

var noon = time.Unix(1_800_000_000, 0)

// A stage is a Set that is being watched: what it last put, and what it logged.
type stage struct {
	set  *Set
	mu   sync.Mutex
	sets map[zones.Name]string
	log  bytes.Buffer
	news chan struct{}
}

func (s *stage) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.signal()
	defer s.mu.Unlock()
	return s.log.Write(p)
}

func (s *stage) signal() {
	select {
	case s.news <- struct{}{}:
	default:
	}
}

func (s *stage) put(origin zones.Name, static *zones.Static) {
	var lines []string
	for set := range static.All() {
		for _, data := range set.Data {
			lines = append(lines, fmt.Sprintf("%s %s", set.Name, data.Text(set.Type)))
		}
	}
	s.mu.Lock()
	s.sets[origin] = strings.Join(lines, ", ")
	s.mu.Unlock()
	s.signal()
}

// await waits until what was put and logged holds.
func (s *stage) await(t *testing.T, what string, holds func(sets, log string) bool) {
	t.Helper()
	limit := time.After(20 * time.Second)
	for {
		s.mu.Lock()
		sets, log := s.sets[mustName(t, "corp.test")], s.log.String()
		s.mu.Unlock()
		if holds(sets, log) {
			return
		}
		select {
		case <-s.news:
		case <-limit:
			t.Fatalf("%s: never came; the sets are %q, the log\n%s", what, sets, log)
		}
	}
}

func (s *stage) awaitSets(t *testing.T, what, want string) {
	t.Helper()
	s.await(t, what, func(sets, _ string) bool { return sets == want })
}

// watched reads the file as corp.test and watches it until the test ends.
func watched(t *testing.T, path string) *stage {
	t.Helper()
	set, err := Load([]File{{mustName(t, "corp.test"), path}})
	if err != nil {
		t.Fatal(err)
	}
	s := &stage{set: set, sets: make(map[zones.Name]string), news: make(chan struct{}, 1)}
	set.Report(s.put)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		set.Run(ctx, slog.New(slog.NewTextHandler(s, nil)), s.put)
	}()
	t.Cleanup(func() {
		cancel()
		<-done
	})
	return s
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestReload: a changed file counts at once, a broken one keeps the zone and is
// told of once, and included files are watched like their zone's.
func TestReload(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "corp.zone")
	write(t, path, "$TTL 60\na A 192.0.2.1\n")
	s := watched(t, path)
	s.awaitSets(t, "at the start", "a.corp.test 192.0.2.1")
	write(t, path, "$TTL 60\na A 192.0.2.2\n$INCLUDE more/b\n")
	broken := func(n int) func(_, log string) bool {
		return func(_, log string) bool { return strings.Count(log, "level=ERROR") == n }
	}
	s.await(t, "an include that isn't there", broken(1))
	if problems := s.set.Problems(); len(problems) != 1 || !strings.Contains(problems[0].Err.Error(), "corp.zone:3: $INCLUDE more/b can't be read") {
		t.Errorf("the problems are %v", problems)
	}
	s.awaitSets(t, "the zone stays", "a.corp.test 192.0.2.1")
	if err := os.Mkdir(filepath.Join(dir, "new"), 0o755); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "new", "b"), "b A 192.0.2.3\n")
	if err := os.Rename(filepath.Join(dir, "new"), filepath.Join(dir, "more")); err != nil {
		t.Fatal(err)
	}
	s.awaitSets(t, "the include came", "a.corp.test 192.0.2.2, b.corp.test 192.0.2.3")
	if problems := s.set.Problems(); len(problems) != 0 {
		t.Errorf("the problems are %v", problems)
	}
	write(t, filepath.Join(dir, "more", "b"), "b A 192.0.2.4\n")
	s.awaitSets(t, "the include changed", "a.corp.test 192.0.2.2, b.corp.test 192.0.2.4")
	write(t, path, "$TTL 60\na A nonsense\n")
	s.await(t, "a fault", broken(2))
	// An event of another file in the folder, and one more fault: each told once.
	write(t, filepath.Join(dir, "other"), "")
	write(t, path, "$TTL 60\na A rubbish\n")
	s.await(t, "another fault", broken(3))
	write(t, path, "$TTL 60\na A 192.0.2.5\nx.test. A 192.0.2.6\n")
	s.awaitSets(t, "mended", "a.corp.test 192.0.2.5")
	s.await(t, "a finding", func(_, log string) bool {
		return strings.Contains(log, "can be read again") && strings.Contains(log, "x.test lies outside the zone corp.test")
	})
}

// TestConfigMap: the kubelet swaps a link to a folder.
func TestConfigMap(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	version := func(name, address string) {
		folder := filepath.Join(dir, name)
		if err := os.Mkdir(folder, 0o755); err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(folder, "corp.zone"), "$TTL 60\n$INCLUDE corp.inc\n")
		write(t, filepath.Join(folder, "corp.inc"), "a A "+address+"\n")
		if err := os.Symlink(name, filepath.Join(dir, "..data_tmp")); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(filepath.Join(dir, "..data_tmp"), filepath.Join(dir, "..data")); err != nil {
			t.Fatal(err)
		}
	}
	version("..1", "192.0.2.1")
	for _, name := range []string{"corp.zone", "corp.inc"} {
		if err := os.Symlink(filepath.Join("..data", name), filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	s := watched(t, filepath.Join(dir, "corp.zone"))
	s.awaitSets(t, "at the start", "a.corp.test 192.0.2.1")
	version("..2", "192.0.2.2")
	s.awaitSets(t, "after the swap", "a.corp.test 192.0.2.2")
}

// TestLoadFaults: the error names every broken file, and the others are read.
func TestLoadFaults(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "a"), "$TTL 60\nwww A 1.2.3\n")
	write(t, filepath.Join(dir, "b"), "$TTL 60\nwww A 192.0.2.1\n")
	set, err := Load([]File{{mustName(t, "a.test"), filepath.Join(dir, "a")}, {mustName(t, "b.test"), filepath.Join(dir, "b")}, {mustName(t, "c.test"), filepath.Join(dir, "c")}})
	if err == nil || !strings.Contains(err.Error(), "a:2: ") || !strings.Contains(err.Error(), "the zone file "+filepath.Join(dir, "c")+" of c.test can't be read (no such file or directory)") {
		t.Errorf("the error is %v", err)
	}
	var put []string
	set.Report(func(origin zones.Name, static *zones.Static) { put = append(put, fmt.Sprint(origin, static.Len())) })
	if strings.Join(put, " ") != "b.test1" {
		t.Errorf("put %v", put)
	}
}
