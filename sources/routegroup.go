package sources

import (
	"fmt"
	"slices"
	"strings"

	routegroupv1 "github.com/szuecs/routegroup-client/apis/zalando.org/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/clusterzone/clusterzone/zones"
)

const (
	fromRouteGroupHosts  = "spec.hosts[]"
	fromRouteGroupStatus = "status.loadBalancer.routegroup[]"

	routeGroupClassAnnotation = "zalando.org/routegroup.class"
)

// routeGroup returns what a Skipper RouteGroup claims: its hosts and those of
// its hostname annotation, pointing at its target annotation or else at its load
// balancer's status. Hosts of spec.tls[] only choose certificates. What kind of
// balancer it is (zalando.org/aws-load-balancer-type) and whether that has IPv6
// (alb.ingress.kubernetes.io/ip-address-type) is the balancer's own name's to
// say: a CNAME promises neither family.
func (tr *Translator) routeGroup(rg *routegroupv1.RouteGroup) zones.Object {
	if rg == nil {
		return zones.Object{}
	}
	d := tr.newDraft(SourceRouteGroup, &rg.ObjectMeta)
	r := tr.refuses(&rg.ObjectMeta)
	if r.why == "" {
		r = tr.refusesRouteGroupClass(rg)
	}
	if r.why != "" {
		return d.refused(r, tr.newDraft(SourceRouteGroup, &rg.ObjectMeta).routeGroupNames(rg))
	}
	d.noteOddKeys()
	d.noteUnread("RouteGroup", keyHostnameSource)
	d.readProperties()
	names := d.routeGroupNames(rg)
	if len(names) == 0 && len(d.skipped) == 0 {
		d.skip("", zones.TypeNone, zones.ReasonNoHostname, "no host is named; set spec.hosts or the annotation "+tr.prefixes[0]+keyHostname)
	}
	targets, ok := targetAnnotation(d.annotations, fromTarget)
	if !ok {
		targets = readTargets(routeGroupStatus(rg), fromRouteGroupStatus)
	}
	d.wish(names, targets, wish{
		reason: zones.ReasonNoAddress, why: "status has no load-balancer address yet",
		fillable: !ok, overridden: ok,
	})
	return d.settle()
}

// refusesRouteGroupClass compares the class annotation with --routegroup-class.
// Without a class (or with an empty one) the object belongs to every class:
// Skipper serves it whatever its own class, so it must have its names.
func (tr *Translator) refusesRouteGroupClass(rg *routegroupv1.RouteGroup) refusal {
	class := rg.Annotations[routeGroupClassAnnotation]
	if len(tr.routeGroupClasses) == 0 || class == "" || slices.Contains(tr.routeGroupClasses, class) {
		return refusal{}
	}
	return refusal{zones.ReasonClass, fmt.Sprintf("class %s is none of --routegroup-class=%s", quote(class), strings.Join(tr.routeGroupClasses, ","))}
}

// routeGroupNames returns all names: the object's own, and those that
// --fqdn-template makes where it has none or both are wanted.
func (d *draft) routeGroupNames(rg *routegroupv1.RouteGroup) []named {
	names := d.parseNames(rg.Spec.Hosts, fromRouteGroupHosts)
	annotated := splitList(d.annotations.value(keyHostname))
	if d.tr.options.IgnoreHostnameAnnotation {
		d.leaveOut(annotated, ignoresAnnotation)
	} else {
		names = append(names, d.parseNames(annotated, fromHostname)...)
	}
	if d.tr.fqdn == nil || len(names) > 0 && !d.tr.options.CombineFQDNAnnotation {
		return names
	}
	return append(names, d.templateNames(d.tr.fqdn, templateRouteGroup(rg), fromFQDNTemplate)...)
}

// A seenRouteGroup is a RouteGroup as templates see it. Metadata is what older
// releases of external-dns called the fields that now stand at the top.
type seenRouteGroup struct {
	*routegroupv1.RouteGroup
	Metadata metav1.ObjectMeta `json:"-"`
}

func templateRouteGroup(rg *routegroupv1.RouteGroup) seenRouteGroup {
	seen := *rg
	seen.TypeMeta = metav1.TypeMeta{Kind: "RouteGroup", APIVersion: "zalando.org/v1"}
	seen.ObjectMeta = templateMeta(rg.ObjectMeta)
	return seenRouteGroup{&seen, seen.ObjectMeta}
}

// routeGroupStatus lists every address and host name of the status.
func routeGroupStatus(rg *routegroupv1.RouteGroup) []string {
	var texts []string
	for _, entry := range rg.Status.LoadBalancer.RouteGroup {
		texts = append(texts, entry.IP, entry.Hostname)
	}
	return texts
}
