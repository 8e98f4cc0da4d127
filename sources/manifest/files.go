package manifest

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// stdinPath stands for standard input.
const stdinPath = "-"

// walk returns the files that a path stands for, sorted. Links are followed:
// a mounted ConfigMap is made of them.
func walk(path string) ([]string, error) {
	if path == stdinPath {
		return []string{stdinPath}, nil
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return []string{filepath.Clean(path)}, nil
	}
	var files []string
	err = walkFolder(filepath.Clean(path), 0, func(name string, isFolder bool) {
		if !isFolder {
			files = append(files, name)
		}
	})
	if err != nil {
		return nil, err
	}
	slices.Sort(files)
	return files, nil
}

// maxDepth bounds the nesting of folders, so that a link to a folder above
// itself ends.
const maxDepth = 20

// walkFolder calls visit for the folder itself, its sub-folders and the files
// in them that hold manifests by their names. Hidden names are left out.
func walkFolder(folder string, depth int, visit func(name string, isFolder bool)) error {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return err
	}
	visit(folder, true)
	for _, entry := range entries {
		name := filepath.Join(folder, entry.Name())
		if strings.HasPrefix(entry.Name(), ".") {
			continue
		}
		isFolder := entry.IsDir()
		if entry.Type()&fs.ModeSymlink != 0 {
			info, err := os.Stat(name)
			if err != nil {
				continue // a link to nothing
			}
			isFolder = info.IsDir()
		}
		switch {
		case isFolder && depth < maxDepth:
			// A sub-folder that goes away meanwhile is as if it had not been there.
			if err := walkFolder(name, depth+1, visit); err != nil && !os.IsNotExist(err) {
				return err
			}
		case !isFolder && isManifest(name):
			visit(name, false)
		}
	}
	return nil
}

func isManifest(name string) bool {
	switch filepath.Ext(name) {
	case ".yaml", ".yml", ".json":
		return true
	}
	return false
}

// under reports whether name is path or lies below it.
func under(name, path string) bool {
	path = filepath.Clean(path)
	return name == path || strings.HasPrefix(name, strings.TrimSuffix(path, "/")+"/")
}
