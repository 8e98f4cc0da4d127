package main

import (
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/clusterzone/clusterzone/upstream/memory"
	"github.com/clusterzone/clusterzone/upstream/mirror"
	"github.com/clusterzone/clusterzone/zones"
)

// TestTakeOver: --diff says that nothing would change in a zone that external-dns
// has left as the objects want it, and finds each thing that would.
func TestTakeOver(t *testing.T) {
	t.Parallel()
	const owner = `"heritage=external-dns,external-dns/owner=one,external-dns/resource=ingress/shop/web"`
	left := func(t *testing.T, host, target string) []mirror.Record {
		var list []mirror.Record
		list = append(list, mirror.Record{Name: name(t, host+".corp.test"), Type: zones.TypeA, Targets: []string{target}, TTL: zones.TTL{Seconds: 300, Set: true}})
		return append(list, mirror.Record{Name: name(t, "a-"+host+".corp.test"), Type: zones.TypeTXT, Targets: []string{owner}, TTL: zones.TTL{Seconds: 300, Set: true}})
	}
	for what, story := range map[string]struct {
		records func(t *testing.T) []mirror.Record
		want    takeOver
		says    string
	}{
		"as it should be": {
			func(t *testing.T) []mirror.Record {
				return slices.Concat(left(t, "shop", "192.0.2.10"), left(t, "other", "192.0.2.10"))
			}, takeOver{Clean: true}, "no record would change",
		},
		"one differs, one is gone, one is too many": {
			func(t *testing.T) []mirror.Record {
				return slices.Concat(left(t, "shop", "192.0.2.99"), left(t, "old", "192.0.2.10"))
			}, takeOver{Creates: 1, Updates: 1, Deletes: 1, Rewrites: 2}, "records to create: 1, to change: 1, to delete: 1",
		},
		"one has no owner": {
			func(t *testing.T) []mirror.Record {
				return slices.Concat(left(t, "shop", "192.0.2.10")[:1], left(t, "other", "192.0.2.10"))
			}, takeOver{Blocked: 1}, "blocked: 1",
		},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			store := memory.New(memory.DefaultLimits(), name(t, "corp.test"))
			store.Put("corp.test", story.records(t)...)
			objectsFile := filepath.Join(t.TempDir(), "objects.yaml")
			if err := os.WriteFile(objectsFile, []byte(ingressYAML), 0o600); err != nil {
				t.Fatal(err)
			}
			_, objects, _ := parsed(t, "--zone=corp.test", "--manifests="+objectsFile)
			log := slog.New(slog.DiscardHandler)
			if err := objects.prepare(log, noVariables); err != nil {
				t.Fatal(err)
			}
			p, err := objects.assemble(log, pipelineOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if err := p.once(t.Context(), nil); err != nil {
				t.Fatal(err)
			}
			mirrors := mirrorsSettings{kinds: []cloudKind{{"fixed", func() cloudSettings { return fixedCloud{store.Cloud()} }}}}
			cmd := newPlan()
			cmd.ResetFlags()
			mirrors.add(cmd, false)
			if err := cmd.ParseFlags([]string{"--provider=fixed", "--txt-owner-id=one"}); err != nil {
				t.Fatal(err)
			}
			mirrors.askAll()
			set, err := mirrors.build(t.Context(), mirrorOptions{log: log, pipeline: p})
			if err != nil {
				t.Fatal(err)
			}
			plan := preview(t.Context(), set.mirrors[0], true)
			var text strings.Builder
			writePlan(&text, &plan, true)
			if *plan.TakeOver != story.want || !strings.Contains(text.String(), story.says) {
				t.Errorf("%+v, want %+v:\n%s", *plan.TakeOver, story.want, text.String())
			}
			if clean := verdict([]mirrorPlan{plan}, true) == nil; clean != story.want.Clean {
				t.Errorf("the exit status says clean=%t", clean)
			}
			if n := store.Count(memory.OpApply); n > 0 {
				t.Errorf("%d batches were written", n)
			}
		})
	}
}
