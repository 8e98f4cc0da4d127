package sources

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/clusterzone/clusterzone/zones"
)

// The values of the access annotation.
const (
	accessPublic  = "public"
	accessPrivate = "private"
)

// publishNodePort asks for each name with the addresses of the Nodes, and for
// an SRV record for each of the Service's ports below it.
func (d *draft) publishNodePort(svc *corev1.Service, names []named, n neighbours) {
	for _, name := range names {
		d.wishPorts(svc, name)
	}
	if err := n.unreadable(KindNode); err != nil {
		d.wishUnreadable(names, KindNode, err)
		return
	}
	local := svc.Spec.ExternalTrafficPolicy == corev1.ServiceExternalTrafficPolicyLocal
	if local { // only then do Pods matter
		if err := n.unreadable(KindPod); err != nil {
			d.wishUnreadable(names, KindPod, err)
			return
		}
	}
	w := wish{reason: zones.ReasonNoAddress, fillable: true}
	var targets targetList
	var nodes []*corev1.Node
	if nodes, w.why = d.portNodes(svc, local, n); len(nodes) > 0 {
		targets, w.why = d.nodePortAddresses(nodes)
	}
	d.wish(names, targets, w)
}

// portNodes returns the Nodes through which the Service can be reached: with
// the traffic policy Local those that run its Pods, else all. why says what is
// missing where there is none.
func (d *draft) portNodes(svc *corev1.Service, local bool, n neighbours) (nodes []*corev1.Node, why string) {
	why = "there are no Nodes"
	if local {
		nodes = localNodes(n.podsMatching(svc.Namespace, svc.Spec.Selector), n)
		why = "externalTrafficPolicy is Local, and no Node runs a Pod of the Service"
	} else {
		nodes = n.nodes()
	}
	if !d.tr.options.ExcludeUnschedulable {
		return nodes, why
	}
	open := make([]*corev1.Node, 0, len(nodes))
	for _, node := range nodes {
		if !node.Spec.Unschedulable {
			open = append(open, node)
		}
	}
	if len(open) == 0 && len(nodes) > 0 {
		why = "every Node is unschedulable, and --exclude-unschedulable leaves those out"
	}
	return open, why
}

// localNodes returns the Nodes of the running Pods of the best sort that there
// is: ready; else ready but about to end; else not ready. Sorted by name.
func localNodes(pods []*corev1.Pod, n neighbours) []*corev1.Node {
	var sorts [3][]string
	for _, pod := range pods {
		if pod.Status.Phase != corev1.PodRunning || pod.Spec.NodeName == "" {
			continue
		}
		sort := 2
		if isReady(pod) {
			sort = 0
			if pod.DeletionTimestamp != nil {
				sort = 1
			}
		}
		sorts[sort] = append(sorts[sort], pod.Spec.NodeName)
	}
	for _, names := range sorts {
		slices.Sort(names)
		var nodes []*corev1.Node
		for _, name := range slices.Compact(names) {
			if node := n.node(name); node != nil {
				nodes = append(nodes, node)
			}
		}
		if len(names) > 0 {
			return nodes
		}
	}
	return nil
}

func isReady(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

// nodePortAddresses chooses among the Nodes' addresses: as the access
// annotation says, else the external ones if any Node has one, else the
// internal ones.
func (d *draft) nodePortAddresses(nodes []*corev1.Node) (targets targetList, why string) {
	switch access := d.annotations.value(keyAccess); {
	case access == accessPublic:
		return d.publicAddresses(nodes), `no Node has an address of type ExternalIP, and the access annotation is "public"`
	case access == accessPrivate:
		return nodeAddresses(nodes, corev1.NodeInternalIP), `no Node has an address of type InternalIP, and the access annotation is "private"`
	case access != "":
		d.note(zones.ReasonInvalidValue, fmt.Sprintf(`the annotation %s is %s and has no effect; write "public" or "private"`, keyAccess, quote(access)))
	}
	if !nodeAddresses(nodes, corev1.NodeExternalIP).empty() {
		return d.publicAddresses(nodes), ""
	}
	return nodeAddresses(nodes, corev1.NodeInternalIP), "no Node has an address of type ExternalIP or InternalIP"
}

// publicAddresses are those of type ExternalIP, and with --expose-internal-ipv6
// the internal IPv6 ones, which are often public.
func (d *draft) publicAddresses(nodes []*corev1.Node) targetList {
	if !d.tr.options.ExposeInternalIPv6 {
		return nodeAddresses(nodes, corev1.NodeExternalIP)
	}
	return externalAndIPv6(nodes)
}

func externalAndIPv6(nodes []*corev1.Node) targetList {
	external := nodeAddresses(nodes, corev1.NodeExternalIP)
	internal := nodeAddresses(nodes, corev1.NodeInternalIP)
	internal.targets = slices.DeleteFunc(internal.targets, func(t target) bool { return t.kind != zones.TypeAAAA })
	internal.problems = nil
	return joinTargets(external, internal)
}

// nodeAddresses reads the Nodes' addresses of one type.
func nodeAddresses(nodes []*corev1.Node, kind corev1.NodeAddressType) targetList {
	var texts []string
	for _, node := range nodes {
		for _, address := range node.Status.Addresses {
			if address.Type == kind {
				texts = append(texts, address.Address)
			}
		}
	}
	return readTargets(texts, fromNodeAddresses)
}

// wishPorts asks for the SRV records of a name (RFC 2782): one for each port
// that Nodes listen on, all ports of a protocol in one set. A wildcard has none,
// since a name below an asterisk is nobody's.
func (d *draft) wishPorts(svc *corev1.Service, name named) {
	for _, port := range svc.Spec.Ports {
		if port.NodePort <= 0 || port.NodePort > 65535 {
			continue
		}
		if name.name.IsWildcard() {
			d.skip(name.name, zones.TypeSRV, zones.ReasonNotPublished, "SRV records are not made below a wildcard")
			return
		}
		protocol := strings.ToLower(string(port.Protocol))
		if protocol == "" {
			protocol = "tcp"
		}
		owner, err := childName("_"+protocol, name.name)
		if err == nil {
			owner, err = childName("_"+svc.Name, owner)
		}
		if err != nil {
			d.skipAsked(fmt.Sprintf("_%s._%s.%s", svc.Name, protocol, name.name), zones.ReasonInvalidName,
				fmt.Sprintf("the Service's name and the protocol of port %d give no name for an SRV record: %v", port.NodePort, err))
			continue
		}
		d.ports = append(d.ports, portWish{
			named: named{name: owner, from: fromServicePort + name.from, internal: name.internal},
			host:  name.name,
			data:  fmt.Sprintf("0 50 %d %s", port.NodePort, name.name.FQDN()),
		})
	}
}
