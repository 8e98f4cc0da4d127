package e2e_test

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"
)

func TestSavedStateServesWithoutAnAPIServer(t *testing.T) {
	c := clean(t)
	_, kubeconfig := user(t, c, reader()...)
	state := "--state-file=" + filepath.Join(t.TempDir(), "state")
	applyThree(t, c)
	apply(t, c, ingress("shop", "gone", "gone.corp.test", "192.0.2.4"))
	p := serve(t, program(t), kubeconfig, state)
	awaitThree(t, p)
	p.await(t, "gone.corp.test", "A", address("gone.corp.test", "A", "192.0.2.4"))
	serial := p.serial(t)
	p.stop(t)

	c.StopAPIServer(t)
	p = serve(t, program(t), kubeconfig, state)
	expectThree(t, p)
	p.expect(t, "gone.corp.test", "A", address("gone.corp.test", "A", "192.0.2.4"))
	if now := p.serial(t); now < serial {
		t.Errorf("the serial went back from %d to %d", serial, now)
	}
	page := p.awaitPage(t, "/readyz", 200, "serving the state saved at 20", "Ingress can't be read since 20", "connection refused")
	if !strings.HasPrefix(page, "ready\n") {
		t.Errorf("/readyz does not start with ready:\n%s", page)
	}

	// One object goes while nobody looks; the others are never missing.
	p.freeze(t)
	c.StartAPIServer(t)
	c.Delete(t, "Ingress", "shop", "gone")
	p.thaw(t)
	w := p.watch(webName, lbName, dbName)
	p.await(t, "gone.corp.test", "A", missing)
	await(t, func() error {
		_, page, err := p.get("/readyz")
		if err == nil && (strings.Contains(page, "saved") || strings.Contains(page, "can't be read")) {
			err = errors.New("/readyz still says:\n" + page)
		}
		return err
	})
	for name, replies := range w.end() {
		if len(replies) != 1 {
			t.Errorf("%s has changed:\n%s", name, strings.Join(replies, "then\n"))
		}
	}
	expectThree(t, p)
	if now := p.serial(t); now <= serial {
		t.Errorf("the serial is %d; an object went, so it must be greater than %d", now, serial)
	}
}
