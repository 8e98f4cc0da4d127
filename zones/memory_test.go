package zones_test

import (
	"encoding/binary"
	"fmt"
	"iter"
	"runtime"
	"testing"
	"time"

	"github.com/clusterzone/clusterzone/zones"
)

// fileSets yields the records of a zone file with so many names, one A each.
func fileSets(origin zones.Name, size int) iter.Seq[zones.StaticSet] {
	return func(yield func(zones.StaticSet) bool) {
		for at := range size {
			// One team after the other, as in canonical order.
			i := at/max(size/1000, 1) + at%max(size/1000, 1)*1000
			name := origin.Child(fmt.Sprintf("team-%d", i%1000)).Child(fmt.Sprintf("app-%d", i))
			data := zones.Rdata(binary.BigEndian.AppendUint32(nil, uint32(10<<24+i)))
			set := &zones.RRSet{Name: name, Type: zones.TypeA, TTL: 300, Data: []zones.Rdata{data}}
			if !yield(zones.StaticSet{RRSet: set, From: fmt.Sprintf("file corp.zone line %d", i+4)}) {
				return
			}
		}
	}
}

// fileTable returns a table that serves such a file.
func fileTable(tb testing.TB, size int) *zones.Table {
	tb.Helper()
	origin, err := zones.ParseName("corp.test")
	if err != nil {
		tb.Fatal(err)
	}
	table := zones.NewTable(zones.Options{Origins: []zones.Origin{{Name: origin}}, DefaultTTL: 300})
	table.SetStatic(origin, zones.NewStatic(origin, fileSets(origin, size)))
	table.SetReady(true, "")
	table.Commit(time.Unix(1_800_000_000, 0))
	return table
}

// heap returns how many octets are in use.
func heap() uint64 {
	runtime.GC()
	runtime.GC() // the first frees what finalizers held
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.HeapAlloc
}

// BenchmarkMemory reports the octets of heap that a name with one A costs, all
// bookkeeping included: the names once from a zone file, once from one object
// each.
func BenchmarkMemory(b *testing.B) {
	sources := []struct {
		name  string
		table func(testing.TB, int) *zones.Table
	}{{"file", fileTable}, {"objects", benchTable}}
	for _, source := range sources {
		for _, size := range sizes {
			b.Run(fmt.Sprintf("%s/names=%d", source.name, size), func(b *testing.B) {
				for b.Loop() {
					before := heap()
					table := source.table(b, size)
					b.ReportMetric(float64(heap()-before)/float64(size), "B/name")
					runtime.KeepAlive(table)
				}
				b.ReportMetric(0, "ns/op")
			})
		}
	}
}

// TestMemoryOfFile: a name of a zone file costs little more than its octets. It
// measures the heap, so it runs beside no other test.
func TestMemoryOfFile(t *testing.T) {
	const size = 20_000
	before := heap()
	table := fileTable(t, size)
	if cost := float64(heap()-before) / size; cost > 120 {
		t.Errorf("a name of a zone file costs %.0f octets", cost)
	}
	runtime.KeepAlive(table)
}
