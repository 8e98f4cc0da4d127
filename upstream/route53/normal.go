package route53

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/clusterzone/clusterzone/upstream/mirror"
	"github.com/clusterzone/clusterzone/zones"
)

// maxValue is how many characters Route 53 takes as one value (API reference,
// ResourceRecord).
const maxValue = 4000

// A normalizer brings wishes and record sets into one form. It is immutable.
type normalizer struct {
	aliases     aliasZones
	preferCNAME bool
	evaluate    bool
}

// normalize implements mirror.Cloud.Normalize. Options that Route 53 has nothing to
// do with are left out, as external-dns leaves them.
func (n *normalizer) normalize(zone mirror.Zone, want mirror.Record) ([]mirror.Record, error) {
	if id, ok := want.Option(optionZone); ok && !pins(zone, id) {
		return nil, fmt.Errorf("%s=%s is none of the hosted zones that the name lies in", annotation(optionZone), id)
	}
	options, err := routing(&want)
	if err != nil {
		return nil, err
	}
	kinds, err := n.aliasTypes(&want)
	if err != nil {
		return nil, err
	}
	if len(kinds) > 0 {
		return n.aliased(&zone, &want, options, kinds)
	}
	plain := want
	plain.Options, plain.Targets = options, slices.Clone(want.Targets)
	if plain.Type == zones.TypeTXT {
		for i, target := range plain.Targets {
			plain.Targets[i] = canonicalText(target)
		}
	}
	if err := check(&zone, &plain); err != nil {
		return nil, err
	}
	plain.Options = n.marked(&plain)
	return []mirror.Record{plain}, nil
}

// aliasTypes returns the types of the aliases that a wish becomes; none where it
// stays what it is.
func (n *normalizer) aliasTypes(want *mirror.Record) ([]zones.Type, error) {
	value, asked := want.Option(mirror.OptionAlias)
	both := []zones.Type{zones.TypeA, zones.TypeAAAA}
	switch want.Type {
	case zones.TypeCNAME:
	case zones.TypeA, zones.TypeAAAA:
		// One that is an alias already. The annotation also stands on objects that have
		// addresses, which it doesn't concern.
		if asked && value != "false" && len(want.Targets) == 1 && !isAddress(want.Targets[0]) {
			return []zones.Type{want.Type}, nil
		}
		return nil, nil
	default:
		return nil, nil
	}
	switch {
	case asked && strings.EqualFold(value, "true"):
		return both, nil
	case asked && value == zones.TypeA.String():
		return both[:1], nil
	case asked && value == zones.TypeAAAA.String():
		return both[1:], nil
	case asked && strings.EqualFold(value, "false"):
		return nil, nil
	case asked:
		return nil, fmt.Errorf("alias=%s is none: write true, A, AAAA or false", value)
	case n.preferCNAME || len(want.Targets) != 1:
		return nil, nil
	}
	if n.tempting(want) {
		return both, nil
	}
	return nil, nil
}

// tempting reports whether a record is a CNAME that would be made an alias unless
// its object asks for none.
func (n *normalizer) tempting(r *mirror.Record) bool {
	if r.Type != zones.TypeCNAME || n.preferCNAME || len(r.Targets) != 1 {
		return false
	}
	target, err := zones.ParseName(r.Targets[0])
	return err == nil && n.aliases.of(target) != ""
}

// marked are the options of a record that isn't an alias. One that could be says
// so, since its normal form would become an alias otherwise.
func (n *normalizer) marked(r *mirror.Record) []zones.Option {
	if !n.tempting(r) {
		return r.Options
	}
	list := append(slices.Clone(r.Options), zones.Option{Key: mirror.OptionAlias, Value: "false"})
	sortOptions(list)
	return list
}

func isAddress(text string) bool {
	_, err := netip.ParseAddr(text)
	return err == nil
}

// aliased makes aliases of a wish. They have no TTL: that of the target counts.
func (n *normalizer) aliased(zone *mirror.Zone, want *mirror.Record, options []zones.Option, kinds []zones.Type) ([]mirror.Record, error) {
	if len(want.Targets) != 1 {
		return nil, fmt.Errorf("an alias has one target, and this one has %d: leave one, or ask for no alias", len(want.Targets))
	}
	target, err := zones.ParseName(want.Targets[0])
	if err != nil {
		return nil, fmt.Errorf("the alias target %q is no name: %w", want.Targets[0], err)
	}
	if slices.ContainsFunc(options, func(o zones.Option) bool { return o.Key == optionMultiValue }) {
		return nil, fmt.Errorf("%s and an alias exclude each other: ask for one of them", annotation(optionMultiValue))
	}
	text, own := target.String(), bare(zone.ID)
	id, explicit := want.Option(optionTargetZone)
	switch {
	case explicit && !plainID(bare(id)):
		return nil, fmt.Errorf("%s=%s is no ID of a hosted zone", annotation(optionTargetZone), id)
	case explicit:
		id = bare(id)
	case n.aliases.of(target) == "" && isAmazon(target):
		return nil, fmt.Errorf("the hosted zone of the alias target %s isn't known: name it by %s, or add it to --aws-alias-zones-file", text, annotation(optionTargetZone))
	case n.aliases.of(target) == "" && !target.In(zone.Name):
		return nil, fmt.Errorf("the alias target %s is neither a name of AWS nor one of the zone %s: leave out the alias, or name the target's hosted zone by %s", text, zone.Name, annotation(optionTargetZone))
	case target == want.Name:
		return nil, errors.New("the alias points at itself: give it another target")
	default:
		id = n.zoneOf(own, text)
	}
	evaluate := fmt.Sprint(n.evaluate)
	if value, ok := want.Option(optionEvaluate); ok {
		evaluate = strings.ToLower(value)
	}
	if evaluate != "true" && evaluate != "false" {
		return nil, fmt.Errorf("%s=%s is none: write true or false", annotation(optionEvaluate), evaluate)
	}
	if id == cloudFront {
		evaluate = "false"
	}
	options = append(slices.Clone(options), zones.Option{Key: mirror.OptionAlias, Value: "true"}, zones.Option{Key: optionEvaluate, Value: evaluate})
	if id != n.zoneOf(own, text) {
		options = append(options, zones.Option{Key: optionTargetZone, Value: id})
	}
	sortOptions(options)
	var list []mirror.Record
	for _, kind := range kinds {
		list = append(list, mirror.Record{Name: want.Name, Type: kind, Targets: []string{text}, SetIdentifier: want.SetIdentifier, Options: options, Resource: want.Resource})
	}
	return list, nil
}

// zoneOf is the hosted zone that an alias target lies in unless it is said
// otherwise: what the table knows, or the alias' own zone.
func (n *normalizer) zoneOf(own, target string) string {
	if name, err := zones.ParseName(target); err == nil {
		if id := n.aliases.of(name); id != "" {
			return id
		}
	}
	return own
}

// check says what Route 53 wouldn't take of a record that isn't an alias.
func check(zone *mirror.Zone, r *mirror.Record) error {
	switch {
	case r.Type == zones.TypeCNAME && r.Name == zone.Name:
		return fmt.Errorf("a CNAME can't stand at the zone's own name %s: point it at a target that can be an alias, or at addresses", zone.Name)
	case r.Type == zones.TypeCNAME && len(r.Targets) > 1:
		return fmt.Errorf("a CNAME has one target, and this one has %d: leave one", len(r.Targets))
	case r.Type == zones.TypeNS && r.Name.IsWildcard():
		return errors.New("a wildcard can't have NS records in Route 53: name the delegated zone")
	case (r.Type == zones.TypeNS || r.Type == zones.TypeCNAME) && policyOf(r) == "multivalue answer":
		return fmt.Errorf("%s is not for records of type %s: choose another routing policy", annotation(optionMultiValue), r.Type)
	}
	for _, target := range r.Targets {
		if len(target) > maxValue {
			return fmt.Errorf("a value has %d characters, and Route 53 takes %d", len(target), maxValue)
		}
		if r.Type == zones.TypeTXT && longestString(target) > maxString {
			return fmt.Errorf("a text has more than %d octets in one string: write it as several, each in quotes", maxString)
		}
	}
	return nil
}
