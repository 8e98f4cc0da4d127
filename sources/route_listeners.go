package sources

import (
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/clusterzone/clusterzone/zones"
)

// anyHost stands for the hostname of a listener without one: it takes any host.
const anyHost = zones.Name("")

// A routeListener is what listeners of Gateways and of ListenerSets have in
// common.
type routeListener struct {
	name     string
	hostname string
	port     int32
	protocol gatewayv1.ProtocolType
	allowed  *gatewayv1.AllowedRoutes
	// unaccepted says why a listener of a ListenerSet is not in use.
	unaccepted string
}

func gatewayListeners(gw *gatewayv1.Gateway) []routeListener {
	listeners := make([]routeListener, len(gw.Spec.Listeners))
	for i := range listeners {
		l := &gw.Spec.Listeners[i]
		listeners[i] = routeListener{
			name: string(l.Name), hostname: valueOr(l.Hostname, ""), port: int32(l.Port), protocol: l.Protocol, allowed: l.AllowedRoutes,
		}
	}
	return listeners
}

// setListeners are the listeners of a ListenerSet; unlike a Gateway's, each must
// be accepted, since the Gateway may have another that it conflicts with.
func setListeners(set *gatewayv1.ListenerSet) []routeListener {
	listeners := make([]routeListener, len(set.Spec.Listeners))
	for i := range listeners {
		l := &set.Spec.Listeners[i]
		why := "status.listeners doesn't mention it"
		for j := range set.Status.Listeners {
			if status := &set.Status.Listeners[j]; status.Name == l.Name {
				why = conditionOf(status.Conditions, string(gatewayv1.ListenerEntryConditionAccepted)).notTrue()
				break
			}
		}
		listeners[i] = routeListener{
			name: string(l.Name), hostname: valueOr(l.Hostname, ""), port: int32(l.Port), protocol: l.Protocol, allowed: l.AllowedRoutes,
			unaccepted: why,
		}
	}
	return listeners
}

// admit returns the hostnames of the listeners that take the route, or which
// check the last of them failed. home is the namespace that "Same" means.
func (v *routeView) admit(listeners []routeListener, section routeSection, home string, beside neighbours) ([]zones.Name, refusal) {
	var hosts []zones.Name
	checks := []struct {
		does string // "no listener ..."
		fail func(*routeListener) refusal
	}{
		{"is there", section.misses},
		{fmt.Sprintf("takes %ss, which need protocol %s", v.kind, v.protocolList()), v.failsProtocol},
		{fmt.Sprintf("allows %ss", v.kind), v.failsKinds},
		{"allows routes from namespace " + quote(v.meta.Namespace), func(l *routeListener) refusal { return v.failsNamespace(l, home, beside) }},
		{"is accepted by its controller", failsAccepted},
		{"has a hostname that can be served", func(l *routeListener) refusal {
			host, r := l.host()
			if r.why == "" {
				hosts = append(hosts, host)
			}
			return r
		}},
	}
	for _, check := range checks {
		var left []routeListener
		var failed refusal
		var whys []string
		for i := range listeners {
			r := check.fail(&listeners[i])
			if r.reason == "" {
				left = append(left, listeners[i])
				continue
			}
			if failed.reason == "" || r.reason == zones.ReasonUnreadable {
				failed.reason = r.reason
			}
			if r.why != "" {
				whys = append(whys, r.why)
			}
		}
		if listeners = left; len(left) > 0 {
			continue
		}
		if failed.reason == "" { // there are no listeners at all
			failed.reason = zones.ReasonListener
		}
		failed.why = section.subject() + " " + check.does
		if slices.Sort(whys); len(whys) > 0 {
			failed.why += " (" + some(slices.Compact(whys)) + ")"
		}
		return nil, failed
	}
	return hosts, refusal{}
}

func (s routeSection) misses(l *routeListener) refusal {
	if (s.name == "" || s.name == l.name) && (s.port == 0 || s.port == l.port) {
		return refusal{}
	}
	return refusal{zones.ReasonListener, fmt.Sprintf("%s on port %d", clip(l.name), l.port)}
}

func (v *routeView) failsProtocol(l *routeListener) refusal {
	if slices.Contains(v.protocols, l.protocol) {
		return refusal{}
	}
	return refusal{zones.ReasonListener, "protocol " + clip(string(l.protocol))}
}

func (v *routeView) failsKinds(l *routeListener) refusal {
	if l.allowed == nil || len(l.allowed.Kinds) == 0 {
		return refusal{}
	}
	var others []string
	for _, allowed := range l.allowed.Kinds {
		group := valueOr(allowed.Group, groupGateway)
		if group == groupGateway && Kind(allowed.Kind) == v.kind {
			return refusal{}
		}
		others = append(others, clip(string(allowed.Kind)))
	}
	slices.Sort(others)
	return refusal{zones.ReasonListener, "allowedRoutes.kinds holds " + some(others)}
}

func (v *routeView) failsNamespace(l *routeListener, home string, beside neighbours) refusal {
	var from *gatewayv1.FromNamespaces
	var chosen *metav1.LabelSelector
	if l.allowed != nil && l.allowed.Namespaces != nil {
		from, chosen = l.allowed.Namespaces.From, l.allowed.Namespaces.Selector
	}
	r := allowsNamespace(from, gatewayv1.NamespacesFromSame, chosen, home, v.meta.Namespace, beside)
	if r.why != "" {
		r.why = "allowedRoutes.namespaces.from " + r.why
	}
	return r
}

func failsAccepted(l *routeListener) refusal {
	if l.unaccepted == "" {
		return refusal{}
	}
	return refusal{zones.ReasonNotAccepted, clip(l.name) + ": " + l.unaccepted}
}

// host reads the listener's hostname; without one it is anyHost.
func (l *routeListener) host() (zones.Name, refusal) {
	if l.hostname == "" {
		return anyHost, refusal{}
	}
	host, err := zones.ParseHost(l.hostname)
	if err != nil {
		return "", refusal{zones.ReasonListener, fmt.Sprintf("hostname %s: %v", quote(l.hostname), err)}
	}
	return host, refusal{}
}

// commonHost returns what a route's name and a listener's hostname have in
// common, the more specific of the two, or the zero Name. A wildcard takes names
// of any depth below it, but not the name that it stands under (the comment on
// HTTPRouteSpec.Hostnames in Gateway API).
func commonHost(name, host zones.Name) zones.Name {
	switch {
	case host == anyHost, name == host, covers(host, name):
		return name
	case covers(name, host):
		return host
	}
	return ""
}

func covers(wildcard, name zones.Name) bool {
	return wildcard.IsWildcard() && name != wildcard.Parent() && name.In(wildcard.Parent())
}
