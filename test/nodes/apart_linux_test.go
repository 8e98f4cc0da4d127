package nodes_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"

	"github.com/clusterzone/clusterzone/test/daemon"
	"github.com/clusterzone/clusterzone/test/kubetest"
)

const (
	// root is the top folder of the repository, seen from this package.
	root = "../.."
	// peersVariable asks for the tests that make test-peers runs.
	peersVariable = "CLUSTERZONE_PEERS"
	// apartVariable marks the process that the test runs apart in, and tells it where
	// the program is.
	apartVariable = "NODES_CLUSTERZONE"
)

// apart runs the rest of a test in a process with a network namespace of its own: it
// returns the program's path there, and "" to the caller, whose test is over then.
func apart(t *testing.T) string {
	t.Helper()
	if path := os.Getenv(apartVariable); path != "" {
		return path
	}
	if os.Getenv(peersVariable) == "" {
		t.Skipf("needs network namespaces: make test-peers runs this test (%s=1)", peersVariable)
	}
	path, err := daemon.Build(root, t.TempDir(), "clusterzone", daemon.Race)
	if err != nil {
		t.Fatal(err)
	}
	if err := daemon.Note(filepath.Join(root, "test", "kube")); err != nil {
		t.Fatal(err)
	}
	// Here, where the network can be reached that they may have to come from.
	if _, _, err := kubetest.Binaries(t.Context(), func(line string) { t.Log(line) }); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v", "-test.count=1", "-test.timeout=15m")
	cmd.Env = append(os.Environ(), apartVariable+"="+path)
	cmd.SysProcAttr = daemon.DieWithTest()
	cmd.SysProcAttr.Cloneflags = syscall.CLONE_NEWNET
	if os.Getuid() != 0 {
		// Where the system lets everyone have namespaces, in one of users' ids, as root
		// there.
		cmd.SysProcAttr.Cloneflags |= syscall.CLONE_NEWUSER
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}}
		cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}}
	}
	runtime.LockOSThread() // the parent-death signal comes when this thread ends
	defer runtime.UnlockOSThread()
	out, err := cmd.CombinedOutput()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		unavailable(t, fmt.Errorf("a network namespace can't be made here (%w); run as root, in a container with CAP_SYS_ADMIN", err))
	}
	t.Logf("%s", out)
	if err != nil {
		t.Errorf("the test fails: %v", err)
	}
	return ""
}

// unavailable skips a test for which this machine is not made; root in CI has to be
// able to run it.
func unavailable(t *testing.T, why error) {
	t.Helper()
	if os.Getenv("CI") == "true" && os.Getuid() == 0 {
		t.Fatal(why)
	}
	t.Skip(why)
}
