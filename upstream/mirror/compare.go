package mirror

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/clusterzone/clusterzone/zones"
)

// Differences says in a few words each what must change for have to become
// want, both in the provider's normal form; nil where nothing must. Targets are
// compared as sets, addresses by value and names without regard to case; TXT
// data to the octet. A wish without TTL (or with TTL 0) takes any.
func Differences(have, want *Record) []string {
	var found []string
	if have.Type != want.Type {
		found = append(found, fmt.Sprintf("type %s -> %s", have.Type, want.Type))
	}
	if !slices.Equal(targetKeys(have), targetKeys(want)) {
		found = append(found, "targets")
	}
	if want.TTL.Set && want.TTL.Seconds > 0 && have.TTL != want.TTL {
		old := "none"
		if have.TTL.Set {
			old = fmt.Sprint(have.TTL.Seconds)
		}
		found = append(found, fmt.Sprintf("ttl %s -> %d", old, want.TTL.Seconds))
	}
	for _, option := range want.Options {
		switch value, ok := have.Option(option.Key); {
		case !ok:
			found = append(found, option.Key+" is missing")
		case value != option.Value:
			found = append(found, fmt.Sprintf("%s %s -> %s", option.Key, value, option.Value))
		}
	}
	for _, option := range have.Options {
		if _, ok := want.Option(option.Key); !ok {
			found = append(found, option.Key+" is not wanted")
		}
	}
	return found
}

// targetKeys returns the targets in a form in which equal ones are equal texts,
// sorted and without duplicates.
func targetKeys(r *Record) []string {
	keys := make([]string, 0, len(r.Targets))
	for _, target := range r.Targets {
		keys = append(keys, targetKey(r.Type, target))
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}

func targetKey(kind zones.Type, target string) string {
	switch kind {
	case zones.TypeTXT:
		return target
	case zones.TypeA, zones.TypeAAAA:
		if addr, err := netip.ParseAddr(target); err == nil {
			return addr.String()
		}
	}
	return strings.TrimSuffix(strings.ToLower(strings.Join(strings.Fields(target), " ")), ".")
}

// recordKey tells the records of a zone apart.
type recordKey struct {
	name zones.Name
	kind zones.Type
	set  string
}

func (r *Record) key() recordKey { return recordKey{r.Name, r.Type, r.SetIdentifier} }

// String is the key in words.
func (k recordKey) String() string {
	text := k.kind.String() + " " + k.name.String()
	if k.set != "" {
		text += " [" + k.set + "]"
	}
	return text
}
