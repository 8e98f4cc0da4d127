package main

import (
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/cobra"

	"github.com/clusterzone/clusterzone/server"
	"github.com/clusterzone/clusterzone/upstream/resolver"
	"github.com/clusterzone/clusterzone/zones"
)

// targetSettings say how targets outside of the zones are looked up.
type targetSettings struct {
	resolvers []string
	stale     time.Duration
}

// noResolver is the value of --resolver that turns lookups off.
const noResolver = "none"

// systemResolvers is the file that names the system's resolvers.
const systemResolvers = "/etc/resolv.conf"

func (s *targetSettings) add(cmd *cobra.Command) {
	f := flagsOf(cmd, groupAnswers)
	f.list(&s.resolvers, "resolver", "`address[:port]` of a recursive resolver to look up host names outside of the zones at, to which names here lead; repeatable, the next one is asked where one fails; none serves such CNAMEs without addresses (default: the system's, from "+systemResolvers+")")
	f.duration(&s.stale, "stale-targets", time.Hour, "how long the last good addresses of such a host name are served when it can't be looked up any longer; then its names are SERVFAIL")
}

// build returns a resolver that asks servers, those of servers(), and publishes
// to store; nil where nothing is to be looked up.
func (s *targetSettings) build(log *slog.Logger, store resolver.Publisher, servers []netip.AddrPort) (*resolver.Resolver, error) {
	if len(servers) == 0 {
		return nil, nil
	}
	return resolver.New(resolver.Options{Servers: servers, Stale: s.stale, Publisher: store, Log: log})
}

// An ownListen says which of the addresses that this server answers on an address
// reaches: it never asks itself.
type ownListen func(netip.AddrPort) (server.Listen, bool)

func newOwnListen(listen []server.Listen) ownListen {
	local := localAddresses()
	return func(address netip.AddrPort) (server.Listen, bool) {
		for _, own := range listen {
			if resolver.Reaches(address, netip.AddrPortFrom(own.Addr, own.Port), local) {
				return own, true
			}
		}
		return server.Listen{}, false
	}
}

// servers are the resolvers to ask; none where lookups are off.
func (s *targetSettings) servers(log *slog.Logger, ours ownListen) ([]netip.AddrPort, error) {
	if len(s.resolvers) == 0 {
		return s.system(log, ours), nil
	}
	var servers []netip.AddrPort
	for _, list := range s.resolvers {
		for text := range strings.SplitSeq(list, ",") {
			text = strings.TrimSpace(text)
			if text == noResolver {
				if len(s.resolvers) > 1 || text != list {
					return nil, fmt.Errorf("--resolver=%s excludes every other --resolver; leave one of them out", noResolver)
				}
				return nil, nil
			}
			address, err := resolver.ParseServer(text)
			if err != nil {
				return nil, fmt.Errorf("--resolver=%s: %w", list, err)
			}
			if own, is := ours(address); is {
				return nil, fmt.Errorf("--resolver=%s is this server itself, which answers on --listen=%s; name a recursive resolver, or another port", text, own)
			}
			if slices.Contains(servers, address) {
				return nil, fmt.Errorf("--resolver=%s is given twice; give each resolver once", text)
			}
			servers = append(servers, address)
		}
	}
	return servers, nil
}

// system are the system's resolvers but for this server itself. Without any,
// lookups are off: that is no reason not to serve the rest.
func (s *targetSettings) system(log *slog.Logger, ours ownListen) []netip.AddrPort {
	const off = "host names outside of the zones are not looked up: their CNAMEs are served without addresses; name a resolver with --resolver"
	file, err := os.Open(systemResolvers)
	if err != nil {
		log.Warn(off, "error", err)
		return nil
	}
	defer file.Close()
	all, err := resolver.SystemServers(file)
	if err != nil {
		log.Warn(off, "error", err)
		return nil
	}
	var servers []netip.AddrPort
	for _, address := range all {
		if own, is := ours(address); is {
			log.Warn("a resolver of the system is this server itself and is not asked", "resolver", address.String(), "listen", own.String(), "file", systemResolvers)
			continue
		}
		if !slices.Contains(servers, address) {
			servers = append(servers, address)
		}
	}
	if len(servers) == 0 {
		log.Warn(off, "file", systemResolvers)
	}
	return servers
}

// localAddresses are the machine's own addresses; none where it doesn't tell.
func localAddresses() []netip.Addr {
	interfaces, err := net.InterfaceAddrs()
	if err != nil {
		return nil
	}
	var addrs []netip.Addr
	for _, text := range interfaces {
		if prefix, err := netip.ParsePrefix(text.String()); err == nil {
			addrs = append(addrs, prefix.Addr())
		}
	}
	return addrs
}

// A targetCollector reads the metrics of outside targets when they are scraped.
// No label names a target.
type targetCollector struct {
	store    *zones.Store
	resolver *resolver.Resolver

	lookups, targets, oldest *prometheus.Desc
}

func newTargetCollector(store *zones.Store, lookups *resolver.Resolver) *targetCollector {
	return &targetCollector{
		store:    store,
		resolver: lookups,
		lookups:  prometheus.NewDesc("clusterzone_target_lookups_total", "Lookups of host names outside of the zones, by result (good, failed).", []string{"result"}, nil),
		targets:  prometheus.NewDesc("clusterzone_targets", "Host names outside of the zones that names here lead to, by state: resolved, stale (the last good addresses are served), failed, waiting (for the first lookup).", []string{"state"}, nil),
		oldest:   prometheus.NewDesc("clusterzone_target_oldest_lookup_timestamp_seconds", "When the target whose last good lookup is the oldest was looked up, of those whose addresses are served, in Unix time; 0 without any.", nil, nil),
	}
}

// Describe implements prometheus.Collector.
func (c *targetCollector) Describe(ch chan<- *prometheus.Desc) { prometheus.DescribeByCollect(c, ch) }

// Collect implements prometheus.Collector.
func (c *targetCollector) Collect(ch chan<- prometheus.Metric) {
	states := map[string]int{"resolved": 0, "stale": 0, "failed": 0, "waiting": 0}
	var oldest time.Time
	for target := range c.store.Load().Targets().All() {
		states[target.State()]++
		for _, family := range []zones.Family{target.A, target.AAAA} {
			if family.Known && (oldest.IsZero() || family.Good.Before(oldest)) {
				oldest = family.Good
			}
		}
	}
	for state, count := range states {
		ch <- prometheus.MustNewConstMetric(c.targets, prometheus.GaugeValue, float64(count), state)
	}
	seconds := 0.0
	if !oldest.IsZero() {
		seconds = float64(oldest.UnixNano()) / 1e9
	}
	ch <- prometheus.MustNewConstMetric(c.oldest, prometheus.GaugeValue, seconds)
	good, failed := c.resolver.Lookups()
	ch <- prometheus.MustNewConstMetric(c.lookups, prometheus.CounterValue, float64(good), "good")
	ch <- prometheus.MustNewConstMetric(c.lookups, prometheus.CounterValue, float64(failed), "failed")
}
