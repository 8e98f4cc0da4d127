package kubetest

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"
)

// orphanEnv makes the test binary start a program, print its process id and
// wait to be killed.
const orphanEnv = "KUBETEST_ORPHAN_DIR"

func orphan() {
	p, err := startProcess("sleep", "/bin/sleep", os.Getenv(orphanEnv), []string{"600"})
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println(p.cmd.Process.Pid)
	<-p.exited
	os.Exit(1)
}

func TestProgramsDieWithTheTest(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("only Linux has the parent-death signal")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	parent := exec.Command(self)
	parent.Env = append(os.Environ(), orphanEnv+"="+t.TempDir())
	out, err := parent.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil {
		t.Fatal(err)
	}
	if err := parent.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = parent.Wait() // killed

	// Whoever adopts the program may leave it as a zombie: that is dead too.
	err = poll(t.Context(), 10*time.Millisecond, func() (bool, error) {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		return err != nil || strings.Contains(string(stat), ") Z "), nil
	})
	if err != nil {
		if p, err := os.FindProcess(pid); err == nil {
			_ = p.Kill()
		}
		t.Errorf("the program outlives the test: %v", err)
	}
}

func TestProcessLog(t *testing.T) {
	t.Parallel()
	p, err := startProcess("sh", "/bin/sh", t.TempDir(), []string{"-c", "echo one; echo two >&2; echo three; env"})
	if err != nil {
		t.Fatal(err)
	}
	<-p.exited
	p.kill() // of one that is gone
	log := p.tail(1000)
	if !strings.HasPrefix(log, "one\ntwo\nthree\n") || !p.logHas("two") || p.logHas("four") {
		t.Errorf("log %q", log)
	}
	if strings.Contains(log, "\nPATH=") {
		t.Errorf("the program has the test's environment: %q", log)
	}
	if last := p.tail(1); strings.Contains(last, "\n") || last == "" {
		t.Errorf("last line %q", last)
	}
	if _, err := startProcess("none", "/nonexistent", t.TempDir(), nil); err == nil {
		t.Error("a program that isn't there starts")
	}
}
