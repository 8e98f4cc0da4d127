package sources

import (
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/clusterzone/clusterzone/zones"
)

// accepted says why the parent's controller doesn't have the route. Several
// controllers may speak for one parent; one that accepts is enough. A status of
// an older generation counts, since controllers may be slow and their routes
// work meanwhile; p gets a remark.
func (v *routeView) accepted(p *routeParent, ref parentRef) refusal {
	refuse := func(why string) refusal { return refusal{zones.ReasonNotAccepted, why} }
	var says []string
	var elsewhere, accepted, current bool
	var spoken int64 // the last generation that a controller accepted
	for i := range v.statuses {
		status := &v.statuses[i]
		about := readParentRef(&status.ParentRef, v.meta.Namespace)
		if about != ref {
			about.section = ref.section
			elsewhere = elsewhere || about == ref
			continue
		}
		c := conditionOf(status.Conditions, string(gatewayv1.RouteConditionAccepted))
		if why := c.notTrue(); why != "" {
			says = append(says, fmt.Sprintf("controller %s doesn't accept the route: %s", quote(string(status.ControllerName)), why))
			continue
		}
		accepted = true
		current = current || c.ObservedGeneration == 0 || c.ObservedGeneration == v.meta.Generation
		spoken = max(spoken, c.ObservedGeneration)
	}
	switch {
	case accepted:
		if !current && v.meta.Generation != 0 {
			p.remarks = append(p.remarks, refusal{zones.ReasonStaleStatus, fmt.Sprintf(
				"%s: its controller has accepted generation %d of the route and not yet spoken of generation %d; the record stands",
				p.label, spoken, v.meta.Generation)})
		}
		return refusal{}
	case len(says) > 0:
		slices.Sort(says)
		return refuse(listProblems(says))
	case elsewhere:
		return refuse("status.parents speaks of another sectionName or port of it than spec.parentRefs")
	}
	return refuse("no controller has accepted the route yet (status.parents says nothing of it)")
}

// A statusCondition is a condition that may be missing.
type statusCondition struct {
	*metav1.Condition
	kind string
}

// conditionOf returns the first condition of a type.
func conditionOf(conditions []metav1.Condition, kind string) statusCondition {
	at := slices.IndexFunc(conditions, func(c metav1.Condition) bool { return c.Type == kind })
	if at < 0 {
		return statusCondition{kind: kind}
	}
	return statusCondition{&conditions[at], kind}
}

// notTrue says how the condition is not True, or "".
func (c statusCondition) notTrue() string {
	switch {
	case c.Condition == nil:
		return "there is no condition " + c.kind + " yet"
	case c.Status == metav1.ConditionTrue:
		return ""
	}
	text := c.kind + " is " + clip(string(c.Status))
	if c.Reason != "" {
		text += ", " + clip(c.Reason)
	}
	if c.Message != "" {
		text += ": " + quote(c.Message)
	}
	return text
}
