//go:build unix

package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// options are what the flags say.
type options struct {
	rounds               int
	seconds              time.Duration
	rate                 int
	sizes                []int
	cases                []string
	servers              []string
	transports           []string
	program              string
	serverCPU, clientCPU int
	boost, edns          bool
	clients              int
	outstanding          int // over UDP, by all clients together
	pipelined            int // over TCP, by each client
}

func parse(args []string, errs io.Writer) (options, error) {
	var o options
	var sizes, cases, servers, transports string
	f := flag.NewFlagSet("bench", flag.ContinueOnError)
	f.SetOutput(errs)
	f.IntVar(&o.rounds, "rounds", 5, "rounds, of which the median is taken; in each, every server has its turn")
	f.DurationVar(&o.seconds, "time", 3*time.Second, "how long a server is driven in a round, in whole seconds")
	f.IntVar(&o.rate, "rate", 20_000, "queries a second while latency is measured; 0 leaves it out")
	f.StringVar(&sizes, "sizes", "1000,100000", "numbers of names in the zone")
	f.StringVar(&cases, "cases", strings.Join(caseNames, ","), "what is asked")
	f.StringVar(&servers, "servers", "clusterzone,nsd,knot,bind,echo", "servers to compare, the first with the others: clusterzone, nsd, knot, bind, coredns (which is built first: some minutes), echo")
	f.StringVar(&transports, "transports", "udp,tcp", "udp, tcp or both; over tcp only case a")
	f.StringVar(&o.program, "program", "", "clusterzone's executable (default: built from this checkout)")
	f.IntVar(&o.serverCPU, "server-cpu", 0, "processor of the servers")
	f.IntVar(&o.clientCPU, "client-cpu", 1, "processor of dnsperf")
	f.BoolVar(&o.boost, "boost", false, "as root: prefer servers and dnsperf to other work of the machine")
	f.BoolVar(&o.edns, "edns", false, "ask with EDNS")
	f.IntVar(&o.clients, "clients", 8, "client ports, or TCP connections")
	f.IntVar(&o.outstanding, "outstanding", 200, "queries that wait for an answer at most over UDP")
	f.IntVar(&o.pipelined, "pipelined", 100, "queries that wait for an answer at most on each TCP connection")
	if err := f.Parse(args); err != nil {
		return o, err
	}
	if f.NArg() > 0 || o.rounds < 1 || o.seconds < time.Second {
		return o, errors.New("give flags only, at least one round, and at least one second")
	}
	for size := range strings.SplitSeq(sizes, ",") {
		n, err := strconv.Atoi(size)
		if err != nil || n < 1000 || n > 1<<24 {
			return o, fmt.Errorf("-sizes: %q is no number from 1000 to %d", size, 1<<24)
		}
		o.sizes = append(o.sizes, n)
	}
	var err error
	o.cases, err = chosen("cases", cases, caseNames, err)
	o.servers, err = chosen("servers", servers, serverNames(), err)
	o.transports, err = chosen("transports", transports, []string{"udp", "tcp"}, err)
	return o, err
}

// chosen splits a flag's value into some of all.
func chosen(flag, text string, all []string, err error) ([]string, error) {
	names := strings.Split(text, ",")
	for _, name := range names {
		if !strings.Contains(","+strings.Join(all, ",")+",", ","+name+",") {
			err = errors.Join(err, fmt.Errorf("-%s: %q is none of %s", flag, name, strings.Join(all, ", ")))
		}
	}
	return names, err
}

func run(ctx context.Context, args []string, out, progress io.Writer) error {
	o, err := parse(args, progress)
	if err != nil {
		return err
	}
	if _, err := exec.LookPath("dnsperf"); err != nil {
		return errors.New("dnsperf is missing; apt-get install dnsperf")
	}
	dir, err := os.MkdirTemp("", "bench")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	for _, size := range o.sizes {
		if err := compare(ctx, &o, size, filepath.Join(dir, strconv.Itoa(size)), out, progress); err != nil {
			return err
		}
	}
	return nil
}

// compare runs all cases with a zone of one size.
func compare(ctx context.Context, o *options, size int, dir string, out, progress io.Writer) error {
	if err := writeZone(dir, size, queryCount); err != nil {
		return err
	}
	var all []*server
	defer func() {
		for _, s := range all {
			s.stop()
		}
	}()
	for _, name := range o.servers {
		fmt.Fprintf(progress, "starting %s with %d names\n", name, size)
		s, err := start(ctx, o, name, dir)
		if err != nil {
			return err
		}
		all = append(all, s)
		if err := s.await(ctx); err != nil {
			return err
		}
	}
	for _, transport := range o.transports {
		for _, what := range o.cases {
			if transport == "tcp" && what != "a" {
				continue
			}
			results := map[string][]result{}
			for round := range o.rounds {
				for _, s := range all {
					if !s.serves(transport) {
						continue
					}
					r, err := measure(ctx, o, s, filepath.Join(dir, what+".queries"), transport)
					if err != nil {
						return fmt.Errorf("%s, %s over %s: %w", s.name, what, transport, err)
					}
					fmt.Fprintf(progress, "%d names, %s over %s, round %d: %-11s %s\n", size, what, transport, round+1, s.name, r)
					results[s.name] = append(results[s.name], r)
				}
			}
			fmt.Fprintf(out, "\n%d names, %s over %s, medians of %d rounds:\n\n", size, caseText[what], transport, o.rounds)
			printTable(out, o.servers, results)
		}
	}
	return nil
}
