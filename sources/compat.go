package sources

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"github.com/clusterzone/clusterzone/zones"
)

// The annotation schemes of older controllers (--compatibility).
const (
	compatMate     = "mate"
	compatMolecule = "molecule"
	compatKops     = "kops-dns-controller"
)

// The annotations and labels of those schemes.
const (
	mateAnnotation     = "zalando.org/dnsname"
	moleculeAnnotation = "domainName"
	moleculeLabel      = "dns"
	moleculeValue      = "route53"
	kopsExternal       = "dns.alpha.kubernetes.io/external"
	kopsInternal       = "dns.alpha.kubernetes.io/internal"
	fromKopsExternal   = "annotation " + kopsExternal
	fromKopsInternal   = "annotation " + kopsInternal
	kopsNodeLabel      = "node-role.kubernetes.io/node"
)

// compatibleNames returns the names of the chosen scheme's annotations.
func (d *draft) compatibleNames(svc *corev1.Service) []named {
	values := svc.Annotations
	switch d.tr.options.Compatibility { // Pods have kops' scheme too: see podOwnNames
	case compatMate:
		return d.parseNames([]string{values[mateAnnotation]}, "annotation "+mateAnnotation)
	case compatMolecule:
		if svc.Labels[moleculeLabel] == moleculeValue {
			return d.parseNames(splitList(values[moleculeAnnotation]), "annotation "+moleculeAnnotation)
		}
	case compatKops:
		names := d.parseNames(splitList(values[kopsExternal]), fromKopsExternal)
		for _, n := range d.parseNames(splitList(values[kopsInternal]), fromKopsInternal) {
			n.internal = true
			names = append(names, n)
		}
		return names
	}
	return nil
}

// publishCompatible asks for the names of the chosen scheme's annotations, with
// the load balancer's status for targets, or for kops also a NodePort Service's
// Nodes. The object's TTL and options don't count there.
func (d *draft) publishCompatible(svc *corev1.Service, n neighbours) {
	names := d.compatibleNames(svc)
	if len(names) == 0 {
		return
	}
	kind := serviceType(svc)
	if d.tr.options.Compatibility == compatKops {
		switch kind {
		case corev1.ServiceTypeLoadBalancer:
		case corev1.ServiceTypeNodePort:
			d.publishKopsNodePort(names, n)
			return
		default:
			for _, name := range names {
				d.skip(name.name, zones.TypeNone, zones.ReasonNotPublished,
					fmt.Sprintf("--compatibility=%s publishes Services of type LoadBalancer and NodePort only", compatKops))
			}
			return
		}
	}
	d.wish(names, readTargets(serviceStatus(svc), fromLoadBalancer), wish{
		reason: zones.ReasonNoAddress, why: "status has no load-balancer address yet", fillable: true, bare: true,
	})
}

// publishKopsNodePort asks for the addresses of the Nodes that kops labels as
// workers: external or internal ones, as one of the two annotations says.
func (d *draft) publishKopsNodePort(names []named, n neighbours) {
	external, internal := splitViews(names)
	if len(external) > 0 && len(internal) > 0 {
		for _, name := range names {
			d.skip(name.name, zones.TypeNone, zones.ReasonInvalidValue,
				fmt.Sprintf("a NodePort Service may have one of the annotations %s and %s, not both; remove one", kopsExternal, kopsInternal))
		}
		return
	}
	if err := n.unreadable(KindNode); err != nil {
		d.wishUnreadable(names, KindNode, err)
		return
	}
	var workers []*corev1.Node
	for _, node := range n.nodes() {
		if _, ok := node.Labels[kopsNodeLabel]; ok {
			workers = append(workers, node)
		}
	}
	targets := d.publicAddresses(workers)
	why := "no Node with the label " + kopsNodeLabel + " has an address of type ExternalIP"
	if len(internal) > 0 {
		targets = nodeAddresses(workers, corev1.NodeInternalIP)
		why = "no Node with the label " + kopsNodeLabel + " has an address of type InternalIP"
	}
	d.wish(names, targets, wish{reason: zones.ReasonNoAddress, why: why, fillable: true, bare: true})
}
