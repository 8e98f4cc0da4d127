package alibaba

import (
	"strings"
	"testing"
)

func TestQuoteText(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 300)
	for value, want := range map[string]string{
		`v=spf1 -all`:   `"v=spf1 -all"`,
		`"v=spf1 -all"`: `"v=spf1 -all"`,
		``:              `""`,
		`""`:            `""`,
		`"`:             `"\""`,
		`a"b`:           `"a\"b"`,
		`a\"b`:          `"a\"b"`,
		`a\\b`:          `"a\\b"`,
		`a\`:            `"a\\"`,
		`\255\300`:      `"\\255\\300"`, // 300 is no octet, so that the text is taken by itself
		`\195\188`:      `"\195\188"`,
		`ü`:             `"\195\188"`,
		`"a" "b"`:       `"ab"`,
		`"a" b`:         `"\"a\" b"`,
		`a;b`:           `"a;b"`,
		long:            `"` + long[:255] + `" "` + long[255:] + `"`,
		`"` + long[:200] + `" "` + long[200:] + `"`:  `"` + long[:255] + `" "` + long[255:] + `"`,
		`heritage=external-dns;external-dns/owner=x`: `"heritage=external-dns,external-dns/owner=x"`,
	} {
		if got := quoteText(value); got != want {
			t.Errorf("%s becomes %s, want %s", value, got, want)
		}
	}
}

// What is read back is what was sent, whether or not the API drops the quotes.
func FuzzQuoteText(f *testing.F) {
	for _, seed := range []string{`a`, `"a"`, `"a" "b"`, `a\"b`, `\001`, `"heritage=external-dns,external-dns/owner=x"`, `"`, `\`, strings.Repeat("y", 300)} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, value string) {
		text := quoteText(value)
		if again := quoteText(text); again != text {
			t.Fatalf("%q becomes %q and then %q", value, text, again)
		}
		if bare := text[1 : len(text)-1]; !strings.Contains(bare, `" "`) && quoteText(bare) != text && !strings.HasPrefix(bare, `"`) {
			t.Fatalf("%q without quotes becomes %q", text, quoteText(bare))
		}
		for i := range len(text) {
			if text[i] < ' ' || text[i] > '~' {
				t.Fatalf("%q holds octets that aren't printable", text)
			}
		}
	})
}

func FuzzParseConfig(f *testing.F) {
	for _, seed := range []string{`{"regionId":"r"}`, "accessKeyId: a\naccessKeySecret: b\n", "- a", "a: *b", "? [a]\n: b", "accessKeyId: !!binary aa"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		c, err := parseConfig(text)
		if err == nil && (c.keys.id == "") != (c.keys.secret == "") {
			t.Fatal("half of the keys is taken")
		}
	})
}

// The wire: replies of any kind give errors or records, and no secret.
func FuzzDecode(f *testing.F) {
	f.Add(`{"TotalCount":1,"DomainRecords":{"Record":[{"RR":"@","Type":"A","Value":"192.0.2.1","TTL":600}]}}`)
	f.Add(`{"Success":false,"Code":"Zone.NotExists","Message":"hush"}`)
	f.Add(`{"Success":false,"Code":"hush"}`)
	f.Add(`[]`)
	f.Fuzz(func(t *testing.T, text string) {
		var reply struct {
			TotalCount    int
			DomainRecords struct {
				Record []struct {
					RR, Type, Value string
					TTL             uint32
				}
			}
		}
		if err := decode("Describe", text, &reply, secrets{id: "hush", secret: "hush"}); err != nil {
			if strings.Contains(err.Error(), "hush") {
				t.Fatal(err)
			}
			return
		}
		var list []object
		for _, r := range reply.DomainRecords.Record {
			list = append(list, object{rr: r.RR, kind: r.Type, value: r.Value, ttl: r.TTL})
		}
		zone := zoneOf(t, "example.com")
		for _, r := range records(zone, list) {
			if !r.Name.In(zone.Name) || len(r.Targets) == 0 {
				t.Fatalf("%+v", r)
			}
		}
	})
}
