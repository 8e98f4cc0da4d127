package cloudflare

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/clusterzone/clusterzone/upstream/mirror"
	"github.com/clusterzone/clusterzone/zones"
)

// Options of records, under external-dns' names.
const (
	family         = "cloudflare"
	optionProxied  = family + "/proxied"
	optionComment  = family + "/record-comment"
	optionTags     = family + "/tags"
	optionHostname = family + "/custom-hostname"
	optionRegion   = family + "/region-key"
	// optionUneven names the attributes in which the objects of a set differ. No wish
	// has it, so that the set is made even.
	optionUneven = family + "/uneven"
)

// attributes are what an object has beside its value. They are comparable.
type attributes struct {
	ttl     uint32 // automatic where the record is proxied
	proxied bool
	comment string
	tags    string // sorted, with commas between
}

func (o *object) attributes() attributes {
	a := attributes{ttl: o.TTL, proxied: o.Proxied, tags: sortTags(o.Tags)}
	if o.Comment != nil {
		a.comment = *o.Comment
	}
	return a
}

// put writes the attributes into an object that has others now (none, for one that
// is created): what is the same is left out where it can be.
func (a attributes) put(o *object, now attributes) {
	o.TTL, o.Proxied, o.Comment, o.Tags = a.ttl, a.proxied, nil, nil
	if a.comment != now.comment {
		o.Comment = &a.comment
	}
	if a.tags != now.tags {
		o.Tags = []string{}
		if a.tags != "" {
			o.Tags = strings.Split(a.tags, ",")
		}
	}
}

// options are the attributes but for the TTL. What isn't there is left out.
func (a attributes) options() []zones.Option {
	var list []zones.Option
	if a.proxied {
		list = append(list, zones.Option{Key: optionProxied, Value: "true"})
	}
	if a.comment != "" {
		list = append(list, zones.Option{Key: optionComment, Value: a.comment})
	}
	if a.tags != "" {
		list = append(list, zones.Option{Key: optionTags, Value: a.tags})
	}
	return list
}

// attributesOf reads a record in its normal form. ttl counts where the record says
// none.
func attributesOf(r *mirror.Record, ttl uint32) attributes {
	a := attributes{ttl: ttl}
	if r.TTL.Set && r.TTL.Seconds > 0 {
		a.ttl = r.TTL.Seconds
	}
	for _, option := range r.Options {
		switch option.Key {
		case optionProxied:
			a.proxied = option.Value == "true"
		case optionComment:
			a.comment = option.Value
		case optionTags:
			a.tags = option.Value
		}
	}
	if a.proxied {
		a.ttl = automatic
	}
	return a
}

// uneven names the attributes in which two objects of a set differ.
func (a attributes) uneven(b attributes) []string {
	var list []string
	for _, difference := range []struct {
		what   string
		differ bool
	}{
		{"comment", a.comment != b.comment},
		{"proxied", a.proxied != b.proxied},
		{"tags", a.tags != b.tags},
		{"ttl", a.ttl != b.ttl},
	} {
		if difference.differ {
			list = append(list, difference.what)
		}
	}
	return list
}

// proxiable reports whether Cloudflare can proxy records of a type.
func proxiable(kind zones.Type) bool {
	return kind == zones.TypeA || kind == zones.TypeAAAA || kind == zones.TypeCNAME
}

// sortTags brings tags into the form in which they are compared: names of tags have
// no case, and their order means nothing.
func sortTags(tags []string) string {
	var list []string
	for _, tag := range tags {
		name, value, _ := strings.Cut(strings.TrimSpace(tag), ":")
		if name != "" || value != "" {
			list = append(list, strings.ToLower(name)+":"+value)
		}
	}
	slices.Sort(list)
	return strings.Join(slices.Compact(list), ",")
}

// checkTags refuses what Cloudflare would, with the whole batch ("DNS record
// attributes").
func checkTags(tags string, of plan) error {
	switch {
	case tags == "":
		return nil
	case of == planFree:
		return errors.New("zones of the plan Free have no tags: take the annotation cloudflare-tags away, or change the zone's plan")
	}
	const most, nameLength, valueLength = 20, 32, 100
	list := strings.Split(tags, ",")
	if len(list) > most {
		return fmt.Errorf("the annotation cloudflare-tags has %d tags: a record has %d at most", len(list), most)
	}
	for _, tag := range list {
		name, value, _ := strings.Cut(tag, ":")
		if name == "" || len(name) > nameLength || strings.Trim(name, "0123456789abcdefghijklmnopqrstuvwxyz-_") != "" {
			return fmt.Errorf("the annotation cloudflare-tags has a tag called %q: names have 1 to %d letters, digits, - and _", name, nameLength)
		}
		if utf8.RuneCountInString(value) > valueLength || strings.ContainsFunc(value, unicode.IsControl) {
			return fmt.Errorf("the annotation cloudflare-tags has a value of the tag %s that is longer than %d characters or has control characters", name, valueLength)
		}
	}
	return nil
}

// checkComment says what is wrong with a comment, in words that follow its name.
func checkComment(comment string) error {
	if strings.ContainsFunc(comment, unicode.IsControl) || !utf8.ValidString(comment) {
		return errors.New("has a line break or control characters: write it on one line")
	}
	return nil
}

// cut shortens a comment to what a plan takes, as external-dns does.
func cut(comment string, most int) string {
	if utf8.RuneCountInString(comment) <= most {
		return comment
	}
	return strings.TrimSpace(string([]rune(comment)[:most]))
}

// A normalizer has the options that say how wishes are written.
type normalizer struct {
	proxied bool
	comment string
}

// normalize is Cloud.Normalize.
func (n *normalizer) normalize(zone mirror.Zone, want mirror.Record) ([]mirror.Record, error) {
	of := zoneOf(zone).plan()
	a, err := n.attributes(&want, of)
	if err != nil {
		return nil, err
	}
	next := want
	next.Options, next.Targets = a.options(), nil
	size := 0
	for _, target := range want.Targets {
		written, err := canonical(want.Type, target)
		if err != nil {
			return nil, err
		}
		size += len(written)
		if !slices.Contains(next.Targets, written) {
			next.Targets = append(next.Targets, written)
		}
	}
	const most = 8192 // "DNS record types"
	switch {
	case size > most:
		return nil, fmt.Errorf("its data have %d characters, and Cloudflare takes %d for one name and type: ask for fewer targets", size, most)
	case want.Type == zones.TypeCNAME && len(next.Targets) > 1:
		return nil, fmt.Errorf("a CNAME has one target, and this one has %d", len(next.Targets))
	}
	switch {
	case a.proxied || want.TTL.Seconds == 0:
		next.TTL = zones.TTL{} // a proxied record has none of its own
	case want.TTL.Seconds != automatic:
		next.TTL.Seconds = min(max(want.TTL.Seconds, of.minTTL()), maxTTL)
	}
	return []mirror.Record{next}, nil
}

// attributes reads what a wish asks for beside its data.
func (n *normalizer) attributes(want *mirror.Record, of plan) (attributes, error) {
	a := attributes{proxied: n.proxied, comment: n.comment}
	for _, option := range want.Options {
		value := strings.TrimSpace(option.Value)
		switch option.Key {
		case optionProxied:
			proxied, err := strconv.ParseBool(value)
			if err != nil {
				return a, fmt.Errorf("the annotation cloudflare-proxied is %q: write true or false", value)
			}
			a.proxied = proxied
		case optionComment:
			if err := checkComment(value); err != nil {
				return a, fmt.Errorf("the annotation cloudflare-record-comment %w", err)
			}
			a.comment = value
		case optionTags:
			a.tags = sortTags(strings.Split(value, ","))
		case optionHostname, optionRegion:
			if value != "" {
				return a, fmt.Errorf("the annotation %s asks for what this mirror doesn't manage (custom hostnames, regional services): take it away, and set that up in Cloudflare; what is set up there stays as it is", strings.Replace(option.Key, "/", "-", 1))
			}
		case mirror.OptionAlias: // every CNAME at Cloudflare may stand at the apex
		default:
			if strings.HasPrefix(option.Key, family+"/") {
				return a, fmt.Errorf("the option %s is none of this mirror's: it knows proxied, record-comment and tags", option.Key)
			}
		}
	}
	a.proxied = a.proxied && proxiable(want.Type)
	a.comment = cut(strings.TrimSpace(a.comment), of.comment())
	return a, checkTags(a.tags, of)
}
