package assembly

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/clusterzone/clusterzone/sources"
	"github.com/clusterzone/clusterzone/zonefile"
	"github.com/clusterzone/clusterzone/zones"
)

// CollectorParts are what a Collector reads. All must be set but Prefix and Labels.
type CollectorParts struct {
	Store *zones.Store
	Feed  *sources.Feed
	Files *zonefile.Set
	// Prefix stands before the names of all metrics, which begin with clusterzone_.
	Prefix string
	// Labels stand on every metric.
	Labels prometheus.Labels
}

// A Collector reads the metrics of zones, claims and sources when they are
// scraped: nothing on the way of an event or a query counts for it. No label
// holds a name out of an object. It is safe for concurrent use.
type Collector struct {
	parts CollectorParts

	ready, committed, saved             *prometheus.Desc
	records, names, serial              *prometheus.Desc
	claims, skipped, held               *prometheus.Desc
	synced, objects, lastEvent, problem *prometheus.Desc
	unreadable                          *prometheus.Desc
}

// NewCollector returns a Collector, which nobody has registered.
func NewCollector(parts CollectorParts) *Collector {
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc(parts.Prefix+"clusterzone_"+name, help, labels, parts.Labels)
	}
	return &Collector{
		parts:      parts,
		ready:      desc("ready", "1 when queries get answers, 0 while the first synchronisation is waited for."),
		committed:  desc("snapshot_timestamp_seconds", "When the snapshot that is served was made, in Unix time."),
		saved:      desc("saved_state_timestamp_seconds", "When the saved state was saved that is still served in part, in Unix time; 0 when none is."),
		records:    desc("zone_records", "Records served.", "zone", "type"),
		names:      desc("zone_names", "Names that exist, empty non-terminals included.", "zone"),
		serial:     desc("zone_serial", "Serial of the zone's SOA.", "zone"),
		claims:     desc("claims", "Record sets and names that objects ask for.", "source"),
		skipped:    desc("skipped", "What objects ask for and do not get.", "source", "reason"),
		held:       desc("held_names", "Names whose records are the last good ones of objects whose status has lost the addresses."),
		synced:     desc("source_synced", "1 when the source's objects were read whole once.", "source"),
		objects:    desc("source_objects", "Objects that the source knows.", "source"),
		lastEvent:  desc("kind_last_event_timestamp_seconds", "When the last event of the kind was applied, in Unix time; 0 before the first.", "source", "kind"),
		unreadable: desc("zone_file_unreadable", "1 when the zone's file can't be read now, so that the zone stays as it was.", "zone"),
		problem:    desc("kind_unreadable", "1 when objects of the kind can't be read now.", "source", "kind"),
	}
}

// Describe implements prometheus.Collector.
func (c *Collector) Describe(ch chan<- *prometheus.Desc) {
	for _, desc := range []*prometheus.Desc{
		c.ready, c.committed, c.saved, c.records, c.names, c.serial, c.claims, c.skipped, c.held,
		c.synced, c.objects, c.lastEvent, c.problem, c.unreadable,
	} {
		ch <- desc
	}
}

// Collect implements prometheus.Collector.
func (c *Collector) Collect(ch chan<- prometheus.Metric) {
	gauge := func(desc *prometheus.Desc, value float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, value, labels...)
	}
	snap, status := c.parts.Store.Load(), c.parts.Feed.Status()
	gauge(c.ready, number(snap.Ready))
	gauge(c.committed, float64(snap.Committed.Unix()))
	saved := 0.0
	if !status.Saved.IsZero() {
		saved = float64(status.Saved.Unix())
	}
	gauge(c.saved, saved)
	for _, origin := range snap.Origins() {
		zone := snap.Zone(origin)
		gauge(c.names, float64(zone.Names()), origin.String())
		gauge(c.serial, float64(zone.Serial()), origin.String())
		for kind, count := range zone.Records() {
			gauge(c.records, float64(count), origin.String(), kind.String())
		}
	}
	counts := c.parts.Feed.Counts()
	for source, count := range counts.Claims {
		gauge(c.claims, float64(count), source)
	}
	for kind, count := range counts.Skipped {
		gauge(c.skipped, float64(count), kind.Source, string(kind.Reason))
	}
	gauge(c.held, float64(counts.Held))
	broken := map[zones.Name]bool{}
	for _, problem := range c.parts.Files.Problems() {
		broken[problem.Origin] = true
	}
	for _, origin := range c.parts.Files.Origins() {
		gauge(c.unreadable, number(broken[origin]), origin.String())
	}
	for _, source := range status.Sources {
		gauge(c.synced, number(source.Synced), source.Source)
		gauge(c.objects, float64(source.Objects), source.Source)
		for _, kind := range source.Kinds {
			last := 0.0
			if !kind.LastEvent.IsZero() {
				last = float64(kind.LastEvent.UnixNano()) / 1e9
			}
			gauge(c.lastEvent, last, source.Source, string(kind.Kind))
			gauge(c.problem, number(kind.Problem != nil), source.Source, string(kind.Kind))
		}
	}
}

func number(yes bool) float64 {
	if yes {
		return 1
	}
	return 0
}
