package server

import (
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/clusterzone/clusterzone/zones"
)

// Metrics count what the server does. No label holds a host name: zones are
// those of the configuration, types a fixed list. Safe for concurrent use; one
// Metrics serves one Server.
//
// What queries count is counted by each worker in a tally of its own, and added
// up when it is asked for.
type Metrics struct {
	panics      prometheus.Counter
	connections prometheus.Gauge
	refused     *prometheus.CounterVec
	passed      *prometheus.CounterVec

	mu      sync.Mutex
	tallies map[*tally]struct{}
	past    *tally // of workers that are no more, and of what none has counted
	// expected: see expect; by reason, with Answered for the transport itself.
	expected [transports][drops]bool
}

// NewMetrics makes the metrics and registers them; with a nil registerer they
// are counted and not exported. It panics, as MustRegister does, when the
// registerer has them already.
func NewMetrics(registerer prometheus.Registerer) *Metrics {
	m := &Metrics{
		panics: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "clusterzone_dns_panics_total",
			Help: "Queries answered with SERVFAIL because of a fault in this program. Please report the log line.",
		}),
		connections: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "clusterzone_dns_tcp_connections",
			Help: "Open connections over TCP, TLS and HTTPS.",
		}),
		refused: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "clusterzone_dns_tcp_refused_connections_total",
			Help: "Connections over TCP, TLS and HTTPS closed at once, by the limit that they hit (total, client) or stopping.",
		}, []string{"limit"}),
		passed: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "clusterzone_dns_passed_on_total",
			Help: "Queries passed on to another resolver, by zone and result: answered, or why they got SERVFAIL (unreachable, network, loop, busy).",
		}, []string{"zone", "result"}),
		tallies: map[*tally]struct{}{},
		past:    newTally(),
	}
	m.expect(UDP, DropLimited)
	m.expect(TCP)
	for _, limit := range []string{"total", "client", "stopping"} {
		m.refused.WithLabelValues(limit)
	}
	if registerer != nil {
		registerer.MustRegister(m.panics, m.connections, m.refused, m.passed, newTallyCollector(m))
	}
	return m
}

// expect makes the series of a transport, which are then 0 and not missing, with
// those of drops that not all transports have.
func (m *Metrics) expect(transport Transport, drops ...Drop) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.expected[transport][Answered] = true
	for _, reason := range append(drops, DropShort, DropResponse, DropWrite) {
		m.expected[transport][reason] = true
	}
}

// expects reports whether a series of drops is shown while it is 0; with Answered,
// whether the transport is there at all.
func (m *Metrics) expects(transport Transport, reason Drop) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.expected[transport][reason]
}

// drop counts a message without a reply where no worker is at hand.
func (m *Metrics) drop(transport Transport, reason Drop) {
	m.past.dropped[transport][reason].Add(1)
}

// newTally returns a tally that is counted with the others until retire.
func (m *Metrics) newTally() *tally {
	t := newTally()
	m.mu.Lock()
	defer m.mu.Unlock()
	m.tallies[t] = struct{}{}
	return t
}

// retire keeps what t has counted and forgets t, whose worker has ended.
func (m *Metrics) retire(t *tally) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, ok := m.tallies[t]; ok {
		delete(m.tallies, t)
		t.addTo(m.past)
	}
}

// sum adds up all tallies.
func (m *Metrics) sum() *tally {
	m.mu.Lock()
	defer m.mu.Unlock()
	sum := newTally()
	m.past.addTo(sum)
	for t := range m.tallies {
		t.addTo(sum)
	}
	return sum
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
