package sources

import (
	"fmt"
	"strings"

	"github.com/clusterzone/clusterzone/zones"
)

// Where a route's names come from, in words for explain.
const (
	fromHostnames = "spec.hostnames[]"
	fromListeners = "spec.listeners[].hostname"
)

// keyGatewayHostnameSource chooses among the origins of a route's names.
const keyGatewayHostnameSource = "gateway-hostname-source"

// routeNames are the names that a route itself gives.
type routeNames struct {
	names []named
	// unbound: the listeners' hostnames have no say. The author wrote the names
	// beside the route and asked for them alone.
	unbound bool
	// fallback: nothing names a host, so the listeners' own hostnames count.
	fallback bool
	none     string // why there are no names, where there are none
}

// routeNames reads spec, template and annotation. A text that is no name has
// been skipped; it counts as naming a host all the same, so that a slip of the
// fingers publishes no listener's wildcard.
func (d *draft) routeNames(v *routeView) routeNames {
	o := &d.tr.options
	annotated := splitList(d.annotations.value(keyHostname))
	mode := d.annotations.value(keyGatewayHostnameSource)
	var noDefined, noAnnotated string
	var r routeNames
	switch strings.ToLower(mode) {
	case "":
		r.fallback = true
	case "annotation-only":
		noDefined = fmt.Sprintf("the annotation %s leaves out hosts of the spec, since it is %q", keyGatewayHostnameSource, mode)
		r.unbound = true
	case "defined-hosts-only":
		noAnnotated = fmt.Sprintf("the annotation %s leaves out the hostname annotation, since it is %q", keyGatewayHostnameSource, mode)
	default:
		r.fallback = true
		d.note(zones.ReasonInvalidValue, fmt.Sprintf("the annotation %s is %s and has no effect; write annotation-only or defined-hosts-only",
			keyGatewayHostnameSource, quote(mode)))
	}
	take := func(texts []string, from, left string) {
		if left != "" {
			d.leaveOut(texts, left)
			return
		}
		r.fallback = r.fallback && blank(texts)
		r.names = append(r.names, d.parseNames(texts, from)...)
	}
	take(v.hostnames, fromHostnames, noDefined)
	// A hostname annotation doesn't keep the template back, unlike elsewhere.
	if d.tr.fqdn != nil && noDefined == "" && (blank(v.hostnames) || o.CombineFQDNAnnotation) {
		before := len(d.skipped)
		items := d.templateItems(d.tr.fqdn, v.seen(), fromFQDNTemplate)
		r.fallback = r.fallback && len(d.skipped) == before
		take(items, fromFQDNTemplate, "")
	}
	noAnnotated = orFlag(noAnnotated, o.IgnoreHostnameAnnotation, ignoresAnnotation)
	take(annotated, fromHostname, noAnnotated)
	r.none = d.noRouteNames(v, noDefined, noAnnotated, r.fallback)
	return r
}

func blank(texts []string) bool { return strings.Join(texts, "") == "" }

// noRouteNames says why a route has no names, and how it gets one.
func (d *draft) noRouteNames(v *routeView, noDefined, noAnnotated string, fallback bool) string {
	annotation := "set the annotation " + d.tr.prefixes[0] + keyHostname
	listeners := ""
	if fallback {
		listeners = ", and the listeners have no hostname"
	}
	switch {
	case noDefined != "" && noAnnotated != "":
		return noDefined + ", and " + noAnnotated
	case noDefined != "":
		return noDefined + ", and no hostname annotation names a host; " + annotation
	case !v.hosted && noAnnotated != "":
		return "a " + string(v.kind) + " has no spec.hostnames, and " + noAnnotated + listeners
	case !v.hosted:
		return "no hostname annotation names a host, a " + string(v.kind) + " has no spec.hostnames" + listeners + "; " + annotation
	case noAnnotated != "":
		return "spec.hostnames names no host, and " + noAnnotated + listeners + "; set spec.hostnames"
	}
	return "neither spec.hostnames nor a hostname annotation names a host" + listeners + "; set spec.hostnames or the annotation " +
		d.tr.prefixes[0] + keyHostname
}
