package e2e_test

import (
	"strings"
	"testing"
)

func TestExplainAsksTheRunningServer(t *testing.T) {
	c := clean(t)
	applyFaults(t, c)
	_, kubeconfig := user(t, c, reader()...)
	p := serve(t, program(t), kubeconfig, labFilter)
	p.await(t, webName, "A", address(webName, "A", "192.0.2.1"))
	for _, question := range []struct {
		name string
		want []string
	}{
		{webName, []string{
			"web.corp.test: hit\n", "  web.corp.test 300 A 192.0.2.1\n", "    from ingress east/web (created 20",
			"skipped:\n", "  ingress west/web: web.corp.test belongs to ingress east/web", "[conflict]",
		}},
		{"lab.corp.test", []string{"lab.corp.test: nxdomain\n", "  ingress west/lab: ", "--label-filter", "next: "}},
		{"none.corp.test", []string{"none.corp.test: nxdomain\n", "next: no object asks for this name"}},
	} {
		out, errs, status := run(t, "explain", question.name, "--admin-address="+p.admin)
		if status != 0 {
			t.Errorf("explain %s: exit status %d: %s", question.name, status, errs)
		}
		for _, want := range question.want {
			if !strings.Contains(out, want) {
				t.Errorf("explain %s has no %q in\n%s", question.name, want, out)
			}
		}
	}

	// The same from the API server itself, without a running server.
	out, errs, status := run(t, "explain", webName, "A", kubeconfig, "--zone=corp.test", labFilter)
	if status != 0 || !strings.Contains(out, "  ingress west/web: web.corp.test belongs to ingress east/web") {
		t.Errorf("explain from the cluster: exit status %d\n%s%s", status, out, errs)
	}
}
