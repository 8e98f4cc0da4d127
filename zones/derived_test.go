package zones

import (
	"strings"
	"testing"
)

// TestDerivedClaimsGoQuietly: a name that nobody asked for, outside every zone
// or lost to an older object, is no Skipped; beside it, what was asked for is.
func TestDerivedClaimsGoQuietly(t *testing.T) {
	t.Parallel()
	table := world{origins: []Origin{{Name: mustName(t, "test")}, {Name: mustName(t, "10.in-addr.arpa")}}}.table()
	for i, namespace := range []string{"a", "b", "c"} {
		o := Object{Owner: Owner{Source: "ingress", Namespace: namespace, Name: "web"}, Created: noon().Add(1)}
		for _, name := range []string{"1.0.0.10.in-addr.arpa", "1.2.0.192.in-addr.arpa"} {
			o.Claims = append(o.Claims, Claim{Name: mustName(t, name), Type: TypePTR, Targets: []string{namespace + ".test"}, Derived: i < 2})
		}
		table.Put(o)
	}
	var got []string
	for _, skip := range table.Commit(noon()).Skipped {
		got = append(got, skip.Name.String()+" "+string(skip.Reason)+" "+skip.Owner.Namespace)
	}
	if want := "1.0.0.10.in-addr.arpa conflict c, 1.2.0.192.in-addr.arpa out-of-zone c"; strings.Join(got, ", ") != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestTextWithoutQuotes: what stands in a claim without quotation marks is one
// text, cut into strings of 255 octets.
func TestTextWithoutQuotes(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("k", 300)
	for text, want := range map[string]Rdata{
		`v=DKIM1; k=rsa; p=abc\d "x"`: "\x1bv=DKIM1; k=rsa; p=abc\\d \"x\"",
		`"a b" "c"`:                   "\x03a b\x01c",
		"":                            "\x00",
		long:                          Rdata("\xff" + long[:255] + "\x2d" + long[255:]),
	} {
		if got, err := ParseRdata(TypeTXT, text); err != nil || got != want {
			t.Errorf("%q gives %q, %v; want %q", text, got, err, want)
		}
	}
	for _, bad := range []string{`"open`, strings.Repeat("x", 65400)} {
		if got, err := ParseRdata(TypeTXT, bad); err == nil {
			t.Errorf("%.20q gives %d octets", bad, len(got))
		}
	}
}
