package main

import (
	"context"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/clusterzone/clusterzone/assembly"
	"github.com/clusterzone/clusterzone/server"
	"github.com/clusterzone/clusterzone/zones"
)

// secondaries are what a daemon has for servers that transfer its zones; nil
// where none may.
type secondaries struct {
	*assembly.Editions
	notifier *server.Notifier
}

// build returns what the settings ask for, and gives it to the server.
func (s *transferSettings) build(d *daemon, parsed *transferParts) *secondaries {
	dns := d.dns
	dns.Options.Keys = server.NewTSIGKeys(parsed.keys...)
	dns.Options.AllowTransfer, dns.Transfers = parsed.rules, s.transfers
	if d.tsigFiles = newTSIGFiles(d.log, s, parsed, dns.Options.Keys); d.tsigFiles != nil {
		d.registry.MustRegister(d.tsigFiles)
	}
	if len(parsed.rules) == 0 {
		return nil
	}
	journal := zones.NewJournal(s.journal, d.began)
	all := &secondaries{Editions: assembly.NewEditions(journal, d.pipeline.store, d.pipeline.feed, d.log)}
	dns.Options.Editions = journal
	all.notifier = server.NewNotifier(server.NotifierOptions{
		Targets: parsed.targets, Keys: dns.Options.Keys, Editions: journal, Log: d.log, Metrics: dns.Metrics,
	})
	d.registry.MustRegister(newJournalCollector(journal))
	return all
}

// committed takes a commit in, on the feed's goroutine: a zone with a new serial
// has a new edition, and the secondaries are told.
func (s *secondaries) committed(commit zones.Commit) { s.notifier.Changed(s.Committed(commit)) }

// run tells secondaries, and steps serials where flattened names have got other
// addresses, until ctx is done.
func (s *secondaries) run(ctx context.Context) error {
	told := make(chan error, 1)
	go func() { told <- s.notifier.Run(ctx) }()
	s.Run(ctx)
	return <-told
}

// A journalCollector reads the size of the journals when they are scraped.
type journalCollector struct {
	journal                 *zones.Journal
	steps, records, missing *prometheus.Desc
}

func newJournalCollector(journal *zones.Journal) *journalCollector {
	return &journalCollector{
		journal: journal,
		steps:   prometheus.NewDesc("clusterzone_journal_steps", "Changes of serials that secondaries can follow by IXFR, of all zones.", nil, nil),
		records: prometheus.NewDesc("clusterzone_journal_records", "Records in these changes, SOAs included.", nil, nil),
		missing: prometheus.NewDesc("clusterzone_transfer_missing_names", "Flattened names that zone transfers leave out, because the addresses of their targets were never known.", nil, nil),
	}
}

// Describe implements prometheus.Collector.
func (c *journalCollector) Describe(ch chan<- *prometheus.Desc) {
	prometheus.DescribeByCollect(c, ch)
}

// Collect implements prometheus.Collector.
func (c *journalCollector) Collect(ch chan<- prometheus.Metric) {
	size := c.journal.Size()
	ch <- prometheus.MustNewConstMetric(c.steps, prometheus.GaugeValue, float64(size.Steps))
	ch <- prometheus.MustNewConstMetric(c.records, prometheus.GaugeValue, float64(size.Records))
	ch <- prometheus.MustNewConstMetric(c.missing, prometheus.GaugeValue, float64(size.Missing))
}
