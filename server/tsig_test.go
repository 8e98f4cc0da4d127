package server

import (
	"fmt"
	"strings"
	"testing"
)

// TestNewTSIGKey: what can't be a key says why in one sentence without the secret.
func TestNewTSIGKey(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, algorithm, secret, want string }{
		{"xfr", "hmac-sha256", testSecret, ""},
		{"Xfr.corp.test.", "HMAC-SHA512.", "MDEyMzQ1 Njc4OWFi\nY2RlZg==", ""},
		{"xfr", "hmac-sha256", "c2VjcmV0", "has 6 octets, and needs 16"},
		{"xfr", "hmac-sha256", "", "has 0 octets"},
		{"xfr", "hmac-sha256", testSecret[:19], "no base64"},
		{"xfr", "hmac-sha256", "c2Vj-cmV0", "no base64"},
		{"xfr", "hmac-md5", testSecret, "take hmac-sha256"},
		{"xfr", "hmac-sha1", testSecret, "take hmac-sha256"},
		{"a..b", "hmac-sha256", testSecret, "no name of a key"},
	} {
		key, err := NewTSIGKey(test.name, test.algorithm, test.secret)
		switch {
		case test.want == "" && err != nil, test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)):
			t.Errorf("%q %q: %v, want %q", test.name, test.algorithm, err, test.want)
		case err != nil && len(test.secret) > 10 && strings.Contains(err.Error(), test.secret):
			t.Errorf("the error tells the secret: %v", err)
		}
		if text := fmt.Sprint(key); strings.Contains(text, "48") {
			t.Errorf("a key prints its secret: %s", text)
		}
	}
}

// TestParseTSIGKeyFile reads what tsig-keygen prints, and what people make of it.
func TestParseTSIGKeyFile(t *testing.T) {
	t.Parallel()
	good := "key \"xfr.corp.test\" {\n\talgorithm hmac-sha256;\n\tsecret \"" + testSecret + "\";\n};\n"
	for _, test := range []struct{ text, want string }{
		{good, "xfr.corp.test (hmac-sha256)"},
		{"# one\n// two\n/* three\n*/ " + good + strings.Replace(good, "xfr", "other", 1), "xfr.corp.test (hmac-sha256), other.corp.test (hmac-sha256)"},
		{"KEY xfr{secret " + testSecret + ";Algorithm \"hmac-sha384\";}", "xfr (hmac-sha384)"},
		{"", "1: there is no key"},
		{"# nothing\n", "2: there is no key"},
		{"\n\nkey \"xfr\" {\n algorithm hmac-md5; secret \"" + testSecret + "\"; };", `4: the key xfr has the algorithm "hmac-md5"`},
		{"key \"xfr\" { secret \"" + testSecret + "\"; };", "1: this is no key statement"},
		{"key \"xfr\" { algorithm hmac-sha256; algorithm hmac-sha256; };", "1: this is no key statement"},
		{"key \"xfr\" {", "1: this is no key statement"},
		{"key \"xfr", "1: a quotation mark is missing"},
		{"key \"\" {", "1: this is no key statement"},
		{"zone \"corp.test\" { };", "1: this is no key statement"},
		{"key \"xfr\" { algorithm hmac-sha256; secret \"c2VjcmV0\"; };", "1: the secret of the key xfr has 6 octets"},
		{"/* open", "1: there is no key"},
	} {
		keys, err := ParseTSIGKeyFile([]byte(test.text))
		var got []string
		for _, key := range keys {
			got = append(got, key.String())
		}
		if err != nil {
			got = []string{err.Error()}
		}
		if text := strings.Join(got, ", "); !strings.HasPrefix(text, test.want) || err == nil && text != test.want {
			t.Errorf("%q gives %q, want %q", test.text, text, test.want)
		}
	}
}

// TestKeysChangeInUse: a message counts with the keys as they are when it comes.
func TestKeysChangeInUse(t *testing.T) {
	t.Parallel()
	p := newPrimary(t)
	p.commit()
	options := p.options(t)
	r := Responder{Options: options}
	other, err := NewTSIGKey("other", "hmac-sha512", testSecret)
	if err != nil {
		t.Fatal(err)
	}
	was := options.Keys.find(testName(t, testKey))
	for _, step := range []struct {
		keys []TSIGKey
		want string
	}{
		{[]TSIGKey{*was, other}, "NOERROR"}, {[]TSIGKey{other}, "NOTAUTH"}, {nil, "NOTAUTH"}, {[]TSIGKey{*was}, "NOERROR"},
	} {
		options.Keys.Set(step.keys)
		query, peer := askFor(t, "corp.test SOA key="+testKey+" secret="+strings.TrimSuffix(testSecret, "=")+" time=1700000000")
		reply, _ := r.Respond(nil, query, p.store.Load(), peer)
		if got := describe(reply, UDP); !strings.HasPrefix(got, step.want) {
			t.Errorf("with %v: %s", step.keys, got)
		}
	}
}
