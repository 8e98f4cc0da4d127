package manifest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/clusterzone/clusterzone/sources"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// A document is one object of a file.
type document struct {
	key       key
	object    metav1.Object
	hasStatus bool // a status stands there, be it empty
}

// parseFile reads a file's content. What can't be read is its problem.
func parseFile(path string, content []byte) *file {
	f := &file{path: path, content: content, ignored: make(map[string]int), scheme: sources.NewScheme()}
	defer func() { f.scheme = nil }()
	parts, err := split(path, content)
	if err != nil {
		f.problem = err
		return f
	}
	for _, part := range parts {
		if err := f.take(part, "", 0); err != nil {
			f.objects, f.problem = nil, err
			return f
		}
	}
	return f
}

// split returns the documents of a file as YAML nodes with their lines.
func split(path string, content []byte) ([]*yaml.Node, error) {
	text := bytes.TrimPrefix(content, []byte("\xef\xbb\xbf"))
	if filepath.Ext(path) == ".json" {
		return splitJSON(path, text)
	}
	var parts []*yaml.Node
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	for {
		var part yaml.Node
		err := decoder.Decode(&part)
		if errors.Is(err, io.EOF) {
			return parts, nil
		}
		if err != nil {
			return nil, explainYAML(path, text, err)
		}
		if len(part.Content) == 1 {
			parts = append(parts, part.Content[0])
		}
	}
}

// splitJSON reads one JSON value after another.
func splitJSON(path string, text []byte) ([]*yaml.Node, error) {
	var parts []*yaml.Node
	decoder := json.NewDecoder(bytes.NewReader(text))
	for {
		var value json.RawMessage
		err := decoder.Decode(&value)
		if errors.Is(err, io.EOF) {
			return parts, nil
		}
		if err != nil {
			offset := decoder.InputOffset()
			if syntax := (*json.SyntaxError)(nil); errors.As(err, &syntax) {
				offset = max(offset, syntax.Offset)
			}
			return nil, Finding{path, lineAt(text, offset), "this is no JSON: " + err.Error()}
		}
		start := lineAt(text, decoder.InputOffset()-int64(len(value)))
		part, err := jsonNode(value, start)
		if err != nil {
			return nil, Finding{path, start, err.Error()}
		}
		parts = append(parts, part)
	}
}

func lineAt(text []byte, offset int64) int {
	offset = min(max(offset, 0), int64(len(text)))
	return 1 + bytes.Count(text[:offset], []byte("\n"))
}

// yamlPlace is how the YAML library puts a line before its message.
var yamlPlace = regexp.MustCompile(`^yaml: (?:line (\d+): )?(.*)$`)

// explainYAML puts a syntax error into a Finding. Tabs get words of their own:
// they are the commonest of all and invisible.
func explainYAML(path string, text []byte, err error) error {
	if line := tabIndent(text); line > 0 && strings.Contains(err.Error(), "found") && tabMessage.MatchString(err.Error()) {
		return Finding{path, line, "found a tab where indentation is wanted; use spaces"}
	}
	match := yamlPlace.FindStringSubmatch(strings.ReplaceAll(err.Error(), "\n", " "))
	if match == nil {
		return Finding{path, 0, err.Error()}
	}
	line, convErr := strconv.Atoi(match[1])
	if convErr != nil {
		line = 1 // the library leaves the first line out
	}
	if anchor := unknownAnchor.FindStringSubmatch(match[2]); anchor != nil {
		// Of an anchor the library names no line at all.
		line = lineAt(text, int64(bytes.Index(text, []byte("*"+anchor[1]))))
	}
	return Finding{path, line, "this is no YAML: " + match[2]}
}

var unknownAnchor = regexp.MustCompile(`^unknown anchor '(.*)' referenced`)

// tabMessage matches what the library says when it stumbles over a tab.
var tabMessage = regexp.MustCompile(`cannot start any token|tab character|did not find expected`)

// tabIndent returns the first line whose indentation holds a tab, or 0.
func tabIndent(text []byte) int {
	for i, line := range bytes.Split(text, []byte("\n")) {
		if bytes.HasPrefix(bytes.TrimLeft(line, " "), []byte("\t")) && len(bytes.TrimSpace(line)) > 0 {
			return i + 1
		}
	}
	return 0
}

// take adds one document, or the items of a list, to the file. listed is the
// kind that a typed list gives its items, "" elsewhere; depth counts the lists
// around it.
func (f *file) take(node *yaml.Node, listed string, depth int) error {
	node = resolve(node)
	if node.Kind == yaml.ScalarNode && node.ShortTag() == "!!null" {
		return nil // an empty document
	}
	fail := func(format string, args ...any) error {
		return Finding{f.path, node.Line, fmt.Sprintf(format, args...)}
	}
	if depth > maxDepth {
		return fail("the list is nested too deeply")
	}
	if node.Kind != yaml.MappingNode {
		return fail("a document must be an object with apiVersion, kind and metadata")
	}
	version, kind := text(field(node, "apiVersion")), text(field(node, "kind"))
	if kind == "" {
		kind = listed
	}
	if kind == "" {
		return fail("a document must say its kind and apiVersion")
	}
	if items := field(node, "items"); items != nil && strings.HasSuffix(kind, "List") {
		items = resolve(items)
		if items.Kind != yaml.SequenceNode {
			return nil // a list of nothing
		}
		of := strings.TrimSuffix(kind, "List") // "" for a plain List, whose items say it themselves
		for _, item := range items.Content {
			if err := f.take(item, of, depth+1); err != nil {
				return err
			}
		}
		return nil
	}
	if version == "" && listed == "" {
		return fail("%s must say its apiVersion", kind)
	}
	return f.takeObject(node, version, kind)
}
