package sources

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/clusterzone/clusterzone/zones"
)

const (
	fromPodName = "name of the Pod, below --pod-source-domain"
	fromPodIPs  = "Pod status.podIPs[]"
)

func (tr *Translator) compilePods() error {
	text := tr.options.PodSourceDomain
	if text == "" {
		return nil
	}
	domain, err := zones.ParseHost(text)
	if err != nil {
		return fmt.Errorf("--pod-source-domain=%s is no domain: %w; write one like pods.example.com", text, err)
	}
	if domain.IsWildcard() {
		return fmt.Errorf("--pod-source-domain=%s is a wildcard; write a domain like pods.example.com", text)
	}
	tr.podDomain = domain
	return nil
}

// podNames returns what a Pod claims: internal-hostname and its name below
// --pod-source-domain point at its own addresses, hostname at those of its Node
// by which it is reached from outside; the target annotation comes before both.
// Phase and readiness don't matter.
func (tr *Translator) podNames(pod *corev1.Pod, n neighbours) zones.Object {
	if pod == nil {
		return zones.Object{}
	}
	d := tr.newDraft(SourcePod, &pod.ObjectMeta)
	seen := func() any { return templatePod(pod) }
	if r := tr.refuses(&pod.ObjectMeta); r.why != "" {
		scratch := tr.newDraft(SourcePod, &pod.ObjectMeta)
		names := scratch.podOwnNames(pod)
		if len(names) == 0 || tr.options.CombineFQDNAnnotation {
			names = append(names, scratch.allTemplateNames(seen)...)
		}
		return d.refused(r, names)
	}
	d.noteOddKeys()
	d.noteUnread("Pod", unreadOnMachines()...)
	d.readTTL()
	d.readReverse()
	names := d.podOwnNames(pod)
	if tr.options.IgnoreNonHostNetworkPods && !pod.Spec.HostNetwork {
		for _, name := range names {
			d.skip(name.name, zones.TypeNone, zones.ReasonNotPublished, "the Pod is not on the host's network, and --ignore-non-host-network-pods leaves those out")
		}
	} else {
		d.publishPod(pod, names, n)
	}
	d.publishTemplates(seen, func(names []named) { d.wishPodIPs(pod, names) })
	if len(d.wishes) == 0 && len(d.skipped) == 0 {
		d.skip("", zones.TypeNone, zones.ReasonNoHostname, "no annotation names a host; set the annotation "+tr.prefixes[0]+keyHostname)
	}
	return d.settle()
}

// podOwnNames returns the names of the annotations and of --pod-source-domain.
// Names for the view from inside the cluster are marked as internal.
func (d *draft) podOwnNames(pod *corev1.Pod) []named {
	names := d.parseNames(splitList(d.annotations.value(keyHostname)), fromHostname)
	inside := d.parseNames(splitList(d.annotations.value(keyInternalHostname)), fromInternalHostname)
	if d.tr.options.Compatibility == compatKops {
		for _, n := range d.parseNames(splitList(pod.Annotations[kopsExternal]), fromKopsExternal) {
			n.fixed = true
			names = append(names, n)
		}
		for _, n := range d.parseNames(splitList(pod.Annotations[kopsInternal]), fromKopsInternal) {
			n.fixed = true
			inside = append(inside, n)
		}
	}
	if d.tr.podDomain != "" {
		inside = append(inside, d.parseNames([]string{pod.Name + "." + d.tr.podDomain.String()}, fromPodName)...)
	}
	for _, n := range inside {
		n.internal = true
		names = append(names, n)
	}
	return names
}

// publishPod asks for the Pod's own names.
func (d *draft) publishPod(pod *corev1.Pod, names []named, n neighbours) {
	targets, ok := targetAnnotation(d.annotations, fromTarget)
	var outside []named
	for _, name := range names {
		switch {
		case ok && !name.fixed:
			d.wish([]named{name}, targets, wish{overridden: true})
		case name.internal:
			d.wishPodIPs(pod, []named{name})
		default:
			outside = append(outside, name)
		}
	}
	if len(outside) == 0 {
		return
	}
	if err := n.unreadable(KindNode); err != nil {
		d.wishUnreadable(outside, KindNode, err)
		return
	}
	w := wish{reason: zones.ReasonNoAddress, why: "the Pod is on no Node yet", fillable: true}
	var addresses targetList
	if name := pod.Spec.NodeName; name != "" {
		w.why = fmt.Sprintf("Node %s is unknown", clip(name))
		if node := n.node(name); node != nil {
			// An internal IPv6 address is often public: it counts without a flag.
			addresses = externalAndIPv6([]*corev1.Node{node})
			w.why = fmt.Sprintf("Node %s has no address of type ExternalIP, and no IPv6 address", clip(name))
		}
	}
	d.wish(outside, addresses, w)
}

// wishPodIPs asks for names with the Pod's own addresses, of every family.
func (d *draft) wishPodIPs(pod *corev1.Pod, names []named) {
	d.wish(names, readTargets(podIPs(pod), fromPodIPs), wish{reason: zones.ReasonNoAddress, why: "the Pod has no address yet", fillable: true})
}

func podIPs(pod *corev1.Pod) []string {
	if len(pod.Status.PodIPs) == 0 {
		return []string{pod.Status.PodIP}
	}
	ips := make([]string, len(pod.Status.PodIPs))
	for i, ip := range pod.Status.PodIPs {
		ips[i] = ip.IP
	}
	return ips
}

// templatePod is the Pod as templates see it.
func templatePod(pod *corev1.Pod) *corev1.Pod {
	seen := *pod
	seen.TypeMeta = metav1.TypeMeta{Kind: "Pod", APIVersion: "v1"}
	seen.ObjectMeta = templateMeta(pod.ObjectMeta)
	seen.Status.Conditions = nil
	return &seen
}
