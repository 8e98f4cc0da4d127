package daemon

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

// A Server is a running `clusterzone serve`, with the addresses that it has
// bound: of DNS, of the metrics and of the admin API. The last two may be another
// process' yet, where both have --reuse-port.
type Server struct {
	*Process
	DNS, Metrics, Admin string
}

// Serve starts the program at path with flags, and returns when it has bound its
// addresses. Where flags don't say otherwise, these are free ports of 127.0.0.1,
// it asks no resolver and ends without delay. At the test's end it must end well.
func Serve(t testing.TB, path string, flags ...string) *Server {
	t.Helper()
	return ServeAs(t, Spec{Path: path}, flags...)
}

// ServeAs is Serve with a program and surroundings of the caller's; its arguments and
// Line are set here.
func ServeAs(t testing.TB, spec Spec, flags ...string) *Server {
	t.Helper()
	args := []string{"serve", "--log-format=json"}
	for _, flag := range []string{
		"--shutdown-delay=0", "--resolver=none", "--listen=127.0.0.1:0", "--metrics-address=127.0.0.1:0", "--admin-address=127.0.0.1:0",
	} {
		name, _, _ := strings.Cut(flag, "=")
		if !slices.ContainsFunc(flags, func(given string) bool { return strings.HasPrefix(given, name+"=") }) {
			args = append(args, flag)
		}
	}
	s := new(Server)
	bound := make(chan struct{})
	// By message and flag.
	addresses := map[string]*string{
		"answering": &s.DNS, "listening metrics-address": &s.Metrics, "listening admin-address": &s.Admin,
	}
	missing := len(addresses)
	spec.Args = append(args, flags...)
	spec.Line = func(line string) {
		var entry struct{ Msg, Flag, Address string }
		if json.Unmarshal([]byte(line), &entry) != nil || missing == 0 {
			return // the race detector's words, say
		}
		if strings.HasPrefix(entry.Msg, "another process has the address;") {
			entry.Msg = "listening"
		}
		if address := addresses[strings.TrimSpace(entry.Msg+" "+entry.Flag)]; address != nil && *address == "" {
			*address = entry.Address
			if missing--; missing == 0 {
				close(bound)
			}
		}
	}
	s.Process = Start(t, spec)
	select {
	case <-bound:
	case <-s.Exited():
		t.Fatalf("%s has ended: %v", s, s.Err())
	case <-time.After(Patience):
		t.Fatal("the program has not bound its addresses")
	}
	return s
}

// Build builds clusterzone as the file name in dir and returns its path. root is
// the repository's top folder; race asks for the race detector. Called by a test, it
// lets go test know what the program is built from (Note).
func Build(root, dir, name string, race bool) (string, error) {
	for _, part := range program {
		if err := Note(filepath.Join(root, part)); err != nil {
			return "", err
		}
	}
	path := filepath.Join(dir, name)
	cmd := exec.Command("go", "build", fmt.Sprintf("-race=%t", race), "-o", path, "./cmd/clusterzone")
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("cmd/clusterzone can't be built: %w\n%s", err, out)
	}
	return path, nil
}

// BuildCoreDNS builds CoreDNS, without our plugin, from what the module plugin requires, which takes some minutes
// the first time, and returns its path in the build cache. root is the repository's
// top folder.
func BuildCoreDNS(root string) (string, error) {
	cmd := exec.Command("go", "tool", "-n", "coredns")
	cmd.Dir = filepath.Join(root, "plugin")
	cmd.Env = append(os.Environ(), "GOWORK=off")
	var errs strings.Builder
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("CoreDNS can't be built: %w\n%s", err, errs.String())
	}
	return strings.TrimSpace(string(out)), nil
}

// program is what clusterzone is built from, below the repository's top folder.
var program = []string{"go.mod", "go.sum", "adminpage", "assembly", "cmd", "dnstap", "filewatch", "server", "sources", "upstream", "zonefile", "zones"}

// Note looks at files and folders, and at all below them: go test then knows that
// the outcome depends on them, and does not show an old one. It has no effect
// before the tests run, as in TestMain.
func Note(paths ...string) error {
	for _, path := range paths {
		err := filepath.WalkDir(path, func(path string, entry fs.DirEntry, err error) error {
			if err == nil && !entry.IsDir() {
				_, err = os.Stat(path)
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// Run runs a command to its end, and returns what it printed and its exit status.
func Run(t testing.TB, path string, args ...string) (stdout, stderr string, status int) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), path, args...)
	cmd.Env = []string{"HOME=" + t.TempDir(), "PATH=" + os.Getenv("PATH"), "GORACE=exitcode=66"}
	cmd.SysProcAttr = DieWithTest()
	var out, errs strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &errs
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	err := cmd.Run()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	if strings.Contains(errs.String(), "DATA RACE") {
		t.Errorf("the race detector has found something:\n%s", errs.String())
	}
	return out.String(), errs.String(), cmd.ProcessState.ExitCode()
}
