package sources

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"text/template"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// nameTemplates are the templates of one flag, compiled for each source, since
// isSource answers by source. A nil map: the flag is not given.
type nameTemplates map[string]*template.Template

// parseTemplates joins the flag's values with commas, as their results are.
func parseTemplates(flag string, values []string) (nameTemplates, error) {
	values = splitBlank(values)
	if len(values) == 0 {
		return nil, nil
	}
	text := strings.Join(values, ",")
	compiled := make(nameTemplates, len(sourceNames))
	for _, source := range sourceNames {
		t, err := template.New(flag).Funcs(templateFuncs(source)).Parse(text)
		if err != nil {
			return nil, fmt.Errorf("%s=%s can't be read: line %w; templates are in Go's text/template syntax, like {{.Name}}.example.com",
				flag, text, trimTemplateError(err))
		}
		compiled[source] = t
	}
	return compiled, nil
}

// trimTemplateError cuts off what text/template says of the template's name,
// which is the flag's, and leaves line and column.
func trimTemplateError(err error) error {
	text := err.Error()
	for _, flag := range []string{fromFQDNTemplate, fromFQDNTarget} {
		text = strings.TrimPrefix(text, "template: "+flag+":")
		text = strings.Replace(text, fmt.Sprintf("executing %q ", flag), "", 1)
	}
	return errors.New(text)
}

// templateFuncs are the functions beside text/template's own.
func templateFuncs(source string) template.FuncMap {
	return template.FuncMap{
		"contains":   strings.Contains,
		"trimPrefix": strings.TrimPrefix,
		"trimSuffix": strings.TrimSuffix,
		"trim":       strings.TrimSpace,
		"toLower":    strings.ToLower,
		"replace":    func(old, with, text string) string { return strings.ReplaceAll(text, old, with) },
		"isIPv4":     func(text string) bool { return isFamily(text, true) },
		"isIPv6":     func(text string) bool { return isFamily(text, false) },
		"hasKey":     hasKey,
		"fromJson":   fromJSON,
		"isSource": func(name string) (bool, error) {
			if !slices.Contains(sourceNames, name) {
				return false, fmt.Errorf("%q is no source; %s", name, suggest(name, sourceNames, sourceNames))
			}
			return name == source, nil
		},
	}
}

func isFamily(text string, four bool) bool {
	addr, err := netip.ParseAddr(text)
	return err == nil && addr.Zone() == "" && addr.Unmap().Is4() == four
}

// hasKey tells a key with an empty value from one that is not there. Maps come
// typed from the object, and untyped from its JSON form.
func hasKey(values any, key string) (ok bool, err error) {
	switch values := values.(type) {
	case map[string]string:
		_, ok = values[key]
	case map[string]any:
		_, ok = values[key]
	default:
		return false, fmt.Errorf("hasKey wants a map, not %T", values)
	}
	return ok, nil
}

// fromJSON decodes text. An empty text, as a missing annotation gives it, is nil.
func fromJSON(text string) (value any, err error) {
	if strings.TrimSpace(text) == "" {
		return nil, nil
	}
	err = json.Unmarshal([]byte(text), &value)
	return value, err
}

// The marks that text/template leaves where a value was missing.
const (
	noValue  = "<no value>"
	nilValue = "<nil>"
)

// run executes the source's template over obj, and returns the comma-separated
// items, trimmed, sorted and without duplicates. Where the typed object doesn't
// have a field, the keys of its JSON form are tried. An item in which a value
// was missing is in broken, not in items.
func (t nameTemplates) run(source string, obj any) (items, broken []string, err error) {
	text, err := execute(t[source], obj)
	if err != nil {
		data, jsonErr := jsonForm(obj)
		if jsonErr != nil {
			return nil, nil, trimTemplateError(err)
		}
		again, jsonErr := execute(t[source], data)
		switch {
		case jsonErr != nil && strings.Contains(err.Error(), "can't evaluate field"):
			return nil, nil, fmt.Errorf("%w; with the keys of its JSON form, at line %w", trimTemplateError(err), trimTemplateError(jsonErr))
		case jsonErr != nil || strings.Contains(again, noValue):
			return nil, nil, trimTemplateError(err)
		}
		text = again
	}
	for item := range strings.SplitSeq(text, ",") {
		switch item = strings.TrimSuffix(strings.TrimSpace(item), "."); {
		case item == "":
		case strings.Contains(item, noValue), strings.Contains(item, nilValue):
			broken = append(broken, item)
		default:
			items = append(items, item)
		}
	}
	slices.Sort(items)
	slices.Sort(broken)
	return slices.Compact(items), slices.Compact(broken), nil
}

func execute(t *template.Template, data any) (string, error) {
	var out strings.Builder
	err := t.Execute(&out, data)
	return out.String(), err
}

func jsonForm(obj any) (map[string]any, error) {
	text, err := json.Marshal(obj)
	if err != nil {
		return nil, err
	}
	var data map[string]any
	return data, json.Unmarshal(text, &data)
}

// templateMeta is an object's metadata as templates see it: a copy without what
// only the API server's own machinery writes.
func templateMeta(meta metav1.ObjectMeta) metav1.ObjectMeta {
	meta.ManagedFields = nil
	if _, ok := meta.Annotations[corev1.LastAppliedConfigAnnotation]; ok {
		meta.Annotations = maps.Clone(meta.Annotations)
		delete(meta.Annotations, corev1.LastAppliedConfigAnnotation)
	}
	return meta
}
