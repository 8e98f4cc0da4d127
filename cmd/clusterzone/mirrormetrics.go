package main

import (
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/clusterzone/clusterzone/upstream/mirror"
	"github.com/clusterzone/clusterzone/zones"
)

// A mirrorCollector reads the metrics of mirrors when they are scraped: ours, a
// mirror each, and those that external-dns has, which sum up all mirrors, so that
// alerts on them keep working.
type mirrorCollector struct {
	mirrors *mirrorSet
	theirs  map[string]*prometheus.Desc

	success, leads, owned, wanted, foreign, dangling, blocked, held *prometheus.Desc
	planned, done, quarantined, problem                             *prometheus.Desc
	changes, batches, listings, incomplete, throttled, failed       *prometheus.Desc
}

func newMirrorCollector(s *mirrorSet) *mirrorCollector {
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc("clusterzone_mirror_"+name, help, append([]string{"mirror"}, labels...), nil)
	}
	c := &mirrorCollector{
		mirrors:     s,
		theirs:      map[string]*prometheus.Desc{},
		success:     desc("last_success_timestamp_seconds", "When a complete comparison ended without an error in any zone, in Unix time; 0 before the first."),
		leads:       desc("writes", "1 when nothing stands in the way of writing, 0 while another process has the lease or the sources are waited for."),
		owned:       desc("owned_records", "Record sets in the cloud that are this instance's.", "zone", "id"),
		wanted:      desc("desired_records", "Record sets that the objects ask for.", "zone", "id"),
		foreign:     desc("foreign_records", "Record sets of managed types that are others'.", "zone", "id"),
		dangling:    desc("dangling_txt", "Ownership records of this instance without a record.", "zone", "id"),
		blocked:     desc("blocked_names", "Wishes that can't be written, since the name is another's or the cloud can't hold them.", "zone", "id"),
		held:        desc("held_changes", "Changes that a guard holds back.", "zone", "id", "reason"),
		planned:     desc("planned_names", "Names that the last comparison found to be written.", "zone", "id"),
		done:        desc("written_names", "Names of those that are written so far.", "zone", "id"),
		quarantined: desc("quarantined_names", "Names that wait, since the cloud refused their change.", "zone", "id"),
		problem:     desc("zone_failing", "1 when the last comparison left the zone, or a part of it, undone.", "zone", "id"),
		changes:     desc("changes_total", "Changes written, ownership records among them.", "action"),
		batches:     desc("batches_total", "Requests sent that write."),
		listings:    desc("listings_total", "Zones read whole."),
		incomplete:  desc("listing_incomplete_total", "Zones that could not be read whole, and were left alone."),
		throttled:   desc("rate_limited_total", "Calls that the cloud put off."),
		failed:      desc("failed_names_total", "Names whose change the cloud refused."),
	}
	for name, one := range map[string]struct {
		help   string
		labels []string
	}{
		"controller_last_sync_timestamp_seconds":           {"As external-dns has it: when the last comparison without errors ended, of the mirror that is furthest behind.", nil},
		"controller_last_reconcile_timestamp_seconds":      {"As external-dns has it: when the last comparison ended, of the mirror that is furthest behind.", nil},
		"controller_no_op_runs_total":                      {"As external-dns has it: comparisons that found nothing to write.", nil},
		"controller_consecutive_soft_errors":               {"As external-dns has it: comparisons with an error, one after the other, of the mirror that has most.", nil},
		"controller_verified_records":                      {"As external-dns has it: own records that are as wished, by type.", []string{"record_type"}},
		"registry_errors_total":                            {"As external-dns has it: listings that failed, and names that the cloud refused.", nil},
		"registry_endpoints_total":                         {"As external-dns has it: records in the clouds' zones.", nil},
		"registry_records":                                 {"As external-dns has it: own records, by type.", []string{"record_type"}},
		"registry_skipped_records_owner_mismatch_per_sync": {"As external-dns has it: wishes for names of another owner, by type and domain.", []string{"record_type", "owner", "foreign_owner", "domain"}},
		"source_endpoints_total":                           {"As external-dns has it: records that are served from the objects.", nil},
		"source_errors_total":                              {"As external-dns has it: kinds that can't be read now.", nil},
		"source_records":                                   {"As external-dns has it: records that are served from the objects, by type.", []string{"record_type"}},
	} {
		c.theirs[name] = prometheus.NewDesc("external_dns_"+name, one.help, one.labels, nil)
	}
	return c
}

// Describe implements prometheus.Collector.
func (c *mirrorCollector) Describe(ch chan<- *prometheus.Desc) { prometheus.DescribeByCollect(c, ch) }

// Collect implements prometheus.Collector.
func (c *mirrorCollector) Collect(ch chan<- prometheus.Metric) {
	put := func(desc *prometheus.Desc, kind prometheus.ValueType, value float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(desc, kind, value, labels...)
	}
	all := c.mirrors.statuses()
	for i := range all {
		c.collectOne(&all[i], put)
	}
	c.collectTheirs(all, put)
}

type putMetric func(*prometheus.Desc, prometheus.ValueType, float64, ...string)

func (c *mirrorCollector) collectOne(s *mirror.Status, put putMetric) {
	gauge, counter := prometheus.GaugeValue, prometheus.CounterValue
	put(c.success, gauge, unix(s.LastSuccess), s.Name)
	put(c.leads, gauge, number(s.Waiting == ""), s.Name)
	for verb, count := range s.Counts.Applied {
		put(c.changes, counter, float64(count), s.Name, string(verb))
	}
	put(c.batches, counter, float64(s.Counts.Batches), s.Name)
	put(c.listings, counter, float64(s.Counts.Listings), s.Name)
	put(c.incomplete, counter, float64(s.Counts.Incomplete), s.Name)
	put(c.throttled, counter, float64(s.Counts.Throttled), s.Name)
	put(c.failed, counter, float64(s.Counts.Failed), s.Name)
	for i := range s.Zones {
		z := &s.Zones[i]
		for desc, value := range map[*prometheus.Desc]int{
			c.owned: z.Owned, c.wanted: z.Wanted, c.foreign: z.Foreign, c.dangling: z.Dangling, c.blocked: len(z.Blocked),
			c.planned: z.Planned, c.done: z.Done, c.quarantined: z.Quarantined,
		} {
			put(desc, gauge, float64(value), s.Name, z.Zone.String(), z.ID)
		}
		put(c.problem, gauge, number(z.Problem != ""), s.Name, z.Zone.String(), z.ID)
		for guard, count := range z.HeldBy() {
			put(c.held, gauge, float64(count), s.Name, z.Zone.String(), z.ID, string(guard))
		}
	}
}

// collectTheirs sums up: the timestamps are those of the mirror that is furthest
// behind, since one that stands still is what their alerts look for.
func (c *mirrorCollector) collectTheirs(all []mirror.Status, put putMetric) {
	gauge, counter := prometheus.GaugeValue, prometheus.CounterValue
	var noop, failures, soft uint64
	var records int
	var sync, reconcile time.Time
	verified, owned := map[zones.Type]int{}, map[zones.Type]int{}
	mismatches := map[[4]string]int{}
	for i := range all {
		s := &all[i]
		if i == 0 || s.LastSuccess.Before(sync) {
			sync = s.LastSuccess
		}
		if i == 0 || s.LastCycle.Before(reconcile) {
			reconcile = s.LastCycle
		}
		noop += s.Counts.NoChanges
		failures += s.Counts.Incomplete + s.Counts.Failed
		soft = max(soft, s.Counts.SoftErrors)
		for j := range s.Zones {
			z := &s.Zones[j]
			records += z.Records
			for t, n := range z.Verified {
				verified[t] += n
			}
			for t, n := range z.OwnedTypes {
				owned[t] += n
			}
			for _, b := range z.Blocked {
				if b.Owner != "" {
					mismatches[[4]string{b.Type.String(), s.Owner, b.Owner, z.Zone.String()}]++
				}
			}
		}
	}
	put(c.theirs["controller_last_sync_timestamp_seconds"], gauge, unix(sync))
	put(c.theirs["controller_last_reconcile_timestamp_seconds"], gauge, unix(reconcile))
	put(c.theirs["controller_no_op_runs_total"], counter, float64(noop))
	put(c.theirs["controller_consecutive_soft_errors"], gauge, float64(soft))
	put(c.theirs["registry_errors_total"], counter, float64(failures))
	put(c.theirs["registry_endpoints_total"], gauge, float64(records))
	for t, n := range verified {
		put(c.theirs["controller_verified_records"], gauge, float64(n), strings.ToLower(t.String()))
	}
	for t, n := range owned {
		put(c.theirs["registry_records"], gauge, float64(n), strings.ToLower(t.String()))
	}
	for labels, n := range mismatches {
		labels[0] = strings.ToLower(labels[0])
		put(c.theirs["registry_skipped_records_owner_mismatch_per_sync"], gauge, float64(n), labels[:]...)
	}
	c.collectSources(put)
}

// collectSources counts what the objects ask for by the claims that are settled.
func (c *mirrorCollector) collectSources(put putMetric) {
	feed := c.mirrors.wishes.feed
	asked := map[zones.Type]int{}
	total := 0
	for _, origin := range c.mirrors.events.pipeline.origins {
		if zone := c.mirrors.events.pipeline.store.Load().Zone(origin.Name); zone != nil {
			for t, n := range zone.Records() {
				if t != zones.TypeSOA && t != zones.TypeNS {
					asked[t] += n
					total += n
				}
			}
		}
	}
	put(c.theirs["source_endpoints_total"], prometheus.GaugeValue, float64(total))
	for t, n := range asked {
		put(c.theirs["source_records"], prometheus.GaugeValue, float64(n), strings.ToLower(t.String()))
	}
	problems := 0
	for _, source := range feed.Status().Sources {
		for _, kind := range source.Kinds {
			if kind.Problem != nil {
				problems++
			}
		}
	}
	put(c.theirs["source_errors_total"], prometheus.GaugeValue, float64(problems))
}

// unix is a moment in Unix time; 0 for none.
func unix(t time.Time) float64 {
	if t.IsZero() {
		return 0
	}
	return float64(t.UnixNano()) / 1e9
}
