package peers_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/clusterzone/clusterzone/test/daemon"
)

// Processes take each other's place on one address while dnsperf asks, as Pods on
// their node's network do in an update: the new one comes while the old one answers,
// is ready by its own word, and the old one ends by SIGTERM. No query is lost, and
// none is answered wrong. The address of the metrics passes from one to the next.
func TestRollingRestartLosesNothing(t *testing.T) {
	t.Parallel()
	perf := tool(t, "dnsperf")
	dir := newDir(t)
	zone, questions := filepath.Join(dir, "zone"), filepath.Join(dir, "questions")
	write(t, zone, "$ORIGIN corp.test.\n@ 60 SOA ns1 hostmaster 1 60 60 600 5\n@ 60 NS ns1\nns1 60 A 192.0.2.53\nwww 60 A 192.0.2.1\n")
	write(t, questions, "www.corp.test A\nns1.corp.test A\n")
	const restarts, each = 6, 500
	socket := func(i int) string { return filepath.Join(dir, fmt.Sprint(i)) }
	begin := func(i int, address, metrics string) *server {
		return serve(t, "--listen="+address, "--metrics-address="+metrics, "--health-socket="+socket(i), "--reuse-port",
			// Without a delay, and with one as Pods have it.
			"--zone-file=corp.test="+zone, "--shutdown-delay="+[]string{"0", "300ms"}[i%2])
	}
	running := begin(0, "127.0.0.1:0", "127.0.0.1:0")
	address, metrics := running.DNS, running.Metrics
	// It waits for replies before it asks more, through 20 ports of its own, and counts
	// as lost what has no reply for a minute. SIGINT ends it.
	load := daemon.Start(t, daemon.Spec{Path: perf, Args: []string{
		"-s", hostOf(address), "-p", portOf(address), "-d", questions, "-c", "20", "-q", "60", "-Q", "5000", "-t", "60", "-l", "3600",
	}})
	for i := range restarts {
		awaitServed(t, socket(i), each)
		next := begin(i+1, address, metrics)
		daemon.Await(t, func() error {
			if _, errs, status := daemon.Run(t, program(t), "probe", "--health-socket="+socket(i+1)); status != 0 {
				return errors.New(errs)
			}
			return nil
		})
		// Both have a part of the ports.
		awaitServed(t, socket(i+1), each)
		if strings.Contains(next.Log(), `"msg":"listening","flag":"metrics-address"`) {
			t.Errorf("two processes have %s", metrics)
		}
		running.Stop(t)
		running = next
		daemon.Await(t, func() error {
			if !strings.Contains(running.Log(), `"msg":"listening","flag":"metrics-address"`) {
				return errors.New("nobody has the metrics' address")
			}
			return nil
		})
	}
	awaitServed(t, socket(restarts), each)
	load.Signal(t, syscall.SIGINT)
	load.Wait(t)
	report := load.Log()
	sent, lost := reported(t, report, "sent"), reported(t, report, "lost")
	if lost != 0 || sent < restarts*2*each {
		t.Errorf("%d queries were sent and %d are lost", sent, lost)
	}
	if !regexp.MustCompile(`Response codes: +NOERROR \d+ \(100.00%\)\n`).MatchString(report) {
		t.Error("some answers are wrong")
	}
	t.Logf("%d processes on one address: %d queries, %d lost", restarts+1, sent, lost)
	if t.Failed() {
		t.Log(report)
	}
}

// reported reads a line like "Queries lost: 0 (0.00%)" of dnsperf's report.
func reported(t testing.TB, report, what string) int {
	t.Helper()
	found := regexp.MustCompile(`Queries ` + what + `: +(\d+)`).FindStringSubmatch(report)
	if found == nil {
		t.Fatalf("dnsperf reports no queries %s:\n%s", what, report)
	}
	n, err := strconv.Atoi(found[1])
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// awaitServed returns when the process with this health socket has answered so many
// queries more over UDP.
func awaitServed(t testing.TB, socket string, more int) {
	t.Helper()
	goal := -1
	daemon.Await(t, func() error {
		now, err := served(socket)
		if err != nil {
			return err
		}
		if goal < 0 {
			goal = now + more
		}
		if now < goal {
			return fmt.Errorf("%s has answered %d queries, not yet %d", socket, now, goal)
		}
		return nil
	})
}

// served is how many queries for addresses a process has answered over UDP.
func served(socket string) (int, error) {
	client := http.Client{Timeout: 20 * time.Second, Transport: &http.Transport{
		DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", socket)
		},
	}}
	response, err := client.Get("http://localhost/metrics")
	if err != nil {
		return 0, err
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("/metrics of %s: %s", socket, response.Status)
	}
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(text)) {
		if value, found := strings.CutPrefix(line, `clusterzone_dns_queries_total{rcode="NOERROR",transport="udp",type="A",zone="corp.test"} `); found {
			n, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
			return int(n), err
		}
	}
	return 0, nil
}
