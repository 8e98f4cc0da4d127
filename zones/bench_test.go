package zones_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/clusterzone/clusterzone/zones"
)

// sizes are the zones over which the cost of one change must not grow by more
// than the logarithm.
var sizes = []int{1_000, 100_000, 1_000_000}

func benchObject(tb testing.TB, i int, address string) zones.Object {
	name, err := zones.ParseHost(fmt.Sprintf("app-%d.team-%d.corp.test", i, i%1000))
	if err != nil {
		tb.Fatal(err)
	}
	return zones.Object{
		Owner:  zones.Owner{Source: "ingress", Namespace: fmt.Sprintf("team-%d", i%1000), Name: fmt.Sprintf("app-%d", i)},
		Claims: []zones.Claim{{Name: name, Type: zones.TypeA, Targets: []string{address}}},
	}
}

func benchTable(tb testing.TB, size int) *zones.Table {
	origin, err := zones.ParseHost("corp.test")
	if err != nil {
		tb.Fatal(err)
	}
	table := zones.NewTable(zones.Options{Origins: []zones.Origin{{Name: origin}}, DefaultTTL: 300})
	for i := range size {
		table.Put(benchObject(tb, i, "192.0.2.1"))
	}
	table.SetReady(true, "")
	table.Commit(time.Unix(1_800_000_000, 0))
	return table
}

// BenchmarkChange changes one object of many and publishes the result.
func BenchmarkChange(b *testing.B) {
	for _, size := range sizes {
		b.Run(fmt.Sprintf("names=%d", size), func(b *testing.B) {
			table := benchTable(b, size)
			now := time.Unix(1_800_000_001, 0)
			i := 0
			b.ReportAllocs()
			for b.Loop() {
				i++
				table.Put(benchObject(b, i*7919%size, fmt.Sprintf("192.0.2.%d", i%251+1)))
				table.Commit(now.Add(time.Duration(i) * time.Millisecond))
			}
		})
	}
}

// BenchmarkLookup asks for names that exist.
func BenchmarkLookup(b *testing.B) {
	for _, size := range sizes {
		b.Run(fmt.Sprintf("names=%d", size), func(b *testing.B) {
			table := benchTable(b, size)
			snap := table.Commit(time.Unix(1_800_000_001, 0)).Snapshot
			names := make([]zones.Name, 1<<12)
			for i := range names {
				names[i] = benchObject(b, i*7919%size, "192.0.2.1").Claims[0].Name
			}
			var a zones.Answer
			i := 0
			b.ReportAllocs()
			for b.Loop() {
				i++
				snap.Lookup(names[i%len(names)], zones.TypeA, &a)
				if a.Kind != zones.Hit {
					b.Fatal(a.Kind)
				}
			}
		})
	}
}
