package zones_test

import (
	"fmt"
	"math"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/clusterzone/clusterzone/zones"
)

// BenchmarkPauses changes one object after the other in a zone of a million names,
// from a file or from objects, while another goroutine looks names up. It reports
// what a collection takes of processors and its share of all that was used, both
// with the collector as the program sets it. Then, over 20 collections that come
// sooner than they would, how long each stop of the world was (there are two a
// collection): p50, p99 and the longest, rounded up to the next bound of the
// runtime's histogram, which lie a quarter apart.
func BenchmarkPauses(b *testing.B) {
	const (
		size        = 1_000_000
		pauseCycles = 20
	)
	defer debug.SetGCPercent(debug.SetGCPercent(50))
	for _, source := range []struct {
		name  string
		table func(testing.TB, int) *zones.Table
	}{{"file", fileTable}, {"objects", benchTable}} {
		b.Run(source.name, func(b *testing.B) {
			table := source.table(b, size)
			snapshot := atomic.Pointer[zones.Snapshot]{}
			now := time.Unix(1_800_000_001, 0)
			snapshot.Store(table.Commit(now).Snapshot)
			stop := make(chan struct{})
			var asking sync.WaitGroup
			asking.Go(func() { lookUp(&snapshot, size, stop) })
			i := 0
			change := func() {
				i++
				table.Put(benchObject(b, i*7919%size, fmt.Sprintf("192.0.2.%d", i%251+1)))
				snapshot.Store(table.Commit(now.Add(time.Duration(i) * time.Millisecond)).Snapshot)
			}
			runtime.GC()
			before := readCollector()
			for b.Loop() {
				change()
			}
			runtime.GC() // the shares are those of the last collection
			readCollector().cost(b, before)
			before = readCollector()
			debug.SetGCPercent(5) // more collections, each of the same length
			for readCollector().cycles()-before.cycles() < pauseCycles {
				for range 100 {
					change()
				}
			}
			debug.SetGCPercent(50)
			readCollector().pauses(b, before)
			close(stop)
			asking.Wait()
			runtime.KeepAlive(table)
		})
	}
}

// lookUp asks for names at random until stop is closed.
func lookUp(view *atomic.Pointer[zones.Snapshot], size int, stop <-chan struct{}) {
	names := questions(size, func(i int) string { return fmt.Sprintf("app-%d", i) })
	var a zones.Answer
	for i := 0; ; i = (i + 1) % len(names) {
		select {
		case <-stop:
			return
		default:
			view.Load().Lookup(names[i], zones.TypeA, &a)
		}
	}
}

// A collector is what the runtime tells of garbage collection.
type collector []metrics.Sample

func readCollector() collector {
	c := collector{
		{Name: "/sched/pauses/total/gc:seconds"},
		{Name: "/cpu/classes/gc/total:cpu-seconds"},
		{Name: "/cpu/classes/user:cpu-seconds"},
		{Name: "/gc/cycles/total:gc-cycles"},
	}
	metrics.Read(c)
	return c
}

func (c collector) cycles() uint64 { return c[3].Value.Uint64() }

// cost reports what collections since before have taken.
func (c collector) cost(b *testing.B, before collector) {
	collecting := c[1].Value.Float64() - before[1].Value.Float64()
	working := c[2].Value.Float64() - before[2].Value.Float64()
	cycles := c.cycles() - before.cycles()
	b.ReportMetric(1e3*collecting/float64(cycles), "cpu-ms/cycle")
	b.ReportMetric(100*collecting/(collecting+working), "%cpu")
	b.ReportMetric(float64(cycles), "cycles")
}

// pauses reports how long the world stood still since before.
func (c collector) pauses(b *testing.B, before collector) {
	old, all := before[0].Value.Float64Histogram(), c[0].Value.Float64Histogram()
	counts := make([]uint64, len(all.Counts))
	for i := range counts {
		counts[i] = all.Counts[i] - old.Counts[i]
	}
	for _, share := range []struct {
		of   float64
		unit string
	}{{.5, "p50-pause-µs"}, {.99, "p99-pause-µs"}, {1, "max-pause-µs"}} {
		b.ReportMetric(1e6*quantile(counts, all.Buckets, share.of), share.unit)
	}
}

// quantile returns the upper bound of the bucket below which that share of the
// counts lies.
func quantile(counts []uint64, bounds []float64, share float64) float64 {
	sum := uint64(0)
	for _, n := range counts {
		sum += n
	}
	want, seen := uint64(math.Ceil(share*float64(sum))), uint64(0)
	for i, n := range counts {
		if seen += n; n > 0 && seen >= want {
			return bounds[i+1]
		}
	}
	return 0
}
