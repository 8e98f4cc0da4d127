package zones

import (
	"bufio"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestParseHost runs testdata/hosts.txt.
func TestParseHost(t *testing.T) {
	t.Parallel()
	file, err := os.Open("testdata/hosts.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	for at := 1; lines.Scan(); at++ {
		line := lines.Text()
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		quoted, err := strconv.QuotedPrefix(line)
		if err != nil {
			t.Fatalf("hosts.txt:%d: no quoted text at the start of %q", at, line)
		}
		text, _ := strconv.Unquote(quoted)
		want := strings.TrimSpace(line[len(quoted):])
		name, err := ParseHost(text)
		if words, isError := strings.CutPrefix(want, "!"); isError {
			switch words = strings.TrimSpace(words); {
			case err == nil:
				t.Errorf("hosts.txt:%d: ParseHost(%q) = %s, want an error with %q", at, text, name, words)
			case !strings.Contains(err.Error(), words):
				t.Errorf("hosts.txt:%d: ParseHost(%q): %q, want an error with %q", at, text, err, words)
			case name != "":
				t.Errorf("hosts.txt:%d: ParseHost(%q) returns both a name and an error", at, text)
			}
			continue
		}
		if err != nil {
			t.Errorf("hosts.txt:%d: ParseHost(%q): %v, want %s", at, text, err, want)
		} else if name.String() != want {
			t.Errorf("hosts.txt:%d: ParseHost(%q) = %s, want %s", at, text, name, want)
		}
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
}

// TestNameLimits holds the limits of RFC 1035 section 2.3.4: 63 octets a
// label, 255 a name in wire form (253 characters), and punycode counts.
func TestNameLimits(t *testing.T) {
	t.Parallel()
	label := strings.Repeat("x", 63)
	longest := strings.Join([]string{label, label, label, strings.Repeat("x", 61)}, ".")
	tooLong := strings.Join([]string{label, label, label, strings.Repeat("x", 62)}, ".")
	manyLabels := strings.Repeat("x.", 126) + "x" // 127 labels, 255 octets
	cases := []struct {
		text string
		want string // words of the error; "" for a name
	}{
		{label + ".test", ""},
		{label + "x.test", "63 octets"},
		{strings.Repeat("ü", 63) + ".test", "63 octets"},
		{longest, ""},
		{longest + ".", ""},
		{tooLong, "253 characters"},
		{manyLabels, ""},
		{manyLabels + ".x", "253 characters"},
		{"*." + longest, "253 characters"},
		{strings.Repeat("試験", 300_000) + ".test", "253 characters"}, // at once, not after minutes of punycode
	}
	for _, c := range cases {
		for parser, parse := range map[string]func(string) (Name, error){"ParseHost": ParseHost, "ParseName": ParseName} {
			name, err := parse(c.text)
			switch {
			case c.want == "" && err != nil:
				t.Errorf("%s of %d characters: %v", parser, len(c.text), err)
			case c.want == "" && name.String() != strings.TrimSuffix(c.text, "."):
				t.Errorf("%s of %d characters = %s", parser, len(c.text), name)
			case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
				t.Errorf("%s of %d characters: error %v, want one with %q", parser, len(c.text), err, c.want)
			}
		}
	}
}

func TestParseName(t *testing.T) {
	t.Parallel()
	cases := []struct{ text, want, err string }{
		{".", ".", ""},
		{"a.test", "a.test", ""},
		{"A.Test.", "a.test", ""},
		{`a\.b.test`, `a\.b.test`, ""},
		{`a\046b.test`, `a\.b.test`, ""},
		{`\065.test`, "a.test", ""}, // an escaped letter is a letter, and folded
		{`a\ b.test`, `a\032b.test`, ""},
		{`\000.test`, `\000.test`, ""},
		{`\255.test`, `\255.test`, ""},
		{`a\\b`, `a\\b`, ""},
		{"a.*.test", "a.*.test", ""},
		{"**.test", "**.test", ""},
		{"münchen.test", "xn--mnchen-3ya.test", ""},
		{"", "", "empty"},
		{"..", "", "empty label"},
		{".a", "", "empty label"},
		{"a..b", "", "empty label"},
		{"a..", "", "empty label"},
		{`a\`, "", "backslash"},
		{`\256`, "", "backslash"},
		{`\25`, "", "backslash"},
		{`\2x5`, "", "backslash"},
	}
	for _, c := range cases {
		name, err := ParseName(c.text)
		if c.err != "" {
			if err == nil || !strings.Contains(err.Error(), c.err) {
				t.Errorf("ParseName(%q) = %s, %v; want an error with %q", c.text, name, err, c.err)
			}
			continue
		}
		if err != nil || name.String() != c.want {
			t.Errorf("ParseName(%q) = %s, %v; want %s", c.text, name, err, c.want)
		}
	}
}

func TestNameFromWire(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("\x3f"+strings.Repeat("x", 63), 3)
	cases := []struct {
		wire  string
		want  string
		taken int
		err   error
	}{
		{"\x00", ".", 1, nil},
		{"\x00rest", ".", 1, nil},
		{"\x01A\x04tEst\x00rest", "a.test", 8, nil},
		{"\x03a.b\x00", `a\.b`, 5, nil},
		{long + "\x3d" + strings.Repeat("x", 61) + "\x00", "", 255, nil},
		{long + "\x3e" + strings.Repeat("x", 62) + "\x00", "", 0, errLongName},
		{"", "", 0, errTruncated},
		{"\x01a", "", 0, errTruncated},
		{"\x04tes", "", 0, errTruncated},
		{"\x40" + strings.Repeat("x", 64) + "\x00", "", 0, errCompression},
		{"\x01a\xc0\x0c", "", 0, errCompression},
	}
	for _, c := range cases {
		name, taken, err := NameFromWire([]byte(c.wire))
		if err != c.err || taken != c.taken {
			t.Errorf("NameFromWire(%q) takes %d, error %v; want %d, %v", c.wire, taken, err, c.taken, c.err)
		}
		if c.want != "" && name.String() != c.want {
			t.Errorf("NameFromWire(%q) = %s, want %s", c.wire, name, c.want)
		}
	}
}

// TestCompareCanonical holds the example of RFC 4034 section 6.1.
func TestCompareCanonical(t *testing.T) {
	t.Parallel()
	var names []Name
	for _, text := range []string{
		".", "example", "a.example", "yljkjljk.a.example", "Z.a.example", "zABC.a.EXAMPLE",
		"z.example", `\001.z.example`, "*.z.example", `\200.z.example`,
	} {
		names = append(names, mustName(t, text))
	}
	for i, a := range names {
		for j, b := range names {
			if got := sign(a.Compare(b)); got != sign(i-j) {
				t.Errorf("%s compared with %s gives %d, want %d", a, b, got, sign(i-j))
			}
		}
	}
}

func sign(n int) int {
	switch {
	case n < 0:
		return -1
	case n > 0:
		return 1
	}
	return 0
}

func mustName(t testing.TB, text string) Name {
	t.Helper()
	name, err := ParseName(text)
	if err != nil {
		t.Fatalf("ParseName(%q): %v", text, err)
	}
	return name
}

func TestNameRelations(t *testing.T) {
	t.Parallel()
	name := func(text string) Name { return mustName(t, text) }
	in := []struct {
		name, zone string
		want       bool
	}{
		{"a.test", "test", true},
		{"test", "test", true},
		{"a.b.test", "test", true},
		{"a.test", ".", true},
		{".", ".", true},
		{".", "test", false},
		{"atest", "test", false},
		{`a\.test`, "test", false},
		{"test", "a.test", false},
		{"a.test", "b.test", false},
		{"ab.test", "b.test", false},
		// The octets of "\002xx" end in those of "xx", but its labels don't.
		{`\002xx`, "xx", false},
	}
	for _, c := range in {
		if got := name(c.name).In(name(c.zone)); got != c.want {
			t.Errorf("%s in %s = %v, want %v", c.name, c.zone, got, c.want)
		}
	}
	if Name("").In(Root) || name("a").In("") {
		t.Error("the zero Name lies in a zone, or a name in the zero Name")
	}
	if got := name("b.test").Child("a"); got != name("a.b.test") {
		t.Errorf("Child = %s", got)
	}
	if got := Root.Child("test"); got != name("test") {
		t.Errorf("child of the root = %s", got)
	}
	if got := name("test").Wildcard(); got != name("*.test") || !got.IsWildcard() {
		t.Errorf("Wildcard = %s", got)
	}
	for _, text := range []string{".", "a.test", "**.test", "a.*.test", `\*a.test`} {
		if name(text).IsWildcard() {
			t.Errorf("%s is taken for a wildcard", text)
		}
	}
	longest := name(strings.Repeat("x.", 126) + "x")
	if longest.Child("a") != "" || longest.Wildcard() != "" {
		t.Error("a child of a name of 255 octets is a name")
	}
	if Root.Child("") != "" || Root.Child(strings.Repeat("x", 64)) != "" {
		t.Error("an empty label or one of 64 octets makes a child")
	}
	if Root.Parent() != "" || Name("").Parent() != "" || name("a.test").Parent() != name("test") {
		t.Error("Parent is wrong")
	}
	if Root.Labels() != 0 || name("a.b.test").Labels() != 3 || longest.Labels() != 127 {
		t.Error("Labels is wrong")
	}
	if Root.FQDN() != "." || name("a.test").FQDN() != "a.test." || Name("").String() != "" {
		t.Error("FQDN or String is wrong")
	}
}

// TestNameProperties draws names of hostile octets and holds what must be true
// of every name: text and wire give it back, its parent holds it, and Compare
// is the order of the reversed label lists.
func TestNameProperties(t *testing.T) {
	t.Parallel()
	seed := rand.Uint64()
	random := rand.New(rand.NewPCG(seed, 0))
	draw := func() Name {
		const octets = "ab*Z-_.\\ \x00\x01\xc8\xff\"();@$\x7f"
		name := Root
		for range random.IntN(5) {
			label := make([]byte, 1+random.IntN(3))
			for i := range label {
				label[i] = octets[random.IntN(len(octets))]
			}
			lowerASCII(label)
			name = name.Child(string(label))
		}
		return name
	}
	for range 20_000 {
		a, b := draw(), draw()
		checkName(t, a)
		labelsA, labelsB := reversedLabels(a), reversedLabels(b)
		if got, want := sign(a.Compare(b)), slices.Compare(labelsA, labelsB); got != want {
			t.Fatalf("seed %d: %q compared with %q gives %d, want %d", seed, a, b, got, want)
		}
		within := len(labelsA) >= len(labelsB) && slices.Equal(labelsA[:len(labelsB)], labelsB)
		if a.In(b) != within {
			t.Fatalf("seed %d: %q in %q = %v, want %v", seed, a, b, a.In(b), within)
		}
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

func reversedLabels(n Name) []string {
	var labels []string
	for rest := n; rest != Root; rest = rest.Parent() {
		labels = append(labels, rest.FirstLabel())
	}
	slices.Reverse(labels)
	return labels
}

// checkName holds what is true of every Name that a constructor returned.
func checkName(t *testing.T, n Name) {
	t.Helper()
	if len(n) == 0 || len(n) > maxNameOctets {
		t.Errorf("%q has %d octets", string(n), len(n))
		return
	}
	for _, text := range []string{n.String(), n.FQDN()} {
		if again, err := ParseName(text); again != n || err != nil {
			t.Errorf("%q is written %q and read back as %q, %v", string(n), text, string(again), err)
		}
		if strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r > '~' }) {
			t.Errorf("%q is written %q: not printable", string(n), text)
		}
	}
	again, taken, err := NameFromWire([]byte(n + "rest"))
	if again != n || taken != len(n) || err != nil {
		t.Errorf("%q is read back from the wire as %q, %d octets, %v", string(n), string(again), taken, err)
	}
	if n.Compare(n) != 0 || !n.In(n) || !n.In(Root) {
		t.Errorf("%q is not equal to itself, not in itself, or not in the root", string(n))
	}
	if n == Root {
		return
	}
	parent := n.Parent()
	if !n.In(parent) || parent.In(n) || parent.Compare(n) >= 0 || parent.Child(n.FirstLabel()) != n {
		t.Errorf("%q and its parent %q don't fit", string(n), string(parent))
	}
	if len(reversedLabels(n)) != n.Labels() {
		t.Errorf("%q has %d labels, Labels says %d", string(n), len(reversedLabels(n)), n.Labels())
	}
}
