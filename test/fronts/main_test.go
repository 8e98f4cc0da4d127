package fronts_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/clusterzone/clusterzone/test/daemon"
)

// root is the top folder of the repository, seen from this package.
const root = "../.."

// peersVariable asks for the tests that need other name servers.
const peersVariable = "CLUSTERZONE_PEERS"

// binDir is where programs are built.
var binDir string

func TestMain(m *testing.M) { os.Exit(run(m)) }

// run returns the exit status. The process that a test runs apart in builds
// nothing: it is told where the programs are.
func run(m *testing.M) int {
	if os.Getenv(apartVariable) != "" {
		if err := furnish(); err != nil {
			fmt.Fprintf(os.Stderr, "the namespaces can't be made ready: %v\n", err)
			return 1
		}
		return m.Run()
	}
	dir, err := os.MkdirTemp("", "clusterzone-fronts-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() {
		if err := os.RemoveAll(dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
	}()
	binDir = dir
	return m.Run()
}

// A program is what a test runs, and how the process that knows the network gets
// it. Its name is also an environment variable, through which the process apart
// learns the path.
type program struct {
	name string
	make func() (path string, err error)
}

var (
	clusterzone = program{"FRONTS_CLUSTERZONE", sync.OnceValues(func() (string, error) {
		return daemon.Build(root, binDir, "clusterzone", daemon.Race)
	})}
	coredns = program{"FRONTS_COREDNS", sync.OnceValues(func() (string, error) { return daemon.BuildCoreDNS(root) })}
	unbound = installed("FRONTS_UNBOUND", "unbound", "unbound")
	named   = installed("FRONTS_NAMED", "named", "bind9")
	glibc   = compiled("FRONTS_GLIBC", "gcc", "gcc")
	musl    = compiled("FRONTS_MUSL", "musl-gcc", "musl-tools", "-static")
)

// path is where the program is, once a test runs apart.
func (p program) path() string { return os.Getenv(p.name) }

func missing(name, debian string) error {
	return fmt.Errorf("%s is not installed; install the Debian package %s", name, debian)
}

func installed(variable, name, debian string) program {
	return program{variable, func() (string, error) {
		// Debian keeps servers where the PATH of users doesn't look.
		for _, try := range []string{name, "/usr/sbin/" + name} {
			if path, err := exec.LookPath(try); err == nil {
				return path, nil
			}
		}
		return "", missing(name, debian)
	}}
}

// compiled is testdata/getaddrinfo.c, made by a compiler with its C library.
func compiled(variable, compiler, debian string, flags ...string) program {
	return program{variable, sync.OnceValues(func() (string, error) {
		if _, err := exec.LookPath(compiler); err != nil {
			return "", missing(compiler, debian)
		}
		path := filepath.Join(binDir, variable)
		args := append([]string{"-O1", "-o", path, "testdata/getaddrinfo.c"}, flags...)
		if out, err := exec.Command(compiler, args...).CombinedOutput(); err != nil {
			return "", fmt.Errorf("%s %s: %w\n%s", compiler, strings.Join(args, " "), err, out)
		}
		return path, nil
	})}
}
