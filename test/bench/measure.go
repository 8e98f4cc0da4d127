//go:build unix

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A result is one server's turn in one round.
type result struct {
	perSecond     float64
	cost          time.Duration // of the server's processor, for each query
	lost          float64       // share of the queries
	p50, p99, max time.Duration // latency at the fixed rate; max is p99.9
	memory        float64       // MiB
}

func (r result) String() string {
	return fmt.Sprintf("%.0f queries/s, %.2f µs each, %.3f %% lost, p50 %v, p99 %v, p99.9 %v, %.0f MiB",
		r.perSecond, micros(r.cost), 100*r.lost, r.p50, r.p99, r.max, r.memory)
}

func micros(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }

// measure takes a server's turn, once more where it fails: version 2.10 of
// dnsperf stops with an assertion when a server closes a connection at the
// wrong moment.
func measure(ctx context.Context, o *options, s *server, queries, transport string) (result, error) {
	r, err := measureOnce(ctx, o, s, queries, transport)
	if err != nil && ctx.Err() == nil {
		r, err = measureOnce(ctx, o, s, queries, transport)
	}
	return r, err
}

// measureOnce drives a server as fast as it goes, then at the fixed rate.
func measureOnce(ctx context.Context, o *options, s *server, queries, transport string) (result, error) {
	var r result
	before, err := cpuTime(s.pids)
	if err != nil {
		return r, err
	}
	seconds := strconv.Itoa(int(o.seconds / time.Second))
	out, err := dnsperf(ctx, o, s, queries, transport, "-l", seconds)
	if err != nil {
		return r, err
	}
	after, err := cpuTime(s.pids)
	if err != nil {
		return r, err
	}
	sent, completed := number(out, "Queries sent:"), number(out, "Queries completed:")
	r.perSecond = number(out, "Queries per second:")
	if completed == 0 || sent == 0 {
		return r, fmt.Errorf("no query was answered:\n%s", out)
	}
	r.cost = time.Duration(float64(after-before) / completed)
	r.lost = number(out, "Queries lost:") / sent
	if o.rate > 0 {
		out, err = dnsperf(ctx, o, s, queries, transport, "-l", "1", "-Q", strconv.Itoa(o.rate), "-v")
		if err != nil {
			return r, err
		}
		r.p50, r.p99, r.max = percentiles(out)
	}
	r.memory, err = resident(s.pids)
	return r, err
}

func dnsperf(ctx context.Context, o *options, s *server, queries, transport string, args ...string) (string, error) {
	_, port, _ := strings.Cut(s.address, ":")
	outstanding := o.outstanding
	if transport == "tcp" {
		outstanding = o.pipelined * o.clients
	}
	command := append([]string{"dnsperf", "-s", "127.0.0.1", "-p", port, "-m", transport, "-d", queries, "-c", strconv.Itoa(o.clients),
		"-q", strconv.Itoa(outstanding), "-t", "1"}, args...)
	if o.edns {
		command = append(command, "-e")
	}
	cmd := pinned(o.clientCPU, command)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Start(); err != nil {
		return "", err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	if o.boost {
		if err := boost(cmd.Process.Pid); err != nil {
			return "", errors.Join(err, cmd.Process.Kill(), <-ended)
		}
	}
	select {
	case err := <-ended:
		if err != nil {
			return "", fmt.Errorf("dnsperf: %w\n%s", err, errs.String())
		}
		return out.String(), nil
	case <-ctx.Done():
		return "", errors.Join(ctx.Err(), cmd.Process.Kill(), <-ended)
	}
}

// number is the first number of the line of dnsperf's report that begins so.
func number(report, label string) float64 {
	_, rest, _ := strings.Cut(report, label)
	fields := strings.Fields(rest)
	if len(fields) == 0 {
		return 0
	}
	value, err := strconv.ParseFloat(fields[0], 64)
	if err != nil {
		return 0
	}
	return value
}

// percentiles reads the lines that dnsperf -v writes for each answer, which end
// with its latency in seconds.
func percentiles(report string) (p50, p99, p999 time.Duration) {
	var all []time.Duration
	for line := range strings.Lines(report) {
		if fields := strings.Fields(line); len(fields) > 2 && fields[0] == ">" {
			if seconds, err := strconv.ParseFloat(fields[len(fields)-1], 64); err == nil {
				all = append(all, time.Duration(seconds*float64(time.Second)))
			}
		}
	}
	if len(all) == 0 {
		return 0, 0, 0
	}
	slices.Sort(all)
	at := func(share float64) time.Duration { return all[int(share*float64(len(all)-1))] }
	return at(.5), at(.99), at(.999)
}

// printTable prints the medians, and the ratio of each server's cost to the
// first one's.
func printTable(out io.Writer, order []string, results map[string][]result) {
	fmt.Fprintln(out, "| server | CPU per query | ratio | queries/s | lost | p50 | p99 | p99.9 | RSS |")
	fmt.Fprintln(out, "|---|---|---|---|---|---|---|---|---|")
	first := 0.0
	for _, name := range order {
		all := results[name]
		if len(all) == 0 {
			continue // it doesn't serve the transport
		}
		median := func(value func(result) float64) float64 {
			var values []float64
			for _, r := range all {
				values = append(values, value(r))
			}
			slices.Sort(values)
			return values[len(values)/2]
		}
		cost := median(func(r result) float64 { return micros(r.cost) })
		if first == 0 {
			first = cost
		}
		fmt.Fprintf(out, "| %s | %.2f µs | %.2f | %.0f | %.3f %% | %.0f µs | %.0f µs | %.0f µs | %.0f MiB |\n", name, cost, cost/first,
			median(func(r result) float64 { return r.perSecond }),
			median(func(r result) float64 { return 100 * r.lost }),
			median(func(r result) float64 { return micros(r.p50) }),
			median(func(r result) float64 { return micros(r.p99) }),
			median(func(r result) float64 { return micros(r.max) }),
			median(func(r result) float64 { return r.memory }))
	}
}
