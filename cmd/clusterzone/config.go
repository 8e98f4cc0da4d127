package main

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"go.yaml.in/yaml/v3"

	"github.com/clusterzone/clusterzone/sources"
)

// envPrefix stands before the name of a flag in the environment.
const envPrefix = "CLUSTERZONE_"

// resolve fills the flags that the command line left alone from the
// environment and the config file, in this order of precedence.
func resolve(cmd *cobra.Command, lookup func(string) (string, bool)) error {
	given := map[string]bool{}
	cmd.Flags().Visit(func(f *pflag.Flag) {
		given[strings.TrimPrefix(f.Name, "no-")] = true
	})
	if err := resolveEnv(cmd.Flags(), given, lookup); err != nil {
		return err
	}
	path := cmd.Flags().Lookup("config").Value.String()
	if path == "" {
		return nil
	}
	return resolveFile(cmd, given, path)
}

func resolveEnv(set *pflag.FlagSet, given map[string]bool, lookup func(string) (string, bool)) error {
	var failed error
	set.VisitAll(func(f *pflag.Flag) {
		if given[f.Name] || opposes(f) || f.Name == "help" || failed != nil {
			return
		}
		variable := envPrefix + strings.ToUpper(strings.ReplaceAll(f.Name, "-", "_"))
		text, ok := lookup(variable)
		if !ok {
			return
		}
		values := []string{text}
		if _, list := f.Value.(pflag.SliceValue); list {
			values = strings.Split(strings.TrimRight(text, "\n"), "\n")
		}
		if err := setFlag(f, values); err != nil {
			failed = fmt.Errorf("environment variable %s=%q: %w", variable, text, err)
			if _, secrets := f.Value.(*mirrorList); secrets {
				failed = fmt.Errorf("environment variable %s: %w", variable, err)
			}
			return
		}
		given[f.Name] = true
	})
	return failed
}

// opposes reports whether f is the --no-NAME of a switch: elsewhere than on the
// command line, the switch itself is set to false.
func opposes(f *pflag.Flag) bool { return f.Hidden && strings.HasPrefix(f.Name, "no-") }

func setFlag(f *pflag.Flag, values []string) error {
	if list, ok := f.Value.(pflag.SliceValue); ok {
		f.Changed = true
		return list.Replace(values)
	}
	if len(values) != 1 {
		return fmt.Errorf("--%s takes one value, not a list", f.Name)
	}
	f.Changed = true
	if err := f.Value.Set(values[0]); err != nil {
		return badValue(f, values[0], err)
	}
	return nil
}

// badValue says that a flag can't have a value, and why.
func badValue(f *pflag.Flag, value string, err error) error {
	if _, secrets := f.Value.(*mirrorList); secrets {
		return fmt.Errorf("--%s: %w", f.Name, err)
	}
	return fmt.Errorf("--%s can't be %q: %w", f.Name, value, plain(f, err))
}

// plain puts what the standard library says about numbers and switches in
// words.
func plain(f *pflag.Flag, err error) error {
	switch f.Value.Type() {
	case "int":
		return fmt.Errorf("write a whole number")
	case "bool":
		return fmt.Errorf("write true or false")
	}
	return err
}

// resolveFile reads the config file: a YAML mapping from flag names to values.
func resolveFile(cmd *cobra.Command, given map[string]bool, path string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("--config %s: %w", path, pathError(err))
	}
	var document yaml.Node
	if err := yaml.Unmarshal(text, &document); err != nil {
		return yamlError(path, string(text), err)
	}
	if document.Kind == 0 {
		return nil // an empty file says nothing
	}
	top := document.Content[0]
	if top.Kind != yaml.MappingNode {
		return fmt.Errorf("%s:%d: the file must be a mapping of flag names to values, like \"zone: [corp.test]\"", path, top.Line)
	}
	known := knownKeys()
	seen := map[string]int{}
	for i := 0; i+1 < len(top.Content); i += 2 {
		key, value := top.Content[i], top.Content[i+1]
		if line, twice := seen[key.Value]; twice {
			return fmt.Errorf("%s:%d: %s stands in line %d already; write it once, with a list of values if it needs several", path, key.Line, key.Value, line)
		}
		seen[key.Value] = key.Line
		name, read := key.Value, scalars
		if list, is := listKeys()[name]; is {
			name, read = list.flag, list.values
			if line, twice := seen[name]; twice {
				return fmt.Errorf("%s:%d: %s stand in line %d already; write %s or %s, not both", path, key.Line, list.what, line, key.Value, list.flag)
			}
			seen[name] = key.Line
		}
		if !known[name] {
			return fmt.Errorf("%s:%d: %s is no setting of clusterzone; %s", path, key.Line, key.Value, nearKey(key.Value, known))
		}
		f := cmd.Flags().Lookup(name)
		if f == nil || given[name] {
			continue // of another command, or said already by what wins over the file
		}
		err := setNode(f, value, read)
		if err != nil {
			at := lineError{value.Line, err}
			errors.As(err, &at)
			return fmt.Errorf("%s:%d: %w", path, at.line, at.error)
		}
	}
	return nil
}

// A listKey is a key of the config file whose list of mappings stands for values
// of a flag.
type listKey struct {
	flag, what string
	values     func(*yaml.Node) ([]string, error)
}

func listKeys() map[string]listKey {
	return map[string]listKey{
		zonesKey:    {"zone-file", "zone files", zoneFileValues},
		tsigKeysKey: {"tsig-key", "keys", tsigKeyValues},
	}
}

// setNode sets a flag to a value of the config file.
func setNode(f *pflag.Flag, value *yaml.Node, read func(*yaml.Node) ([]string, error)) error {
	if list, ok := f.Value.(*mirrorList); ok {
		f.Changed = true
		return list.SetNode(value)
	}
	values, err := read(value)
	if err != nil {
		return err
	}
	return setFlag(f, values)
}

// scalars returns the values of a scalar or of a list of scalars.
func scalars(node *yaml.Node) ([]string, error) {
	switch node.Kind {
	case yaml.ScalarNode:
		return []string{node.Value}, nil
	case yaml.SequenceNode:
		values := []string{}
		for _, item := range node.Content {
			if item.Kind != yaml.ScalarNode {
				return nil, fmt.Errorf("the list must hold plain values")
			}
			values = append(values, item.Value)
		}
		return values, nil
	}
	return nil, fmt.Errorf("write a value, or a list of values")
}

// knownKeys are the names of the flags of all commands: one file may serve
// them all.
func knownKeys() map[string]bool {
	keys := map[string]bool{}
	for _, cmd := range newRoot(stdio{}).Commands() {
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if !opposes(f) && f.Name != "help" && f.Name != "config" {
				keys[f.Name] = true
			}
		})
	}
	return keys
}

func nearKey(key string, known map[string]bool) string {
	var names []string
	for name := range known {
		names = append(names, name)
	}
	if near := sources.Nearest(key, names); near != "" {
		return fmt.Sprintf("did you mean %s?", near)
	}
	return "settings are named like the flags of \"clusterzone serve --help\""
}

// yamlError turns what the YAML library says into one sentence with file and
// line.
func yamlError(path, text string, err error) error {
	message := strings.TrimPrefix(err.Error(), "yaml: ")
	line := "1"
	if found := regexp.MustCompile(`line (\d+):? ?`).FindStringSubmatchIndex(message); found != nil {
		line = message[found[2]:found[3]]
		message = message[:found[0]] + message[found[1]:]
	}
	if strings.Contains(message, "cannot start any token") {
		if tab := tabLine(text); tab != "" {
			return fmt.Errorf("%s:%s: a tab where YAML wants spaces; indent with spaces", path, tab)
		}
	}
	return fmt.Errorf("%s:%s: this is no valid YAML: %s", path, line, message)
}

// tabLine returns the number of the first line that is indented with a tab.
func tabLine(text string) string {
	for i, line := range strings.Split(text, "\n") {
		if strings.HasPrefix(strings.TrimLeft(line, " "), "\t") {
			return fmt.Sprint(i + 1)
		}
	}
	return ""
}

// pathError leaves the system's reason of a file error: the path stands in the
// message already.
func pathError(err error) error {
	var inner *os.PathError
	if errors.As(err, &inner) {
		return inner.Err
	}
	return err
}
