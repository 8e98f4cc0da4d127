package daemon

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// Patience bounds each wait for something that takes a moment: clusterzone tries
// a refused or lost API server again within some 15 seconds, and the machine may
// be busy with other tests.
const Patience = 90 * time.Second

// A Spec says what to run.
type Spec struct {
	Path string   // of the program
	Args []string // without the program's name
	Dir  string   // to run in; "" is the test's own
	Env  []string // NAME=value; HOME, a new folder, and PATH are added
	// Within, where set, calls start on the thread that it was called on, and may
	// have that thread elsewhere meanwhile: in a network namespace, say.
	Within func(start func() error) error
	// Line, where set, gets each line of what the program prints to standard
	// error, one after another, from another goroutine.
	Line func(string)
}

// A Process is a program that was started. Its methods may be called from
// several goroutines.
type Process struct {
	spec   Spec
	cmd    *exec.Cmd
	exited chan struct{}
	err    error
	killed atomic.Bool

	mu  sync.Mutex
	log strings.Builder
}

// Start starts a program. What it prints to standard output goes to the log
// together with standard error. At the test's end it is stopped (Stop), unless it
// was waited for before, and a failed test prints its log.
func Start(t testing.TB, s Spec) *Process {
	t.Helper()
	p := &Process{spec: s, exited: make(chan struct{}), cmd: exec.Command(s.Path, s.Args...)}
	p.cmd.Dir = s.Dir
	// Nothing of the user's environment: a KUBECONFIG or CLUSTERZONE_... would
	// change what runs.
	p.cmd.Env = append([]string{"HOME=" + t.TempDir(), "PATH=" + os.Getenv("PATH"), "GORACE=exitcode=66"}, s.Env...)
	p.cmd.SysProcAttr = DieWithTest()
	pipe, err := p.cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	p.cmd.Stdout = p.cmd.Stderr
	started := make(chan error, 1)
	go func() {
		// The parent-death signal comes when the thread that started the program
		// ends, so that thread has to last as long as the program.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		start := p.cmd.Start
		if s.Within != nil {
			start = func() error { return s.Within(p.cmd.Start) }
		}
		err := start()
		started <- err
		if err != nil {
			return
		}
		p.read(pipe)
		p.err = p.cmd.Wait()
		close(p.exited)
	}()
	if err := <-started; err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		p.Stop(t)
		if t.Failed() {
			t.Logf("the log of %s:\n%s", p, p.Log())
		}
	})
	return p
}

// read keeps what the program prints, to its end.
func (p *Process) read(pipe io.Reader) {
	lines := bufio.NewReader(pipe)
	for {
		line, err := lines.ReadString('\n')
		p.mu.Lock()
		p.log.WriteString(line)
		p.mu.Unlock()
		if err != nil {
			return
		}
		if p.spec.Line != nil {
			p.spec.Line(line)
		}
	}
}

// String is the command line.
func (p *Process) String() string { return strings.Join(p.cmd.Args, " ") }

// Log returns what the program has printed so far.
func (p *Process) Log() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.log.String()
}

// Pid is the process id.
func (p *Process) Pid() int { return p.cmd.Process.Pid }

// Exited is closed when the program has ended.
func (p *Process) Exited() <-chan struct{} { return p.exited }

// Err says how the program ended, once Exited is closed: nil is status 0.
func (p *Process) Err() error {
	<-p.exited
	return p.err
}

// Signal sends a signal to the program.
func (p *Process) Signal(t testing.TB, s os.Signal) {
	t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil {
		t.Fatalf("signal %s to %s: %v", s, p, err)
	}
}

// Stop ends the program as Kubernetes does, by SIGTERM. It must end by itself
// with status 0, and the race detector must have been silent.
func (p *Process) Stop(t testing.TB) {
	t.Helper()
	// An error means that it has ended already.
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	p.Wait(t)
}

// Kill ends the program at once, and waits until it is gone.
func (p *Process) Kill() {
	p.killed.Store(true)
	// An error means that it has ended already.
	_ = p.cmd.Process.Kill()
	<-p.exited
}

// Wait waits for the program's end, which must be a good one or that of Kill.
func (p *Process) Wait(t testing.TB) {
	t.Helper()
	select {
	case <-p.exited:
	case <-time.After(Patience):
		p.Kill()
		t.Errorf("%s has not ended after SIGTERM", p)
		return
	}
	if p.err != nil && !p.killed.Load() {
		t.Errorf("%s has ended badly: %v", p, p.err)
	}
	if strings.Contains(p.Log(), "DATA RACE") {
		t.Error("the race detector has found something; see the log")
	}
}

// Await calls try until it returns nil, and fails the test with its last error
// when that takes longer than Patience.
func Await(t testing.TB, try func() error) {
	t.Helper()
	deadline := time.After(Patience)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		err := try()
		if err == nil {
			return
		}
		select {
		case <-deadline:
			t.Fatalf("after %s: %v", Patience, err)
		case <-tick.C:
		}
	}
}
