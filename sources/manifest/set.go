package manifest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/clusterzone/clusterzone/sources"
)

// A Finding is something wrong with a file.
type Finding struct {
	File string // as it was named, or its path below the folder named; "-" for standard input
	Line int    // counted from 1; 0 where it is the whole file
	// Message is one sentence without capital and final stop, with the mend.
	Message string
}

// String returns "file:line: message".
func (f Finding) String() string {
	if f.Line == 0 {
		return f.File + ": " + f.Message
	}
	return fmt.Sprintf("%s:%d: %s", f.File, f.Line, f.Message)
}

// Error makes a Finding that stops a file's reading an error.
func (f Finding) Error() string { return f.String() }

// A Set is the objects of some paths. It is not safe for concurrent use.
type Set struct {
	paths []string
	files []*file          // in the order in which they count: later ones update earlier ones
	lost  map[string]error // paths that can't be looked at now

	objects map[key]metav1.Object // as the files together say
	sent    map[key]metav1.Object // as the sink knows them
}

// A file is what one file said when it was last readable.
type file struct {
	path     string
	content  []byte
	objects  []document
	findings []Finding
	ignored  map[string]int
	scheme   *runtime.Scheme // of the kinds, while it is being read
	problem  error           // why its newest content can't be read, or nil
}

// A key names an object among all.
type key struct {
	kind            sources.Kind
	namespace, name string
}

// Load reads every path: a file of YAML or JSON, a folder of *.yaml, *.yml and
// *.json (with its sub-folders; hidden ones are left out), or "-" for stdin.
// The error joins one Finding, or the system's error, for each file that can't
// be read; with it the Set holds the others.
func Load(paths []string, stdin io.Reader) (*Set, error) {
	s := &Set{paths: paths, lost: make(map[string]error), sent: make(map[key]metav1.Object)}
	var errs []error
	if slices.Contains(paths, stdinPath) {
		content, err := io.ReadAll(stdin)
		if err != nil {
			errs = append(errs, fmt.Errorf("standard input can't be read: %w", err))
		}
		s.files = append(s.files, parseFile(stdinPath, content))
	}
	for _, path := range paths {
		if path == stdinPath {
			continue
		}
		if _, err := os.Stat(path); err != nil {
			errs = append(errs, fmt.Errorf("--manifests=%s can't be read (%w); name an existing file or folder", path, err))
		}
	}
	s.reread()
	for _, f := range s.files {
		if f.problem != nil {
			errs = append(errs, f.problem)
		}
	}
	s.merge()
	return s, errors.Join(errs...)
}

// reread reads the files anew and returns whether anything about them is new.
// Paths that are gone keep what they said.
func (s *Set) reread() bool {
	old := make(map[string]*file, len(s.files))
	for _, f := range s.files {
		old[f.path] = f
	}
	var files []*file
	seen := make(map[string]bool)
	changed := false
	for _, path := range s.paths {
		found, err := walk(path)
		if err != nil {
			// The path itself is gone, or its folder can't be read: that is no
			// word on its objects.
			problem := fmt.Errorf("%s can't be read (%w); its objects stay as they were", path, err)
			changed = changed || s.lost[path] == nil || s.lost[path].Error() != problem.Error()
			s.lost[path] = problem
			for _, f := range s.files {
				if !seen[f.path] && under(f.path, path) {
					seen[f.path] = true
					files = append(files, f)
				}
			}
			continue
		}
		changed = changed || s.lost[path] != nil
		delete(s.lost, path)
		for _, name := range found {
			if seen[name] {
				continue
			}
			seen[name] = true
			f, isNew := readFile(name, old[name])
			changed = changed || isNew
			files = append(files, f)
		}
	}
	changed = changed || len(files) != len(s.files)
	s.files = files
	return changed
}

// readFile returns the file's state now, given the one before, or nil for the
// first time.
func readFile(path string, before *file) (now *file, changed bool) {
	if path == stdinPath {
		return before, false
	}
	content, err := os.ReadFile(path)
	if err != nil {
		if before == nil {
			before = &file{path: path}
		}
		return before, before.fail(fmt.Errorf("%s can't be read (%w)", path, err))
	}
	if before != nil && before.content != nil && bytes.Equal(content, before.content) && !before.unread() {
		return before, false
	}
	now = parseFile(path, content)
	if now.problem != nil && before != nil {
		// It keeps its old state, and is not looked at again until it changes.
		now.objects, now.findings, now.ignored = before.objects, before.findings, before.ignored
	}
	return now, true
}

// fail notes that the file can't be read, and returns whether that is news.
func (f *file) fail(problem error) bool {
	news := f.problem == nil || f.problem.Error() != problem.Error()
	f.problem = problem
	f.content = nil // so that it is read again when it is back
	return news
}

// unread reports whether the content at hand is not what the file says.
func (f *file) unread() bool { return f.problem != nil && f.content == nil }

// merge unites the files: an object that stands twice is updated, as by kubectl
// apply. Its metadata and spec are replaced; its status, and its age where the
// later document has none, stay.
func (s *Set) merge() {
	objects := make(map[key]metav1.Object)
	for _, f := range s.files {
		for _, doc := range f.objects {
			objects[doc.key] = update(objects[doc.key], doc)
		}
	}
	s.objects = objects
}

func update(old metav1.Object, doc document) metav1.Object {
	keepsAge := old != nil && doc.object.GetCreationTimestamp().Time.IsZero() && !old.GetCreationTimestamp().Time.IsZero()
	if old == nil || doc.hasStatus && !keepsAge {
		return doc.object
	}
	merged, ok := copyOf(doc.object)
	if !ok {
		return doc.object
	}
	if before, ok := copyOf(old); ok && !doc.hasStatus {
		to, from := statusOf(merged), statusOf(before)
		if to.IsValid() && from.IsValid() && to.Type() == from.Type() {
			to.Set(from)
		}
	}
	if keepsAge {
		merged.SetCreationTimestamp(old.GetCreationTimestamp())
	}
	return merged
}

func copyOf(obj metav1.Object) (metav1.Object, bool) {
	source, ok := obj.(runtime.Object)
	if !ok {
		return nil, false
	}
	object, ok := source.DeepCopyObject().(metav1.Object)
	return object, ok
}

// statusOf returns an object's field Status; the zero Value for a kind without.
func statusOf(obj metav1.Object) reflect.Value {
	return reflect.ValueOf(obj).Elem().FieldByName("Status")
}

// Findings returns what is wrong with documents that were read all the same or
// left out: unknown fields, old versions. In the order of files and lines.
func (s *Set) Findings() []Finding {
	var all []Finding
	for _, f := range s.files {
		all = append(all, f.findings...)
	}
	return all
}

// Ignored returns how many documents there are of each kind that clusterzone
// does not read, sorted by kind: "Deployment (3)".
func (s *Set) Ignored() []string {
	counts := make(map[string]int)
	for _, f := range s.files {
		for kind, n := range f.ignored {
			counts[kind] += n
		}
	}
	var all []string
	for _, kind := range slices.Sorted(maps.Keys(counts)) {
		all = append(all, fmt.Sprintf("%s (%d)", kind, counts[kind]))
	}
	return all
}

// Problem returns why files can't be read at the moment, or nil.
func (s *Set) Problem() error {
	var problems []string
	for _, path := range slices.Sorted(maps.Keys(s.lost)) {
		problems = append(problems, s.lost[path].Error())
	}
	for _, f := range s.files {
		if f.problem != nil {
			problems = append(problems, f.problem.Error())
		}
	}
	if len(problems) == 0 {
		return nil
	}
	return errors.New(strings.Join(problems, "; "))
}

// Report brings the sink up to date: objects that are new or changed since the
// last Report, objects that are gone, and then that every kind is synced.
func (s *Set) Report(sink sources.Sink) {
	for k, obj := range s.objects {
		if old := s.sent[k]; old == nil || old != obj && !equality.Semantic.DeepEqual(old, obj) {
			s.sent[k] = obj
			sink.Set(k.kind, obj)
		}
	}
	for k := range s.sent {
		if s.objects[k] == nil {
			delete(s.sent, k)
			sink.Gone(k.kind, k.namespace, k.name)
		}
	}
	problem := s.Problem()
	for _, known := range sources.KnownKinds() {
		if problem != nil {
			// What the file said before still stands.
			sink.Synced(known.Kind, &sources.Unreachable{Err: problem})
			continue
		}
		sink.Synced(known.Kind, nil)
	}
}
