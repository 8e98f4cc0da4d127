package sources

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/clusterzone/clusterzone/zones"
)

const fromNodeName = "name of the Node"

// unreadOnMachines are the annotations that Nodes and Pods don't have, as in
// external-dns.
func unreadOnMachines() []string { return []string{keyAlias, keySetIdentifier} }

// nodeNames returns what a Node claims: its own name or those of the templates,
// pointing at its target annotation or else at its addresses. Whether it is
// ready doesn't matter, whether it is cordoned may.
func (tr *Translator) nodeNames(node *corev1.Node) zones.Object {
	if node == nil {
		return zones.Object{}
	}
	d := tr.newDraft(SourceNode, &node.ObjectMeta)
	r := tr.refusesOwn(&node.ObjectMeta)
	if r.why == "" && node.Spec.Unschedulable && tr.options.ExcludeUnschedulable {
		r = refusal{zones.ReasonNotPublished, "the Node is unschedulable, and --exclude-unschedulable leaves those out"}
	}
	seen := func() any { return templateNode(node) }
	if r.why != "" {
		scratch := tr.newDraft(SourceNode, &node.ObjectMeta)
		return d.refused(r, append(scratch.nodeOwnNames(node), scratch.allTemplateNames(seen)...))
	}
	d.noteOddKeys()
	d.noteUnread("Node", append(unreadOnMachines(), keyHostname, keyInternalHostname)...)
	d.readTTL()
	d.readReverse()
	publish := func(names []named) { d.publishNode(node, names) }
	publish(d.nodeOwnNames(node))
	d.publishTemplates(seen, publish)
	if len(d.wishes) == 0 && len(d.skipped) == 0 {
		d.skip("", zones.TypeNone, zones.ReasonNoHostname, "the templates name no host for the Node")
	}
	return d.settle()
}

// nodeOwnNames returns the Node's name as a host name, unless templates name it.
func (d *draft) nodeOwnNames(node *corev1.Node) []named {
	if (d.tr.fqdn != nil || d.tr.fqdnTarget != nil) && !d.tr.options.CombineFQDNAnnotation {
		return nil
	}
	return d.parseNames([]string{node.Name}, fromNodeName)
}

func (d *draft) publishNode(node *corev1.Node, names []named) {
	targets, ok := targetAnnotation(d.annotations, fromTarget)
	if !ok {
		one := []*corev1.Node{node}
		if nodeAddresses(one, corev1.NodeExternalIP).empty() {
			targets = nodeAddresses(one, corev1.NodeInternalIP)
		} else {
			targets = d.publicAddresses(one)
		}
	}
	d.wish(names, targets, wish{
		reason: zones.ReasonNoAddress, why: "the Node has no address of type ExternalIP or InternalIP",
		fillable: !ok, overridden: ok,
	})
}

// templateNode is the Node as templates see it.
func templateNode(node *corev1.Node) *corev1.Node {
	seen := *node
	seen.TypeMeta = metav1.TypeMeta{Kind: "Node", APIVersion: "v1"}
	seen.ObjectMeta = templateMeta(node.ObjectMeta)
	seen.Status.Conditions = nil
	return &seen
}
