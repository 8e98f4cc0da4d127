package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"go.yaml.in/yaml/v3"

	"github.com/clusterzone/clusterzone/server"
)

// transferSettings say who transfers zones, and who is told of changes.
type transferSettings struct {
	allow     []string
	notify    []string
	keys      []string
	keyFiles  []string
	journal   int
	transfers int
}

func (s *transferSettings) add(cmd *cobra.Command) {
	f := flagsOf(cmd, groupSecondaries)
	f.list(&s.allow, "allow-transfer", "who may transfer the zones (AXFR, IXFR): a `network`, key:NAME for who signs with that TSIG key, or key:NAME@NETWORK for both at once; repeatable (default: nobody)")
	f.list(&s.notify, "notify", "`address[:port]` of a secondary to tell of changes (NOTIFY), signed where it is key:NAME@ADDRESS, of one zone alone where it is ZONE=ADDRESS; repeatable")
	f.list(&s.keyFiles, "tsig-key-file", "`file` of TSIG keys as tsig-keygen prints them and BIND reads them, read anew when it changes; repeatable")
	f.list(&s.keys, "tsig-key", "a TSIG key as `ALGORITHM:NAME:SECRET`, the algorithm hmac-sha256, hmac-sha384 or hmac-sha512, the secret in base64 or @FILE that holds it; a command line is no secret, so use the file, the environment, or in the config file tsig-keys: [{name: NAME, algorithm: ALGORITHM, secret: SECRET or secret-file: FILE}]; repeatable")
	f.number(&s.journal, "journal-size", 10_000, "`number` of records of changes that each zone keeps for IXFR; who is further behind gets the whole zone; 0 always gives that")
	f.number(&s.transfers, "transfers", server.DefaultTransfers, "`number` of zone transfers at once")
}

// transferParts are the settings as the server takes them.
type transferParts struct {
	keys    []server.TSIGKey // as they are at first
	rules   []server.TransferRule
	targets []server.NotifyTarget
}

// parse checks the settings and reads the files of keys.
func (s *transferSettings) parse() (*transferParts, error) {
	parts := &transferParts{}
	for _, limit := range []struct {
		name             string
		value, low, high int
	}{{"journal-size", s.journal, 0, 10_000_000}, {"transfers", s.transfers, 1, 10_000}} {
		if limit.value < limit.low || limit.value > limit.high {
			return nil, fmt.Errorf("--%s=%d is out of range; write a number from %d to %d", limit.name, limit.value, limit.low, limit.high)
		}
	}
	var err error
	if parts.keys, err = s.readKeys(); err != nil {
		return nil, err
	}
	for _, list := range s.allow {
		for text := range strings.SplitSeq(list, ",") {
			rule, err := server.ParseTransferRule(strings.TrimSpace(text))
			if err != nil {
				return nil, err
			}
			known := func(key server.TSIGKey) bool { return key.Name() == rule.Key }
			if rule.Key != "" && !slices.ContainsFunc(parts.keys, known) {
				return nil, fmt.Errorf("--allow-transfer %q: there is no key %s; give it with --tsig-key-file", text, rule.Key)
			}
			parts.rules = append(parts.rules, rule)
		}
	}
	for _, text := range s.notify {
		target, err := server.ParseNotifyTarget(text, parts.keys)
		if err != nil {
			return nil, err
		}
		parts.targets = append(parts.targets, target)
	}
	if len(parts.targets) > 0 && len(parts.rules) == 0 {
		return nil, fmt.Errorf("--notify %q tells a secondary of changes that nobody may transfer; say who may with --allow-transfer", s.notify[0])
	}
	return parts, nil
}

// tsigKeysKey is what the config file may hold in place of a list of tsig-key.
const tsigKeysKey = "tsig-keys"

// tsigKeyValues turns the config file's list of keys into values of --tsig-key.
func tsigKeyValues(node *yaml.Node) ([]string, error) {
	shape := fmt.Errorf("write %s as a list of {name: transfer.corp.test, algorithm: hmac-sha256, secret-file: /etc/tsig/secret}", tsigKeysKey)
	if node.Kind != yaml.SequenceNode {
		return nil, shape
	}
	var values []string
	for _, item := range node.Content {
		if item.Kind != yaml.MappingNode {
			return nil, lineError{item.Line, shape}
		}
		parts := map[string]string{}
		for i := 0; i+1 < len(item.Content); i += 2 {
			key, value := item.Content[i], item.Content[i+1]
			known := slices.Contains([]string{"name", "algorithm", "secret", "secret-file"}, key.Value)
			if !known || value.Kind != yaml.ScalarNode || parts[key.Value] != "" {
				return nil, lineError{key.Line, fmt.Errorf("%s is not expected here; %w", key.Value, shape)}
			}
			parts[key.Value] = value.Value
		}
		if parts["algorithm"] == "" {
			parts["algorithm"] = "hmac-sha256"
		}
		secret := parts["secret"]
		if file := parts["secret-file"]; file != "" {
			if secret != "" {
				return nil, lineError{item.Line, errors.New("secret and secret-file exclude each other; leave out one of them")}
			}
			secret = "@" + file
		}
		if parts["name"] == "" || secret == "" {
			return nil, lineError{item.Line, fmt.Errorf("name and secret (or secret-file) are both needed; %w", shape)}
		}
		text := parts["algorithm"] + ":" + parts["name"] + ":" + secret
		if _, err := parseTSIGKey(text); err != nil {
			return nil, lineError{item.Line, err}
		}
		values = append(values, text)
	}
	return values, nil
}
