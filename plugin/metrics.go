package plugin

import (
	"errors"
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/clusterzone/clusterzone/assembly"
	"github.com/clusterzone/clusterzone/upstream/resolver"
)

// metricsPrefix begins the names of the plugin's metrics, as CoreDNS has them.
const metricsPrefix = "coredns_" + Name + "_"

// A fleet is what CoreDNS' registry has of this plugin: one collector for all
// blocks, of which each stands there under its zones. During a reload two
// handlers have the same zones; the newer one counts.
type fleet struct {
	desc *prometheus.Desc

	mu     sync.Mutex
	blocks map[string]*block
}

// A block is the metrics of one handler.
type block struct {
	handler    *Handler
	collectors []prometheus.Collector
}

// register adds the handler's metrics to CoreDNS' registry: the default one,
// which the plugin prometheus serves.
func register(h *Handler) {
	f := &fleet{desc: prometheus.NewDesc(metricsPrefix+"blocks", "Blocks of the Corefile that the plugin serves.", nil, nil), blocks: map[string]*block{}}
	var there prometheus.AlreadyRegisteredError
	if err := prometheus.Register(f); errors.As(err, &there) {
		if known, ok := there.ExistingCollector.(*fleet); ok {
			f = known
		}
	} else if err != nil {
		h.log.Error("the metrics can't be registered", "error", err)
		return
	}
	labels := prometheus.Labels{"block": h.title()}
	one := &block{handler: h, collectors: []prometheus.Collector{assembly.NewCollector(assembly.CollectorParts{
		Store: h.pipeline.Store, Feed: h.pipeline.Feed, Files: h.pipeline.Files, Prefix: "coredns_", Labels: labels,
	})}}
	if h.resolver != nil {
		one.collectors = append(one.collectors, newLookups(h.resolver, labels))
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	h.fleet, f.blocks[h.title()] = f, one
}

// unregister takes the handler's metrics out, unless a newer one has its place.
func unregister(h *Handler) {
	f := h.fleet
	if f == nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if one := f.blocks[h.title()]; one != nil && one.handler == h {
		delete(f.blocks, h.title())
	}
}

// title names the block in the label of its metrics: its first zone, which no
// other block has.
func (h *Handler) title() string { return h.pipeline.Origins[0].Name.String() }

// Describe implements prometheus.Collector.
func (f *fleet) Describe(ch chan<- *prometheus.Desc) { ch <- f.desc }

// Collect implements prometheus.Collector.
func (f *fleet) Collect(ch chan<- prometheus.Metric) {
	f.mu.Lock()
	defer f.mu.Unlock()
	ch <- prometheus.MustNewConstMetric(f.desc, prometheus.GaugeValue, float64(len(f.blocks)))
	for _, one := range f.blocks {
		for _, collector := range one.collectors {
			collector.Collect(ch)
		}
	}
}

// lookups counts what the resolver does.
type lookups struct {
	resolver *resolver.Resolver
	desc     *prometheus.Desc
}

func newLookups(r *resolver.Resolver, labels prometheus.Labels) lookups {
	return lookups{r, prometheus.NewDesc(metricsPrefix+"target_lookups_total", "Lookups of host names outside of the zones, by result (good, failed).", []string{"result"}, labels)}
}

// Describe implements prometheus.Collector.
func (l lookups) Describe(ch chan<- *prometheus.Desc) { ch <- l.desc }

// Collect implements prometheus.Collector.
func (l lookups) Collect(ch chan<- prometheus.Metric) {
	good, failed := l.resolver.Lookups()
	ch <- prometheus.MustNewConstMetric(l.desc, prometheus.CounterValue, float64(good), "good")
	ch <- prometheus.MustNewConstMetric(l.desc, prometheus.CounterValue, float64(failed), "failed")
}
