package server

import (
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/clusterzone/clusterzone/zones"
)

// Metrics count what the server does. No label holds a host name: zones are
// those of the configuration, types a fixed list. Safe for concurrent use; one
// Metrics serves one Server.
type Metrics struct {
	queries     *prometheus.CounterVec
	duration    [2]prometheus.Observer // by Transport
	truncated   prometheus.Counter
	dropped     *prometheus.CounterVec
	panics      prometheus.Counter
	connections prometheus.Gauge
	refused     *prometheus.CounterVec
	cookies     [4]prometheus.Counter // by CookieState
	short       prometheus.Counter
	transfers   transferMetrics

	mu       sync.Mutex
	resolved map[series]prometheus.Counter
}

// NewMetrics makes the metrics and registers them; with a nil registerer they
// are counted and not exported. It panics, as MustRegister does, when the
// registerer has them already.
func NewMetrics(registerer prometheus.Registerer) *Metrics {
	m := &Metrics{
		queries: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "clusterzone_dns_queries_total",
			Help: "Queries answered, by zone (none: outside of all), type, response code and transport.",
		}, []string{"zone", "type", "rcode", "transport"}),
		truncated: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "clusterzone_dns_truncated_total",
			Help: "Replies with the TC bit: the client has to ask again over TCP.",
		}),
		dropped: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "clusterzone_dns_dropped_total",
			Help: "Messages without a reply, by reason (short, response: no query; write: the reply could not be sent; limited: the rate limit) and transport.",
		}, []string{"reason", "transport"}),
		panics: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "clusterzone_dns_panics_total",
			Help: "Queries answered with SERVFAIL because of a fault in this program. Please report the log line.",
		}),
		connections: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "clusterzone_dns_tcp_connections",
			Help: "Open TCP connections.",
		}),
		refused: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "clusterzone_dns_tcp_refused_connections_total",
			Help: "TCP connections closed at once, by the limit that they hit (total, client) or stopping.",
		}, []string{"limit"}),
		short: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "clusterzone_dns_rate_limited_short_total",
			Help: "Short replies (TC or BADCOOKIE) that the rate limit put in the place of others.",
		}),
		resolved:  map[series]prometheus.Counter{},
		transfers: newTransferMetrics(),
	}
	cookies := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "clusterzone_dns_cookies_total",
		Help: "Queries with a DNS cookie, by what it was worth: client (no server cookie yet), valid, or bad (another server's or address's, or too old).",
	}, []string{"state"})
	for _, state := range []CookieState{CookieClient, CookieBad, CookieValid} {
		m.cookies[state] = cookies.WithLabelValues(state.String())
	}
	duration := prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name:    "clusterzone_dns_request_duration_seconds",
		Help:    "Time from the query's arrival in this program to its reply, by transport.",
		Buckets: []float64{.000005, .00001, .000025, .00005, .0001, .00025, .0005, .001, .005, .025, .1},
	}, []string{"transport"})
	for _, transport := range []Transport{UDP, TCP} {
		m.duration[transport] = duration.WithLabelValues(transport.String())
		for _, reason := range []Drop{DropShort, DropResponse, DropWrite} {
			m.dropped.WithLabelValues(reason.String(), transport.String())
		}
	}
	m.dropped.WithLabelValues(DropLimited.String(), UDP.String())
	for _, limit := range []string{"total", "client", "stopping"} {
		m.refused.WithLabelValues(limit)
	}
	if registerer != nil {
		registerer.MustRegister(m.queries, duration, m.truncated, m.dropped, m.panics, m.connections, m.refused,
			cookies, m.short)
		registerer.MustRegister(m.transfers.collectors()...)
	}
	return m
}

// A series is one combination of the labels of clusterzone_dns_queries_total.
type series struct {
	zone      zones.Name
	typ       zones.Type // TypeNone for all types without a label of their own
	rcode     Rcode
	transport Transport
}

func seriesOf(o Outcome) series {
	key := series{o.Zone, o.Type, o.Rcode, o.Transport}
	if !hasLabel(o.Type) {
		key.typ = zones.TypeNone
	}
	return key
}

// hasLabel lists the types that are counted by name: those that zones hold, and
// those that clients ask for on their own. The rest is "other", so that nobody
// can make series by asking.
func hasLabel(t zones.Type) bool {
	switch t {
	case zones.TypeA, zones.TypeNS, zones.TypeCNAME, zones.TypeSOA, zones.TypePTR, zones.TypeMX, zones.TypeTXT,
		zones.TypeAAAA, zones.TypeSRV, zones.TypeNAPTR, zones.TypeDNAME, zones.TypeDS, zones.TypeANY,
		typeDNSKEY, typeSVCB, typeHTTPS, typeCAA, typeAXFR, typeIXFR:
		return true
	}
	return false
}

// Types that only metrics name.
const (
	typeDNSKEY = 48
	typeSVCB   = 64
	typeHTTPS  = 65
	typeCAA    = 257
)

// counter resolves a series. Loops keep the result.
func (m *Metrics) counter(key series) prometheus.Counter {
	m.mu.Lock()
	defer m.mu.Unlock()
	if counter, ok := m.resolved[key]; ok {
		return counter
	}
	zone, typ := "none", "other"
	if key.zone != "" {
		zone = key.zone.String()
	}
	if key.typ != zones.TypeNone {
		typ = key.typ.String()
	}
	counter := m.queries.WithLabelValues(zone, typ, key.rcode.String(), key.transport.String())
	m.resolved[key] = counter
	return counter
}

func (m *Metrics) observe(o Outcome, took time.Duration) {
	m.duration[o.Transport].Observe(took.Seconds())
	if o.Truncated {
		m.truncated.Inc()
	}
	if o.Short {
		m.short.Inc()
	}
	if o.Transfer == TransferCurrent || o.Transfer == TransferDatagram {
		m.transfers.count(o.Transfer, "ok")
	}
}

func (m *Metrics) drop(transport Transport, reason Drop) {
	m.dropped.WithLabelValues(reason.String(), transport.String()).Inc()
}
