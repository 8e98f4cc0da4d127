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
	elsewhere := false
	for i := range v.statuses {
		status := &v.statuses[i]
		about := readParentRef(&status.ParentRef, v.meta.Namespace)
		if about != ref {
			about.section = ref.section
			elsewhere = elsewhere || about == ref
			continue
		}
		why := notTrue(status.Conditions, string(gatewayv1.RouteConditionAccepted))
		if why == "" {
			p.remarkStale(v.meta.Generation, conditionOf(status.Conditions, string(gatewayv1.RouteConditionAccepted)).ObservedGeneration)
			return refusal{}
		}
		says = append(says, fmt.Sprintf("controller %s doesn't accept the route: %s", quote(string(status.ControllerName)), why))
	}
	switch {
	case len(says) > 0:
		slices.Sort(says)
		return refuse(listProblems(says))
	case elsewhere:
		return refuse("status.parents speaks of another sectionName or port of it than spec.parentRefs")
	}
	return refuse("no controller has accepted the route yet (status.parents says nothing of it)")
}

// remarkStale notes that a controller spoke of another generation of the route.
func (p *routeParent) remarkStale(generation, observed int64) {
	if generation != 0 && observed != 0 && generation != observed {
		p.remarks = append(p.remarks, refusal{zones.ReasonStaleStatus, fmt.Sprintf(
			"%s: its controller has accepted generation %d of the route and not yet spoken of generation %d; the record stands",
			p.label, observed, generation)})
	}
}

// conditionOf returns the first condition of a type, or nil.
func conditionOf(conditions []metav1.Condition, kind string) *metav1.Condition {
	at := slices.IndexFunc(conditions, func(c metav1.Condition) bool { return c.Type == kind })
	if at < 0 {
		return nil
	}
	return &conditions[at]
}

// notTrue says how the first condition of a type is not True, or "".
func notTrue(conditions []metav1.Condition, kind string) string {
	c := conditionOf(conditions, kind)
	switch {
	case c == nil:
		return "there is no condition " + kind + " yet"
	case c.Status == metav1.ConditionTrue:
		return ""
	}
	text := kind + " is " + clip(string(c.Status))
	if c.Reason != "" {
		text += ", " + clip(c.Reason)
	}
	if c.Message != "" {
		text += ": " + quote(c.Message)
	}
	return text
}
