package plugin

import (
	"errors"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/coredns/caddy"
	"github.com/miekg/dns"

	"github.com/clusterzone/clusterzone/test/daemon"
)

// TestCorpus: each case of sources/testdata/corpus, as options of a Corefile, makes
// the zones that it makes as flags of the program, and what flags can't say
// options can't either.
func TestCorpus(t *testing.T) {
	t.Parallel()
	program, err := daemon.Build("..", t.TempDir(), "clusterzone", false)
	if err != nil {
		t.Fatal(err)
	}
	cases, err := filepath.Glob("../sources/testdata/corpus/*/flags")
	if err != nil || len(cases) < 100 {
		t.Fatalf("%d cases, error %v", len(cases), err)
	}
	var records atomic.Int64
	t.Run("cases", func(t *testing.T) {
		for _, path := range cases {
			t.Run(filepath.Base(filepath.Dir(path)), func(t *testing.T) {
				t.Parallel() // a zone's first serial takes a second
				records.Add(int64(runCase(t, program, path)))
			})
		}
	})
	if records.Load() < 200 {
		t.Errorf("all cases together have only %d records", records.Load())
	}
}

// runCase returns how many records were compared.
func runCase(t *testing.T, program, path string) int {
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	flags := strings.Split(strings.TrimSpace(string(text)), "\n")
	objects := filepath.Join(filepath.Dir(path), "objects.yaml")
	lines := []string{"manifests " + objects, "resolver none"}
	for _, flag := range flags {
		if flag == "--prefer-alias" {
			t.Skip("prefer-alias is about mirrors, which the plugin doesn't have")
		}
		if flag == "--gateway-listener-sets" {
			continue // so it always is: there is no option
		}
		name, value, has := strings.Cut(strings.TrimPrefix(flag, "--"), "=")
		switch opposite, is := strings.CutPrefix(name, "no-"); {
		case has:
			lines = append(lines, name+" "+strconv.Quote(value))
		case is:
			lines = append(lines, opposite+" false")
		default:
			lines = append(lines, name)
		}
	}
	h, err := builtFor([]string{"example.", "arpa."}, lines...)
	if _, refused := os.Stat(filepath.Join(filepath.Dir(path), "clusterzone-error")); refused == nil {
		if err == nil {
			t.Error("the options are taken, and the flags are refused")
		}
		return 0
	}
	if err != nil {
		t.Fatal(err)
	}
	h.start(nil, ear{make(chan string, 100)})
	t.Cleanup(h.stop)

	got := map[string]bool{}
	daemon.Await(t, func() error {
		clear(got)
		if !h.Ready() {
			return errors.New("the handler isn't ready")
		}
		for _, zone := range []string{"example.", "arpa."} {
			ch, err := h.Transfer(zone, 0)
			if err != nil {
				return err
			}
			for list := range ch {
				for _, rr := range list {
					note(got, rr)
				}
			}
		}
		return nil
	})

	cmd := exec.CommandContext(t.Context(), program, append([]string{"records", "--zone=example", "--zone=arpa", "--manifests=" + objects}, flags...)...)
	cmd.Stderr = t.Output()
	printed, err := cmd.Output()
	if err != nil {
		t.Fatalf("clusterzone records: %v", err)
	}
	want := map[string]bool{}
	parser := dns.NewZoneParser(strings.NewReader(string(printed)), ".", "")
	for rr, ok := parser.Next(); ok; rr, ok = parser.Next() {
		note(want, rr)
	}
	if err := parser.Err(); err != nil {
		t.Fatal(err)
	}
	for rr := range want {
		if !got[rr] {
			t.Errorf("the plugin lacks %s", rr)
		}
	}
	for rr := range got {
		if !want[rr] {
			t.Errorf("the plugin alone has %s", rr)
		}
	}
	return len(want)
}

// note adds a record, unless it is about the zone itself: each server has its own.
func note(records map[string]bool, rr dns.RR) {
	own := []string{"example.", "arpa.", "ns1.example.", "ns1.arpa."}
	if !slices.Contains(own, rr.Header().Name) {
		records[rr.String()] = true
	}
}

// builtFor makes the handler of a block for these zones without starting it.
func builtFor(zones []string, options ...string) (*Handler, error) {
	c := caddy.NewTestController("dns", Name+" {\n"+strings.Join(options, "\n")+"\n}\n")
	c.ServerBlockKeys = zones
	h, err := build(c)
	if err == nil {
		h.log = slog.New(slog.DiscardHandler)
	}
	return h, err
}
