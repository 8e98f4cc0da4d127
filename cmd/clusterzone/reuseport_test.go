package main

import (
	"context"
	"errors"
	"net/netip"
	"runtime"
	"syscall"
	"testing"

	"github.com/clusterzone/clusterzone/sources"
)

// TestReusePort: with the flag, two processes have one port; and none of them
// listens before it can answer.
func TestReusePort(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("ports are shared on Linux only")
	}
	flags := []string{"--zone=corp.test", "--source=ingress", "--resolver=none"}
	synced := func(d *daemon) {
		d.pipeline.feed.Synced(sources.KindIngress, nil)
		d.pipeline.feed.Apply()
	}
	first, _ := startable(t, append(flags, "--listen=127.0.0.1:0", "--reuse-port")...)
	bound := make(chan netip.AddrPort, 1)
	first.dns.Bound = func(addrs []netip.AddrPort) { bound <- addrs[0] }
	ended, cancelled := context.WithCancel(t.Context())
	cancelled()
	if err := first.answer(ended); err != nil || len(bound) > 0 {
		t.Fatalf("before it can answer: %v, listening: %v", err, len(bound) > 0)
	}
	synced(first)
	running, stop := context.WithCancel(t.Context())
	over := make(chan error, 1)
	go func() { over <- first.answer(running) }()
	address := (<-bound).String()

	for _, share := range []bool{true, false} {
		second, _ := startable(t, append(flags, "--listen="+address, map[bool]string{true: "--reuse-port", false: "--no-reuse-port"}[share])...)
		synced(second)
		ctx, cancel := context.WithCancel(t.Context())
		second.dns.Bound = func([]netip.AddrPort) { cancel() }
		if err := second.answer(ctx); errors.Is(err, syscall.EADDRINUSE) == share {
			t.Errorf("a second one, sharing: %v: %v", share, err)
		}
		cancel()
	}
	stop()
	if err := <-over; err != nil {
		t.Error(err)
	}
}
