package sources

import (
	"fmt"
	"slices"
	"strings"

	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/clusterzone/clusterzone/zones"
)

// Ingress returns what an Ingress claims: its rule, TLS and annotation hosts,
// pointing at its target annotation or else at its load balancer's status.
func (tr *Translator) Ingress(ing *networkingv1.Ingress, n neighbours) zones.Object {
	if ing == nil {
		return zones.Object{}
	}
	d := tr.newDraft(SourceIngress, &ing.ObjectMeta)
	r := tr.refuses(&ing.ObjectMeta)
	if r.why == "" {
		r = tr.refusesClass(ing, n)
	}
	if r.why != "" {
		scratch := tr.newDraft(SourceIngress, &ing.ObjectMeta)
		return d.refused(r, scratch.allIngressNames(ing))
	}
	d.noteOddKeys()
	d.readProperties()
	names := d.allIngressNames(ing)
	if len(names) == 0 && len(d.skipped) == 0 {
		d.skip("", zones.TypeNone, zones.ReasonNoHostname, "no rule, TLS entry or hostname annotation names a host; "+
			"set spec.rules[].host or the annotation "+tr.prefixes[0]+keyHostname)
	}
	targets, ok := targetAnnotation(d.annotations, fromTarget)
	if !ok {
		targets = readTargets(ingressStatus(ing), fromLoadBalancer)
	}
	d.wish(names, targets, wish{
		reason: zones.ReasonNoAddress, why: "status has no load-balancer address yet",
		fillable: !ok, overridden: ok,
	})
	return d.settle()
}

// allIngressNames are the names that the Ingress has of its own and, where it
// has none or both are wanted, those of the templates.
func (d *draft) allIngressNames(ing *networkingv1.Ingress) []named {
	names := d.ingressNames(ing)
	if len(names) == 0 || d.tr.options.CombineFQDNAnnotation {
		names = append(names, d.ingressTemplateNames(ing)...)
	}
	return names
}

// refusesClass compares the class with --ingress-class. A class in the spec
// decides alone, then the old annotation, then the cluster's default class.
func (tr *Translator) refusesClass(ing *networkingv1.Ingress, n neighbours) refusal {
	if len(tr.classes) == 0 {
		return refusal{}
	}
	wanted := "--ingress-class=" + strings.Join(tr.classes, ",")
	refuse := func(format string, args ...any) refusal {
		return refusal{zones.ReasonClass, fmt.Sprintf(format, args...)}
	}
	class, ok := "", false
	if ing.Spec.IngressClassName != nil && *ing.Spec.IngressClassName != "" {
		class, ok = *ing.Spec.IngressClassName, true
	} else {
		class, ok = ing.Annotations[classAnnotation]
	}
	if ok {
		if slices.Contains(tr.classes, class) {
			return refusal{}
		}
		return refuse("class %s is none of %s", quote(class), wanted)
	}
	if err := n.unreadable(KindIngressClass); err != nil {
		return refuse("the Ingress has no class, and the cluster's default is unknown, since IngressClasses can't be read: %v", err)
	}
	switch class = n.defaultClass(); {
	case class == "":
		return refuse("the Ingress has no class, and the cluster no default one; set spec.ingressClassName to one of %s", wanted)
	case !slices.Contains(tr.classes, class):
		return refuse("the Ingress has no class, and the cluster's default %s is none of %s", quote(class), wanted)
	}
	return refusal{}
}

// ingressNames returns the names that the object itself gives.
func (d *draft) ingressNames(ing *networkingv1.Ingress) []named {
	o := &d.tr.options
	var rules, tls []string
	for i := range ing.Spec.Rules {
		rules = append(rules, ing.Spec.Rules[i].Host)
	}
	for i := range ing.Spec.TLS {
		tls = append(tls, ing.Spec.TLS[i].Hosts...)
	}
	annotated := splitList(d.annotations.value(keyHostname))

	mode := d.annotations.value(keyHostnameSource)
	var noDefined, noAnnotated string
	switch strings.ToLower(mode) {
	case "":
	case "annotation-only":
		noDefined = fmt.Sprintf("the annotation %s leaves out hosts of the spec, since it is %q", keyHostnameSource, mode)
	case "defined-hosts-only":
		noAnnotated = fmt.Sprintf("the annotation %s leaves out the hostname annotation, since it is %q", keyHostnameSource, mode)
	default:
		d.note(zones.ReasonInvalidValue, fmt.Sprintf("the annotation %s is %s and has no effect; write annotation-only or defined-hosts-only",
			keyHostnameSource, quote(mode)))
	}
	var names []named
	take := func(texts []string, from, left string) {
		if left != "" {
			d.leaveOut(texts, left)
			return
		}
		names = append(names, d.parseNames(texts, from)...)
	}
	take(rules, fromRules, orFlag(noDefined, o.IgnoreIngressRulesSpec, "--ignore-ingress-rules-spec leaves out "+fromRules))
	take(tls, fromTLS, orFlag(noDefined, o.IgnoreIngressTLSSpec, "--ignore-ingress-tls-spec leaves out "+fromTLS))
	take(annotated, fromHostname, orFlag(noAnnotated, o.IgnoreHostnameAnnotation, ignoresAnnotation))
	return names
}

const ignoresAnnotation = "--ignore-hostname-annotation leaves out the hostname annotations"

func orFlag(why string, flag bool, flagWhy string) string {
	if why == "" && flag {
		return flagWhy
	}
	return why
}

// ingressTemplateNames returns the names that --fqdn-template makes.
func (d *draft) ingressTemplateNames(ing *networkingv1.Ingress) []named {
	if d.tr.fqdn == nil {
		return nil
	}
	seen := *ing
	seen.TypeMeta = metav1.TypeMeta{Kind: "Ingress", APIVersion: networkingv1.SchemeGroupVersion.String()}
	seen.ObjectMeta = templateMeta(ing.ObjectMeta)
	return d.templateNames(d.tr.fqdn, &seen, fromFQDNTemplate)
}

// templateNames runs a template that gives names.
func (d *draft) templateNames(t nameTemplates, obj any, from string) []named {
	return d.parseNames(d.templateItems(t, obj, from), from)
}

// templateItems runs a template; what fails is skipped.
func (d *draft) templateItems(t nameTemplates, obj any, from string) []string {
	items, broken, err := t.run(d.source, obj)
	if err != nil {
		d.skip("", zones.TypeNone, zones.ReasonTemplate, fmt.Sprintf("%s failed at line %s", from, clipTo(err.Error(), 4*maxQuoted)))
	}
	for _, item := range broken {
		d.skipAsked(item, zones.ReasonTemplate, fmt.Sprintf("%s gave %s, since the object lacks a value that the template prints", from, quote(item)))
	}
	return items
}

// ingressStatus lists every address and host name of the status.
func ingressStatus(ing *networkingv1.Ingress) []string {
	var texts []string
	for i := range ing.Status.LoadBalancer.Ingress {
		entry := &ing.Status.LoadBalancer.Ingress[i]
		texts = append(texts, entry.IP, entry.Hostname)
	}
	return texts
}
