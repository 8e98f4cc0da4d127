package server

import "github.com/prometheus/client_golang/prometheus"

// transferMetrics count zone transfers and NOTIFY messages.
type transferMetrics struct {
	transfers *prometheus.CounterVec
	notifies  *prometheus.CounterVec
}

func newTransferMetrics() transferMetrics {
	m := transferMetrics{
		transfers: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "clusterzone_transfers_total",
			Help: "Answers to AXFR and IXFR that were allowed, by kind (axfr: the whole zone, ixfr: the differences, datagram: over UDP, current: nothing new) and result (ok, failed, busy: too many at once).",
		}, []string{"kind", "result"}),
		notifies: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "clusterzone_notifies_total",
			Help: "NOTIFY messages to secondaries by result: sent (each attempt), acknowledged, refused (another response code), failed (no reply to any attempt).",
		}, []string{"result"}),
	}
	for _, kind := range []TransferKind{TransferCurrent, TransferDatagram} {
		m.transfers.WithLabelValues(kind.String(), "ok")
	}
	for _, kind := range []TransferKind{TransferSteps, TransferWhole} {
		for _, result := range []string{"ok", "failed", "busy"} {
			m.transfers.WithLabelValues(kind.String(), result)
		}
	}
	for _, result := range []string{notifySent, notifyAcknowledged, notifyRefused, notifyFailed} {
		m.notifies.WithLabelValues(result)
	}
	return m
}

func (m *transferMetrics) count(kind TransferKind, result string) {
	m.transfers.WithLabelValues(kind.String(), result).Inc()
}

func (m *transferMetrics) notify(result string) { m.notifies.WithLabelValues(result).Inc() }

func (m *transferMetrics) collectors() []prometheus.Collector {
	return []prometheus.Collector{m.transfers, m.notifies}
}
