package sources

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/clusterzone/clusterzone/zones"
)

// A netFilter chooses targets by network. A host name lies in no network: a
// list of wanted networks leaves it out, a list of unwanted ones doesn't. Other
// data (TXT, MX, ...) pass. The zero value takes all.
type netFilter struct{ include, exclude []netip.Prefix }

func parseNetFilter(o *Options) (f netFilter, err error) {
	if f.include, err = parseNets("--target-net-filter", o.TargetNetFilters); err != nil {
		return f, err
	}
	f.exclude, err = parseNets("--exclude-target-net", o.ExcludeTargetNets)
	return f, err
}

func parseNets(flag string, values []string) ([]netip.Prefix, error) {
	var nets []netip.Prefix
	for _, value := range splitCommas(values) {
		net, err := netip.ParsePrefix(value)
		if err != nil {
			if addr, err := netip.ParseAddr(value); err == nil {
				return nil, fmt.Errorf("%s=%s has no prefix length; write %s/%d for this address alone", flag, value, value, addr.BitLen())
			}
			return nil, fmt.Errorf("%s=%s is no network; write one like 10.0.0.0/8 or 2001:db8::/32", flag, value)
		}
		if net.Addr().Is4In6() && net.Bits() >= 96 { // addresses come unmapped
			net = netip.PrefixFrom(net.Addr().Unmap(), net.Bits()-96)
		}
		nets = append(nets, net.Masked())
	}
	return nets, nil
}

// judge says why t is not served, or "".
func (f netFilter) judge(t target) string {
	if !t.pointsAtHost() {
		return ""
	}
	holds := func(net netip.Prefix) bool { return t.addr.IsValid() && net.Contains(t.addr) }
	if len(f.include) > 0 && !slices.ContainsFunc(f.include, holds) {
		return fmt.Sprintf("%s lies in none of --target-net-filter=%s", t.text, netList(f.include))
	}
	if at := slices.IndexFunc(f.exclude, holds); at >= 0 {
		return fmt.Sprintf("%s lies in --exclude-target-net=%s", t.text, f.exclude[at])
	}
	return ""
}

// divide parts targets into those that stay and the words about the others, by type.
func (f netFilter) divide(targets []target) (kept []target, dropped map[zones.Type][]string) {
	if len(f.include) == 0 && len(f.exclude) == 0 {
		return targets, nil
	}
	dropped = make(map[zones.Type][]string)
	for _, t := range targets {
		if why := f.judge(t); why != "" {
			dropped[t.kind] = append(dropped[t.kind], why)
			continue
		}
		kept = append(kept, t)
	}
	return kept, dropped
}

func netList(nets []netip.Prefix) string {
	texts := make([]string, len(nets))
	for i, net := range nets {
		texts[i] = net.String()
	}
	return strings.Join(texts, ",")
}
