package mirror_test

import (
	"context"
	"fmt"
	"log/slog"
	"runtime"
	"testing"
	"time"

	"github.com/clusterzone/clusterzone/upstream/memory"
	"github.com/clusterzone/clusterzone/upstream/mirror"
	"github.com/clusterzone/clusterzone/zones"
)

// BenchmarkLargeZone mirrors 50,000 names: the first sync, a cycle without changes,
// and the push of one change. It reports calls of the cloud, and memory.
func BenchmarkLargeZone(b *testing.B) {
	const names = 50_000
	zone, err := zones.ParseName(origin)
	if err != nil {
		b.Fatal(err)
	}
	asked := &wishes{at: map[zones.Name][]zones.Endpoint{}}
	for i := range names {
		name := zone.Child(fmt.Sprintf("n%d", i))
		asked.at[name] = []zones.Endpoint{{
			Name: name, Type: zones.TypeA, Targets: []string{fmt.Sprintf("10.%d.%d.%d", i>>16, i>>8&255, i&255)}, TTL: zones.TTL{Seconds: 60, Set: true},
			Owner: zones.Owner{Source: "ingress", Namespace: "shop", Name: fmt.Sprintf("web-%d", i)},
		}}
	}
	registry, err := mirror.NewRegistry(mirror.RegistryOptions{Owner: "prod"})
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		store := memory.New(memory.DefaultLimits(), zone)
		m, err := mirror.New(mirror.Options{
			Name: "bench", Cloud: store.Cloud(), Registry: registry, Wishes: asked, Log: slog.New(slog.DiscardHandler),
			Gather: time.Millisecond, PushEvery: time.Millisecond,
		})
		if err != nil {
			b.Fatal(err)
		}
		start := time.Now()
		if err := m.Once(b.Context()); err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(time.Since(start).Seconds(), "s/first-sync")
		b.ReportMetric(float64(store.Count(memory.OpApply)), "batches/first-sync")
		start = time.Now()
		if err := m.Once(b.Context()); err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(time.Since(start).Seconds(), "s/no-change")
		ctx, cancel := context.WithTimeout(b.Context(), 2*time.Minute)
		done := make(chan error)
		go func() { done <- m.Run(ctx) }()
		for store.Count(memory.OpRecords) < 3 || m.Status().Counts.Cycles < 3 {
			if runtime.Gosched(); ctx.Err() != nil {
				b.Fatal(ctx.Err())
			}
		}
		before, lists := store.Count(memory.OpApply), store.Count(memory.OpRecords)
		name := zone.Child("n77")
		asked.change(func() {
			changed := asked.at[name][0]
			changed.Targets = []string{fmt.Sprintf("192.0.2.%d", before%250)}
			asked.at[name] = []zones.Endpoint{changed}
		})
		start = time.Now()
		m.Notify([]zones.Name{name})
		for store.Count(memory.OpApply) == before {
			if runtime.Gosched(); ctx.Err() != nil {
				b.Fatal(ctx.Err())
			}
		}
		b.ReportMetric(time.Since(start).Seconds()*1000, "ms/push")
		b.ReportMetric(float64(store.Count(memory.OpRecords)-lists), "listings/push")
		cancel()
		if err := <-done; err != nil {
			b.Fatal(err)
		}
		var stats runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&stats)
		b.ReportMetric(float64(stats.HeapAlloc)/1e6, "MB/heap")
		runtime.KeepAlive(m)
	}
}
