package sources

import (
	"fmt"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/clusterzone/clusterzone/zones"
)

const fromGatewayAddresses = "status.addresses[] of "

// readParent reads targets and TTL of a parent that takes the route: from the
// ListenerSet's annotations, else from the Gateway's, else the Gateway's
// addresses. set is nil for a Gateway named by the route itself.
func (tr *Translator) readParent(p *routeParent, gw *gatewayv1.Gateway, set *gatewayv1.ListenerSet) {
	label := "gateway " + clip(gw.Namespace) + "/" + clip(gw.Name)
	p.targets, p.waiting = gatewayAddresses(gw, label), label+": status has no address yet"
	type annotated struct {
		label       string
		annotations annotationSet
	}
	origins := []annotated{{label, tr.annotationsOf(gw.Annotations)}}
	if set != nil {
		above := annotated{"listenerset " + clip(set.Namespace) + "/" + clip(set.Name), tr.annotationsOf(set.Annotations)}
		origins = []annotated{above, origins[0]}
	}
	for _, o := range origins {
		if !p.overridden {
			if list, ok := targetAnnotation(o.annotations, fromTarget+" of "+o.label); ok {
				p.targets, p.overridden = list, true
			}
		}
		if text := o.annotations.value(keyTTL); text != "" && !p.ttl.Set {
			ttl, err := parseTTL(text)
			if err != nil {
				p.remarks = append(p.remarks, refusal{zones.ReasonInvalidTTL, fmt.Sprintf("the ttl annotation %s of %s %v", quote(text), o.label, err)})
			}
			p.ttl = ttl
		}
	}
}

// gatewayAddresses reads the addresses of a Gateway's status. They are typed by
// their form, as external-dns has it; other types than the two of Gateway API
// mean something to their controller only.
func gatewayAddresses(gw *gatewayv1.Gateway, label string) targetList {
	var texts, problems []string
	for i := range gw.Status.Addresses {
		address := &gw.Status.Addresses[i]
		switch kind := gatewayv1.AddressType(valueOr(address.Type, "")); kind {
		case "", gatewayv1.IPAddressType, gatewayv1.HostnameAddressType:
			texts = append(texts, address.Value)
		default:
			problems = append(problems, fmt.Sprintf("%s in %s%s is of type %s, which is neither IPAddress nor Hostname",
				quote(address.Value), fromGatewayAddresses, label, quote(string(kind))))
		}
	}
	list := readTargets(texts, fromGatewayAddresses+label)
	list.problems = append(list.problems, problems...)
	list.tidy()
	return list
}
