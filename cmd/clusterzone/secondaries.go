package main

import (
	"context"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/clusterzone/clusterzone/server"
	"github.com/clusterzone/clusterzone/sources"
	"github.com/clusterzone/clusterzone/zones"
)

// secondaries are what a daemon has for servers that transfer its zones; nil
// where none may.
type secondaries struct {
	journal  *zones.Journal
	notifier *server.Notifier
	store    *zones.Store
	feed     *sources.Feed
	log      *slog.Logger
	wake     chan struct{} // holds a token while flattened names may have other addresses
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
	all := &secondaries{
		journal: zones.NewJournal(s.journal, d.began),
		store:   d.pipeline.store,
		feed:    d.pipeline.feed,
		log:     d.log,
		wake:    make(chan struct{}, 1),
	}
	dns.Options.Editions = all.journal
	all.notifier = server.NewNotifier(server.NotifierOptions{
		Targets: parsed.targets, Keys: dns.Options.Keys, Editions: all.journal, Log: d.log, Metrics: dns.Metrics,
	})
	d.registry.MustRegister(newJournalCollector(all.journal))
	return all
}

// committed takes a commit in, on the feed's goroutine: a zone with a new serial
// has a new edition, and the secondaries are told.
func (s *secondaries) committed(commit zones.Commit) {
	noted := s.journal.Note(commit, s.store.Load())
	for _, flat := range noted.Missing {
		s.log.Info("a flattened name is left out of zone transfers until the addresses of its target are known",
			"name", flat.Name.String(), "target", flat.Target.String())
	}
	s.notifier.Changed(noted.Stepped)
	s.signal()
}

// SwapTargets implements resolver.Publisher: outside targets are published, and
// flattened names looked at.
func (s *secondaries) SwapTargets(targets *zones.Targets) {
	s.store.SwapTargets(targets)
	s.signal()
}

func (s *secondaries) signal() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// run tells secondaries, and steps serials where flattened names have got other
// addresses, until ctx is done.
func (s *secondaries) run(ctx context.Context) error {
	told := make(chan error, 1)
	go func() { told <- s.notifier.Run(ctx) }()
	for {
		select {
		case <-ctx.Done():
			return <-told
		case <-s.wake:
		}
		s.feed.Step(s.journal.Outdated(s.store.Load())...)
		// A serial steps once a second at most: more often there is no need to look.
		wait := time.NewTimer(time.Second)
		select {
		case <-ctx.Done():
		case <-wait.C:
		}
		wait.Stop()
	}
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
