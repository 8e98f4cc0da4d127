package fronts_test

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"
	"unsafe"

	"github.com/clusterzone/clusterzone/test/daemon"
)

// apartVariable marks the process that a test runs apart in.
const apartVariable = "FRONTS_APART"

// apart runs the rest of a test in a process with network and mount namespaces of
// its own, with these programs: it returns true there, and false to the caller,
// whose test is over then.
func apart(t *testing.T, programs ...program) bool {
	t.Helper()
	if os.Getenv(apartVariable) != "" {
		return true
	}
	t.Parallel()
	if os.Getenv(peersVariable) == "" {
		t.Skipf("needs other name servers: make test-peers runs this test (%s=1)", peersVariable)
	}
	// The process apart reads these, which go test doesn't see.
	if err := daemon.Note("testdata", filepath.Join(root, page), filepath.Join(root, "plugin", "go.mod")); err != nil {
		t.Fatal(err)
	}
	env := append(os.Environ(), apartVariable+"=1")
	for _, p := range programs {
		path, err := p.make()
		if err != nil {
			t.Fatal(err)
		}
		env = append(env, p.name+"="+path)
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v", "-test.count=1", "-test.timeout=10m")
	cmd.Env = env
	cmd.SysProcAttr = daemon.DieWithTest()
	cmd.SysProcAttr.Cloneflags = syscall.CLONE_NEWNET | syscall.CLONE_NEWNS
	if os.Getuid() != 0 {
		// Where the system lets everyone have namespaces, in one of users' ids.
		cmd.SysProcAttr.Cloneflags |= syscall.CLONE_NEWUSER
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}}
		cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}}
	}
	runtime.LockOSThread() // the parent-death signal comes when this thread ends
	defer runtime.UnlockOSThread()
	out, err := cmd.CombinedOutput()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		const why = "a network namespace can't be made here (%v); run as root, in a container with CAP_SYS_ADMIN"
		if os.Getenv("CI") == "true" && os.Getuid() == 0 {
			t.Fatalf(why, err)
		}
		t.Skipf(why, err)
	}
	t.Logf("%s", out)
	if err != nil {
		t.Errorf("the test fails: %v", err)
	}
	return false
}

// furnish makes the namespaces of this process ready: the loopback with the
// addresses of docs/forwarding.md, and a Pod's /etc/resolv.conf.
func furnish() error {
	sock, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_DGRAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer func() { _ = syscall.Close(sock) }()
	err = raise(sock, "lo")
	// named listens only on addresses that an interface has.
	for i, ip := range []string{oursIP, corednsIP, nodeLocalIP, resolverIP, parentIP, outsideIP} {
		err = errors.Join(err, address(sock, fmt.Sprintf("lo:%d", i), netip.MustParseAddr(ip).As4()))
	}
	err = errors.Join(err, syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""))
	if err != nil {
		return err
	}
	for _, file := range [][2]string{{"resolv.conf", "/etc/resolv.conf"}, {"nsswitch.conf", "/etc/nsswitch.conf"}} {
		source, err := filepath.Abs(filepath.Join("testdata", file[0]))
		if err != nil {
			return err
		}
		if err := syscall.Mount(source, file[1], "", syscall.MS_BIND, ""); err != nil && !errors.Is(err, syscall.ENOENT) {
			return &os.PathError{Op: "mount over", Path: file[1], Err: err}
		}
	}
	return nil
}

// An ifreq is the kernel's struct ifreq, with the parts of its union in use here.
type ifreq struct {
	name  [16]byte
	flags uint16 // or the family of an address
	port  uint16
	ip    [4]byte
	_     [16]byte
}

func raise(sock int, name string) error {
	request := ifreq{flags: syscall.IFF_UP | syscall.IFF_RUNNING}
	copy(request.name[:], name)
	return control(sock, syscall.SIOCSIFFLAGS, &request)
}

func address(sock int, name string, ip [4]byte) error {
	request := ifreq{flags: syscall.AF_INET, ip: ip}
	copy(request.name[:], name)
	return control(sock, syscall.SIOCSIFADDR, &request)
}

func control(sock int, call uintptr, request *ifreq) error {
	_, _, code := syscall.Syscall(syscall.SYS_IOCTL, uintptr(sock), call, uintptr(unsafe.Pointer(request)))
	if code != 0 {
		return os.NewSyscallError("ioctl", code)
	}
	return nil
}
