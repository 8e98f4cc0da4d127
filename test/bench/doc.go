//go:build unix

// Command bench compares DNS servers with one another: it starts clusterzone,
// NSD, Knot, BIND, CoreDNS and the bare loop of test/bench/echo with the same
// zone, each on one processor, drives them in turn with dnsperf on another one,
// and prints medians as a table in Markdown. What is compared is the time of
// the server's processor for each query, and the latency at a fixed rate.
//
// It needs Linux, Go, and of the Debian packages dnsperf, nsd, knot and bind9
// those whose servers are chosen:
//
//	go run ./test/bench -servers clusterzone,nsd,knot -sizes 1000,100000 -cases a,mix
//
// On a machine with other work, read the ratios, and run it as root with -boost,
// which gives servers and dnsperf more of the processors than the rest.
package main
