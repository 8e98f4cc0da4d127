package repo_test

import (
	"bufio"
	"encoding/json"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// serveLimit bounds how long the program may take from its start to its first
// answer, and from SIGTERM to its end.
const serveLimit = time.Minute

// serveExample runs the program as "make run" does, on a free port, and returns
// the port once the objects are served.
func serveExample(t *testing.T) string {
	t.Helper()
	args := append(runFlags(t), "--listen", "127.0.0.1:0", "--metrics-address", "", "--admin-address", "", "--log-format", "json")
	cmd := exec.Command(program(t), args...)
	cmd.Dir = root
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}

	// The program says where it answers, and when the objects are read.
	type line struct{ Msg, Address, Text string }
	lines := make(chan line, 100)
	read := make(chan struct{})
	go func() {
		defer close(read)
		defer close(lines)
		for scanner := bufio.NewScanner(stderr); scanner.Scan(); {
			l := line{Text: scanner.Text()}
			// What is no JSON is no log line, but stands in the failure below.
			_ = json.Unmarshal(scanner.Bytes(), &l)
			select {
			case lines <- l:
			default: // nobody reads any longer
			}
		}
	}()
	t.Cleanup(func() {
		if err := cmd.Process.Signal(os.Interrupt); err != nil {
			t.Errorf("the program can't be interrupted: %v", err)
		}
		kill := time.AfterFunc(serveLimit, func() { _ = cmd.Process.Kill() })
		defer kill.Stop()
		<-read
		if err := cmd.Wait(); err != nil {
			t.Errorf("after an interrupt, the program ended with %v", err)
		}
	})

	var said []string
	port, serving := "", false
	limit := time.NewTimer(serveLimit)
	defer limit.Stop()
	for port == "" || !serving {
		select {
		case l, more := <-lines:
			if !more {
				t.Fatalf("the program ended; it said:\n%s", strings.Join(said, "\n"))
			}
			said = append(said, l.Text)
			switch l.Msg {
			case "answering":
				if _, port, err = net.SplitHostPort(l.Address); err != nil {
					t.Fatalf("the program answers on %q: %v", l.Address, err)
				}
			case "serving":
				serving = true
			}
		case <-limit.C:
			t.Fatalf("the program doesn't serve within %s; it said:\n%s", serveLimit, strings.Join(said, "\n"))
		}
	}
	return port
}

// runFlags are the flags that the Makefile's "run" gives, without its addresses.
func runFlags(t *testing.T) []string {
	t.Helper()
	for _, line := range joined(strings.Split(read(t, "Makefile"), "\n")) {
		_, command, found := strings.Cut(line, "bin/clusterzone serve ")
		if !found {
			continue
		}
		flags := []string{"serve"}
		words := strings.Fields(command)
		for i := 0; i < len(words); i++ {
			if words[i] == "--listen" || words[i] == "--metrics-address" {
				i++
				continue
			}
			flags = append(flags, words[i])
		}
		return flags
	}
	t.Fatal("the Makefile doesn't run bin/clusterzone serve")
	return nil
}
