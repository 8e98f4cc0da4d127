package route53

import (
	"strings"
	"testing"

	"github.com/clusterzone/clusterzone/zones"
)

// FuzzName reads names as Route 53 writes them; what is read is read back from what
// is sent.
func FuzzName(f *testing.F) {
	for _, text := range []string{"example.com.", `\052.example.com.`, `a\056b.example.com`, `\377\000.x.`, ".", `a\`, `\9`, `\400.`} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		name, err := parseName(text)
		if err != nil {
			return
		}
		again, err := parseName(formatName(name))
		if err != nil || again != name {
			t.Errorf("%q is %q, sent as %q, and read as %q (%v)", text, name, formatName(name), again, err)
		}
	})
}

// FuzzText brings TXT data into one spelling, which is its own and survives being
// sent.
func FuzzText(f *testing.F) {
	for _, text := range []string{`"a" "b"`, `"\"\\"`, `"\300\061"`, "bare", `"open`, `"\`, "\"\xff\x00\"", `""`} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		once := canonicalText(decimal(text))
		if again := canonicalText(once); again != once {
			t.Errorf("%q becomes %q, and that %q", text, once, again)
		}
		if sent := readTarget(zones.TypeTXT, writeTarget(zones.TypeTXT, once)); sent != once {
			t.Errorf("%q is sent and read as %q", once, sent)
		}
		if strings.ContainsFunc(once, func(c rune) bool { return c < ' ' || c > '~' }) {
			t.Errorf("%q has characters that aren't printable ASCII", once)
		}
	})
}

// FuzzRefusal reads the prose of refusals.
func FuzzRefusal(f *testing.F) {
	for _, text := range []string{
		"Tried to create resource record set [name='a.b.', type='A'] but it already exists", "RRSet with DNS name a.b. is", "alias that targets a.b., type",
		"changes.99999999999999999999.member", "changes.0.member", "name='', type='A'", `name='\999', type='A'`,
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		n := testNormalizer(t, false)
		of, _, err := n.steps(&hosted{id: "Z1"}, &creates(record(t, "a.b A 192.0.2.1"))[0])
		if err != nil {
			t.Fatal(err)
		}
		for _, i := range culprits(text, []step{{of[0], 0}}) {
			if i != 0 {
				t.Errorf("group %d is blamed, of one", i)
			}
		}
	})
}
