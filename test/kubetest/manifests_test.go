package kubetest

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestManifestFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, name := range []string{"b.yaml", "a.yml", "kustomization.yaml", "README.md", filepath.Join("sub", "c.yaml")} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	files, err := manifestFiles(dir)
	if want := []string{filepath.Join(dir, "a.yml"), filepath.Join(dir, "b.yaml")}; err != nil || !slices.Equal(files, want) {
		t.Errorf("got %q, %v, want %q", files, err, want)
	}
	if _, err := manifestFiles(filepath.Join(dir, "none.yaml")); !os.IsNotExist(err) {
		t.Errorf("a file that isn't there: %v", err)
	}
}
