package sources

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/clusterzone/clusterzone/zones"
)

// Service returns what a Service claims: its annotation and template names,
// pointing at its target annotation or else at what its type decides.
func (tr *Translator) Service(svc *corev1.Service, n neighbours) zones.Object {
	if svc == nil {
		return zones.Object{}
	}
	d := tr.newDraft(SourceService, &svc.ObjectMeta)
	r := tr.refuses(&svc.ObjectMeta)
	if r.why == "" {
		r = tr.refusesType(svc)
	}
	if r.why != "" {
		return d.refused(r, tr.allServiceNames(svc))
	}
	d.noteOddKeys()
	d.readProperties()
	names := d.serviceNames(svc)
	d.publish(svc, names, n)
	if !d.fruitful() {
		d.tryOther(func() { d.publishCompatible(svc, n) })
	}
	d.publishTemplates(func() any { return templateService(svc) }, func(names []named) { d.publish(svc, names, n) })
	if len(d.wishes) == 0 && len(d.skipped) == 0 {
		d.skip("", zones.TypeNone, zones.ReasonNoHostname, "no annotation names a host; set the annotation "+tr.prefixes[0]+keyHostname)
	}
	return d.settle()
}

// refusesType compares the type with --service-type-filter.
func (tr *Translator) refusesType(svc *corev1.Service) refusal {
	kind := serviceType(svc)
	if len(tr.serviceTypes) == 0 || slices.Contains(tr.serviceTypes, kind) {
		return refusal{}
	}
	texts := make([]string, len(tr.serviceTypes))
	for i, t := range tr.serviceTypes {
		texts[i] = string(t)
	}
	return refusal{zones.ReasonServiceType, fmt.Sprintf("type %s is none of --service-type-filter=%s", clip(string(kind)), strings.Join(texts, ","))}
}

// serviceType is the type, with the API server's default where none stands.
func serviceType(svc *corev1.Service) corev1.ServiceType {
	if svc.Spec.Type == "" {
		return corev1.ServiceTypeClusterIP
	}
	return svc.Spec.Type
}

// serviceNames returns the names of the two annotations.
func (d *draft) serviceNames(svc *corev1.Service) []named {
	external := splitList(d.annotations.value(keyHostname))
	internal := splitList(d.annotations.value(keyInternalHostname))
	if d.tr.options.IgnoreHostnameAnnotation {
		d.leaveOut(append(external, internal...), ignoresAnnotation)
		return nil
	}
	names := d.parseNames(external, fromHostname)
	for _, n := range d.parseNames(internal, fromInternalHostname) {
		n.internal = true
		names = append(names, n)
	}
	return names
}

// allServiceNames returns every name that the Service might have, for the
// Skipped of an object that is left out.
func (tr *Translator) allServiceNames(svc *corev1.Service) []named {
	d := tr.newDraft(SourceService, &svc.ObjectMeta)
	names := d.serviceNames(svc)
	if len(names) == 0 {
		names = append(names, d.compatibleNames(svc)...)
	}
	if len(names) == 0 || tr.options.CombineFQDNAnnotation {
		names = append(names, d.allTemplateNames(func() any { return templateService(svc) })...)
	}
	return names
}

// templateService is the Service as templates see it.
func templateService(svc *corev1.Service) *corev1.Service {
	seen := *svc
	seen.TypeMeta = metav1.TypeMeta{Kind: "Service", APIVersion: "v1"}
	seen.ObjectMeta = templateMeta(svc.ObjectMeta)
	seen.Status.Conditions = nil
	return &seen
}

// publish asks for names with the targets that the Service's type decides; a
// target annotation comes before the type.
func (d *draft) publish(svc *corev1.Service, names []named, n neighbours) {
	if len(names) == 0 {
		return
	}
	if targets, ok := targetAnnotation(d.annotations, fromTarget); ok {
		d.wish(names, targets, wish{overridden: true})
		return
	}
	external, internal := splitViews(names)
	switch kind := serviceType(svc); kind {
	case corev1.ServiceTypeLoadBalancer:
		d.wish(external, externalIPsOr(svc, readTargets(serviceStatus(svc), fromLoadBalancer)), wish{
			reason: zones.ReasonNoAddress, why: "status has no load-balancer address yet", fillable: true,
		})
		d.wishClusterIPs(svc, internal)
	case corev1.ServiceTypeClusterIP:
		switch {
		case isHeadless(svc):
			d.publishHeadless(svc, names, n)
			return
		case d.tr.options.PublishInternalServices:
			d.wishClusterIPs(svc, external)
		default:
			d.skipUnpublished(external, internal)
		}
		d.wishClusterIPs(svc, internal)
	case corev1.ServiceTypeNodePort:
		d.publishNodePort(svc, names, n)
	case corev1.ServiceTypeExternalName:
		d.wish(names, externalIPsOr(svc, readTargets([]string{svc.Spec.ExternalName}, fromExternalName)), wish{
			reason: zones.ReasonNoAddress, why: "spec.externalName is empty", fillable: true,
		})
	default:
		d.wish(names, targetList{}, wish{
			reason: zones.ReasonInvalidValue,
			why:    fmt.Sprintf("spec.type %s is no Service type; write ClusterIP, NodePort, LoadBalancer or ExternalName", quote(string(kind))),
		})
	}
}

// skipUnpublished skips the names of a ClusterIP Service for the view from
// outside, but for those that it also has for the view from inside.
func (d *draft) skipUnpublished(external, internal []named) {
	inside := make(map[zones.Name]bool, len(internal))
	for _, n := range internal {
		inside[n.name] = true
	}
	for _, n := range external {
		if !inside[n.name] {
			d.skip(n.name, zones.TypeNone, zones.ReasonNotPublished,
				"cluster IPs are published with --publish-internal-services only; name the host in the annotation "+d.tr.prefixes[0]+keyInternalHostname)
		}
	}
}

func splitViews(names []named) (external, internal []named) {
	for _, n := range names {
		if n.internal {
			internal = append(internal, n)
		} else {
			external = append(external, n)
		}
	}
	return external, internal
}

// externalIPsOr returns spec.externalIPs where there are any, else other.
func externalIPsOr(svc *corev1.Service, other targetList) targetList {
	if list := readTargets(svc.Spec.ExternalIPs, fromExternalIPs); !list.empty() {
		return list
	}
	return other
}

// serviceStatus lists every address and host name of the status.
func serviceStatus(svc *corev1.Service) []string {
	var texts []string
	for i := range svc.Status.LoadBalancer.Ingress {
		entry := &svc.Status.LoadBalancer.Ingress[i]
		texts = append(texts, entry.IP, entry.Hostname)
	}
	return texts
}

// clusterIPs lists the addresses of every family; a manifest may have the
// first one alone.
func clusterIPs(svc *corev1.Service) []string {
	if len(svc.Spec.ClusterIPs) > 0 {
		return svc.Spec.ClusterIPs
	}
	return []string{svc.Spec.ClusterIP}
}

func isHeadless(svc *corev1.Service) bool {
	return slices.Contains(clusterIPs(svc), corev1.ClusterIPNone)
}

func (d *draft) wishClusterIPs(svc *corev1.Service, names []named) {
	w := wish{reason: zones.ReasonNoAddress, why: "the Service has no cluster IP yet", fillable: true}
	if isHeadless(svc) {
		w.why = "the Service has no cluster IP, since spec.clusterIP is None"
		d.wish(names, targetList{}, w)
		return
	}
	d.wish(names, readTargets(clusterIPs(svc), fromClusterIPs), w)
}
