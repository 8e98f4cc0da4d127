package mirror

import (
	"bytes"
	"crypto/cipher"
	"strings"
	"testing"

	"github.com/clusterzone/clusterzone/zones"
)

func parse(t testing.TB, text string) zones.Name {
	t.Helper()
	name, err := zones.ParseName(text)
	if err != nil {
		t.Fatal(err)
	}
	return name
}

// The names that every version of external-dns since v0.12 writes, and what it
// reads back from them.
func TestNamesOfOwnershipRecords(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		affix     affix
		record    string
		kind      zones.Type
		name, old string
	}{
		{affix{}, "www.ex.com", zones.TypeA, "a-www.ex.com", "www.ex.com"},
		{affix{}, "www.ex.com", zones.TypeCNAME, "cname-www.ex.com", "www.ex.com"},
		{affix{}, "www.ex.com", zones.TypeAAAA, "aaaa-www.ex.com", "www.ex.com"},
		{affix{prefix: "extdns-"}, "www.ex.com", zones.TypeA, "extdns-a-www.ex.com", "extdns-www.ex.com"},
		{affix{prefix: "extdns."}, "www.ex.com", zones.TypeA, "extdns.a-www.ex.com", "extdns.www.ex.com"},
		{affix{prefix: "_extdns-%{record_type}."}, "www.ex.com", zones.TypeA, "_extdns-a.www.ex.com", ""},
		{affix{prefix: "_extdns-%{record_type}."}, "ex.com", zones.TypeA, "_extdns-a.ex.com", ""},
		{affix{prefix: "%{record_type}-pre-"}, "www.ex.com", zones.TypeA, "a-pre-www.ex.com", ""},
		{affix{suffix: "-txt"}, "www.ex.com", zones.TypeA, "a-www-txt.ex.com", "www-txt.ex.com"},
		{affix{suffix: "-%{record_type}-own"}, "www.ex.com", zones.TypeA, "www-a-own.ex.com", ""},
		{affix{suffix: "-.%{record_type}"}, "www.ex.com", zones.TypeA, "www-.a.ex.com", ""},
		{affix{suffix: "-.%{record_type}"}, "ex.com", zones.TypeA, "ex-.a.com", ""},
		{affix{}, "*.ex.com", zones.TypeA, "a-*.ex.com", "*.ex.com"},
		{affix{wildcard: "wild"}, "*.ex.com", zones.TypeA, "a-wild.ex.com", "wild.ex.com"},
		{affix{}, "ex.com", zones.TypeA, "a-ex.com", "ex.com"},
		{affix{prefix: "extdns."}, "ex.com", zones.TypeA, "extdns.a-ex.com", "extdns.ex.com"},
	} {
		record := parse(t, c.record)
		name, err := c.affix.name(record, c.kind)
		if err != nil || name != parse(t, c.name) {
			t.Errorf("%+v: %s %s has %s (%v), not %s", c.affix, c.kind, c.record, name, err, c.name)
			continue
		}
		back, kind, ok := c.affix.record(name)
		if !ok || kind != c.kind || back != c.affix.plain(record) {
			t.Errorf("%+v: %s is read as %s %s %v", c.affix, c.name, kind, back, ok)
		}
		if c.old == "" {
			continue
		}
		old, err := c.affix.name(record, zones.TypeNone)
		if err != nil || old != parse(t, c.old) {
			t.Errorf("%+v: the old form of %s is %s (%v), not %s", c.affix, c.record, old, err, c.old)
		}
		if back, kind, ok := c.affix.record(old); !ok || kind != zones.TypeNone || back != c.affix.plain(record) {
			t.Errorf("%+v: %s is read as %s %s %v", c.affix, c.old, kind, back, ok)
		}
	}
}

// The old form of a record called a-www can't be told from the new one of www: it
// is read as that, as external-dns does.
func TestAnOldNameThatLooksNewIsReadAsNew(t *testing.T) {
	t.Parallel()
	if back, kind, ok := (affix{}).record(parse(t, "a-www.ex.com")); !ok || kind != zones.TypeA || back != parse(t, "www.ex.com") {
		t.Errorf("it is read as %s %s %v", kind, back, ok)
	}
	if _, _, ok := (affix{prefix: "own-"}).record(parse(t, "a-www.ex.com")); ok {
		t.Error("a name without the prefix is read")
	}
}

func TestOwnershipTexts(t *testing.T) {
	t.Parallel()
	r, err := NewRegistry(RegistryOptions{Owner: "prod"})
	if err != nil {
		t.Fatal(err)
	}
	const example = `"heritage=external-dns,external-dns/owner=prod,external-dns/resource=ingress/default/web"`
	if text, err := r.text("ingress/default/web", nil); err != nil || text != example {
		t.Errorf("the text is %s (%v)", text, err)
	}
	if text, err := r.text("ingress/"+strings.Repeat("n", 250)+"/web", nil); err != nil || text != `"heritage=external-dns,external-dns/owner=prod"` {
		t.Errorf("a resource that is too long gives %s (%v)", text, err)
	}
	for text, want := range map[string]string{
		example:                    "prod",
		strings.Trim(example, `"`): "prod",
		`"heritage=external-dns;external-dns/owner=prod;external-dns/resource=service/a/b"`: "prod",
		`"external-dns/owner=x,heritage=external-dns,junk,external-dns/dualstack=true"`:     "x",
		`"heritage=external-dns,external-dns/owner=a=b"`:                                    "a=b",
		`"heritage=other,external-dns/owner=prod"`:                                          "-",
		`"external-dns/owner=prod"`:                                                         "-",
		`"v=spf1 -all"`:                                                                     "-",
		``:                                                                                  "-",
	} {
		l, ok := parseLabels(text)
		if got := l.owner(); ok != (want != "-") || ok && got != want {
			t.Errorf("%s is read as %q %v", text, got, ok)
		}
	}
}

// The vector was made by external-dns' own rules with another program.
func TestEncryptedOwnershipTexts(t *testing.T) {
	t.Parallel()
	const plain = "heritage=external-dns,external-dns/owner=prod,external-dns/resource=ingress/default/web"
	const sealed = "AAAAAAAAAAAAAAAAs6Ma8xiQOrLp4e1dxMOUdLXbwDayx967g0FCWmpobKSKJK9BX/CUEktOBucF7Ah1iNuwmWRQvweIlCaSPUin5SUwLFaC96uRyXnRWF3Hf40cqDjmd61MvDmGrT3aA94qU5tB1Ks0X6g8g7DO"
	for _, key := range []string{"01234567890123456789012345678901", "MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE="} {
		r, err := NewRegistry(RegistryOptions{Owner: "prod", Key: key})
		if err != nil {
			t.Fatal(err)
		}
		if text, err := r.text("ingress/default/web", make([]byte, nonceOctets)); err != nil || text != `"`+sealed+`"` {
			t.Errorf("the text is %s (%v)", text, err)
		}
		record := &Record{Type: zones.TypeTXT, Targets: []string{`"` + sealed + `"`}}
		l, ok := r.read(record)
		if !ok || l.plainText() != plain || !bytes.Equal(l.nonce, make([]byte, nonceOctets)) {
			t.Errorf("the vector is read as %s %v", l.plainText(), ok)
		}
		// Plain texts stay readable, those of another key are nobody's.
		if l, ok := r.read(&Record{Type: zones.TypeTXT, Targets: []string{`"` + plain + `"`}}); !ok || l.owner() != "prod" {
			t.Errorf("a plain text is read as %v %v", l, ok)
		}
		other, err := NewRegistry(RegistryOptions{Owner: "prod", Key: strings.Repeat("x", 32)})
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := other.read(record); ok {
			t.Error("another key opens the text")
		}
		first, err := r.text("ingress/default/web", nil)
		if err != nil || len(first) > maxText+2 {
			t.Fatal(first, err)
		}
		second, err := r.text("ingress/default/web", nil)
		if err != nil || first == second {
			t.Error("two texts have one nonce", err)
		}
	}
}

func TestRegistryOptionsThatMakeNoSense(t *testing.T) {
	t.Parallel()
	for options, want := range map[RegistryOptions]string{
		{}:                                     "--txt-owner-id is missing",
		{Owner: "a,b"}:                         `holds ","`,
		{Owner: "a b"}:                         "white space",
		{Owner: "o", Prefix: "p", Suffix: "s"}: "exclude each other",
		{Owner: "o", Key: "short"}:             "--txt-encrypt-aes-key: the key must be 32 octets",
		{Owner: "o", Prefix: "not ok"}:         "--txt-prefix=not ok can't be part of a name",
		{Owner: "o", Prefix: ".x"}:             "make no name",
		{Owner: "o", Wildcard: "a.b"}:          "--txt-wildcard-replacement=a.b can't be",
		{Owner: "o", Suffix: strings.Repeat("s", 60)}: "make no name",
	} {
		if _, err := NewRegistry(options); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v gives %v", options, err)
		}
	}
	if _, err := NewRegistry(RegistryOptions{Noop: true}); err != nil {
		t.Error(err)
	}
}

// What a cloud returns may be anything.
func FuzzOwnershipText(f *testing.F) {
	for _, text := range []string{`"heritage=external-dns,external-dns/owner=prod"`, "heritage=external-dns;external-dns/owner=a=b;", `"AAAA"`, "=,=;"} {
		f.Add(text)
	}
	aead, err := newCipher(strings.Repeat("k", 32))
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, with := range []cipher.AEAD{nil, aead} {
			r := &Registry{options: RegistryOptions{Owner: "o"}, aead: with}
			l, ok := r.read(&Record{Type: zones.TypeTXT, Targets: []string{text}})
			if !ok {
				continue
			}
			again, ok := parseLabels(l.plainText())
			if !ok || again.plainText() != l.plainText() {
				t.Errorf("%q is read as %q and then as %q", text, l.plainText(), again.plainText())
			}
		}
	})
}

func FuzzOwnershipName(f *testing.F) {
	f.Add("a-www.ex.com", "ext-%{record_type}.", "")
	f.Add("www-a-own.ex.com", "", "-%{record_type}-own")
	f.Add("cname-a-.com", "", "-.x")
	f.Fuzz(func(t *testing.T, text, prefix, suffix string) {
		name, err := zones.ParseName(text)
		a := affix{prefix: prefix, suffix: suffix}
		if err != nil || prefix != "" && suffix != "" || a.check() != nil {
			return
		}
		record, kind, ok := a.record(name)
		if !ok {
			return
		}
		// What was read from a name in the form of today gives that name again, but
		// where the template makes two readings possible.
		back, err := a.name(record, kind)
		if err == nil && kind != zones.TypeNone && !a.hasTemplate() && back != name {
			t.Errorf("%s is read as %s %s, whose ownership record is %s", name, kind, record, back)
		}
	})
}
