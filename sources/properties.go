package sources

import (
	"fmt"
	"slices"
	"strings"

	"github.com/clusterzone/clusterzone/zones"
)

// optionName returns the name of the provider-specific option that an
// annotation key without prefix stands for, or "". The families take any
// ending; azure and cloudflare have a few keys only, matched whole.
func optionName(key string) string {
	provider, rest, ok := strings.Cut(key, "-")
	if !ok || rest == "" {
		return ""
	}
	switch provider {
	case "aws", "scw", "webhook", "coredns":
		return provider + "/" + rest
	case "azure":
		if rest == "tags" {
			return "azure/tags"
		}
	case "cloudflare":
		switch rest {
		case "proxied", "custom-hostname", "region-key", "record-comment", "tags":
			return "cloudflare/" + rest
		}
	}
	return ""
}

// isOptionKey reports whether a key belongs to a provider, whether or not it
// stands for an option: it is no slip of the fingers then.
func isOptionKey(key string) bool {
	for _, family := range []string{"aws-", "scw-", "webhook-", "coredns-", "azure-", "cloudflare-"} {
		if strings.HasPrefix(key, family) {
			return true
		}
	}
	return false
}

// readProperties reads what annotations say about all records of the object:
// TTL, set-identifier and options.
func (d *draft) readProperties() {
	d.readTTL()
	d.setIdentifier = d.annotations.value(keySetIdentifier)
	switch text := d.annotations.value(keyAlias); {
	case text == "true":
		d.options = append(d.options, zones.Option{Key: keyAlias, Value: "true"})
	case text == "false" && d.tr.options.PreferAlias:
		d.note(zones.ReasonIgnoredProperty, `the alias annotation "false" doesn't override --prefer-alias`)
	case text != "" && text != "false":
		d.note(zones.ReasonInvalidValue, fmt.Sprintf(`the alias annotation %s has no effect; write "true"`, quote(text)))
	}
	d.readReverse()
	if d.tr.options.Provider != "" {
		for _, key := range d.annotations.keys() {
			if name := optionName(key); d.tr.keepsOptionsOf(name) {
				d.options = append(d.options, zones.Option{Key: name, Value: d.annotations.value(key)})
			}
		}
	}
	slices.SortFunc(d.options, func(a, b zones.Option) int { return strings.Compare(a.Key, b.Key) })
}

// keepsOptionsOf reports whether an option is named after a provider that is
// asked for ("aws/weight").
func (tr *Translator) keepsOptionsOf(option string) bool {
	family, _, ok := strings.Cut(option, "/")
	return ok && slices.Contains(strings.Split(tr.options.Provider, ","), family)
}

// readTTL reads the ttl annotation; one that can't be read counts as missing.
func (d *draft) readTTL() {
	text := d.annotations.value(keyTTL)
	if text == "" {
		return
	}
	ttl, err := parseTTL(text)
	if err != nil {
		d.note(zones.ReasonInvalidTTL, fmt.Sprintf("the ttl annotation %s %v", quote(text), err))
	}
	d.ttl = ttl
}

// readReverse reads the record-type annotation. Where PTR records are none of
// the types wanted, it is an option like others, as external-dns has it.
func (d *draft) readReverse() {
	text, ok := d.annotations.get(keyRecordType)
	switch {
	case !ok:
	case d.tr.recordTypes.judge(zones.TypePTR) == "":
		d.reverse = parseReverse(text)
	default:
		d.options = append(d.options, zones.Option{Key: keyRecordType, Value: text})
		if parseReverse(text) == reverseWanted {
			d.note(zones.ReasonIgnoredProperty, "the record-type annotation has no effect: "+d.tr.recordTypes.judge(zones.TypePTR))
		}
	}
}

// optionsFor returns the options of a claim of type t among own, which stays
// as it is. dropped reports that alias has no meaning on the type.
func (tr *Translator) optionsFor(t zones.Type, own []zones.Option) (options []zones.Option, dropped bool) {
	at := slices.IndexFunc(own, func(o zones.Option) bool { return o.Key == keyAlias })
	switch t {
	case zones.TypeA, zones.TypeAAAA:
		return own, false
	case zones.TypeCNAME:
		if at < 0 && tr.options.PreferAlias {
			options = append(slices.Clone(own), zones.Option{Key: keyAlias, Value: "true"})
			slices.SortFunc(options, func(a, b zones.Option) int { return strings.Compare(a.Key, b.Key) })
			return options, false
		}
		return own, false
	}
	if at < 0 {
		return own, false
	}
	return slices.Delete(slices.Clone(own), at, at+1), true
}
