package manifest

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Bounds on how far aliases may blow up one document.
const (
	maxNodes   = 1_000_000
	maxNesting = 200
)

// resolve follows an alias to what it stands for.
func resolve(node *yaml.Node) *yaml.Node {
	for depth := 0; node.Kind == yaml.AliasNode && depth < 100; depth++ {
		node = node.Alias
	}
	return node
}

// field returns the value of a key of a mapping, or nil.
func field(node *yaml.Node, name string) *yaml.Node {
	if node = resolve(node); node.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i+1 < len(node.Content); i += 2 {
		if node.Content[i].Value == name {
			return node.Content[i+1]
		}
	}
	return nil
}

// text returns the value of a scalar, or "".
func text(node *yaml.Node) string {
	if node == nil {
		return ""
	}
	if node = resolve(node); node.Kind != yaml.ScalarNode || node.ShortTag() == "!!null" {
		return ""
	}
	return node.Value
}

// A converter makes JSON of a YAML document.
type converter struct {
	nodes int
	depth int
	// twice is called for a key that stands twice in a mapping; the last counts.
	twice func(key *yaml.Node, first int)
}

// convert returns node as encoding/json would decode it. Errors are Findings
// without a file.
func (c *converter) convert(node *yaml.Node) (any, error) {
	c.nodes++
	c.depth++
	defer func() { c.depth-- }()
	if c.nodes > maxNodes || c.depth > maxNesting {
		return nil, Finding{Line: node.Line, Message: "the document is nested too deeply, or its aliases make it too large"}
	}
	node = resolve(node)
	switch node.Kind {
	case yaml.MappingNode:
		return c.mapping(node)
	case yaml.SequenceNode:
		list := make([]any, 0, len(node.Content))
		for _, item := range node.Content {
			value, err := c.convert(item)
			if err != nil {
				return nil, err
			}
			list = append(list, value)
		}
		return list, nil
	}
	return scalar(node)
}

func (c *converter) mapping(node *yaml.Node) (any, error) {
	object := make(map[string]any, len(node.Content)/2)
	lines := make(map[string]int, len(node.Content)/2)
	merged := make(map[string]any)
	for i := 0; i+1 < len(node.Content); i += 2 {
		key, item := node.Content[i], node.Content[i+1]
		value, err := c.convert(item)
		if err != nil {
			return nil, err
		}
		if key.ShortTag() == "!!merge" {
			mergeInto(merged, value)
			continue
		}
		name := resolve(key).Value
		if first, ok := lines[name]; ok && c.twice != nil {
			c.twice(key, first)
		}
		lines[name] = key.Line
		object[name] = value
	}
	for name, value := range merged {
		if _, own := object[name]; !own {
			object[name] = value
		}
	}
	return object, nil
}

// mergeInto adds what a merge key (<<) stands for: a mapping, or a list of them
// of which the first wins.
func mergeInto(merged map[string]any, value any) {
	switch value := value.(type) {
	case map[string]any:
		for name, item := range value {
			if _, ok := merged[name]; !ok {
				merged[name] = item
			}
		}
	case []any:
		for _, item := range value {
			mergeInto(merged, item)
		}
	}
}

func scalar(node *yaml.Node) (any, error) {
	switch node.ShortTag() {
	case "!!null":
		return nil, nil
	case "!!bool":
		var value bool
		if err := node.Decode(&value); err != nil {
			return node.Value, nil
		}
		return value, nil
	case "!!int", "!!float":
		if json.Valid([]byte(node.Value)) {
			return json.Number(node.Value), nil
		}
		var number any
		if err := node.Decode(&number); err != nil {
			return node.Value, nil
		}
		if _, err := json.Marshal(number); err != nil {
			return nil, Finding{Line: node.Line, Message: fmt.Sprintf("%s is no number that JSON knows", node.Value)}
		}
		return number, nil
	}
	return node.Value, nil // strings, and times as they are written
}

// lineOf returns the line of a field named as strict decoding names it:
// spec.rules[0].host, metadata.annotations[some/key]. Where the path leads
// nowhere, it is the line of the last step that was found.
func lineOf(node *yaml.Node, path string) int {
	line := node.Line
	for path != "" {
		node = resolve(node)
		switch node.Kind {
		case yaml.SequenceNode:
			index, rest, ok := strings.Cut(strings.TrimPrefix(path, "["), "]")
			n, err := strconv.Atoi(index)
			if !ok || err != nil || n < 0 || n >= len(node.Content) {
				return line
			}
			node, path = node.Content[n], strings.TrimPrefix(rest, ".")
			line = node.Line
		case yaml.MappingNode:
			key, value, rest := step(node, path)
			if key == nil {
				return line
			}
			node, path, line = value, rest, key.Line
		default:
			return line
		}
	}
	return line
}

// step finds the key of a mapping with which path begins: the longest, since
// keys may hold dots.
func step(node *yaml.Node, path string) (key, value *yaml.Node, rest string) {
	best := -1
	for i := 0; i+1 < len(node.Content); i += 2 {
		name := node.Content[i].Value
		after, ok := strings.CutPrefix(path, name)
		if ok && len(name) > best && (after == "" || after[0] == '.' || after[0] == '[') {
			best = len(name)
			key, value, rest = node.Content[i], node.Content[i+1], strings.TrimPrefix(after, ".")
		}
	}
	return key, value, rest
}

// scalarOf returns the first scalar with that value, or nil.
func scalarOf(node *yaml.Node, value string, depth int) *yaml.Node {
	if node.Kind == yaml.ScalarNode && node.Value == value {
		return node
	}
	if depth > maxNesting {
		return nil
	}
	for _, child := range node.Content {
		if found := scalarOf(child, value, depth+1); found != nil {
			return found
		}
	}
	return nil
}

// jsonNode reads a JSON value as a YAML node whose first line is line.
func jsonNode(value []byte, line int) (*yaml.Node, error) {
	var part yaml.Node
	if err := yaml.Unmarshal(value, &part); err != nil || len(part.Content) != 1 {
		// JSON that YAML does not take, like a pair of surrogate escapes:
		// written anew it passes, at the cost of its lines.
		var any any
		if err := json.Unmarshal(value, &any); err != nil {
			return nil, err
		}
		plain, err := yaml.Marshal(any)
		if err != nil {
			return nil, err
		}
		if err := yaml.Unmarshal(plain, &part); err != nil || len(part.Content) != 1 {
			return nil, errors.New("this JSON has no form in YAML")
		}
		setLine(part.Content[0], line)
		return part.Content[0], nil
	}
	shiftLines(part.Content[0], line-1)
	return part.Content[0], nil
}

func shiftLines(node *yaml.Node, by int) {
	node.Line += by
	for _, child := range node.Content {
		shiftLines(child, by)
	}
}

func setLine(node *yaml.Node, line int) {
	node.Line = line
	for _, child := range node.Content {
		setLine(child, line)
	}
}
