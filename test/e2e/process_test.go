package e2e_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// patience bounds each wait for something that takes a moment: the program
// tries a refused or lost API server again within some 15 seconds, and the
// machine may be busy with other tests.
const patience = 90 * time.Second

// A process is a running `clusterzone serve`.
type process struct {
	dns, metrics, admin string // the addresses that it has bound

	cmd    *exec.Cmd
	exited chan struct{} // closed when it has ended
	err    error         // how; read after exited is closed

	mu     sync.Mutex
	stderr strings.Builder
}

// serve starts the program at path with flags beside those that every test
// needs, and returns when it has bound its addresses. At the test's end the
// program is stopped and must end well.
func serve(t testing.TB, path string, flags ...string) *process {
	t.Helper()
	p := &process{exited: make(chan struct{})}
	p.cmd = exec.Command(path, append([]string{
		"serve", "--zone=corp.test", "--log-format=json", "--shutdown-delay=0", "--resolver=none",
		"--listen=127.0.0.1:0", "--metrics-address=127.0.0.1:0", "--admin-address=127.0.0.1:0",
	}, flags...)...)
	// Nothing of the user's environment: a KUBECONFIG or CLUSTERZONE_... would
	// change what runs.
	p.cmd.Env = []string{"HOME=" + t.TempDir(), "GORACE=exitcode=66"}
	p.cmd.SysProcAttr = dieWithTest()
	pipe, err := p.cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	bound := make(chan struct{})
	started := make(chan error, 1)
	go func() {
		// The parent-death signal comes when the thread that started the program
		// ends, so that thread has to last as long as the program.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := p.cmd.Start()
		started <- err
		if err != nil {
			return
		}
		p.readLog(pipe, bound)
		p.err = p.cmd.Wait()
		close(p.exited)
	}()
	if err := <-started; err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		p.stop(t)
		if t.Failed() {
			t.Logf("the program's log:\n%s", p.log())
		}
	})
	select {
	case <-bound:
	case <-p.exited:
		t.Fatalf("clusterzone %s has ended: %v", strings.Join(p.cmd.Args[1:], " "), p.err)
	case <-time.After(patience):
		t.Fatal("the program has not bound its addresses")
	}
	return p
}

// readLog keeps what the program logs and picks its addresses out. It closes
// bound when all are known, and returns at the log's end.
func (p *process) readLog(log io.Reader, bound chan<- struct{}) {
	// By message and flag.
	addresses := map[string]*string{
		"answering": &p.dns, "listening metrics-address": &p.metrics, "listening admin-address": &p.admin,
	}
	lines := bufio.NewReader(log)
	for {
		line, err := lines.ReadString('\n')
		p.mu.Lock()
		p.stderr.WriteString(line)
		p.mu.Unlock()
		if err != nil {
			return
		}
		var entry struct{ Msg, Flag, Address string }
		if json.Unmarshal([]byte(line), &entry) != nil || bound == nil {
			continue // the race detector's words, say
		}
		if address := addresses[strings.TrimSpace(entry.Msg+" "+entry.Flag)]; address != nil {
			*address = entry.Address
		}
		if p.dns != "" && p.metrics != "" && p.admin != "" {
			close(bound)
			bound = nil
		}
	}
}

// log returns what the program has logged so far.
func (p *process) log() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.stderr.String()
}

// signal sends a signal to the program.
func (p *process) signal(t testing.TB, s os.Signal) {
	t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil {
		t.Fatalf("signal %s: %v", s, err)
	}
}

// stop ends the program as Kubernetes does. It must end by itself with status
// 0, and the race detector must have been silent.
func (p *process) stop(t testing.TB) {
	t.Helper()
	// An error means that it has ended already.
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	p.wait(t)
}

// wait waits for the program's end.
func (p *process) wait(t testing.TB) {
	t.Helper()
	select {
	case <-p.exited:
	case <-time.After(patience):
		_ = p.cmd.Process.Kill()
		<-p.exited
		t.Error("the program has not ended after SIGTERM")
		return
	}
	if p.err != nil {
		t.Errorf("the program has ended badly: %v", p.err)
	}
	if strings.Contains(p.log(), "DATA RACE") {
		t.Error("the race detector has found something; see the log")
	}
}

// freeze stops the program's clock until thaw: what happens meanwhile, it can't
// see happen.
func (p *process) freeze(t testing.TB) { t.Helper(); p.signal(t, syscall.SIGSTOP) }

func (p *process) thaw(t testing.TB) { t.Helper(); p.signal(t, syscall.SIGCONT) }

// get reads a page of the metrics address.
func (p *process) get(path string) (code int, body string, err error) {
	client := http.Client{Timeout: 10 * time.Second}
	response, err := client.Get("http://" + p.metrics + path)
	if err != nil {
		return 0, "", err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	return response.StatusCode, string(text), err
}

// awaitPage reads a page until it has the status code and all of the words.
func (p *process) awaitPage(t testing.TB, path string, code int, words ...string) string {
	t.Helper()
	var body string
	await(t, func() error {
		got, text, err := p.get(path)
		switch {
		case err != nil:
			return err
		case got != code:
			return errors.New("status " + http.StatusText(got) + ":\n" + text)
		}
		for _, word := range words {
			if !strings.Contains(text, word) {
				return errors.New("no " + word + " in\n" + brief(text))
			}
		}
		body = text
		return nil
	})
	return body
}

// brief leaves our own of many metrics.
func brief(page string) string {
	var lines []string
	for line := range strings.Lines(page) {
		if !strings.HasPrefix(line, "#") && !strings.HasPrefix(line, "go_") && !strings.HasPrefix(line, "process_") {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "")
}

// await calls try until it returns nil, and fails the test with its last error
// when that takes too long.
func await(t testing.TB, try func() error) {
	t.Helper()
	deadline := time.After(patience)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		err := try()
		if err == nil {
			return
		}
		select {
		case <-deadline:
			t.Fatalf("after %s: %v", patience, err)
		case <-tick.C:
		}
	}
}

// run runs a command of the program to its end, and returns what it printed and
// its exit status.
func run(t testing.TB, args ...string) (stdout, stderr string, status int) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program(t), args...)
	cmd.Env = []string{"HOME=" + t.TempDir(), "GORACE=exitcode=66"}
	cmd.SysProcAttr = dieWithTest()
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
