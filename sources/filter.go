package sources

import (
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/clusterzone/clusterzone/zones"
)

// A refusal says why an object as a whole is left out. The zero value: it isn't.
type refusal struct {
	reason zones.Reason
	why    string
}

// refuses says why the object is left out by the choices that hold for every
// kind: namespace, opt-out, annotation and label filter.
func (tr *Translator) refuses(meta *metav1.ObjectMeta) refusal {
	if only := tr.options.Namespace; only != "" && meta.Namespace != only {
		return refusal{zones.ReasonNamespace, fmt.Sprintf("namespace %q is not --namespace=%s", meta.Namespace, only)}
	}
	return tr.refusesOwn(meta)
}

// refusesOwn is refuses for objects without namespace.
func (tr *Translator) refusesOwn(meta *metav1.ObjectMeta) refusal {
	o := &tr.options
	if why := tr.annotationsOf(meta.Annotations).optOut(); why != "" {
		return refusal{zones.ReasonOptOut, why}
	}
	if !tr.annotations.matches(meta.Annotations) {
		return refusal{zones.ReasonAnnotation, "annotations don't match --annotation-filter=" + o.AnnotationFilter}
	}
	if !tr.labels.Matches(labels.Set(meta.Labels)) {
		return refusal{zones.ReasonLabel, "labels don't match --label-filter=" + o.LabelFilter}
	}
	return refusal{}
}

// A typeFilter chooses record types; the zero value takes all.
type typeFilter struct{ managed, excluded []zones.Type }

func parseTypeFilter(o *Options) (f typeFilter, err error) {
	if f.managed, err = parseTypes("--managed-record-types", o.ManagedRecordTypes); err != nil {
		return f, err
	}
	f.excluded, err = parseTypes("--exclude-record-types", o.ExcludeRecordTypes)
	return f, err
}

func parseTypes(flag string, values []string) ([]zones.Type, error) {
	known := []string{"A", "AAAA", "CNAME", "SRV", "TXT", "MX", "NS", "PTR", "NAPTR", "DNAME", "TLSA"}
	var types []zones.Type
	for _, value := range splitCommas(values) {
		t, err := zones.ParseType(value)
		if err != nil {
			return nil, fmt.Errorf("%s=%s is no record type; %s", flag, value, suggest(value, known, known))
		}
		types = append(types, t)
	}
	return types, nil
}

// judge says why records of type t are not served, or "".
func (f typeFilter) judge(t zones.Type) string {
	switch {
	case slices.Contains(f.excluded, t):
		return fmt.Sprintf("%s records are left out by --exclude-record-types=%s", t, typeList(f.excluded))
	case len(f.managed) > 0 && !slices.Contains(f.managed, t):
		return fmt.Sprintf("%s records are none of --managed-record-types=%s", t, typeList(f.managed))
	}
	return ""
}

func typeList(types []zones.Type) string {
	texts := make([]string, len(types))
	for i, t := range types {
		texts[i] = t.String()
	}
	return strings.Join(texts, ",")
}
