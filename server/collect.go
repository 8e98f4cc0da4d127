package server

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/clusterzone/clusterzone/zones"
)

// A tallyCollector exports the sum of a Metrics' tallies.
type tallyCollector struct {
	metrics *Metrics

	queries, truncated, dropped, cookies, short, duration *prometheus.Desc
}

func newTallyCollector(m *Metrics) *tallyCollector {
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc("clusterzone_dns_"+name, help, labels, nil)
	}
	return &tallyCollector{
		metrics: m,
		queries: desc("queries_total", "Queries answered, by zone (none: outside of all), type, response code and transport.",
			"zone", "type", "rcode", "transport"),
		truncated: desc("truncated_total", "Replies with the TC bit: the client has to ask again over TCP."),
		dropped: desc("dropped_total", "Messages without a reply, by reason (short, response: no query; write: the reply could not be sent; limited: the rate limit; http: an HTTP request without a query) and transport. Of TCP, TLS and HTTPS also connections that ended before a query (proxy: no valid PROXY header; handshake: TLS failed).",
			"reason", "transport"),
		cookies: desc("cookies_total", "Queries with a DNS cookie, by what it was worth: client (no server cookie yet), valid, or bad (another server's or address's, or too old).",
			"state"),
		short:    desc("rate_limited_short_total", "Short replies (TC or BADCOOKIE) that the rate limit put in the place of others."),
		duration: desc("request_duration_seconds", "Time from the query's arrival in this program to its reply, of one query in 16, by transport; without queries that are passed on.", "transport"),
	}
}

// Describe implements prometheus.Collector.
func (c *tallyCollector) Describe(to chan<- *prometheus.Desc) {
	for _, desc := range []*prometheus.Desc{c.queries, c.truncated, c.dropped, c.cookies, c.short, c.duration} {
		to <- desc
	}
}

// Collect implements prometheus.Collector.
func (c *tallyCollector) Collect(to chan<- prometheus.Metric) {
	sum := c.metrics.sum()
	counter := func(desc *prometheus.Desc, value uint64, labels ...string) {
		to <- prometheus.MustNewConstMetric(desc, prometheus.CounterValue, float64(value), labels...)
	}
	for key, count := range sum.queries {
		zone, typ := "none", "other"
		if key.zone != "" {
			zone = key.zone.String()
		}
		if key.typ != zones.TypeNone {
			typ = key.typ.String()
		}
		counter(c.queries, count.Load(), zone, typ, key.rcode.String(), key.transport.String())
	}
	counter(c.truncated, sum.truncated.Load())
	counter(c.short, sum.short.Load())
	for state := CookieNone + 1; int(state) < cookieStates; state++ {
		counter(c.cookies, sum.cookies[state].Load(), state.String())
	}
	for transport := range Transport(transports) {
		for reason := Answered + 1; int(reason) < drops; reason++ {
			if value := sum.dropped[transport][reason].Load(); value > 0 || c.metrics.expects(transport, reason) {
				counter(c.dropped, value, reason.String(), transport.String())
			}
		}
		if c.metrics.expects(transport, Answered) {
			c.histogram(to, &sum.durations[transport], transport)
		}
	}
}

func (c *tallyCollector) histogram(to chan<- prometheus.Metric, d *durations, transport Transport) {
	count, buckets := uint64(0), make(map[float64]uint64, len(durationBounds))
	for i, bound := range durationBounds {
		count += d.buckets[i].Load()
		buckets[bound.Seconds()] = count
	}
	count += d.buckets[len(durationBounds)].Load()
	sum := time.Duration(d.sum.Load()).Seconds()
	to <- prometheus.MustNewConstHistogram(c.duration, count, sum, buckets, transport.String())
}
