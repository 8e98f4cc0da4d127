package peers_test

import (
	"fmt"
	"io"
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
// and the old one ends by SIGTERM. No query is lost, and none is answered wrong.
func TestRollingRestartLosesNothing(t *testing.T) {
	t.Parallel()
	perf := tool(t, "dnsperf")
	dir := t.TempDir()
	zone, questions := filepath.Join(dir, "zone"), filepath.Join(dir, "questions")
	write(t, zone, "$ORIGIN corp.test.\n@ 60 SOA ns1 hostmaster 1 60 60 600 5\n@ 60 NS ns1\nns1 60 A 192.0.2.53\nwww 60 A 192.0.2.1\n")
	write(t, questions, "www.corp.test A\nns1.corp.test A\n")
	begin := func(address, delay string) *server {
		return serve(t, "--listen="+address, "--reuse-port", "--zone-file=corp.test="+zone, "--shutdown-delay="+delay)
	}
	running := begin("127.0.0.1:0", "0")
	address := running.DNS
	// It waits for replies before it asks more, through 20 ports of its own, and counts
	// as lost what has no reply for a minute. SIGINT ends it.
	load := daemon.Start(t, daemon.Spec{Path: perf, Args: []string{
		"-s", hostOf(address), "-p", portOf(address), "-d", questions, "-c", "20", "-q", "60", "-t", "60", "-l", "3600",
	}})
	const restarts, each = 6, 500
	for i := range restarts {
		awaitServed(t, running, each)
		// Without a delay, and with one as Pods have it.
		next := begin(address, []string{"0", "300ms"}[i%2])
		// Both have a part of the ports.
		awaitServed(t, next, each)
		running.Stop(t)
		running = next
	}
	awaitServed(t, running, each)
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

// awaitServed returns when the process has answered so many queries more over UDP.
func awaitServed(t testing.TB, s *server, more int) {
	t.Helper()
	goal := -1
	daemon.Await(t, func() error {
		now, err := served(s.Metrics)
		if err != nil {
			return err
		}
		if goal < 0 {
			goal = now + more
		}
		if now < goal {
			return fmt.Errorf("%s has answered %d queries, not yet %d", s, now, goal)
		}
		return nil
	})
}

// served is how many queries for addresses a process has answered over UDP.
func served(metrics string) (int, error) {
	response, err := (&http.Client{Timeout: 10 * time.Second}).Get("http://" + metrics + "/metrics")
	if err != nil {
		return 0, err
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return 0, fmt.Errorf("/metrics of %s: %s", metrics, response.Status)
	}
	text, err := io.ReadAll(response.Body)
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
