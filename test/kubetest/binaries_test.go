package kubetest

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
)

func TestBuildOnce(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "cache", "key")
	ignore := func(string) {}

	broken := errors.New("broken")
	err := buildOnce(t.Context(), dir, ignore, func(into string) error {
		if err := os.WriteFile(filepath.Join(into, "half"), nil, 0o600); err != nil {
			return err
		}
		return broken
	})
	if !errors.Is(err, broken) || complete(dir) {
		t.Fatalf("a failed build: %v, complete: %v", err, complete(dir))
	}
	// What a build that was killed leaves.
	if err := os.MkdirAll(filepath.Join(dir+".tmp", "rest"), 0o700); err != nil {
		t.Fatal(err)
	}

	var builds atomic.Int32
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			err := buildOnce(t.Context(), dir, ignore, func(into string) error {
				builds.Add(1)
				return os.WriteFile(filepath.Join(into, "whole"), nil, 0o600)
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	if n := builds.Load(); n != 1 {
		t.Errorf("%d builds, want 1", n)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 || entries[0].Name() != "whole" {
		t.Errorf("the folder holds %v, %v, want the whole build alone", entries, err)
	}
}

func TestBuildOnceWaits(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "key")
	unlock, err := lock(t.Context(), dir+".lock", func() {})
	if err != nil {
		t.Fatal(err)
	}
	defer unlock()
	// Cancelled as soon as it says that it waits.
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var said []string
	err = buildOnce(ctx, dir, func(line string) { said = append(said, line); cancel() }, func(string) error {
		t.Error("built under another's lock")
		return nil
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want the context's end", err)
	}
	if want := []string{"waiting for another process that is building kube-apiserver and etcd"}; !slices.Equal(said, want) {
		t.Errorf("progress %q, want %q", said, want)
	}
}

func TestBuildKey(t *testing.T) {
	t.Parallel()
	source := t.TempDir()
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(source, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	key := func() string {
		k, err := buildKey(t.Context(), source)
		if err != nil {
			t.Fatal(err)
		}
		return k
	}
	write("go.mod", "module a\n")
	write("go.sum", "")
	first := key()
	if key() != first {
		t.Error("the same files give different keys")
	}
	write("go.sum", "x")
	if key() == first {
		t.Error("another go.sum gives the same key")
	}
}
