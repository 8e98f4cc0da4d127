package sources

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/clusterzone/clusterzone/zones"
)

// A parentRef is a reference to a route's parent with all defaults filled in,
// so that references can be compared.
type parentRef struct {
	group           string
	kind            Kind
	namespace, name string
	section         routeSection
}

// A routeSection narrows a reference to some listeners; the zero value means all.
type routeSection struct {
	name string
	port int32
}

func readParentRef(ref *gatewayv1.ParentReference, namespace string) parentRef {
	r := parentRef{
		group:     valueOr(ref.Group, groupGateway),
		kind:      Kind(valueOr(ref.Kind, gatewayv1.Kind(KindGateway))),
		namespace: valueOr(ref.Namespace, namespace),
		name:      string(ref.Name),
		section:   routeSection{name: valueOr(ref.SectionName, "")},
	}
	// The empty group is that of Kubernetes' own kinds, which have none of ours.
	if ref.Group != nil && *ref.Group == "" && r.kind != KindGateway && r.kind != KindListenerSet {
		r.group = ""
	}
	if ref.Port != nil {
		r.section.port = int32(*ref.Port)
	}
	return r
}

// valueOr is the text behind p, or standard where there is none.
func valueOr[T ~string, S ~string](p *T, standard S) string {
	if p == nil || *p == "" {
		return string(standard)
	}
	return string(*p)
}

func (r parentRef) label() string {
	kind := strings.ToLower(string(r.kind))
	if r.group != groupGateway && r.group != "" {
		kind += "." + r.group
	}
	return clip(kind) + " " + clip(r.namespace) + "/" + clip(r.name)
}

func (r parentRef) compare(other parentRef) int {
	return cmp.Or(
		cmp.Compare(r.kind, other.kind),
		cmp.Compare(r.namespace, other.namespace),
		cmp.Compare(r.name, other.name),
		cmp.Compare(r.section.name, other.section.name),
		cmp.Compare(r.section.port, other.section.port),
		cmp.Compare(r.group, other.group),
	)
}

// subject begins a sentence about what no listener of the section does.
func (s routeSection) subject() string {
	text := "no listener"
	if s.name != "" {
		text += " named " + quote(s.name)
	}
	if s.port != 0 {
		text += fmt.Sprintf(" on port %d", s.port)
	}
	return text
}

// A routeParent is a parent that a route names, and what it has for the route.
type routeParent struct {
	label   string
	section routeSection
	// shut says why no listener of the parent takes the route; the zero value:
	// some do.
	shut  refusal
	hosts []zones.Name // hostnames of the listeners that do; anyHost for none
	// remarks are about the parent, and change nothing.
	remarks []refusal

	targets    targetList
	waiting    string // why there are no targets
	overridden bool   // a target annotation gives the targets
	ttl        zones.TTL
}

func (p *routeParent) sentence() string { return p.label + ": " + p.shut.why }

// routeParents looks at each parent of spec.parentRefs, in a fixed order.
func (tr *Translator) routeParents(v *routeView, beside neighbours) []*routeParent {
	refs := make([]parentRef, len(v.refs))
	for i := range v.refs {
		refs[i] = readParentRef(&v.refs[i], v.meta.Namespace)
	}
	slices.SortFunc(refs, parentRef.compare)
	refs = slices.Compact(refs)
	parents := make([]*routeParent, len(refs))
	for i, ref := range refs {
		p := &routeParent{label: ref.label(), section: ref.section}
		switch {
		case ref.group == groupGateway && ref.kind == KindGateway:
			tr.viaGateway(p, v, ref, beside)
		case ref.group == groupGateway && ref.kind == KindListenerSet:
			tr.viaListenerSet(p, v, ref, beside)
		default:
			p.shut = refusal{zones.ReasonNotPublished, "routes are published through parents of kind Gateway or ListenerSet only"}
		}
		parents[i] = p
	}
	return parents
}

// viaGateway opens p if the Gateway takes the route.
func (tr *Translator) viaGateway(p *routeParent, v *routeView, ref parentRef, beside neighbours) {
	gw, r := tr.findGateway(ref.namespace, ref.name, beside)
	if r.why == "" {
		r = v.accepted(p, ref)
	}
	if r.why == "" {
		p.hosts, r = v.admit(gatewayListeners(gw), p.section, gw.Namespace, beside)
	}
	if p.shut = r; r.why == "" {
		tr.readParent(p, gw, nil)
	}
}

// viaListenerSet opens p if the ListenerSet is attached to a Gateway and takes
// the route.
func (tr *Translator) viaListenerSet(p *routeParent, v *routeView, ref parentRef, beside neighbours) {
	set := beside.listenerSet(ref.namespace, ref.name)
	if set == nil {
		p.shut = unknown(KindListenerSet, beside)
		return
	}
	gw, r := tr.gatewayOf(set, beside)
	if gw != nil {
		p.label += " of gateway " + clip(gw.Namespace) + "/" + clip(gw.Name)
	}
	if r.why == "" {
		r = v.accepted(p, ref)
	}
	if r.why == "" {
		p.hosts, r = v.admit(setListeners(set), p.section, set.Namespace, beside)
	}
	if p.shut = r; r.why == "" {
		tr.readParent(p, gw, set)
	}
}

// unknown says that a parent is not there, as far as can be seen.
func unknown(kind Kind, beside neighbours) refusal {
	if err := beside.unreadable(kind); err != nil {
		return refusal{zones.ReasonUnreadable, fmt.Sprintf("%ss can't be read: %v", kind, err)}
	}
	return refusal{zones.ReasonParent, fmt.Sprintf("there is no such %s; mend the reference or create it", kind)}
}

// findGateway returns a Gateway that the flags and its annotations leave to us.
func (tr *Translator) findGateway(namespace, name string, beside neighbours) (*gatewayv1.Gateway, refusal) {
	o := &tr.options
	filtered := func(format string, args ...any) (*gatewayv1.Gateway, refusal) {
		return nil, refusal{zones.ReasonGatewayFilter, fmt.Sprintf(format, args...)}
	}
	// Gateways of other namespaces need not even be read.
	if o.GatewayNamespace != "" && namespace != o.GatewayNamespace {
		return filtered("the Gateway's namespace %s is not --gateway-namespace=%s", quote(namespace), o.GatewayNamespace)
	}
	if o.GatewayName != "" && name != o.GatewayName {
		return filtered("the Gateway's name %s is not --gateway-name=%s", quote(name), o.GatewayName)
	}
	gw := beside.gateway(namespace, name)
	if gw == nil {
		return nil, unknown(KindGateway, beside)
	}
	if !tr.gateways.Matches(labels.Set(gw.Labels)) {
		return filtered("the Gateway's labels don't match --gateway-label-filter=%s", o.GatewayLabelFilter)
	}
	if why := tr.annotationsOf(gw.Annotations).optOut(); why != "" {
		return nil, refusal{zones.ReasonOptOut, "the Gateway opts out: " + why}
	}
	return gw, refusal{}
}

// gatewayOf returns the Gateway that a ListenerSet is attached to. The Gateway
// comes with a refusal where it is known and doesn't count.
func (tr *Translator) gatewayOf(set *gatewayv1.ListenerSet, beside neighbours) (*gatewayv1.Gateway, refusal) {
	parent := &set.Spec.ParentRef
	group, kind := valueOr(parent.Group, groupGateway), valueOr(parent.Kind, gatewayv1.Kind(KindGateway))
	if group != groupGateway || kind != string(KindGateway) {
		return nil, refusal{zones.ReasonParent, fmt.Sprintf("the ListenerSet's parent is of kind %s, not a Gateway", quote(kind+"."+group))}
	}
	if why := tr.annotationsOf(set.Annotations).optOut(); why != "" {
		return nil, refusal{zones.ReasonOptOut, "the ListenerSet opts out: " + why}
	}
	if !tr.annotations.matches(set.Annotations) {
		return nil, refusal{zones.ReasonAnnotation, "the ListenerSet's annotations don't match --annotation-filter=" + tr.options.AnnotationFilter}
	}
	namespace := valueOr(parent.Namespace, set.Namespace)
	gw, r := tr.findGateway(namespace, string(parent.Name), beside)
	if r.why != "" {
		r.why = fmt.Sprintf("its gateway %s/%s: %s", clip(namespace), clip(string(parent.Name)), r.why)
		return nil, r
	}
	var from *gatewayv1.FromNamespaces
	var chosen *metav1.LabelSelector
	if allowed := gw.Spec.AllowedListeners; allowed != nil && allowed.Namespaces != nil {
		from, chosen = allowed.Namespaces.From, allowed.Namespaces.Selector
	}
	if r := allowsNamespace(from, gatewayv1.NamespacesFromNone, chosen, gw.Namespace, set.Namespace, beside); r.why != "" {
		r.why = fmt.Sprintf("the Gateway allows no ListenerSets from namespace %s (allowedListeners.namespaces.from %s)", quote(set.Namespace), r.why)
		return gw, r
	}
	if why := conditionOf(set.Status.Conditions, string(gatewayv1.ListenerSetConditionAccepted)).notTrue(); why != "" {
		return gw, refusal{zones.ReasonNotAccepted, "the Gateway's controller doesn't accept the ListenerSet: " + why}
	}
	return gw, refusal{}
}

// worstOf unites why no parent takes the route. The reason is that of the parent
// that came nearest to taking it.
func worstOf(shut []*routeParent) refusal {
	order := []zones.Reason{
		zones.ReasonNotPublished, zones.ReasonParent, zones.ReasonGatewayFilter, zones.ReasonOptOut, zones.ReasonAnnotation,
		zones.ReasonUnreadable, zones.ReasonNotAccepted, zones.ReasonListener,
	}
	if len(shut) == 0 {
		return refusal{zones.ReasonParent, "spec.parentRefs names no Gateway; name the one that serves the route"}
	}
	var all refusal
	var whys []string
	for _, p := range shut {
		if slices.Index(order, p.shut.reason) > slices.Index(order, all.reason) {
			all.reason = p.shut.reason
		}
		whys = append(whys, p.sentence())
	}
	all.why = listProblems(slices.Compact(whys))
	return all
}
