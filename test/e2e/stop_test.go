package e2e_test

import (
	"net"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestSIGTERMFailsReadinessAndServesOn(t *testing.T) {
	c := clean(t)
	applyThree(t, c)
	_, kubeconfig := user(t, c, reader()...)
	// The delay is longer than the test; a second signal ends it.
	p := serve(t, program(t), kubeconfig, "--shutdown-delay=10m")
	awaitThree(t, p)
	p.awaitPage(t, "/readyz", 200, "ready\n")

	p.signal(t, syscall.SIGTERM)
	page := p.awaitPage(t, "/readyz", 503, "stopping\n")
	if strings.HasPrefix(page, "ready") {
		t.Errorf("/readyz says ready:\n%s", page)
	}
	p.awaitPage(t, "/healthz", 200, "ok\n")
	expectThree(t, p)
	// Events go on to be applied.
	apply(t, c, ingress("shop", "late", "late.corp.test", "192.0.2.7"))
	p.await(t, "late.corp.test", "A", address("late.corp.test", "A", "192.0.2.7"))
	select {
	case <-p.Exited():
		t.Fatal("the program has ended before its delay is over")
	default:
	}

	p.stop(t)
	for _, address := range []string{p.dns, p.metrics, p.admin} {
		if conn, err := net.DialTimeout("tcp", address, time.Second); err == nil {
			_ = conn.Close()
			t.Errorf("%s still takes connections", address)
		}
	}
}

func TestSIGTERMEndsTheProgramAfterTheDelay(t *testing.T) {
	c := clean(t)
	_, kubeconfig := user(t, c, reader()...)
	p := serve(t, program(t), kubeconfig, "--shutdown-delay=500ms")
	p.awaitPage(t, "/readyz", 200, "ready\n")
	p.signal(t, syscall.SIGTERM)
	p.wait(t)
}

func TestSIGTERMEndsAProgramThatWaitsForItsAPIServer(t *testing.T) {
	c := clean(t)
	_, kubeconfig := user(t, c, reader()...)
	c.StopAPIServer(t)
	p := serve(t, program(t), kubeconfig)
	p.awaitPage(t, "/readyz", 503, "connection refused")
	p.signal(t, syscall.SIGTERM)
	p.wait(t)
}
