package script

import (
	"encoding/json"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/clusterzone/clusterzone/sources"
)

// withStatus returns a copy of obj with the status that a YAML text says.
func withStatus(obj metav1.Object, text []byte) (metav1.Object, error) {
	var status any
	if err := yaml.Unmarshal(text, &status); err != nil {
		return nil, err
	}
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(obj)
	if err != nil {
		return nil, err
	}
	fields["status"] = status
	return typed(obj, fields)
}

// keepStatus returns obj with the status of old, unless it has one itself.
func keepStatus(obj, old metav1.Object) metav1.Object {
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(obj)
	if err != nil || !bare(fields["status"]) {
		return obj
	}
	before, err := runtime.DefaultUnstructuredConverter.ToUnstructured(old)
	if err != nil {
		return obj
	}
	fields["status"] = before["status"]
	if kept, err := typed(obj, fields); err == nil {
		return kept
	}
	return obj
}

// bare reports whether a value holds nothing, at any depth.
func bare(value any) bool {
	switch value := value.(type) {
	case nil:
		return true
	case map[string]any:
		for _, field := range value {
			if !bare(field) {
				return false
			}
		}
		return true
	case []any:
		return len(value) == 0
	}
	return false
}

// typed turns fields into an object of the same type as like. A field that the
// type doesn't have is an error.
func typed(like metav1.Object, fields map[string]any) (metav1.Object, error) {
	info, ok := sources.Info(sources.KindOf(like))
	if !ok {
		return nil, fmt.Errorf("%T is of no known kind", like)
	}
	text, err := json.Marshal(fields)
	if err != nil {
		return nil, err
	}
	obj := info.New()
	if err := yaml.UnmarshalStrict(text, obj); err != nil {
		return nil, err
	}
	return obj.(metav1.Object), nil
}
