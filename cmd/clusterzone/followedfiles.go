package main

import (
	"os"
	"path/filepath"
	"slices"
)

// followedFiles are the paths of files that are read anew when they change, by
// filewatch.Run: a part of its Reader. It doesn't change.
type followedFiles []string

// Folders implements filewatch.Reader: those of the files, and those that links
// lead to.
func (f followedFiles) Folders() (folders []string) {
	for _, path := range f.paths() {
		if folder := filepath.Dir(path); !slices.Contains(folders, folder) {
			folders = append(folders, folder)
		}
	}
	return folders
}

// paths are the files, and where links lead to.
func (f followedFiles) paths() (paths []string) {
	for _, path := range f {
		paths = append(paths, filepath.Clean(path))
		if target, err := filepath.EvalSymlinks(path); err == nil && target != paths[len(paths)-1] {
			paths = append(paths, target)
		}
	}
	return paths
}

// Concerns implements filewatch.Reader.
func (f followedFiles) Concerns(name string) bool {
	return slices.Contains(f.paths(), name) || slices.Contains(f.Folders(), name)
}

// HalfWritten implements filewatch.Reader.
func (f followedFiles) HalfWritten() bool {
	for _, path := range f {
		if info, err := os.Stat(path); err == nil && info.Size() == 0 {
			return true
		}
	}
	return false
}
