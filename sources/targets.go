package sources

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/clusterzone/clusterzone/zones"
)

// Where targets come from, in words for explain.
const (
	fromTarget         = "target annotation"
	fromLoadBalancer   = "status.loadBalancer.ingress[]"
	fromExternalIPs    = "spec.externalIPs[]"
	fromClusterIPs     = "spec.clusterIPs[]"
	fromExternalName   = "spec.externalName"
	fromEndpoints      = "EndpointSlice addresses"
	fromHostIPs        = "Pod status.hostIPs[]"
	fromNodeAddresses  = "Node status.addresses[]"
	fromPodTarget      = "target annotation of the Pod"
	fromNodePorts      = "spec.ports[].nodePort"
	fromDefaultTargets = "--default-targets"
)

// A target is one thing that a name can point at.
type target struct {
	kind zones.Type // A, AAAA or CNAME; of a DNSEndpoint any
	text string     // canonical: RFC 5952, or a host name without final dot
	addr netip.Addr // the zero Addr where it is no address
}

// pointsAtHost reports whether t is an address or alias, for which another one
// could stand.
func (t target) pointsAtHost() bool {
	return t.kind == zones.TypeA || t.kind == zones.TypeAAAA || t.kind == zones.TypeCNAME
}

func (t target) compare(other target) int {
	return cmp.Or(cmp.Compare(t.kind, other.kind), cmp.Compare(t.text, other.text))
}

// A targetList is what an origin gives: its targets, sorted and without
// duplicates, and what of it is no target, in words.
type targetList struct {
	targets  []target
	problems []string
	from     string
}

// empty reports that the origin gave nothing, neither targets nor problems.
func (l targetList) empty() bool { return len(l.targets) == 0 && len(l.problems) == 0 }

// joinTargets unites lists of several origins. Where none gives anything, it is
// awaited from all of them.
func joinTargets(lists ...targetList) targetList {
	var all targetList
	var origins []string
	nothing := !slices.ContainsFunc(lists, func(l targetList) bool { return !l.empty() })
	for _, l := range lists {
		all.targets = append(all.targets, l.targets...)
		all.problems = append(all.problems, l.problems...)
		if nothing || !l.empty() {
			origins = append(origins, l.from)
		}
	}
	slices.Sort(origins)
	all.from = strings.Join(slices.Compact(origins), ", ")
	all.tidy()
	return all
}

func (l *targetList) tidy() {
	slices.SortFunc(l.targets, target.compare)
	l.targets = slices.Compact(l.targets)
	slices.Sort(l.problems)
	l.problems = slices.Compact(l.problems)
}

// readTargets reads texts that stand at from. Empty texts count for nothing.
func readTargets(texts []string, from string) targetList {
	list := targetList{from: from}
	for _, text := range texts {
		if text == "" {
			continue
		}
		t, problem := parseTarget(text)
		if problem != "" {
			list.problems = append(list.problems, fmt.Sprintf("%s in %s %s", quote(text), place(from), problem))
			continue
		}
		list.targets = append(list.targets, t)
	}
	list.tidy()
	return list
}

// parseTarget types a target by its form: an IPv4 address is A (an IPv4-mapped
// one too), an IPv6 address AAAA, a host name CNAME. One final dot is cut. What
// looks like a mistyped address is no host name. The problem, "" where there is
// none, follows the quoted text and its place.
func parseTarget(text string) (t target, problem string) {
	text = strings.TrimSuffix(text, ".")
	if addr, err := netip.ParseAddr(text); err == nil {
		if addr.Zone() != "" {
			return target{}, fmt.Sprintf("has a zone; write the address without it, as %s", addr.WithZone(""))
		}
		addr = addr.Unmap()
		kind := zones.TypeAAAA
		if addr.Is4() {
			kind = zones.TypeA
		}
		return target{kind: kind, text: addr.String(), addr: addr}, ""
	}
	if problem := mistypedAddress(text); problem != "" {
		return target{}, problem
	}
	name, err := zones.ParseHost(text)
	if err != nil {
		return target{}, fmt.Sprintf("is no address and no host name: %v; write an IP address or a name like lb.example.com", err)
	}
	return target{kind: zones.TypeCNAME, text: name.String()}, ""
}

// mistypedAddress says what is wrong with text that was meant as an address:
// one of digits and dots, with a colon, or with a prefix length.
func mistypedAddress(text string) string {
	if port, err := netip.ParseAddrPort(text); err == nil {
		return fmt.Sprintf("has a port, which address records can't hold; write %s", port.Addr().Unmap().WithZone(""))
	}
	if prefix, err := netip.ParsePrefix(text); err == nil {
		return fmt.Sprintf("is a network; write an address like %s", prefix.Addr())
	}
	inner := strings.TrimSuffix(strings.TrimPrefix(text, "["), "]")
	if addr, err := netip.ParseAddr(inner); err == nil && inner != text {
		return fmt.Sprintf("is no address; write it without brackets, as %s", addr.WithZone(""))
	}
	if strings.Contains(text, ":") {
		return "is no address and no host name; write an IPv6 address like 2001:db8::25"
	}
	if text == "" || strings.Trim(text, "0123456789.") != "" {
		return ""
	}
	return "is no address and no host name; write an IPv4 address like 10.20.0.25"
}

// targetAnnotation reads the target annotation of an object. ok is false where
// it counts as absent: missing, empty, or of separators only.
func targetAnnotation(a annotationSet, from string) (list targetList, ok bool) {
	items := splitList(a.value(keyTarget))
	if len(items) == 0 {
		return targetList{}, false
	}
	return readTargets(items, from), true
}
