package repo_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

const module = "github.com/clusterzone/clusterzone"

// root is the top folder of the repository, seen from this package.
const root = "../.."

// binDir is where the program is built, once, by the first test that needs it.
var binDir string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "clusterzone-repo-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	binDir = dir
	code := m.Run()
	if err := os.RemoveAll(dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	os.Exit(code)
}

var buildProgram = sync.OnceValues(func() (string, error) {
	path := filepath.Join(binDir, "clusterzone")
	out, err := goCommand("build", "-o", path, "./cmd/clusterzone")
	if err != nil {
		return "", fmt.Errorf("cmd/clusterzone can't be built: %w\n%s", err, out)
	}
	return path, nil
})

// program returns the path of the built program.
func program(t *testing.T) string {
	t.Helper()
	path, err := buildProgram()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func goCommand(args ...string) ([]byte, error) {
	cmd := exec.Command("go", args...)
	cmd.Dir = root
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		err = fmt.Errorf("go %s: %w\n%s", strings.Join(args, " "), err, stderr.String())
	}
	return out, err
}

// A pkg is a package of ours, as "go list" sees it: without its tests.
type pkg struct {
	ImportPath string
	Name       string
	Dir        string
	GoFiles    []string
	Imports    []string
	Deps       []string
}

// short is the import path below the module: "sources/cluster".
func (p pkg) short() string { return strings.TrimPrefix(p.ImportPath, module+"/") }

var listPackages = sync.OnceValues(func() ([]pkg, error) {
	out, err := goCommand("list", "-json=ImportPath,Name,Dir,GoFiles,Imports,Deps", "./...")
	if err != nil {
		return nil, err
	}
	var all []pkg
	decoder := json.NewDecoder(strings.NewReader(string(out)))
	for {
		var p pkg
		if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
			return all, nil
		} else if err != nil {
			return nil, err
		}
		all = append(all, p)
	}
})

func packages(t *testing.T) []pkg {
	t.Helper()
	all, err := listPackages()
	if err != nil {
		t.Fatal(err)
	}
	if len(all) < 4 {
		t.Fatalf("go list found %d packages only; these tests would hold nothing", len(all))
	}
	return all
}

// parse returns the syntax of a package's files but tests, by file name.
func parse(t *testing.T, p pkg) (*token.FileSet, map[string]*ast.File) {
	t.Helper()
	set := token.NewFileSet()
	files := map[string]*ast.File{}
	for _, name := range p.GoFiles {
		file, err := parser.ParseFile(set, filepath.Join(p.Dir, name), nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		files[name] = file
	}
	return set, files
}

// walk returns the repository's own files as slash paths below its top folder,
// without what git and builds put there.
func walk(t *testing.T) []string {
	t.Helper()
	var files []string
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && slices.Contains([]string{".git", "bin", "dist"}, entry.Name()) {
			return fs.SkipDir
		}
		if entry.Type().IsRegular() {
			relative, err := filepath.Rel(root, path)
			if err != nil {
				return err
			}
			files = append(files, filepath.ToSlash(relative))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(file)))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
