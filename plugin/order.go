package plugin

import "slices"

// before are the plugins that answer for names of their own, in whose front
// clusterzone stands: a name that it leaves (fallthrough) comes to them.
var before = []string{"route53", "k8s_external", "kubernetes", "file", "forward"}

// Directives returns CoreDNS' order of plugins with clusterzone in its place:
// behind what changes, caches, signs and transfers answers, and the plugin hosts,
// which may override a name; in front of all others that have names. It changes
// nothing in order.
func Directives(order []string) []string {
	if slices.Contains(order, Name) {
		return slices.Clone(order)
	}
	for _, other := range before {
		if i := slices.Index(order, other); i >= 0 {
			return slices.Insert(slices.Clone(order), i, Name)
		}
	}
	return append(slices.Clone(order), Name)
}
