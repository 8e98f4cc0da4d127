package sources

import (
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"

	"github.com/clusterzone/clusterzone/zones"
)

// The values of the endpoints-type annotation.
const (
	endpointsNodeExternalIP = "NodeExternalIP"
	endpointsHostIP         = "HostIP"
)

// A member is one endpoint of a headless Service.
type member struct {
	title   string // what messages call it
	label   string // the Pod's hostname; empty: no name of its own
	ready   bool
	targets targetList
	why     string // why there are no targets
}

// publishHeadless asks for each name with the addresses of all endpoints that
// count, and below it for the names of single Pods. The EndpointSlices decide
// who is an endpoint; a Pod adds its hostname, target and host addresses.
func (d *draft) publishHeadless(svc *corev1.Service, names []named, n neighbours) {
	mode := d.endpointsMode()
	if err := n.unreadable(KindEndpointSlice); err != nil {
		d.wishUnreadable(names, KindEndpointSlice, err)
		return
	}
	if err := n.unreadable(KindPod); err != nil {
		if mode == endpointsHostIP {
			d.wishUnreadable(names, KindPod, err)
			return
		}
		for _, name := range names {
			d.skip(name.name, zones.TypeNone, zones.ReasonUnreadable,
				fmt.Sprintf("hostname and target of the Pods don't count, since Pods can't be read: %v", err))
		}
	}
	if mode == endpointsNodeExternalIP {
		if err := n.unreadable(KindNode); err != nil {
			d.wishUnreadable(names, KindNode, err)
			return
		}
	}
	members, remarks := d.members(svc, mode, n)
	for _, name := range names {
		d.publishMembers(name, members)
		for _, why := range remarks {
			d.skip(name.name, zones.TypeNone, zones.ReasonInvalidTarget, why)
		}
	}
}

func (d *draft) wishUnreadable(names []named, kind Kind, err error) {
	d.wish(names, targetList{}, wish{reason: zones.ReasonUnreadable, why: fmt.Sprintf("%ss can't be read: %v", kind, err)})
}

// endpointsMode says which addresses stand for an endpoint: those of the slice
// ("") or one of the annotation's values.
func (d *draft) endpointsMode() string {
	text := d.annotations.value(keyEndpointsType)
	switch {
	case text == endpointsNodeExternalIP || text == endpointsHostIP:
		return text
	case text != "":
		d.note(zones.ReasonInvalidValue, fmt.Sprintf("the annotation %s is %s and has no effect; write %s or %s",
			keyEndpointsType, quote(text), endpointsNodeExternalIP, endpointsHostIP))
	}
	if d.tr.options.PublishHostIP {
		return endpointsHostIP
	}
	return ""
}

// members reads the endpoints of every slice. The remarks are on whole slices
// that give nothing.
func (d *draft) members(svc *corev1.Service, mode string, n neighbours) (members []member, remarks []string) {
	everyone := svc.Spec.PublishNotReadyAddresses || d.tr.options.AlwaysPublishNotReadyAddresses
	for _, slice := range n.slices(svc.Namespace, svc.Name) {
		if mode == "" && slice.AddressType == discoveryv1.AddressTypeFQDN {
			remarks = append(remarks, fmt.Sprintf("EndpointSlice %s holds addresses of type FQDN, of which no records are made", clip(slice.Name)))
			continue
		}
		for i := range slice.Endpoints {
			m := d.member(svc.Namespace, &slice.Endpoints[i], mode, n)
			m.ready = m.ready || everyone
			members = append(members, m)
		}
	}
	return members, remarks
}

func (d *draft) member(namespace string, e *discoveryv1.Endpoint, mode string, n neighbours) member {
	m := member{ready: e.Conditions.Ready == nil || *e.Conditions.Ready}
	var pod *corev1.Pod
	if ref := e.TargetRef; ref != nil && ref.Kind == "Pod" && ref.Name != "" {
		m.title = clip(ref.Name)
		pod = n.pod(namespace, ref.Name)
	} else if len(e.Addresses) > 0 {
		m.title = clip(e.Addresses[0])
	}
	if e.Hostname != nil {
		m.label = *e.Hostname
	}
	if pod != nil {
		if pod.Spec.Hostname != "" {
			m.label = pod.Spec.Hostname
		}
		if list, ok := targetAnnotation(d.tr.annotationsOf(pod.Annotations), fromPodTarget); ok {
			m.targets = list
			return m
		}
	}
	switch mode {
	case endpointsNodeExternalIP:
		m.targets, m.why = d.nodeOf(e, pod, n)
	case endpointsHostIP:
		if pod == nil {
			m.why = fmt.Sprintf("the Pod of endpoint %s is unknown, and so are its host addresses", m.title)
			break
		}
		m.targets = readTargets(hostIPs(pod), fromHostIPs)
		m.why = fmt.Sprintf("Pod %s has no host address yet", m.title)
	default:
		m.targets = readTargets(e.Addresses, fromEndpoints)
		m.why = "an endpoint has no addresses"
	}
	return m
}

// hostIPs lists the addresses of the Pod's host, of every family.
func hostIPs(pod *corev1.Pod) []string {
	if len(pod.Status.HostIPs) == 0 {
		return []string{pod.Status.HostIP}
	}
	ips := make([]string, len(pod.Status.HostIPs))
	for i, ip := range pod.Status.HostIPs {
		ips[i] = ip.IP
	}
	return ips
}

// nodeOf returns the external addresses of the Node that an endpoint runs on.
// Cordoned Nodes count: their Pods still answer.
func (d *draft) nodeOf(e *discoveryv1.Endpoint, pod *corev1.Pod, n neighbours) (targetList, string) {
	name := ""
	switch {
	case pod != nil && pod.Spec.NodeName != "":
		name = pod.Spec.NodeName
	case e.NodeName != nil:
		name = *e.NodeName
	}
	if name == "" {
		return targetList{}, "the Node of an endpoint is unknown"
	}
	node := n.node(name)
	if node == nil {
		return targetList{}, fmt.Sprintf("Node %s is unknown", clip(name))
	}
	return d.publicAddresses([]*corev1.Node{node}), fmt.Sprintf("Node %s has no address of type ExternalIP", clip(name))
}

// publishMembers asks for one name of the Service, and for the names of single
// Pods below it. Below a wildcard there are none.
func (d *draft) publishMembers(name named, members []member) {
	var all []targetList
	var whys, unready []string
	byLabel := make(map[string][]member)
	for _, m := range members {
		if m.label != "" {
			byLabel[m.label] = append(byLabel[m.label], m)
		}
		switch {
		case !m.ready:
			unready = append(unready, m.title)
		case m.targets.empty():
			whys = append(whys, m.why)
		}
		if m.ready {
			all = append(all, m.targets)
		}
	}
	slices.Sort(unready)
	unready = slices.Compact(unready)
	slices.Sort(whys)
	whys = slices.Compact(whys)

	targets := joinTargets(all...)
	w := wish{reason: zones.ReasonNoAddress, why: "the Service has no endpoints yet", fillable: true}
	switch {
	case len(whys) > 0:
		w.why = some(whys)
	case len(unready) > 0:
		w.reason, w.why = zones.ReasonNotReady, "no endpoint is ready: "+some(unready)
	}
	d.wish([]named{name}, targets, w)
	if len(targets.targets) > 0 {
		if len(whys) > 0 {
			d.skip(name.name, zones.TypeNone, zones.ReasonNoAddress, "an endpoint is left out: "+some(whys))
		}
		if len(unready) > 0 {
			d.skip(name.name, zones.TypeNone, zones.ReasonNotReady, "endpoints that are not ready are left out: "+some(unready))
		}
	}
	if name.name.IsWildcard() {
		if len(byLabel) > 0 {
			d.skip(name.name, zones.TypeNone, zones.ReasonNotPublished, "names of single Pods are not made below a wildcard")
		}
		return
	}
	for _, label := range slices.Sorted(maps.Keys(byLabel)) {
		d.publishPodName(name, label, byLabel[label])
	}
}

func (d *draft) publishPodName(name named, label string, group []member) {
	child, err := childName(label, name.name)
	if err != nil {
		d.skipAsked(label, zones.ReasonInvalidName, fmt.Sprintf("the hostname %s of a Pod or endpoint gives no name below %s: %v", quote(label), name.name, err))
		return
	}
	w := wish{reason: zones.ReasonNotReady, why: "the endpoint is not ready"}
	var all []targetList
	var whys []string
	for _, m := range group {
		if m.ready {
			all = append(all, m.targets)
			whys = append(whys, m.why)
		}
	}
	if len(whys) > 0 {
		slices.Sort(whys)
		w.reason, w.why = zones.ReasonNoAddress, some(slices.Compact(whys))
	}
	d.wish([]named{{name: child, from: fromPodHostname + name.from, internal: name.internal}}, joinTargets(all...), w)
}
