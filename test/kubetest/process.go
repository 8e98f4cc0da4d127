package kubetest

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

// A process is one program under test control, with its log in a file.
type process struct {
	name    string
	logPath string
	cmd     *exec.Cmd
	exited  chan struct{} // closed when the program has ended
	err     error         // how it ended; read after exited is closed
}

// startProcess starts the program at path in the folder dir, with standard
// output and error in dir/name.log. env is added to its environment, and wins.
func startProcess(name, path, dir string, args []string, env ...string) (*process, error) {
	p := &process{name: name, logPath: filepath.Join(dir, name+".log"), exited: make(chan struct{})}
	log, err := os.Create(p.logPath)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	p.cmd = exec.Command(path, args...)
	p.cmd.Dir = dir
	p.cmd.Stdout, p.cmd.Stderr = log, log
	// Nothing of the user's environment: ETCD_... and proxy variables would
	// change what runs. A soft limit keeps the memory modest beside other tests.
	p.cmd.Env = []string{"HOME=" + dir, "TMPDIR=" + dir, "GOGC=200", "GOMEMLIMIT=300MiB"}
	p.cmd.Env = append(p.cmd.Env, env...)
	p.cmd.SysProcAttr = dieWithParent()

	started := make(chan error, 1)
	go func() {
		// Linux sends the parent-death signal when the thread that started the
		// program ends, so that thread has to last as long as the program.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := p.cmd.Start()
		started <- err
		if err == nil {
			p.err = p.cmd.Wait()
			close(p.exited)
		}
	}()
	if err := <-started; err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	return p, nil
}

// kill ends the program at once and waits until it is gone.
func (p *process) kill() {
	// An error means that it is gone already.
	_ = p.cmd.Process.Kill()
	<-p.exited
}

// tail returns the last lines of the log, at most n of them, each at most 300
// bytes long.
func (p *process) tail(n int) string {
	data, err := os.ReadFile(p.logPath)
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimRight(string(data), "\n"), "\n")
	lines = lines[max(0, len(lines)-n):]
	for i, line := range lines {
		lines[i] = line[:min(len(line), 300)]
	}
	return strings.Join(lines, "\n")
}

// logHas tells whether the log holds text.
func (p *process) logHas(text string) bool {
	data, err := os.ReadFile(p.logPath)
	return err == nil && bytes.Contains(data, []byte(text))
}
