package e2e_test

import (
	"runtime"
	"testing"
	"time"
)

// BenchmarkListToReady reports how long the program takes with 50 000 Ingresses
// of an API server from its start to the first answer for one of them, and how
// much memory it takes then and after it has settled.
func BenchmarkListToReady(b *testing.B) {
	if runtime.GOOS != "linux" {
		b.Skip("memory is read from /proc, which is Linux's")
	}
	const count = 50_000
	path, err := buildPlain()
	if err != nil {
		b.Fatal(err)
	}
	f := fill(b, count)
	begin := time.Now()
	p := serve(b, path, "--kubeconfig="+f.cluster.Kubeconfig(b, f.cluster.Admin()))
	ready, err := newAsker(b, p.dns).until(manyName(count-1), manyAddress(count-1, 0))
	if err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(ready.Sub(begin).Seconds()*1000, "start-to-answer-ms")
	pid := p.Pid()
	b.ReportMetric(memory(b, pid, "VmRSS"), "synced-rss-MiB")
	select {
	case <-time.After(settleTime):
	case <-b.Context().Done():
	}
	b.ReportMetric(memory(b, pid, "VmRSS"), "rss-MiB")
	b.ReportMetric(memory(b, pid, "VmHWM"), "peak-MiB")
	p.stop(b)
}
