package peers_test

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/miekg/dns"

	"github.com/clusterzone/clusterzone/test/daemon"
)

// smallZones is how many zones of a few records one process serves in the Ferret
// data set (Kakarla et al., SCALE, NSDI 2022).
const smallZones = 12673

// BenchmarkSmallZones reports how long the program takes from its start until it
// answers for as many small zones as the Ferret data set has: 2 to 5 records each,
// most of them delegations, aliases and wildcards.
func BenchmarkSmallZones(b *testing.B) {
	path, err := buildPlain()
	if err != nil {
		b.Fatal(err)
	}
	config, last := writeSmallZones(b, smallZones)
	for b.Loop() {
		start := time.Now()
		s := daemon.Serve(b, path, "--config="+config)
		reply, err := exchange(s.DNS, query(last, dns.TypeSOA))
		if err != nil {
			b.Fatal(err)
		}
		if err := authoritative(reply); err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(time.Since(start).Seconds(), "s/start")
		b.ReportMetric(float64(resident(b, s.Pid()))/1e6, "MB")
		s.Stop(b)
	}
	b.ReportMetric(0, "ns/op")
}

// TestManySmallZonesLoad is the same with fewer zones, and no figure.
func TestManySmallZonesLoad(t *testing.T) {
	t.Parallel()
	config, last := writeSmallZones(t, smallZones/20)
	reply, err := exchange(serve(t, "--config="+config).DNS, query(last, dns.TypeSOA))
	if err != nil {
		t.Fatal(err)
	}
	if err := authoritative(reply); err != nil {
		t.Errorf("%v\n%s", err, reply)
	}
}

// writeSmallZones writes n zones, and a configuration that serves them. It returns
// the configuration, and the origin of the last zone.
func writeSmallZones(t testing.TB, n int) (config, last string) {
	t.Helper()
	dir := t.TempDir()
	r := rand.New(rand.NewPCG(12673, 2022))
	var all strings.Builder
	fmt.Fprintln(&all, "zones:")
	for i := range n {
		last = fmt.Sprintf("%sz%d.test.", strings.Repeat(pick(r, "", "a.", "b."), r.IntN(3)), i)
		var zone strings.Builder
		fmt.Fprintf(&zone, "%[1]s 500 IN SOA ns1.outside.invalid. admin.outside.invalid. 3 500 600 86400 500\n%[1]s 500 IN NS ns1.outside.invalid.\n", last)
		switch r.IntN(10) {
		case 0:
			fmt.Fprintf(&zone, "*.%[1]s 500 IN TXT \"text\"\na.%[1]s 500 IN A 192.0.2.1\n", last)
		case 1:
			fmt.Fprintf(&zone, "a.%[1]s 500 IN DNAME b.%[1]s\n", last)
		case 2:
			fmt.Fprintf(&zone, "a.%[1]s 500 IN CNAME *.b.%[1]s\n*.b.%[1]s 500 IN AAAA 2001:db8::1\n", last)
		default:
			fmt.Fprintf(&zone, "a.b.%[1]s 500 IN NS ns.a.b.%[1]s\nns.a.b.%[1]s 500 IN A 192.0.2.1\nns.a.b.%[1]s 500 IN AAAA 2001:db8::1\n", last)
		}
		file := filepath.Join(dir, fmt.Sprintf("%d.zone", i))
		write(t, file, zone.String())
		fmt.Fprintf(&all, "- {origin: %q, file: %q}\n", last, file)
	}
	config = filepath.Join(dir, "clusterzone.yaml")
	write(t, config, all.String())
	return config, last
}
