package route53

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/clusterzone/clusterzone/test/daemon"
)

// BenchmarkProgram runs the program as a process of its own, with 50 000 names in
// manifests and this package's imitation of Route 53 as its cloud, at the pace that
// Route 53 is asked: first sync, push of one change, a comparison without changes. It
// reports API calls, time and the program's resident memory; it takes about eight minutes.
func BenchmarkProgram(b *testing.B) {
	const names = 50_000
	path, err := daemon.Build("../..", b.TempDir(), "clusterzone", false)
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		dir, f := b.TempDir(), newFake(b, "Z1 corp.test")
		many, one := filepath.Join(dir, "many.yaml"), filepath.Join(dir, "one.yaml")
		var text strings.Builder
		for i := range names - 1 {
			writeIngress(&text, i, fmt.Sprintf("10.%d.%d.%d", i>>16, i>>8&255, i&255))
		}
		write(b, many, text.String())
		text.Reset()
		writeIngress(&text, names-1, "192.0.2.1")
		write(b, one, text.String())
		p := daemon.Start(b, daemon.Spec{Path: path, Args: []string{
			"serve", "--zone=corp.test", "--manifests=" + many, "--manifests=" + one, "--listen=127.0.0.1:0", "--metrics-address=", "--admin-address=", "--resolver=none", "--shutdown-delay=0",
			"--provider=aws", "--txt-owner-id=one", "--interval=5m", "--log-level=warn",
		}, Env: []string{"AWS_ENDPOINT_URL=" + f.URL, "AWS_REGION=us-east-1", "AWS_ACCESS_KEY_ID=one", "AWS_SECRET_ACCESS_KEY=two"}})
		start := time.Now()
		waitFor(b, p, "the first sync", func() bool { return f.held() == 2+2*names })
		b.ReportMetric(time.Since(start).Seconds(), "s/first-sync")
		b.ReportMetric(float64(f.count(opChange)), "writes/first-sync")
		b.ReportMetric(float64(f.count(opSets)), "reads/first-sync")
		b.ReportMetric(memoryOf(b, p, "VmRSS"), "MB/first-sync")

		writes, reads := f.count(opChange), f.count(opSets)
		text.Reset()
		writeIngress(&text, names-1, "192.0.2.2")
		start = time.Now()
		write(b, one+".new", text.String())
		if err := os.Rename(one+".new", one); err != nil {
			b.Fatal(err)
		}
		waitFor(b, p, "the push", func() bool { return f.count(opChange) > writes })
		b.ReportMetric(time.Since(start).Seconds(), "s/push")
		b.ReportMetric(float64(f.count(opChange)-writes), "writes/push")
		b.ReportMetric(float64(f.count(opSets)-reads), "reads/push")

		reads, writes = f.count(opSets), f.count(opChange)
		waitFor(b, p, "the next comparison", func() bool { return f.count(opSets) > reads })
		start = time.Now()
		pages := (2+2*names)/300 + 1
		waitFor(b, p, "the end of the comparison", func() bool { return f.count(opSets) >= reads+pages })
		b.ReportMetric(time.Since(start).Seconds(), "s/no-change")
		b.ReportMetric(float64(f.count(opSets)-reads), "reads/no-change")
		b.ReportMetric(float64(f.count(opChange)-writes), "writes/no-change")
		b.ReportMetric(memoryOf(b, p, "VmRSS"), "MB/no-change")
		b.ReportMetric(memoryOf(b, p, "VmHWM"), "MB/peak")
		p.Stop(b)
	}
}

func writeIngress(w *strings.Builder, i int, address string) {
	fmt.Fprintf(w, "---\napiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata: {namespace: shop, name: web-%d}\nspec: {rules: [{host: n%d.corp.test}]}\nstatus: {loadBalancer: {ingress: [{ip: %s}]}}\n", i, i, address)
}

func write(tb testing.TB, path, text string) {
	tb.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		tb.Fatal(err)
	}
}

// waitFor waits until something has come, or the program has ended.
func waitFor(tb testing.TB, p *daemon.Process, what string, there func() bool) {
	tb.Helper()
	deadline := time.After(15 * time.Minute)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !there() {
		select {
		case <-tick.C:
		case <-p.Exited():
			tb.Fatalf("the program ended before %s: %v\n%s", what, p.Err(), p.Log())
		case <-deadline:
			tb.Fatalf("%s didn't come\n%s", what, p.Log())
		}
	}
}

// held returns how many record sets all zones have.
func (f *fake) held() (n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, zone := range f.zones {
		n += len(zone.sets)
	}
	return n
}

// memoryOf reads a field of /proc/PID/status, which is in kB, in MB.
func memoryOf(tb testing.TB, p *daemon.Process, field string) float64 {
	tb.Helper()
	text, err := os.ReadFile("/proc/" + strconv.Itoa(p.Pid()) + "/status")
	if err != nil {
		tb.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if value, ok := strings.CutPrefix(line, field+":"); ok {
			kb, err := strconv.ParseFloat(strings.Fields(value)[0], 64)
			if err != nil {
				tb.Fatal(err)
			}
			return kb / 1024
		}
	}
	tb.Fatalf("/proc has no %s", field)
	return 0
}
