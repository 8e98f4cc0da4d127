package sources

import (
	"fmt"
	"strings"
	"unicode"

	"github.com/clusterzone/clusterzone/zones"
)

// Where names come from, in words for explain.
const (
	fromRules            = "spec.rules[].host"
	fromTLS              = "spec.tls[].hosts[]"
	fromHostname         = "hostname annotation"
	fromInternalHostname = "internal-hostname annotation"
	fromFQDNTemplate     = "--fqdn-template"
	fromFQDNTarget       = "--fqdn-target-template"
	fromPodHostname      = "hostname of the Pod or endpoint, below the "
	fromServicePort      = "Service name and port, below the "
)

// A named is a host name that an object asks for.
type named struct {
	name     zones.Name
	from     string
	internal bool // named by internal-hostname: the view from inside the cluster
	fixed    bool // the target annotation doesn't count for it
	derived  bool // nobody asked for it: it follows from an address
}

// place is an origin of names or targets as it stands in a sentence.
func place(from string) string {
	if strings.Contains(from, "annotation") {
		return "the " + from
	}
	return from
}

// splitList splits a list in an annotation: commas and any white space
// separate, empty items count for nothing.
func splitList(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return r == ',' || unicode.IsSpace(r) })
}

// parseNames reads host names that stand at from. Each that is none is skipped
// by itself. Empty texts name nothing and are not mentioned.
func (d *draft) parseNames(texts []string, from string) []named {
	var names []named
	seen := make(map[zones.Name]bool, len(texts))
	for _, text := range texts {
		if text == "" {
			continue
		}
		name, err := zones.ParseHost(text)
		if err != nil {
			d.skipAsked(text, zones.ReasonInvalidName,
				fmt.Sprintf("%s in %s is no host name: %v; write a name like shop.example.com", quote(text), place(from), err))
			continue
		}
		if !seen[name] {
			seen[name] = true
			names = append(names, named{name: name, from: from})
		}
	}
	return names
}

// leaveOut skips the names among texts because of a choice not to read from.
// A name that the object also has from elsewhere is not mentioned (see settle).
func (d *draft) leaveOut(texts []string, why string) {
	for _, text := range texts {
		if name, err := zones.ParseHost(text); err == nil {
			d.skip(name, zones.TypeNone, zones.ReasonHostnameSource, why)
		}
	}
}

// childName returns the name of one label below host. The label is read as a
// host name of its own, so that one holding a dot or an asterisk is refused.
func childName(label string, host zones.Name) (zones.Name, error) {
	name, err := zones.ParseHost(label)
	switch {
	case err != nil:
		return "", err
	case name.Labels() != 1 || name.IsWildcard():
		return "", fmt.Errorf("%s is not one label", quote(label))
	}
	child := host.Child(name.FirstLabel())
	if child == "" {
		return "", fmt.Errorf("the name below %s would be longer than 253 characters", host)
	}
	return child, nil
}
