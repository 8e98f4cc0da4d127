package repo_test

import (
	"bufio"
	"bytes"
	"go/ast"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// A package comment says what a package is for, what it promises, and what it
// leaves to others. It stands where people look for it.
func TestPackagesHaveOneComment(t *testing.T) {
	t.Parallel()
	for _, p := range packages(t) {
		var found []string
		_, files := parse(t, p)
		for name, file := range files {
			if file.Doc == nil {
				continue
			}
			found = append(found, name)
			if name != "doc.go" && len(files) > 1 {
				t.Errorf("%s: the package comment stands in %s; it belongs in doc.go", p.short(), name)
			}
			want := "Package " + p.Name + " "
			if p.Name == "main" {
				want = "Command " + filepath.Base(p.Dir) + " "
			}
			if !strings.HasPrefix(file.Doc.Text(), want) {
				t.Errorf("%s: the package comment in %s doesn't start with %q", p.short(), name, want)
			}
		}
		if len(found) != 1 {
			t.Errorf("%s has %d package comments %v; it needs one, in doc.go", p.short(), len(found), found)
		}
	}
}

// maxLines is far above what a file should have (some 150 lines, 400 at most):
// past it, a file holds more than one subject for sure.
const maxLines = 600

func TestFilesAreShort(t *testing.T) {
	t.Parallel()
	for _, name := range walk(t) {
		if !strings.HasSuffix(name, ".go") {
			continue
		}
		if lines := strings.Count(read(t, name), "\n"); lines > maxLines {
			t.Errorf("%s has %d lines, more than %d: part it by subject", name, lines, maxLines)
		}
	}
}

// badCalls are functions and variables that no package uses, by the path of
// the package that has them.
var badCalls = map[string]map[string]string{
	"log": {
		"Fatal": "only main ends the program; return an error", "Fatalf": "only main ends the program; return an error",
		"Fatalln": "only main ends the program; return an error",
		"Print":   "the logger is handed in", "Printf": "the logger is handed in", "Println": "the logger is handed in",
	},
	"log/slog": {
		"Default": "the logger is handed in", "SetDefault": "the logger is handed in",
		"Info": "the logger is handed in", "Warn": "the logger is handed in", "Error": "the logger is handed in", "Debug": "the logger is handed in",
	},
	"net/http": {
		"DefaultServeMux": "a mux is made where it is served", "Handle": "it changes the global mux", "HandleFunc": "it changes the global mux",
		"Get": "it waits forever; a request has a context", "Post": "it waits forever; a request has a context",
	},
	"github.com/prometheus/client_golang/prometheus": {
		"DefaultRegisterer": "the registry is handed in", "DefaultGatherer": "the registry is handed in",
		"MustRegister": "it registers globally; the registry is handed in", "Register": "it registers globally; the registry is handed in",
	},
	"time": {"Sleep": "wait for what must happen, with a context"},
}

// pureCalls are added to badCalls in zones.
var pureCalls = map[string]map[string]string{
	"time": {
		"Now": "the core reads no clock: time is an argument", "Since": "the core reads no clock", "Until": "the core reads no clock",
		"After": "the core waits for nothing", "NewTimer": "the core waits for nothing", "NewTicker": "the core waits for nothing",
	},
	"math/rand/v2": {"IntN": "the core is deterministic", "Uint32": "the core is deterministic", "Shuffle": "the core is deterministic"},
}

func TestNothingHappensBehindTheCallersBack(t *testing.T) {
	t.Parallel()
	for _, p := range packages(t) {
		set, files := parse(t, p)
		for name, file := range files {
			report := func(node ast.Node, what, why string) {
				t.Errorf("%s/%s:%d: %s: %s", p.short(), name, set.Position(node.Pos()).Line, what, why)
			}
			imports := importNames(t, file)
			ast.Inspect(file, func(node ast.Node) bool {
				switch node := node.(type) {
				case *ast.FuncDecl:
					if node.Name.Name == "init" && node.Recv == nil {
						report(node, "func init", "nothing runs before main; make a value where it is used")
					}
				case *ast.SelectorExpr:
					ident, ok := node.X.(*ast.Ident)
					if !ok {
						return true
					}
					path, called := imports[ident.Name], node.Sel.Name
					if path == "os" && called == "Exit" && (p.Name != "main" || name != "main.go") {
						report(node, "os.Exit", "only main.go ends the program; return an error")
					}
					if why := badCalls[path][called]; why != "" {
						report(node, path+"."+called, why)
					}
					if why := pureCalls[path][called]; why != "" && top(p) == "zones" {
						report(node, path+"."+called, why)
					}
				}
				return true
			})
		}
	}
}

// importNames returns the paths of a file's imports by the names under which
// it uses them.
func importNames(t *testing.T, file *ast.File) map[string]string {
	t.Helper()
	names := map[string]string{}
	for _, spec := range file.Imports {
		path, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			t.Fatal(err)
		}
		name := path[strings.LastIndex(path, "/")+1:]
		if path == "math/rand/v2" {
			name = "rand"
		}
		if spec.Name != nil {
			name = spec.Name.Name
		}
		names[name] = path
	}
	return names
}

// Whoever clones the repository has other folders than whoever wrote it.
func TestNoPathsOfOneMachine(t *testing.T) {
	t.Parallel()
	for _, name := range walk(t) {
		text, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(name)))
		if err != nil {
			t.Fatal(err)
		}
		if bytes.IndexByte(text, 0) >= 0 {
			continue // no text
		}
		lines := bufio.NewScanner(bytes.NewReader(text))
		lines.Buffer(nil, len(text)+1)
		for n := 1; lines.Scan(); n++ {
			for _, home := range []string{"home", "root", "Users"} {
				if at := strings.Index(lines.Text(), "/"+home+"/"); at == 0 || at > 0 && strings.ContainsRune(" \t\"'`=:(", rune(lines.Text()[at-1])) {
					t.Errorf("%s:%d names a folder of one machine: %s", name, n, strings.TrimSpace(lines.Text()))
				}
			}
		}
		if err := lines.Err(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
