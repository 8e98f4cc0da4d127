package main

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"github.com/clusterzone/clusterzone/zones"
)

func name(t *testing.T, text string) zones.Name {
	t.Helper()
	n, err := zones.ParseHost(text)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// TestWildcardAtApexIsLogged: such a wildcard catches what clients make with a
// search domain. One deeper down does not, and a change of its addresses is no
// news.
func TestWildcardAtApexIsLogged(t *testing.T) {
	t.Parallel()
	apex, wild, deep := name(t, "corp.test"), name(t, "*.corp.test"), name(t, "*.dev.corp.test")
	set := func(n zones.Name) *zones.RRSet { return &zones.RRSet{Name: n, Type: zones.TypeA} }
	var out bytes.Buffer
	log := slog.New(slog.NewTextHandler(&out, nil))
	logChanges(log, []zones.Change{
		{Zone: apex, New: set(deep)},
		{Zone: apex, Old: set(wild), New: set(wild)},
		{Zone: apex, Old: set(wild)},
	}, &zones.Snapshot{})
	if out.Len() > 0 {
		t.Errorf("logged without need: %s", out.String())
	}
	logChanges(log, []zones.Change{{Zone: apex, New: set(wild)}}, &zones.Snapshot{})
	if strings.Count(out.String(), "a wildcard stands at the zone's apex") != 1 {
		t.Errorf("logged: %q", out.String())
	}
}

// TestSkippedAreLoggedOnce: what an author can mend one by one, the rest as a
// count.
func TestSkippedAreLoggedOnce(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	logSkipped(slog.New(slog.NewTextHandler(&out, nil)), []zones.Skipped{
		{Owner: zones.Owner{Source: "ingress", Namespace: "shop", Name: "a"}, Asked: "a..b", Reason: zones.ReasonInvalidName, Message: "it is no name"},
		{Owner: zones.Owner{Source: "ingress", Namespace: "shop", Name: "b"}, Reason: zones.ReasonClass, Message: "class x"},
		{Owner: zones.Owner{Source: "ingress", Namespace: "shop", Name: "c"}, Reason: zones.ReasonClass, Message: "class x"},
	})
	text := out.String()
	for _, want := range []string{`level=WARN msg=skipped object="ingress shop/a" name=a..b`, "class=2"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing in %s", want, text)
		}
	}
	if strings.Contains(text, "shop/b") {
		t.Errorf("what a filter leaves out is logged one by one: %s", text)
	}
}
