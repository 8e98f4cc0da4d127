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
	kjson "k8s.io/apimachinery/pkg/runtime/serializer/json"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/clusterzone/clusterzone/sources"
)

// A knownKind is a kind that is read.
type knownKind struct {
	kind       sources.Kind
	version    string
	namespaced bool
	// older are versions of the same kind that API servers no longer serve.
	older []string
}

func knownKinds() []knownKind {
	return []knownKind{
		{sources.KindIngress, "networking.k8s.io/v1", true, []string{"extensions/v1beta1", "networking.k8s.io/v1beta1"}},
		{sources.KindIngressClass, "networking.k8s.io/v1", false, []string{"networking.k8s.io/v1beta1"}},
		{sources.KindService, "v1", true, nil},
		{sources.KindEndpointSlice, "discovery.k8s.io/v1", true, []string{"discovery.k8s.io/v1beta1", "discovery.k8s.io/v1alpha1"}},
		{sources.KindPod, "v1", true, nil},
		{sources.KindNode, "v1", false, nil},
	}
}

// takeObject adds one object to the file, or counts it where its kind is none
// of ours, or leaves it out with a finding where its version is too old.
func (f *file) takeObject(node *yaml.Node, version, kind string) error {
	for _, known := range knownKinds() {
		if string(known.kind) != kind {
			continue
		}
		switch {
		case version == known.version, version == "":
			return f.decode(node, known)
		case slices.Contains(known.older, version):
			f.findings = append(f.findings, Finding{f.path, lineOf(node, "apiVersion"), fmt.Sprintf(
				"the %s is left out, since API servers no longer serve %s; write apiVersion: %s in its present form", kind, version, known.version)})
			return nil
		}
	}
	group, _, isGrouped := strings.Cut(version, "/")
	if isGrouped && slices.ContainsFunc(knownKinds(), func(k knownKind) bool { return string(k.kind) == kind }) {
		kind += "." + group // another group's kind of one of our names
	}
	f.ignored[kind]++
	return nil
}

// decode reads a document as an object of a known kind.
func (f *file) decode(node *yaml.Node, known knownKind) error {
	c := converter{twice: func(key *yaml.Node, first int) {
		f.findings = append(f.findings, Finding{f.path, key.Line, fmt.Sprintf(
			"%s stands twice, the first time in line %d; this one counts", key.Value, first)})
	}}
	content, err := c.convert(node)
	if err != nil {
		return f.place(err)
	}
	object := content.(map[string]any)
	object["apiVersion"], object["kind"] = known.version, string(known.kind)
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
		return Finding{f.path, lineOf(node, "metadata"), fmt.Sprintf("the %s has no metadata.name; give it one", known.kind)}
	}
	switch {
	case !known.namespaced:
		decoded.SetNamespace("")
	case decoded.GetNamespace() == "":
		decoded.SetNamespace(metav1.NamespaceDefault)
	}
	decoded.SetManagedFields(nil)
	f.objects = append(f.objects, document{
		key:       key{known.kind, decoded.GetNamespace(), decoded.GetName()},
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
func (f *file) strict(node *yaml.Node, encoded []byte, known knownKind) (metav1.Object, error) {
	decoder := kjson.NewSerializerWithOptions(kjson.DefaultMetaFactory, scheme.Scheme, scheme.Scheme, kjson.SerializerOptions{Strict: true})
	decoded, _, err := decoder.Decode(encoded, nil, nil)
	object, ok := decoded.(metav1.Object)
	if strict, isStrict := runtime.AsStrictDecodingError(err); isStrict && ok {
		for _, one := range strict.Errors() {
			message, line := one.Error(), node.Line
			if match := unknownField.FindStringSubmatch(message); match != nil {
				message = fmt.Sprintf("%s has no field %s, which is ignored; is it misspelt?", known.kind, match[1])
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
		return nil, Finding{f.path, node.Line, fmt.Sprintf("this %s can't be read", known.kind)}
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
