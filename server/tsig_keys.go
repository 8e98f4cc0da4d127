package server

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"errors"
	"fmt"
	"hash"
	"strings"
	"sync/atomic"

	"github.com/clusterzone/clusterzone/zones"
)

// minSecret is the least length of a secret in octets: what is shorter can be
// guessed by who hears signed messages.
const minSecret = 16

// A TSIGKey is a secret that two servers share to sign what they say to one
// another (RFC 8945). Make keys with NewTSIGKey or ParseTSIGKeyFile. It is
// immutable and prints without its secret.
type TSIGKey struct {
	name      zones.Name
	algorithm tsigAlgorithm
	secret    []byte
}

type tsigAlgorithm struct {
	text string
	name zones.Name
	hash func() hash.Hash
	size int // of the whole MAC in octets
}

// tsigAlgorithms are those that RFC 8945 section 6 recommends; the first is the
// usual one. MD5 and SHA-1 are left out on purpose.
func tsigAlgorithms() []tsigAlgorithm {
	algorithms := []tsigAlgorithm{
		{text: "hmac-sha256", hash: sha256.New, size: sha256.Size},
		{text: "hmac-sha384", hash: sha512.New384, size: sha512.Size384},
		{text: "hmac-sha512", hash: sha512.New, size: sha512.Size},
	}
	for i := range algorithms {
		algorithms[i].name = zones.Root.Child(algorithms[i].text)
	}
	return algorithms
}

// NewTSIGKey makes a key of its name, its algorithm (hmac-sha256, hmac-sha384 or
// hmac-sha512) and its secret in base64. The error is one sentence, and holds
// nothing of the secret.
func NewTSIGKey(name, algorithm, secret string) (TSIGKey, error) {
	parsed, err := zones.ParseName(name)
	if err != nil {
		return TSIGKey{}, fmt.Errorf("%q is no name of a key: %w", name, err)
	}
	key := TSIGKey{name: parsed}
	wanted := strings.ToLower(strings.TrimSuffix(algorithm, "."))
	for _, known := range tsigAlgorithms() {
		if known.text == wanted {
			key.algorithm = known
		}
	}
	if key.algorithm.hash == nil {
		return TSIGKey{}, fmt.Errorf("the key %s has the algorithm %q; take hmac-sha256, hmac-sha384 or hmac-sha512, for example with \"tsig-keygen -a hmac-sha256 %s\"", parsed, algorithm, parsed)
	}
	secret = strings.Join(strings.Fields(secret), "")
	if key.secret, err = base64.StdEncoding.DecodeString(secret); err != nil {
		return TSIGKey{}, fmt.Errorf("the secret of the key %s is no base64; copy it whole, with the = signs at its end", parsed)
	}
	if len(key.secret) < minSecret {
		return TSIGKey{}, fmt.Errorf("the secret of the key %s has %d octets, and needs %d at least; make one with \"openssl rand -base64 %d\"", parsed, len(key.secret), minSecret, key.algorithm.size)
	}
	return key, nil
}

// Name returns the key's name.
func (k TSIGKey) Name() zones.Name { return k.name }

// String returns name and algorithm.
func (k TSIGKey) String() string { return k.name.String() + " (" + k.algorithm.text + ")" }

// Equal reports whether both have the same name, algorithm and secret.
func (k TSIGKey) Equal(other TSIGKey) bool {
	return k.name == other.name && k.algorithm.name == other.algorithm.name && hmac.Equal(k.secret, other.secret)
}

// TSIGKeys are the keys of a server. They may change while it runs, and are safe for
// concurrent use. A nil pointer holds none.
type TSIGKeys struct{ keys atomic.Pointer[[]TSIGKey] }

// NewTSIGKeys returns TSIGKeys as Set makes them.
func NewTSIGKeys(keys ...TSIGKey) *TSIGKeys {
	k := &TSIGKeys{}
	k.Set(keys)
	return k
}

// Set takes other keys, for messages that come from now on: a transfer that goes on is
// signed to its end with the key that it began with. The slice must not change
// any more.
func (k *TSIGKeys) Set(keys []TSIGKey) { k.keys.Store(&keys) }

// find returns the key of a name, nil where there is none.
func (k *TSIGKeys) find(name zones.Name) *TSIGKey {
	if k == nil {
		return nil
	}
	all := *k.keys.Load()
	for i := range all {
		if all[i].name == name {
			return &all[i]
		}
	}
	return nil
}

// ParseTSIGKeyFile reads key statements as BIND's named.conf has them and
// tsig-keygen prints them: key "NAME" { algorithm hmac-sha256; secret "..."; };
// with comments in the styles of the shell, C and C++. The error begins with the
// number of the line, and holds nothing of any secret.
func ParseTSIGKeyFile(text []byte) ([]TSIGKey, error) {
	p := keyParser{text: text, line: 1}
	var keys []TSIGKey
	for {
		word, err := p.word()
		if err != nil {
			return nil, fmt.Errorf("%d: %w", p.line, err)
		}
		if word == "" {
			break
		}
		if word == ";" {
			continue
		}
		key, err := p.statement(word)
		if err != nil {
			return nil, fmt.Errorf("%d: %w", p.line, err)
		}
		keys = append(keys, key)
	}
	if len(keys) == 0 {
		return nil, fmt.Errorf("%d: there is no key; write what \"tsig-keygen NAME\" prints", p.line)
	}
	return keys, nil
}

var errKeyShape = errors.New(`this is no key statement; write key "NAME" { algorithm hmac-sha256; secret "BASE64"; };`)

// A keyParser splits a key file into words: punctuation { } ;, quoted texts and
// bare ones.
type keyParser struct {
	text []byte
	line int
}

func (p *keyParser) statement(first string) (TSIGKey, error) {
	name, err := p.word()
	if err != nil {
		return TSIGKey{}, err
	}
	open, err := p.word()
	if err != nil {
		return TSIGKey{}, err
	}
	if !strings.EqualFold(first, "key") || open != "{" {
		return TSIGKey{}, errKeyShape
	}
	values := map[string]string{}
	for {
		option, err := p.word()
		if err != nil {
			return TSIGKey{}, err
		}
		if option == "}" {
			break
		}
		value, err := p.word()
		if err != nil {
			return TSIGKey{}, err
		}
		end, err := p.word()
		if err != nil {
			return TSIGKey{}, err
		}
		option = strings.ToLower(option)
		if end != ";" || values[option] != "" || option != "algorithm" && option != "secret" {
			return TSIGKey{}, errKeyShape
		}
		values[option] = value
	}
	if values["algorithm"] == "" || values["secret"] == "" {
		return TSIGKey{}, errKeyShape
	}
	return NewTSIGKey(name, values["algorithm"], values["secret"])
}

// word returns the next word, "" at the end of the text.
func (p *keyParser) word() (string, error) {
	p.skip()
	if len(p.text) == 0 {
		return "", nil
	}
	switch c := p.text[0]; c {
	case '{', '}', ';':
		p.text = p.text[1:]
		return string(c), nil
	case '"':
		end := bytes.IndexAny(p.text[1:], "\"\n")
		if end < 0 || p.text[1+end] == '\n' {
			return "", errors.New("a quotation mark is missing at the end of a text; put it there")
		}
		word := string(p.text[1 : 1+end])
		p.text = p.text[2+end:]
		if word == "" {
			return "", errKeyShape
		}
		return word, nil
	}
	end := bytes.IndexAny(p.text, " \t\r\n{};\"")
	if end < 0 {
		end = len(p.text)
	}
	word := string(p.text[:end])
	p.text = p.text[end:]
	return word, nil
}

// skip leaves out white space and comments.
func (p *keyParser) skip() {
	for len(p.text) > 0 {
		n := 0
		switch {
		case bytes.IndexByte([]byte(" \t\r\n"), p.text[0]) >= 0:
			n = 1
		case p.text[0] == '#', bytes.HasPrefix(p.text, []byte("//")):
			if n = bytes.IndexByte(p.text, '\n'); n < 0 {
				n = len(p.text)
			}
		case bytes.HasPrefix(p.text, []byte("/*")):
			if n = bytes.Index(p.text, []byte("*/")) + 2; n < 2 {
				n = len(p.text)
			}
		default:
			return
		}
		p.line += bytes.Count(p.text[:n], []byte("\n"))
		p.text = p.text[n:]
	}
}
