package main

import (
	"fmt"
	"log/slog"
	"os"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/clusterzone/clusterzone/dnstap"
	"github.com/clusterzone/clusterzone/server"
)

// newTap returns the sender of --dnstap, nil where the flag is empty. identity
// tells this replica from others; without one it is the machine's name.
func newTap(log *slog.Logger, target, identity string) (*dnstap.Sender, error) {
	if target == "" {
		return nil, nil
	}
	to, err := dnstap.ParseTarget(target)
	if err != nil {
		return nil, fmt.Errorf("--dnstap=%s: %w", target, err)
	}
	if identity == "" {
		if identity, err = os.Hostname(); err != nil {
			log.Warn("dnstap messages name no server, since the machine's name is not known; give one with --nsid", "err", err)
		}
	}
	return dnstap.New(dnstap.Options{Target: to, Identity: identity, Version: "clusterzone " + programVersion(), Log: log}), nil
}

// A tap hands what the DNS server sees to a sender. It implements server.Tap.
type tap struct{ *dnstap.Sender }

// Seen queues one query with its reply.
func (t tap) Seen(s server.Seen) {
	t.Send(dnstap.Exchange{
		Client: s.Client, Server: s.Server, Protocol: s.Transport.String(), Zone: s.Zone,
		Query: s.Query, Reply: s.Reply, Came: s.Came, Sent: s.Sent,
	})
}

// A tapCollector reads the metrics of a sender when they are scraped.
type tapCollector struct {
	sender           *dnstap.Sender
	written, dropped *prometheus.Desc
}

func newTapCollector(sender *dnstap.Sender) *tapCollector {
	return &tapCollector{
		sender:  sender,
		written: prometheus.NewDesc("clusterzone_dnstap_messages_total", "dnstap messages written to the reader: one for each query and one for each reply.", nil, nil),
		dropped: prometheus.NewDesc("clusterzone_dnstap_dropped_total", "dnstap messages dropped, since the reader was slow or not there.", nil, nil),
	}
}

// Describe implements prometheus.Collector.
func (c *tapCollector) Describe(ch chan<- *prometheus.Desc) { prometheus.DescribeByCollect(c, ch) }

// Collect implements prometheus.Collector.
func (c *tapCollector) Collect(ch chan<- prometheus.Metric) {
	written, dropped := c.sender.Counts()
	ch <- prometheus.MustNewConstMetric(c.written, prometheus.CounterValue, float64(written))
	ch <- prometheus.MustNewConstMetric(c.dropped, prometheus.CounterValue, float64(dropped))
}
