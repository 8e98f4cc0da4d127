package e2e_test

import (
	"errors"
	"io"
	"net/http"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/clusterzone/clusterzone/test/daemon"
)

// patience bounds each wait for something that takes a moment.
const patience = daemon.Patience

// A process is a running `clusterzone serve`.
type process struct {
	*daemon.Server
	dns, metrics, admin string // the addresses that it has bound
}

// serve starts the program at path with flags beside those that every test
// needs, and returns when it has bound its addresses. At the test's end the
// program is stopped and must end well.
func serve(t testing.TB, path string, flags ...string) *process {
	t.Helper()
	s := daemon.Serve(t, path, append([]string{"--zone=corp.test"}, flags...)...)
	return &process{Server: s, dns: s.DNS, metrics: s.Metrics, admin: s.Admin}
}

func (p *process) log() string                      { return p.Log() }
func (p *process) signal(t testing.TB, s os.Signal) { t.Helper(); p.Signal(t, s) }
func (p *process) stop(t testing.TB)                { t.Helper(); p.Stop(t) }
func (p *process) wait(t testing.TB)                { t.Helper(); p.Wait(t) }

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
func await(t testing.TB, try func() error) { t.Helper(); daemon.Await(t, try) }

// run runs a command of the program to its end, and returns what it printed and
// its exit status.
func run(t testing.TB, args ...string) (stdout, stderr string, status int) {
	t.Helper()
	return daemon.Run(t, program(t), args...)
}
