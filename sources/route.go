package sources

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/clusterzone/clusterzone/zones"
)

// route returns what a route of Gateway API claims: the names that it has in
// common with the listeners that take it, pointing at its target annotation or
// else at the Gateways behind those listeners.
func (tr *Translator) route(obj metav1.Object, beside neighbours) zones.Object {
	v := viewRoute(obj)
	if v == nil {
		return zones.Object{}
	}
	d := tr.newDraft(v.source, v.meta)
	if r := tr.refuses(v.meta); r.why != "" {
		return d.refused(r, tr.newDraft(v.source, v.meta).routeNames(v).names)
	}
	d.noteOddKeys()
	d.readProperties()
	d.publishRoute(v, d.routeNames(v), tr.routeParents(v, beside))
	return d.settle()
}

// A routeGrant is one name that listeners leave to the route.
type routeGrant struct {
	named
	parents []*routeParent // those whose listeners do
}

// routeGrants are grants in the order in which they were found.
type routeGrants struct {
	list []*routeGrant
	at   map[zones.Name]*routeGrant
}

func (g *routeGrants) add(name zones.Name, from string, p *routeParent) {
	grant := g.at[name]
	switch {
	case grant == nil:
		grant = &routeGrant{named: named{name: name, from: from}}
		if g.at == nil {
			g.at = make(map[zones.Name]*routeGrant)
		}
		g.at[name] = grant
		g.list = append(g.list, grant)
	default:
		grant.from = withOrigin(grant.from, from)
	}
	if !slices.Contains(grant.parents, p) {
		grant.parents = append(grant.parents, p)
	}
}

// publishRoute asks for the names that a listener of some parent grants.
func (d *draft) publishRoute(v *routeView, asked routeNames, parents []*routeParent) {
	var open, shut []*routeParent
	for _, p := range parents {
		if p.shut.why == "" {
			open = append(open, p)
		} else {
			shut = append(shut, p)
		}
	}
	if len(open) == 0 {
		d.skipRoute(asked.names, worstOf(shut))
		return
	}
	var grants routeGrants
	for _, n := range asked.names {
		d.grantName(&grants, n, asked.unbound, open, shut)
	}
	if asked.fallback {
		for _, p := range open {
			for _, host := range p.hosts {
				if host != anyHost {
					grants.add(host, fromListeners+" of "+p.label, p)
				}
			}
		}
		if len(grants.list) == 0 {
			d.skip("", zones.TypeNone, zones.ReasonNoHostname, asked.none)
		}
	} else if len(asked.names) == 0 && len(d.skipped) == 0 {
		d.skip("", zones.TypeNone, zones.ReasonNoHostname, asked.none)
	}
	for _, grant := range grants.list {
		d.wishRoute(grant)
		for _, p := range shut {
			if p.shut.reason != zones.ReasonNotPublished {
				d.skip(grant.name, zones.TypeNone, p.shut.reason, p.sentence())
			}
		}
	}
}

// grantName asks the open parents for one name. A wildcard that is wider than
// the listeners' hostnames becomes those.
func (d *draft) grantName(grants *routeGrants, n named, unbound bool, open, shut []*routeParent) {
	var common []zones.Name
	for _, p := range open {
		for _, host := range p.hosts {
			name := n.name
			if !unbound {
				name = commonHost(n.name, host)
			}
			if name != "" {
				grants.add(name, n.from, p)
				common = append(common, name)
			}
		}
	}
	switch {
	case len(common) == 0:
		var misses []string
		for _, p := range open {
			misses = append(misses, p.label+": "+p.section.subject()+" has a hostname that covers the name ("+some(hostTexts(p.hosts))+")")
		}
		for _, p := range shut {
			misses = append(misses, p.sentence())
		}
		d.skipRoute([]named{n}, refusal{zones.ReasonListener, listProblems(misses)})
	case !slices.Contains(common, n.name):
		d.skip(n.name, zones.TypeNone, zones.ReasonNotPublished, "the listeners' hostnames narrow the wildcard to "+some(hostTexts(common))+
			"; to publish it whole, set the annotations "+d.tr.prefixes[0]+keyHostname+" and "+keyGatewayHostnameSource+": annotation-only")
	}
}

// hostTexts prints names in order, each once.
func hostTexts(names []zones.Name) []string {
	names = slices.Clone(names)
	slices.SortFunc(names, zones.Name.Compare)
	var texts []string
	for _, name := range slices.Compact(names) {
		texts = append(texts, name.String())
	}
	return texts
}

// skipRoute skips names for r, but those that the domain filter refuses for
// its reason: nobody here serves them, whatever becomes of the route.
func (d *draft) skipRoute(names []named, r refusal) {
	for _, n := range names {
		if why := d.tr.domains.judge(n.name); why != "" {
			d.skip(n.name, zones.TypeNone, zones.ReasonDomain, why)
		} else {
			d.skip(n.name, zones.TypeNone, r.reason, r.why)
		}
	}
	if len(names) == 0 {
		d.skip("", zones.TypeNone, r.reason, r.why)
	}
}

// wishRoute asks for one name: with the Route's own target annotation, else with
// what the Gateways give together.
func (d *draft) wishRoute(grant *routeGrant) {
	w := wish{reason: zones.ReasonNoAddress}
	own := d.properties
	for _, p := range grant.parents {
		if !d.ttl.Set {
			own.ttl = lowerTTL(own.ttl, p.ttl)
		}
		for _, r := range p.remarks {
			d.skip(grant.name, zones.TypeNone, r.reason, r.why)
		}
	}
	w.own = &own
	if targets, ok := targetAnnotation(d.annotations, fromTarget); ok {
		w.overridden = true
		d.wish([]named{grant.named}, targets, w)
		return
	}
	var lists []targetList
	var waiting []string
	for _, p := range grant.parents {
		lists = append(lists, p.targets)
		w.overridden = w.overridden || p.overridden
		if p.targets.empty() {
			waiting = append(waiting, p.waiting)
		}
	}
	w.fillable = !w.overridden
	slices.Sort(waiting)
	w.why = listProblems(slices.Compact(waiting))
	targets := joinTargets(lists...)
	d.wish([]named{grant.named}, targets, w)
	if len(targets.targets) > 0 && len(waiting) > 0 {
		d.skip(grant.name, zones.TypeNone, zones.ReasonNoAddress, w.why)
	}
}

func lowerTTL(a, b zones.TTL) zones.TTL {
	if !a.Set || b.Set && b.Seconds < a.Seconds {
		return b
	}
	return a
}
