package zones_test

import (
	"fmt"
	"slices"
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

// questions returns names of a zone of that size in an order that no cache
// foresees; the names themselves follow each other in memory. Their first labels
// are made by first.
func questions(size int, first func(i int) string) []zones.Name {
	wire := make([]byte, 0, 1<<23)
	ends := make([]int, 0, 1<<18)
	for i := range min(size, 1<<18) {
		i = i * 7919 % size
		for _, label := range []string{first(i), fmt.Sprintf("team-%d", i%1000), "corp", "test", ""} {
			wire = append(append(wire, byte(len(label))), label...)
		}
		ends = append(ends, len(wire))
	}
	names, start := make([]zones.Name, len(ends)), 0
	text := string(wire)
	for i, end := range ends {
		names[i], start = zones.Name(text[start:end]), end
	}
	return names
}

// BenchmarkLookup asks for names of a zone file: for those that exist, for other
// types of them, for names that don't exist, and for those that a wildcard
// covers.
func BenchmarkLookup(b *testing.B) {
	app := func(i int) string { return fmt.Sprintf("app-%d", i) }
	none := func(i int) string { return fmt.Sprintf("app-%dx", i) }
	for _, size := range sizes {
		plain, wild := fileTable(b, size), fileTable(b, size)
		corp := zones.Root.Child("test").Child("corp")
		wild.Put(zones.Object{
			Owner:  zones.Owner{Source: "ingress", Name: "all"},
			Claims: []zones.Claim{{Name: corp.Child("team-0").Wildcard(), Type: zones.TypeA, Targets: []string{"192.0.2.1"}}},
		})
		for _, run := range []struct {
			name  string
			table *zones.Table
			first func(int) string
			kind  zones.Type
			want  zones.Kind
		}{
			{"hit", plain, app, zones.TypeA, zones.Hit},
			{"nodata", plain, app, zones.TypeAAAA, zones.NoData},
			{"nxdomain", plain, none, zones.TypeA, zones.NXDomain},
			{"nxdomain-beside-wildcard", wild, none, zones.TypeA, zones.NXDomain},
		} {
			b.Run(fmt.Sprintf("%s/names=%d", run.name, size), func(b *testing.B) {
				snap := run.table.Commit(time.Unix(1_800_000_001, 0)).Snapshot
				names := questions(size, run.first)
				var a zones.Answer
				i := 0
				b.ReportAllocs()
				for b.Loop() {
					if i++; i == len(names) {
						i = 0
					}
					snap.Lookup(names[i], run.kind, &a)
					if a.Kind != run.want && !a.Wildcard.IsWildcard() {
						b.Fatal(names[i], a.Kind)
					}
				}
			})
		}
	}
}

// manyZones is as many small zones as a hoster has on one server.
const manyZones = 12_673

func manyZonesTable(tb testing.TB) (*zones.Table, []zones.Name) {
	origins := make([]zones.Origin, manyZones)
	names := make([]zones.Name, manyZones)
	for i := range origins {
		name, err := zones.ParseHost(fmt.Sprintf("zone-%d.test", i))
		if err != nil {
			tb.Fatal(err)
		}
		origins[i].Name, names[i] = name, name
	}
	table := zones.NewTable(zones.Options{Origins: origins, DefaultTTL: 300})
	for _, name := range names {
		table.SetStatic(name, benchStatics(tb, name, "192.0.2.1"))
	}
	table.SetReady(true, "")
	table.Commit(time.Unix(1_800_000_000, 0))
	return table, names
}

func benchStatics(tb testing.TB, origin zones.Name, address string) *zones.Static {
	data, err := zones.ParseRdata(zones.TypeA, address)
	if err != nil {
		tb.Fatal(err)
	}
	var sets []zones.StaticSet
	for i, label := range []string{"www", "mail", "ftp", "db", "api"} {
		set := &zones.RRSet{Name: origin.Child(label), Type: zones.TypeA, TTL: 300, Data: []zones.Rdata{data}}
		sets = append(sets, zones.StaticSet{RRSet: set, From: fmt.Sprintf("file zone line %d", i)})
	}
	return zones.NewStatic(origin, slices.Values(sets))
}

// BenchmarkManyZones starts with, and changes one of, many small zones: the
// change must cost no visit to the others.
func BenchmarkManyZones(b *testing.B) {
	b.Run("start", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			manyZonesTable(b)
		}
	})
	b.Run("change", func(b *testing.B) {
		table, names := manyZonesTable(b)
		now := time.Unix(1_800_000_001, 0)
		i := 0
		b.ReportAllocs()
		for b.Loop() {
			i++
			name := names[i*7919%len(names)]
			table.SetStatic(name, benchStatics(b, name, fmt.Sprintf("192.0.2.%d", i%251+1)))
			table.Commit(now.Add(time.Duration(i) * time.Second))
		}
	})
}

// TestManyZonesCostTheirChanges: a commit in one of many zones allocates about
// what it does in one of few.
func TestManyZonesCostTheirChanges(t *testing.T) {
	table, names := manyZonesTable(t)
	i := 0
	allocated := testing.AllocsPerRun(50, func() {
		i++
		table.SetStatic(names[5000], benchStatics(t, names[5000], fmt.Sprintf("192.0.2.%d", i%251+1)))
		table.Commit(time.Unix(1_800_000_001+int64(i), 0))
	})
	if allocated > 500 {
		t.Errorf("a change in one of %d zones allocates %.0f times: it visits the others", manyZones, allocated)
	}
}
