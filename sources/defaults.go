package sources

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"

	"github.com/clusterzone/clusterzone/zones"
)

// A standIn is what is put in the place of targets, or beside them, by choice
// of whoever runs the server. The zero value changes nothing.
type standIn struct {
	defaults []target
	force    bool           // instead of every address and host name, not of missing ones only
	nat64    []netip.Prefix // of 96 bits
}

func (tr *Translator) compileStandIn() error {
	o := &tr.options
	s := &tr.standIn
	for _, value := range splitCommas(o.DefaultTargets) {
		t, problem := parseTarget(value)
		if problem != "" {
			return fmt.Errorf("--default-targets=%s %s", value, problem)
		}
		s.defaults = append(s.defaults, t)
	}
	slices.SortFunc(s.defaults, target.compare)
	s.defaults = slices.Compact(s.defaults)
	if s.force = o.ForceDefaultTargets; s.force && len(s.defaults) == 0 {
		return errors.New("--force-default-targets needs --default-targets; give the targets, or leave the flag out")
	}
	for _, value := range splitCommas(o.NAT64Networks) {
		net, err := netip.ParsePrefix(value)
		if err != nil || net.Addr().Is4() || net.Bits() != 96 {
			return fmt.Errorf("--nat64-networks=%s is no IPv6 network of 96 bits; write one like 64:ff9b::/96", value)
		}
		s.nat64 = append(s.nat64, net.Masked())
	}
	if o.MinTTL != 0 {
		ttl, err := toTTL(o.MinTTL)
		if err != nil {
			return fmt.Errorf("--min-ttl=%s %w", o.MinTTL, err)
		}
		tr.minTTL = zones.TTL{Seconds: ttl.Seconds, Set: ttl.Seconds > 0}
	}
	return nil
}

// apply returns the targets to serve for w, and where they come from.
func (s *standIn) apply(w *wish) ([]target, string) {
	targets, from := w.targets, w.targetsFrom
	force := s.force && !slices.ContainsFunc(targets, func(t target) bool { return !t.pointsAtHost() })
	if len(s.defaults) > 0 && (len(targets) == 0 && w.fillable || force && (len(targets) > 0 || w.fillable || w.overridden)) {
		targets, from = s.defaults, fromDefaultTargets
	}
	return s.translate(targets), from
}

// translate adds the IPv4 address that lies in the last 32 bits of each address
// in a NAT64 network (RFC 6052 section 2.2).
func (s *standIn) translate(targets []target) []target {
	if len(s.nat64) == 0 {
		return targets
	}
	all := slices.Clone(targets)
	for _, t := range targets {
		if t.kind != zones.TypeAAAA || !slices.ContainsFunc(s.nat64, func(net netip.Prefix) bool { return net.Contains(t.addr) }) {
			continue
		}
		octets := t.addr.As16()
		addr := netip.AddrFrom4([4]byte(octets[12:]))
		all = append(all, target{kind: zones.TypeA, text: addr.String(), addr: addr})
	}
	slices.SortFunc(all, target.compare)
	return slices.Compact(all)
}
