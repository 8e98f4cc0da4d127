package sources

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// Needs returns what the wanted sources must be able to read, in the order in
// which they win contests. Kinds that no translation could look at under these
// options are left out, so that nobody needs permission to read them.
func (tr *Translator) Needs() []Need {
	var needs []Need
	for _, source := range tr.sources {
		need := Need{Source: source}
		switch source {
		case SourceIngress:
			need.Kinds = []Kind{KindIngress}
			if len(tr.classes) > 0 {
				need.Kinds = append(need.Kinds, KindIngressClass)
			}
		case SourceService:
			need.Kinds = []Kind{KindService}
			// Headless Services and NodePorts look further than themselves.
			if len(tr.serviceTypes) == 0 || slices.Contains(tr.serviceTypes, corev1.ServiceTypeNodePort) ||
				slices.Contains(tr.serviceTypes, corev1.ServiceTypeClusterIP) {
				need.Kinds = append(need.Kinds, KindEndpointSlice, KindPod, KindNode)
			}
		}
		needs = append(needs, need)
	}
	return needs
}
