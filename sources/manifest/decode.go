package manifest

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	kjson "k8s.io/apimachinery/pkg/runtime/serializer/json"

	"github.com/clusterzone/clusterzone/sources"
)

// older returns versions of a kind in which manifests may still be written, and
// which API servers no longer serve.
func older(kind sources.Kind) []string {
	switch kind {
	case sources.KindIngress:
		return []string{"extensions/v1beta1", "networking.k8s.io/v1beta1"}
	case sources.KindIngressClass:
		return []string{"networking.k8s.io/v1beta1"}
	case sources.KindEndpointSlice:
		return []string{"discovery.k8s.io/v1beta1", "discovery.k8s.io/v1alpha1"}
	}
	return nil
}

// takeObject adds one object to the file, or counts it where its kind is none
// of ours, or leaves it out with a finding where its version can't be read.
func (f *file) takeObject(node *yaml.Node, version, kind string) error {
	known, ok := sources.Info(sources.Kind(kind))
	if !ok {
		f.ignored[kind]++
		return nil
	}
	var readable []string
	for _, v := range known.Versions {
		readable = append(readable, schema.GroupVersion{Group: known.Group, Version: v}.String())
	}
	group, _, _ := strings.Cut(version, "/")
	leaveOut := func(format string, args ...any) {
		f.findings = append(f.findings, Finding{f.path, lineOf(node, "apiVersion"), fmt.Sprintf("the "+kind+" is left out, since "+format, args...)})
	}
	switch {
	case version == "":
		return f.decode(node, known, readable[0])
	case slices.Contains(readable, version):
		return f.decode(node, known, version)
	case slices.Contains(older(known.Kind), version):
		leaveOut("API servers no longer serve %s; write apiVersion: %s in its present form", version, readable[0])
	case known.Custom && group == known.Group:
		leaveOut("%s is not read here; write it as %s", version, strings.Join(readable, " or "))
	case strings.Contains(version, "/"):
		f.ignored[kind+"."+group]++ // another group's kind of one of our names
	default:
		f.ignored[kind]++
	}
	return nil
}

// decode reads a document as an object of a known kind.
func (f *file) decode(node *yaml.Node, known sources.KindInfo, version string) error {
	c := converter{twice: func(key *yaml.Node, first int) {
		f.findings = append(f.findings, Finding{f.path, key.Line, fmt.Sprintf(
			"%s stands twice, the first time in line %d; this one counts", key.Value, first)})
	}}
	content, err := c.convert(node)
	if err != nil {
		return f.place(err)
	}
	object := content.(map[string]any)
	object["apiVersion"], object["kind"] = version, string(known.Kind)
	status, hasStatus := object["status"]
	encoded, err := json.Marshal(object)
	if err != nil {
		return Finding{f.path, node.Line, err.Error()}
	}
	decoded, err := f.strict(node, encoded, known)
	if err != nil {
		return err
	}
	if decoded.GetName() == "" {
		return Finding{f.path, lineOf(node, "metadata"), fmt.Sprintf("the %s has no metadata.name; give it one", known.Kind)}
	}
	switch {
	case !known.Namespaced:
		decoded.SetNamespace("")
	case decoded.GetNamespace() == "":
		decoded.SetNamespace(metav1.NamespaceDefault)
	}
	decoded.SetManagedFields(nil)
	f.objects = append(f.objects, document{
		key:       key{known.Kind, decoded.GetNamespace(), decoded.GetName()},
		object:    decoded,
		hasStatus: hasStatus && status != nil,
	})
	return nil
}

// place gives a Finding that a converter made its file.
func (f *file) place(err error) error {
	if finding := (Finding{}); errors.As(err, &finding) {
		finding.File = f.path
		return finding
	}
	return err
}

// unknownField matches what strict decoding says of a field that no such kind
// has.
var unknownField = regexp.MustCompile(`^unknown field "(.*)"$`)

// strict decodes an object and makes a finding of each field that its kind
// does not have: most likely a slip of the pen.
func (f *file) strict(node *yaml.Node, encoded []byte, known sources.KindInfo) (metav1.Object, error) {
	decoder := kjson.NewSerializerWithOptions(kjson.DefaultMetaFactory, f.scheme, f.scheme, kjson.SerializerOptions{Strict: true})
	decoded, _, err := decoder.Decode(encoded, nil, nil)
	object, ok := decoded.(metav1.Object)
	if strict, isStrict := runtime.AsStrictDecodingError(err); isStrict && ok {
		for _, one := range strict.Errors() {
			message, line := one.Error(), node.Line
			if match := unknownField.FindStringSubmatch(message); match != nil {
				message = fmt.Sprintf("%s has no field %s, which is ignored; is it misspelt?", known.Kind, match[1])
				line = lineOf(node, match[1])
			}
			f.findings = append(f.findings, Finding{f.path, line, message})
		}
		return object, nil
	}
	if err != nil {
		return nil, f.explain(node, encoded, err)
	}
	if !ok {
		return nil, Finding{f.path, node.Line, fmt.Sprintf("this %s can't be read", known.Kind)}
	}
	return object, nil
}

// explain finds the field that can't be decoded.
func (f *file) explain(node *yaml.Node, encoded []byte, err error) error {
	if unreadable := (*time.ParseError)(nil); errors.As(err, &unreadable) {
		line := node.Line
		if at := scalarOf(node, unreadable.Value, 0); at != nil {
			line = at.Line
		}
		return Finding{f.path, line, fmt.Sprintf("%q is no time; write it like 2026-01-02T15:04:05Z", unreadable.Value)}
	}
	mismatch := (*json.UnmarshalTypeError)(nil)
	if !errors.As(err, &mismatch) {
		return Finding{f.path, node.Line, err.Error()}
	}
	path := pathAt(encoded, mismatch.Offset)
	message := fmt.Sprintf("%s is %s, but %s is wanted", path, inWords(mismatch.Value), typeInWords(mismatch.Type))
	if mismatch.Type.Kind() == reflect.String && (mismatch.Value == "number" || mismatch.Value == "bool") {
		message += "; put it in quotes"
	}
	return Finding{f.path, lineOf(node, path), message}
}

// inWords says what encoding/json found: "number", "number 1.5", "object".
func inWords(found string) string {
	switch found {
	case "string":
		return "a text"
	case "bool":
		return "a truth value"
	case "array":
		return "a list"
	case "object":
		return "an object"
	}
	return "a " + found
}

func typeInWords(wanted reflect.Type) string {
	switch wanted.Kind() {
	case reflect.Slice, reflect.Array:
		return "a list"
	case reflect.Struct, reflect.Map, reflect.Pointer:
		return "an object"
	case reflect.String:
		return "a text"
	case reflect.Bool:
		return "true or false"
	case reflect.Int, reflect.Int32, reflect.Int64:
		return "a whole number"
	}
	return "a " + wanted.String()
}
