package mirror

import (
	"fmt"
	"strings"

	"github.com/clusterzone/clusterzone/zones"
)

// typeTemplate stands for the record's type in a prefix or suffix.
const typeTemplate = "%{record_type}"

// An affix makes the names of ownership records as external-dns does, and reads
// them back by the same rules, odd ones included. It works on names as text,
// since a prefix needn't end where a label does.
type affix struct{ prefix, suffix, wildcard string } // in lower case

// affixTypes are the types that external-dns looks for in names, in its order.
func affixTypes() []zones.Type {
	return []zones.Type{
		zones.TypeA, zones.TypeAAAA, zones.TypeCNAME, zones.TypeNS, zones.TypeMX, zones.TypePTR,
		zones.TypeSRV, zones.TypeNAPTR, zones.TypeTXT, zones.TypeDNAME,
	}
}

func (a affix) hasTemplate() bool {
	return strings.Contains(a.prefix, typeTemplate) || strings.Contains(a.suffix, typeTemplate)
}

// name returns the name of the ownership record of a record, for TypeNone that
// of the form that external-dns wrote up to v0.17. The error says why there is
// no such name.
func (a affix) name(record zones.Name, kind zones.Type) (zones.Name, error) {
	word := ""
	if kind != zones.TypeNone {
		word = strings.ToLower(kind.String())
	}
	first, rest, _ := strings.Cut(a.plain(record).String(), ".")
	if word != "" && !a.hasTemplate() {
		first = word + "-" + first
	}
	text := strings.ReplaceAll(a.prefix, typeTemplate, word) + first + strings.ReplaceAll(a.suffix, typeTemplate, word)
	if rest != "" {
		text += "." + rest
	}
	name, err := zones.ParseName(text)
	if err != nil {
		return "", fmt.Errorf("its ownership record would be called %s, and %w", text, err)
	}
	return name, nil
}

// plain returns the record's name as it stands in names of ownership records:
// with the replacement for an asterisk.
func (a affix) plain(record zones.Name) zones.Name {
	if a.wildcard == "" || !record.IsWildcard() {
		return record
	}
	if name := record.Parent().Child(a.wildcard); name != "" {
		return name
	}
	return record
}

// record reads the name of an ownership record back: the record's name (with
// the replacement for an asterisk) and its type, or TypeNone in the form without
// one. ok is false where it isn't such a name.
func (a affix) record(name zones.Name) (record zones.Name, kind zones.Type, ok bool) {
	text, rest := name.String(), ""
	if a.suffix != "" {
		// The suffix ends the first label, or spans as many as it has dots.
		labels := strings.SplitN(text, ".", 2+strings.Count(a.suffix, "."))
		if n := 1 + strings.Count(a.suffix, "."); len(labels) > n {
			text, rest = strings.Join(labels[:n], "."), "."+labels[n]
		}
	}
	text, kind, ok = a.strip(text)
	if !ok {
		return "", zones.TypeNone, false
	}
	record, err := zones.ParseName(text + rest)
	return record, kind, err == nil
}

func (a affix) strip(text string) (rest string, kind zones.Type, ok bool) {
	if a.hasTemplate() {
		for _, kind := range affixTypes() {
			word := strings.ToLower(kind.String())
			if rest, ok := cutBoth(text, strings.ReplaceAll(a.prefix, typeTemplate, word), strings.ReplaceAll(a.suffix, typeTemplate, word)); ok {
				return rest, kind, true
			}
		}
	}
	rest, ok = cutBoth(text, strings.ReplaceAll(a.prefix, typeTemplate, ""), strings.ReplaceAll(a.suffix, typeTemplate, ""))
	if !ok {
		return "", zones.TypeNone, false
	}
	word, after, dashed := strings.Cut(rest, "-")
	for _, kind := range affixTypes() {
		if dashed && word == strings.ToLower(kind.String()) {
			return after, kind, true
		}
	}
	return rest, zones.TypeNone, true
}

// typeless reads the name of an ownership record as one of the form without type,
// whatever it begins with; "" where it can't be one.
func (a affix) typeless(name zones.Name) zones.Name {
	if a.hasTemplate() {
		return ""
	}
	text, rest := name.String(), ""
	if a.suffix != "" {
		text, rest, _ = strings.Cut(text, ".")
		rest = "." + rest
	}
	text, ok := cutBoth(text, a.prefix, a.suffix)
	record, err := zones.ParseName(text + rest)
	if !ok || err != nil {
		return ""
	}
	return record
}

func cutBoth(text, prefix, suffix string) (string, bool) {
	if len(text) < len(prefix)+len(suffix) || !strings.HasPrefix(text, prefix) || !strings.HasSuffix(text, suffix) {
		return "", false
	}
	return text[len(prefix) : len(text)-len(suffix)], true
}

// related returns all names at which an ownership record of the record might
// stand, and the name that shares one with it by the wildcard's replacement.
func (a affix) related(record zones.Name, kinds []zones.Type) []zones.Name {
	var names []zones.Name
	for _, kind := range append([]zones.Type{zones.TypeNone, zones.TypeCNAME}, kinds...) {
		if name, err := a.name(record, kind); err == nil {
			names = append(names, name)
		}
	}
	if twin := a.twin(record); twin != "" {
		names = append(names, twin)
	}
	return names
}

// twin returns the other name whose ownership records have the same names: the
// wildcard beside its replacement, and the other way round; or "".
func (a affix) twin(record zones.Name) zones.Name {
	switch {
	case a.wildcard == "":
		return ""
	case record.IsWildcard():
		return a.plain(record)
	case record.FirstLabel() == a.wildcard:
		return record.Parent().Wildcard()
	}
	return ""
}
