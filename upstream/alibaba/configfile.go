package alibaba

import (
	"fmt"
	"os"
	"regexp"

	"go.yaml.in/yaml/v3"
)

// secrets are one set of credentials. They print as nothing.
type secrets struct{ id, secret, token string }

// String, GoString and MarshalText keep them out of logs and dumps.
func (secrets) String() string { return "(credentials)" }

// GoString implements fmt.GoStringer.
func (secrets) GoString() string { return "(credentials)" }

// MarshalText implements encoding.TextMarshaler.
func (secrets) MarshalText() ([]byte, error) { return []byte("(credentials)"), nil }

// A config is what a configuration file holds.
type config struct {
	region, vpc string
	keys        secrets // zero without any
}

var lineOfYAML = regexp.MustCompile(`line \d+`)

// readConfig reads the file of external-dns, JSON or YAML. Errors name file, line
// and key and never a value, which may be a secret in the wrong place.
func readConfig(path string) (config, error) {
	const flag = "--alibaba-cloud-config-file="
	text, err := os.ReadFile(path)
	if err != nil {
		return config{}, fmt.Errorf("%s%s: %w; mount it, or leave the flag empty for the credentials of the environment or of a RAM role", flag, path, err)
	}
	c, err := parseConfig(text)
	if err != nil {
		return config{}, fmt.Errorf("%s%s: %w", flag, path, err)
	}
	return c, nil
}

func parseConfig(text []byte) (config, error) {
	const form = "write regionId, vpcId, accessKeyId and accessKeySecret as JSON or YAML"
	var file yaml.Node
	if err := yaml.Unmarshal(text, &file); err != nil {
		where := lineOfYAML.FindString(err.Error())
		if where != "" {
			where = ", " + where
		}
		return config{}, fmt.Errorf("it is neither JSON nor YAML%s; %s", where, form)
	}
	if len(file.Content) != 1 || file.Content[0].Kind != yaml.MappingNode {
		return config{}, fmt.Errorf("it holds no keys; %s", form)
	}
	var c config
	fields := map[string]*string{"regionId": &c.region, "vpcId": &c.vpc, "accessKeyId": &c.keys.id, "accessKeySecret": &c.keys.secret}
	pairs := file.Content[0].Content
	for i := 0; i+1 < len(pairs); i += 2 {
		key, value := pairs[i], pairs[i+1]
		field, known := fields[key.Value]
		switch {
		case key.Kind != yaml.ScalarNode || !known:
			return config{}, fmt.Errorf("line %d has a key that isn't known; %s", key.Line, form)
		case value.Kind != yaml.ScalarNode:
			return config{}, fmt.Errorf("line %d: %s isn't a text; %s", value.Line, key.Value, form)
		case value.Tag != "!!null":
			*field = value.Value
		}
	}
	switch {
	case c.keys.id == "" && c.keys.secret != "":
		return config{}, fmt.Errorf("accessKeyId is missing beside accessKeySecret: write both, or neither for the credentials of the environment or of a RAM role")
	case c.keys.id != "" && c.keys.secret == "":
		return config{}, fmt.Errorf("accessKeySecret is missing beside accessKeyId: write both, or neither for the credentials of the environment or of a RAM role")
	}
	return c, nil
}
