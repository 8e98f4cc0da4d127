package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/clusterzone/clusterzone/sources"
)

// serving serves the HTTP side until the test or stop ends it.
func serving(t *testing.T, w *web) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- w.serve(ctx) }()
	stopped := false
	stop = func() {
		if cancel(); stopped {
			return
		}
		stopped = true
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
	t.Cleanup(stop)
	return stop
}

// TestSuccessorWaitsForAddresses: with --reuse-port a process whose addresses of
// metrics and admin API are taken serves without them, is asked by its socket, and
// has them when the other one has gone. Without the flag it is an error.
func TestSuccessorWaitsForAddresses(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	flags := func(name, metrics string, more ...string) []string {
		return append([]string{"--zone=corp.test", "--source=ingress", "--resolver=none", "--listen=127.0.0.1:0", "--admin-address=",
			"--metrics-address=" + metrics, "--health-socket=" + filepath.Join(dir, name)}, more...)
	}
	first, _ := startable(t, flags("a", "127.0.0.1:0", "--reuse-port")...)
	web, err := first.openWeb()
	if err != nil {
		t.Fatal(err)
	}
	taken := web.sides[0].listener.Addr().String()
	stop := serving(t, web)

	stranger, _ := startable(t, flags("c", taken)...)
	if _, err := stranger.openWeb(); !errors.Is(err, syscall.EADDRINUSE) {
		t.Errorf("without --reuse-port: %v", err)
	}
	second, _ := startable(t, flags("b", taken, "--reuse-port")...)
	successor, err := second.openWeb()
	if err != nil {
		t.Fatal(err)
	}
	if successor.sides[0].listener != nil {
		t.Fatalf("two processes have %s", taken)
	}
	serving(t, successor)
	asks := func(page string) (string, error) {
		var out bytes.Buffer
		err := probe(t.Context(), &out, filepath.Join(dir, "b"), page)
		return out.String(), err
	}
	if text, err := asks("/healthz"); err != nil || text != "ok\n" {
		t.Errorf("the successor's health: %q, %v", text, err)
	}
	if _, err := asks("/readyz"); !errors.As(err, new(failure)) || !strings.Contains(err.Error(), "not ready: waiting for ") {
		t.Errorf("before it has read anything: %v", err)
	}
	second.pipeline.feed.Synced(sources.KindIngress, nil)
	second.pipeline.feed.Apply()
	if _, err := asks("/readyz"); err == nil || !strings.Contains(err.Error(), "waiting for the addresses to answer on") {
		t.Errorf("before it listens: %v", err)
	}
	second.dns.Bound([]netip.AddrPort{})
	if text, err := asks("/readyz"); err != nil || !strings.HasPrefix(text, "ready\n") {
		t.Errorf("when it listens: %q, %v", text, err)
	}
	if got := ready(t, taken); got != http.StatusServiceUnavailable {
		t.Errorf("%s is answered with %d, and not by the first one, which isn't ready", taken, got)
	}
	stop()
	awaiting(t, func() error {
		if got := ready(t, taken); got != http.StatusOK {
			return errors.New("the successor has no address of metrics")
		}
		return nil
	})
}

// ready is the status of /readyz; 0 where nobody answers.
func ready(t *testing.T, address string) int {
	t.Helper()
	client := http.Client{Timeout: 20 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	response, err := client.Get("http://" + address + "/readyz")
	if err != nil {
		return 0
	}
	_, _ = io.Copy(io.Discard, response.Body)
	_ = response.Body.Close()
	return response.StatusCode
}

// TestHealthSocketOfADeadProcess: what it has left is no obstacle; a socket that
// somebody listens on is.
func TestHealthSocketOfADeadProcess(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "health")
	dead, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	dead.(*net.UnixListener).SetUnlinkOnClose(false)
	if err := dead.Close(); err != nil {
		t.Fatal(err)
	}
	live, err := listenSocket(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = live.Close() })
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the socket is %v (%v)", info, err)
	}
	if _, err := listenSocket(path); !errors.Is(err, syscall.EADDRINUSE) {
		t.Errorf("a second process: %v", err)
	}
}
