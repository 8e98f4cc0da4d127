package mirror

import (
	"crypto/cipher"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/clusterzone/clusterzone/zones"
)

// RegistryOptions say how ownership is kept. The zero value of each part but
// Owner is external-dns' default.
type RegistryOptions struct {
	// Noop keeps no ownership: every record of a managed type counts as this
	// mirror's own.
	Noop bool
	// Owner is the owner's ID (--txt-owner-id).
	Owner string
	// Prefix or Suffix are added to names of ownership records; "%{record_type}" in
	// them stands for the record's type.
	Prefix, Suffix string
	// Wildcard stands for the asterisk in names of ownership records.
	Wildcard string
	// Key encrypts the texts: 32 octets, or these in base64; "" for plain text.
	Key string
	// SingleAlias writes one ownership record for an alias of type A, as external-dns
	// from v0.22 on does. Otherwise a second one of the form that versions before
	// need is written too.
	SingleAlias bool
}

// A Registry tells and says who owns a record, by TXT records in the forms of
// external-dns: it reads all that versions since v0.11 have written, and writes
// that of the newest. It is immutable but for the random numbers it draws.
type Registry struct {
	options RegistryOptions
	affix   affix
	aead    cipher.AEAD // nil for plain text
}

// NewRegistry checks the options. The error names the flag and the mend.
func NewRegistry(options RegistryOptions) (*Registry, error) {
	r := &Registry{options: options, affix: affix{strings.ToLower(options.Prefix), strings.ToLower(options.Suffix), strings.ToLower(options.Wildcard)}}
	if options.Noop {
		return r, nil
	}
	switch i := strings.IndexAny(options.Owner, badInText); {
	case options.Owner == "":
		return nil, errors.New("--txt-owner-id is missing: it tells this cluster's records from those of others; choose a name that no other instance has")
	case i >= 0:
		return nil, fmt.Errorf("--txt-owner-id=%s holds %q, which no ownership text can: choose an ID without it", options.Owner, options.Owner[i:i+1])
	case strings.ContainsFunc(options.Owner, func(c rune) bool { return c <= ' ' || c > '~' }):
		return nil, fmt.Errorf("--txt-owner-id=%q holds white space or characters outside ASCII: choose an ID without them", options.Owner)
	case options.Prefix != "" && options.Suffix != "":
		return nil, errors.New("--txt-prefix and --txt-suffix exclude each other: keep the one that the zone's ownership records have")
	}
	if err := r.affix.check(); err != nil {
		return nil, err
	}
	if options.Key == "" {
		return r, nil
	}
	aead, err := newCipher(options.Key)
	if err != nil {
		return nil, fmt.Errorf("--txt-encrypt-aes-key: %w", err)
	}
	r.aead = aead
	return r, nil
}

// check makes sure that names can be made at all.
func (a affix) check() error {
	sample := zones.Root.Child("example").Child("www")
	for flag, text := range map[string]string{"--txt-prefix": a.prefix, "--txt-suffix": a.suffix, "--txt-wildcard-replacement": a.wildcard} {
		if text == "" {
			continue
		}
		plain := strings.ReplaceAll(text, typeTemplate, "a")
		if strings.ContainsFunc(plain, func(c rune) bool {
			return !strings.ContainsRune("abcdefghijklmnopqrstuvwxyz0123456789-_.", c)
		}) || flag == "--txt-wildcard-replacement" && strings.Contains(text, ".") {
			return fmt.Errorf("%s=%s can't be part of a name: use letters, digits, hyphens and underscores", flag, text)
		}
	}
	if _, err := a.name(sample, zones.TypeA); err != nil {
		return fmt.Errorf("--txt-prefix=%s --txt-suffix=%s make no name of %s: %w", a.prefix, a.suffix, sample, err)
	}
	return nil
}

// Owner returns the owner's ID; "" without ownership.
func (r *Registry) Owner() string {
	if r.options.Noop {
		return ""
	}
	return r.options.Owner
}

// read returns the labels of an ownership record; ok is false for other TXT
// records. As in external-dns the first target counts alone.
func (r *Registry) read(record *Record) (l labels, ok bool) {
	if record.Type != zones.TypeTXT || len(record.Targets) == 0 {
		return labels{}, false
	}
	text := strings.Trim(record.Targets[0], `"`)
	if r.aead != nil {
		// What can't be decrypted may be plain: zones are mixed while encryption is
		// being turned on.
		if plain, nonce, err := decrypt(r.aead, text); err == nil {
			l, ok = parseLabels(plain)
			l.nonce = nonce
			return l, ok
		}
	}
	return parseLabels(text)
}

// text returns the ownership text of a record that this mirror owns, with its
// quotes. A nonce that was read is used again, so that the same pairs give the
// same octets; nil draws a new one. Where the text would be too long, the resource
// is left out.
func (r *Registry) text(resource string, nonce []byte) (string, error) {
	l := labels{pairs: map[string]string{labelOwner: r.options.Owner}}
	if resource != "" && !strings.ContainsAny(resource, badInText) {
		l.pairs[labelResource] = resource
	}
	text, err := r.written(l, nonce)
	if err == nil && len(text) > maxText && l.pairs[labelResource] != "" {
		delete(l.pairs, labelResource)
		text, err = r.written(l, nonce)
	}
	if err == nil && len(text) > maxText {
		err = fmt.Errorf("the ownership text for --txt-owner-id=%s is longer than %d characters: choose a shorter ID", r.options.Owner, maxText)
	}
	return `"` + text + `"`, err
}

func (r *Registry) written(l labels, nonce []byte) (string, error) {
	if r.aead == nil {
		return l.plainText(), nil
	}
	if len(nonce) != nonceOctets {
		nonce = make([]byte, nonceOctets)
		if _, err := rand.Read(nonce); err != nil {
			return "", err
		}
	}
	return encrypt(r.aead, l.plainText(), nonce)
}

// forms returns the types under which the ownership of a record is written, the
// one that every version needs first.
func (r *Registry) forms(record *Record) []zones.Type {
	if record.alias() && record.Type == zones.TypeA && !r.options.SingleAlias {
		return []zones.Type{zones.TypeA, zones.TypeCNAME}
	}
	return []zones.Type{record.Type}
}

// An ownerKey is what an ownership record speaks of: a name (with the replacement
// for an asterisk), a type (or TypeNone) and a set identifier.
type ownerKey struct {
	name zones.Name
	kind zones.Type
	set  string
}

// A claim is one ownership record as it was read.
type claim struct {
	record *Record
	labels labels
	key    ownerKey
}

// An ownership is all ownership records of one listing.
type ownership struct {
	registry *Registry
	claims   map[ownerKey][]*claim
	texts    map[*Record]*claim
}

// ownership reads the ownership records of a listing. It keeps pointers into it.
func (r *Registry) ownership(observed []Record) *ownership {
	o := &ownership{registry: r, claims: map[ownerKey][]*claim{}, texts: map[*Record]*claim{}}
	if r.options.Noop {
		return o
	}
	for i := range observed {
		record := &observed[i]
		l, ok := r.read(record)
		if !ok {
			continue
		}
		c := &claim{record: record, labels: l}
		// A text at a name that no rule explains owns nothing, and is nobody's
		// record to manage.
		if name, kind, ok := r.affix.record(record.Name); ok {
			c.key = ownerKey{name, kind, record.SetIdentifier}
			o.claims[c.key] = append(o.claims[c.key], c)
		}
		o.texts[record] = c
	}
	return o
}

// all returns every claim on a record, the one that counts first: of its own
// type, for an alias of type A also of type CNAME, and but for AAAA also without
// type, for which that form was never written.
func (o *ownership) all(record *Record) []*claim {
	key := ownerKey{o.registry.affix.plain(record.Name), record.Type, record.SetIdentifier}
	list := slices.Clone(o.claims[key])
	if record.alias() && record.Type == zones.TypeA {
		key.kind = zones.TypeCNAME
		list = append(list, o.claims[key]...)
	}
	if record.Type != zones.TypeAAAA {
		key.kind = zones.TypeNone
		list = append(list, o.claims[key]...)
	}
	return list
}

// of returns the claim that counts for a record, or nil where it has no owner.
func (o *ownership) of(record *Record) *claim {
	if list := o.all(record); len(list) > 0 {
		return list[0]
	}
	return nil
}

// ours reports whether a claim is this mirror's.
func (o *ownership) ours(c *claim) bool {
	return c != nil && c.labels.owner() == o.registry.options.Owner
}
