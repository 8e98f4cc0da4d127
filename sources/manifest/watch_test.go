package manifest

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/clusterzone/clusterzone/sources"
)

// A recordingSink holds what it was told, as text.
type recordingSink struct {
	mu      sync.Mutex
	objects map[string]string
	problem map[sources.Kind]string // "ok", or the problem
	news    chan struct{}
}

func newRecordingSink() *recordingSink {
	return &recordingSink{objects: make(map[string]string), problem: make(map[sources.Kind]string), news: make(chan struct{}, 1)}
}

func (s *recordingSink) do(change func()) {
	s.mu.Lock()
	change()
	s.mu.Unlock()
	select {
	case s.news <- struct{}{}:
	default:
	}
}

func (s *recordingSink) Set(kind sources.Kind, obj metav1.Object) {
	s.do(func() {
		text := ""
		if service, ok := obj.(*corev1.Service); ok {
			text = "=" + service.Spec.ExternalName
		}
		s.objects[fmt.Sprintf("%s %s/%s", kind, obj.GetNamespace(), obj.GetName())] = text
	})
}

func (s *recordingSink) Gone(kind sources.Kind, namespace, name string) {
	s.do(func() { delete(s.objects, fmt.Sprintf("%s %s/%s", kind, namespace, name)) })
}

func (s *recordingSink) Synced(kind sources.Kind, problem error) {
	s.do(func() {
		s.problem[kind] = "ok"
		if problem != nil {
			s.problem[kind] = problem.Error()
		}
	})
}

// state returns the objects and the problem of Services.
func (s *recordingSink) state() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var objects []string
	for _, name := range slices.Sorted(maps.Keys(s.objects)) {
		objects = append(objects, name+s.objects[name])
	}
	return strings.Join(objects, ", ") + "; " + s.problem[sources.KindService]
}

// await waits until the state holds.
func (s *recordingSink) await(t *testing.T, what string, holds func(state string) bool) {
	t.Helper()
	limit := time.After(20 * time.Second)
	for !holds(s.state()) {
		select {
		case <-s.news:
		case <-limit:
			t.Fatalf("%s: never came; the state is %q", what, s.state())
		}
	}
}

func (s *recordingSink) awaitState(t *testing.T, what, want string) {
	t.Helper()
	s.await(t, what, func(state string) bool { return state == want })
}

// watched loads the paths and runs the set until the test ends.
func watched(t *testing.T, paths ...string) *recordingSink {
	t.Helper()
	set, err := Load(paths, strings.NewReader(""))
	if err != nil {
		t.Fatal(err)
	}
	sink := newRecordingSink()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- set.Run(ctx, slog.New(slog.DiscardHandler), sink) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return sink
}

func service(name, target string) string {
	return "apiVersion: v1\nkind: Service\nmetadata: {name: " + name + "}\nspec: {externalName: " + target + "}\n---\n"
}

func rename(t *testing.T, from, to string) {
	t.Helper()
	if err := os.Rename(from, to); err != nil {
		t.Fatal(err)
	}
}

func link(t *testing.T, target, name string) {
	t.Helper()
	if err := os.Symlink(target, name); err != nil {
		t.Fatal(err)
	}
}

func TestFolderIsWatched(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	write(t, filepath.Join(folder, "a.yaml"), service("a", "one.test"))
	sink := watched(t, folder)
	sink.awaitState(t, "the first state", "Service default/a=one.test; ok")

	write(t, filepath.Join(folder, "b.yaml"), service("b", "two.test"))
	sink.awaitState(t, "a new file", "Service default/a=one.test, Service default/b=two.test; ok")

	write(t, filepath.Join(folder, "a.yaml"), service("a", "changed.test"))
	sink.awaitState(t, "a file written over", "Service default/a=changed.test, Service default/b=two.test; ok")

	write(t, filepath.Join(folder, ".a.yaml.tmp"), service("a", "saved.test"))
	rename(t, filepath.Join(folder, ".a.yaml.tmp"), filepath.Join(folder, "a.yaml"))
	sink.awaitState(t, "a file renamed over", "Service default/a=saved.test, Service default/b=two.test; ok")

	write(t, filepath.Join(folder, "sub", "deep", "c.yaml"), service("c", "three.test"))
	sink.awaitState(t, "a file in a new sub-folder", "Service default/a=saved.test, Service default/b=two.test, Service default/c=three.test; ok")

	write(t, filepath.Join(folder, "sub", "deep", "c.yaml"), service("c", "four.test"))
	sink.awaitState(t, "a change there", "Service default/a=saved.test, Service default/b=two.test, Service default/c=four.test; ok")

	if err := os.RemoveAll(filepath.Join(folder, "sub")); err != nil {
		t.Fatal(err)
	}
	sink.awaitState(t, "a sub-folder deleted", "Service default/a=saved.test, Service default/b=two.test; ok")

	if err := os.Remove(filepath.Join(folder, "b.yaml")); err != nil {
		t.Fatal(err)
	}
	sink.awaitState(t, "a file deleted", "Service default/a=saved.test; ok")
}

func TestBrokenFileKeepsItsState(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	path := filepath.Join(folder, "a.yaml")
	write(t, path, service("a", "one.test"))
	write(t, filepath.Join(folder, "b.yaml"), service("b", "two.test"))
	sink := watched(t, folder)
	sink.awaitState(t, "the first state", "Service default/a=one.test, Service default/b=two.test; ok")

	write(t, path, "a:\n\tb: c\n")
	sink.awaitState(t, "a broken file", "Service default/a=one.test, Service default/b=two.test; "+
		path+":2: found a tab where indentation is wanted; use spaces")

	write(t, filepath.Join(folder, "b.yaml"), service("b", "three.test"))
	sink.await(t, "another file changes meanwhile", func(state string) bool {
		return strings.HasPrefix(state, "Service default/a=one.test, Service default/b=three.test; "+path)
	})

	write(t, path, service("a", "mended.test"))
	sink.awaitState(t, "mended", "Service default/a=mended.test, Service default/b=three.test; ok")
}

func TestNamedFileThatGoesKeepsItsState(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a.yaml")
	write(t, path, service("a", "one.test"))
	sink := watched(t, path)
	sink.awaitState(t, "the first state", "Service default/a=one.test; ok")
	rename(t, path, path+".away")
	sink.await(t, "gone", func(state string) bool {
		return strings.HasPrefix(state, "Service default/a=one.test; "+path+" can't be read")
	})
	write(t, path, service("a", "back.test"))
	sink.awaitState(t, "back", "Service default/a=back.test; ok")
}

// TestMountedConfigMap moves files the way the kubelet does: each file is a link
// into ..data, itself a link to a folder with a time in its name, renamed whole.
func TestMountedConfigMap(t *testing.T) {
	t.Parallel()
	for _, named := range []string{"", "a.yaml"} {
		t.Run("path "+named, func(t *testing.T) {
			t.Parallel()
			mount := t.TempDir()
			write(t, filepath.Join(mount, "..2026_1", "a.yaml"), service("a", "one.test"))
			link(t, "..2026_1", filepath.Join(mount, "..data"))
			link(t, "..data/a.yaml", filepath.Join(mount, "a.yaml"))
			sink := watched(t, filepath.Join(mount, named))
			sink.awaitState(t, "the first state", "Service default/a=one.test; ok")

			for i, target := range []string{"two.test", "three.test"} {
				version := fmt.Sprintf("..2026_%d", i+2)
				write(t, filepath.Join(mount, version, "a.yaml"), service("a", target))
				link(t, version, filepath.Join(mount, "..data_tmp"))
				rename(t, filepath.Join(mount, "..data_tmp"), filepath.Join(mount, "..data"))
				if err := os.RemoveAll(filepath.Join(mount, fmt.Sprintf("..2026_%d", i+1))); err != nil {
					t.Fatal(err)
				}
				sink.awaitState(t, "the link moved", "Service default/a="+target+"; ok")
			}
		})
	}
}

func TestFindingsAreLoggedOnce(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	write(t, filepath.Join(folder, "a.yaml"), "apiVersion: v1\nkind: Service\nmetadata: {name: a, nmae: b}\n---\napiVersion: apps/v1\nkind: Deployment\nmetadata: {name: d}\n")
	set, err := Load([]string{folder}, nil)
	if err != nil {
		t.Fatal(err)
	}
	var log strings.Builder
	w := &fileWatch{set: set, log: slog.New(slog.NewTextHandler(&log, nil))}
	w.logNews()
	w.logNews()
	for _, want := range []string{"metadata.nmae", "Deployment (1)"} {
		if n := strings.Count(log.String(), want); n != 1 {
			t.Errorf("%q stands %d times in the log, want once:\n%s", want, n, log.String())
		}
	}
}
