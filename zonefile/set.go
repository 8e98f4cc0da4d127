package zonefile

import (
	"crypto/sha256"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/clusterzone/clusterzone/zones"
)

// A File is the master file of one zone.
type File struct {
	Origin zones.Name
	Path   string
}

// A Set is the zones of some files. Its methods but Origins and Problems
// are for one goroutine.
type Set struct {
	zones   []*zone
	paths   map[string]bool // whose changes matter
	folders []string        // in which these lie

	mu       sync.Mutex // guards problems
	problems map[zones.Name]Problem
}

// A Problem is why a zone file can't be read now; the zone stays as it was.
type Problem struct {
	Origin zones.Name
	Err    error
	Since  time.Time
}

// A zone is what its file said when it was last readable.
type zone struct {
	File
	static   *zones.Static
	findings []Finding
	seen     map[string]stamp // the files it was read from, or would have been
	problem  error
}

// A stamp tells whether a file has changed.
type stamp struct {
	info os.FileInfo // nil for one that isn't there
	// unsure says that the file may have changed since without its time telling.
	unsure bool
	sum    *sum // of what was read; nil where it could not be
}

// A sum is the SHA-256 of a file's text.
type sum [sha256.Size]byte

// grain is how coarse the times of files may be.
const grain = 2 * time.Second

// Load reads every file. The error joins one Finding, or the system's error, for
// each zone whose file can't be read; with it the Set holds the others.
func Load(files []File) (*Set, error) {
	s := &Set{problems: make(map[zones.Name]Problem)}
	var errs []error
	for _, file := range files {
		z := &zone{File: file}
		s.zones = append(s.zones, z)
		z.read()
		if z.problem != nil {
			errs = append(errs, z.problem)
		}
		s.note(z)
	}
	s.list()
	return s, errors.Join(errs...)
}

// read reads the file, and reports whether the records are others.
func (z *zone) read() (changed bool) {
	now := time.Now()
	c, err := parse(z.Origin, z.Path)
	z.seen = make(map[string]stamp, len(c.seen))
	for _, path := range c.seen {
		z.seen[path] = stampOf(path, now, c.sums[path])
	}
	z.problem = err
	if err != nil {
		return false
	}
	changed = !c.static.Equal(z.static)
	if changed {
		z.static = c.static
	}
	z.findings = c.findings
	return changed
}

func stampOf(path string, now time.Time, sum *sum) stamp {
	info, err := os.Stat(path)
	if err != nil {
		return stamp{}
	}
	return stamp{info, now.Sub(info.ModTime()) < grain, sum}
}

// stale reports whether any of the zone's files may have changed.
func (z *zone) stale() bool {
	for path, old := range z.seen {
		now := time.Now()
		info, err := os.Stat(path)
		switch {
		case (err != nil) != (old.info == nil):
			return true
		case err != nil:
		case !os.SameFile(info, old.info) || info.Size() != old.info.Size() || !info.ModTime().Equal(old.info.ModTime()):
			return true
		case !old.unsure:
		case old.sum == nil || !old.sum.fits(path):
			return true
		default:
			// What a file says is far cheaper to compare than to read anew.
			z.seen[path] = stamp{info, now.Sub(info.ModTime()) < grain, old.sum}
		}
	}
	return false
}

// fits reports whether the file still has the text.
func (s *sum) fits(path string) bool {
	file, err := os.Open(path)
	if err != nil {
		return false
	}
	defer file.Close()
	hash := sha256.New()
	if _, err := io.Copy(hash, file); err != nil {
		return false
	}
	return sum(hash.Sum(nil)) == *s
}

// note keeps the zone's problem for Problems.
func (s *Set) note(z *zone) {
	s.mu.Lock()
	defer s.mu.Unlock()
	old, known := s.problems[z.Origin]
	switch {
	case z.problem == nil:
		delete(s.problems, z.Origin)
	case !known || old.Err.Error() != z.problem.Error():
		s.problems[z.Origin] = Problem{z.Origin, z.problem, time.Now()}
	}
}

// Problems returns the zones whose files can't be read now, by name. It is safe
// for concurrent use.
func (s *Set) Problems() []Problem {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := make([]Problem, 0, len(s.problems))
	for _, problem := range s.problems {
		all = append(all, problem)
	}
	slices.SortFunc(all, func(a, b Problem) int { return a.Origin.Compare(b.Origin) })
	return all
}

// Origins returns the zones that have a file. It is safe for concurrent use.
func (s *Set) Origins() []zones.Name {
	all := make([]zones.Name, len(s.zones))
	for i, z := range s.zones {
		all[i] = z.Origin
	}
	return all
}

// Findings returns what is odd in the files, in their order.
func (s *Set) Findings() []Finding {
	var all []Finding
	for _, z := range s.zones {
		all = append(all, z.findings...)
	}
	return all
}

// Report hands the records of every zone that could be read to put.
func (s *Set) Report(put func(origin zones.Name, static *zones.Static)) {
	for _, z := range s.zones {
		if z.problem == nil {
			put(z.Origin, z.static)
		}
	}
}

// list notes which paths matter, and the folders to watch for them: links are
// watched at both ends.
func (s *Set) list() {
	s.paths = make(map[string]bool)
	folders := make(map[string]bool)
	for _, z := range s.zones {
		for path := range z.seen {
			s.paths[path] = true
			folders[filepath.Dir(path)] = true
			if target, err := filepath.EvalSymlinks(path); err == nil && target != path {
				s.paths[target] = true
				folders[filepath.Dir(target)] = true
			}
		}
	}
	s.folders = s.folders[:0]
	for folder := range folders {
		s.folders = append(s.folders, folder)
	}
}
