package memory_test

import (
	"testing"

	"github.com/clusterzone/clusterzone/upstream/memory"
	"github.com/clusterzone/clusterzone/upstream/mirror"
	"github.com/clusterzone/clusterzone/upstream/mirror/mirrortest"
	"github.com/clusterzone/clusterzone/zones"
)

func name(t *testing.T, text string) zones.Name {
	t.Helper()
	n, err := zones.ParseName(text)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestPassesTheExam(t *testing.T) {
	t.Parallel()
	plain := memory.DefaultLimits()
	loose := memory.DefaultLimits()
	loose.Atomic, loose.CreateExclusive, loose.ReadNames, loose.BatchChanges = false, false, 1, 20
	loose.MinTTL = 600
	for kind, limits := range map[string]mirror.Limits{"with transactions": plain, "without": loose} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			mirrortest.Run(t, mirrortest.Exam{
				Open: func(t *testing.T) (mirror.Cloud, zones.Name) {
					origin := name(t, "example.com")
					return memory.New(limits, origin).Cloud(), origin
				},
				Bad: &mirror.Record{Name: name(t, "bad.example.org"), Type: zones.TypeHINFO, Targets: []string{"cpu os"}},
			})
		})
	}
}
