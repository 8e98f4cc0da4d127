package peers_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/clusterzone/clusterzone/test/daemon"
)

// root is the top folder of the repository, seen from this package.
const root = "../.."

// binDir is where the program is built.
var binDir string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "clusterzone-peers-")
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

var buildProgram = sync.OnceValues(func() (string, error) { return daemon.Build(root, binDir, "clusterzone", daemon.Race) })

// buildPlain builds without the race detector, for what is measured or run often.
var buildPlain = sync.OnceValues(func() (string, error) { return daemon.Build(root, binDir, "clusterzone-plain", false) })

// program returns the path of the program under test.
func program(t testing.TB) string {
	t.Helper()
	path, err := buildProgram()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// peersVariable asks for the tests that need peers.
const peersVariable = "CLUSTERZONE_PEERS"

// tool returns the path of a peer's program. A test that needs one is skipped
// where nobody asked for peers, and fails where it is missing.
func tool(t testing.TB, name string) string {
	t.Helper()
	if os.Getenv(peersVariable) == "" {
		t.Skipf("needs %s: make test-peers runs this test (%s=1)", name, peersVariable)
	}
	if path, err := exec.LookPath(name); err == nil {
		return path
	}
	path := filepath.Join("/usr/sbin", name) // which a user's PATH often lacks
	if _, err := os.Stat(path); err != nil {
		t.Fatalf("%s is not installed; install the Debian packages bind9 bind9-utils nsd knot unbound ldnsutils knot-dnsutils dnsperf", name)
	}
	return path
}
