package sources

import (
	"fmt"
	"strings"

	"github.com/clusterzone/clusterzone/zones"
)

// publishTemplates runs the two templates of a kind that both may name: beside
// the object's own names where they are to be combined, else in their stead
// where those give no records. seen is the object as templates see it; publish
// asks for the names of --fqdn-template.
func (d *draft) publishTemplates(seen func() any, publish func([]named)) {
	if d.tr.fqdnTarget != nil {
		d.publishInstead(func() { d.publishPairs(seen()) })
	}
	if d.tr.fqdn != nil {
		d.publishInstead(func() { publish(d.templateNames(d.tr.fqdn, seen(), fromFQDNTemplate)) })
	}
}

func (d *draft) publishInstead(publish func()) {
	switch {
	case d.tr.options.CombineFQDNAnnotation:
		publish()
	case !d.fruitful():
		d.tryOther(publish)
	}
}

// allTemplateNames returns every name that the two templates might give, for the
// Skipped of an object that is left out.
func (d *draft) allTemplateNames(seen func() any) []named {
	var names []named
	if d.tr.fqdnTarget != nil {
		for _, item := range d.templateItems(d.tr.fqdnTarget, seen(), fromFQDNTarget) {
			host, _, _ := strings.Cut(item, ":")
			names = append(names, d.parseNames([]string{strings.TrimSpace(host)}, fromFQDNTarget)...)
		}
	}
	if d.tr.fqdn != nil {
		names = append(names, d.templateNames(d.tr.fqdn, seen(), fromFQDNTemplate)...)
	}
	return names
}

// publishPairs asks for what --fqdn-target-template makes: items of host and
// target, without the object's TTL and options.
func (d *draft) publishPairs(seen any) {
	byHost := make(map[zones.Name][]string)
	var names []named
	for _, item := range d.templateItems(d.tr.fqdnTarget, seen, fromFQDNTarget) {
		host, text, ok := strings.Cut(item, ":")
		host, text = strings.TrimSpace(host), strings.TrimSpace(text)
		if !ok || host == "" {
			d.skipAsked(item, zones.ReasonTemplate, fmt.Sprintf("%s gave %s, which is not host:target", fromFQDNTarget, quote(item)))
			continue
		}
		for _, n := range d.parseNames([]string{host}, fromFQDNTarget) {
			if _, seen := byHost[n.name]; !seen {
				names = append(names, n)
			}
			byHost[n.name] = append(byHost[n.name], text)
		}
	}
	for _, n := range names {
		d.wish([]named{n}, readTargets(byHost[n.name], fromFQDNTarget), wish{
			reason: zones.ReasonNoAddress, why: fromFQDNTarget + " gave no target for the name", fillable: true, bare: true,
		})
	}
}
