package e2e_test

import (
	"runtime"
	"testing"
	"time"
)

// largeIngresses is how many Ingresses a large cluster has.
const largeIngresses = 100_000

// BenchmarkLarge fills an API server with 100 000 Ingresses once, which takes
// minutes, and measures: the time from the program's start to its first answer, and
// its memory (ListToReady); BenchmarkChangeToAnswer at this size; and answers while
// addresses change all the time (StatusChurn).
func BenchmarkLarge(b *testing.B) {
	if runtime.GOOS != "linux" {
		b.Skip("memory is read from /proc, which is Linux's")
	}
	f := fill(b, largeIngresses)
	b.Run("ListToReady", func(b *testing.B) { listToReady(b, f) })
	b.Run("ChangeToAnswer", func(b *testing.B) {
		left := 1001
		changeToAnswer(b, f, func() bool { left--; return left > 0 })
	})
	b.Run("StatusChurn", func(b *testing.B) { statusChurn(b, f) })
}

// listRounds is how often the program is started; the median counts.
const listRounds = 3

func listToReady(b *testing.B, f *full) {
	path, err := buildPlain()
	if err != nil {
		b.Fatal(err)
	}
	kubeconfig := "--kubeconfig=" + f.cluster.Kubeconfig(b, f.cluster.Admin())
	last := len(f.ingresses) - 1
	var toReady, cpu, synced, settled, peak []float64
	for range listRounds {
		begin := time.Now()
		p := serve(b, path, kubeconfig)
		ready, err := newAsker(b, p.dns).until(manyName(last), f.address(last))
		if err != nil {
			b.Fatal(err)
		}
		pid := p.Pid()
		toReady = append(toReady, ready.Sub(begin).Seconds()*1000)
		cpu = append(cpu, processorTime(b, pid).Seconds()*1000)
		synced = append(synced, memory(b, pid, "VmRSS"))
		select {
		case <-time.After(settleTime):
		case <-b.Context().Done():
		}
		settled = append(settled, memory(b, pid, "VmRSS"))
		peak = append(peak, memory(b, pid, "VmHWM"))
		p.stop(b)
	}
	b.ReportMetric(0, "ns/op")
	for name, values := range map[string][]float64{
		"start-to-answer-ms": toReady, "processor-ms": cpu, "synced-rss-MiB": synced, "rss-MiB": settled, "peak-MiB": peak,
	} {
		b.ReportMetric(median(values), name)
	}
}
