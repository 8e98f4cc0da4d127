package server

import (
	"encoding/hex"
	"net/netip"
	"slices"
	"strings"
	"testing"
)

// TestSipHash: vectors of the reference implementation, whose key is 00 to 0f
// and whose message is 00, 01, ... of each length.
func TestSipHash(t *testing.T) {
	t.Parallel()
	var key [16]byte
	for i := range key {
		key[i] = byte(i)
	}
	message := []byte{}
	for i := range 16 {
		message = append(message, byte(i))
	}
	for length, want := range map[int]uint64{0: 0x726fdb47dd0e0e31, 1: 0x74f839c593dc67fd, 8: 0x93f5f5799a932462, 15: 0xa129ca6149be45e5} {
		if got := sipHash(&key, message[:length]); got != want {
			t.Errorf("%d octets: %016x, want %016x", length, got, want)
		}
	}
}

func octets(tb testing.TB, text string) []byte {
	tb.Helper()
	b, err := hex.DecodeString(text)
	if err != nil {
		tb.Fatal(err)
	}
	return b
}

func secret(tb testing.TB, text string) CookieSecret {
	return CookieSecret(octets(tb, text))
}

// TestCookieVectors: the examples of RFC 9018, appendix A.
func TestCookieVectors(t *testing.T) {
	t.Parallel()
	first := secret(t, "e5e973e5a6b2a43f48e7dc849e37bfcf")
	old, current := secret(t, "dd3bdf9344b678b185a6f5cb60fca715"), secret(t, "445536bcd2513298075a5d379663c962")
	for _, test := range []struct {
		name          string
		secrets       []CookieSecret
		addr          string
		now           uint32
		query, answer string
		state         CookieState
	}{
		{"A.1 learning a new server cookie", []CookieSecret{first}, "198.51.100.100", 0x5cf79f11,
			"2464c4abcf10c957", "2464c4abcf10c957010000005cf79f111f8130c3eee29480", CookieClient},
		{"A.2 the same client, renewed", []CookieSecret{first}, "198.51.100.100", 0x5cf7a871,
			"2464c4abcf10c957010000005cf79f111f8130c3eee29480", "2464c4abcf10c957010000005cf7a871d4a564a1442aca77", CookieValid},
		{"A.2 through a socket of both families", []CookieSecret{first}, "::ffff:198.51.100.100", 0x5cf7a871,
			"2464c4abcf10c957010000005cf79f111f8130c3eee29480", "2464c4abcf10c957010000005cf7a871d4a564a1442aca77", CookieValid},
		{"A.3 another client, reserved octets set", []CookieSecret{first}, "203.0.113.203", 0x5cf7a9ac,
			"fc93fc62807ddb8601abcdef5cf78f71a314227b6679ebf5", "fc93fc62807ddb86010000005cf7a9acf73a7810aca2381e", CookieBad},
		{"A.3 a little before", []CookieSecret{first}, "203.0.113.203", 0x5cf78f71 + 3600,
			"fc93fc62807ddb8601abcdef5cf78f71a314227b6679ebf5", "", CookieValid},
		{"A.4 IPv6 with a changed secret", []CookieSecret{current, old}, "2001:db8:220:1:59de:d0f4:8769:82b8", 0x5cf7c609,
			"22681ab97d52c298010000005cf7c57926556bd0934c72f8", "22681ab97d52c298010000005cf7c609a6bb79d16625507a", CookieValid},
		{"A.4 the old secret gone", []CookieSecret{current}, "2001:db8:220:1:59de:d0f4:8769:82b8", 0x5cf7c609,
			"22681ab97d52c298010000005cf7c57926556bd0934c72f8", "22681ab97d52c298010000005cf7c609a6bb79d16625507a", CookieBad},
	} {
		answer, state, ok := NewCookies(test.secrets...).answer(octets(t, test.query), netip.MustParseAddr(test.addr), test.now)
		if got := hex.EncodeToString(answer[:]); !ok || state != test.state || test.answer != "" && got != test.answer {
			t.Errorf("%s: %s (%s), want %s (%s)", test.name, got, state, test.answer, test.state)
		}
	}
}

// TestCookieRefusals: what makes a server cookie a bad one.
func TestCookieRefusals(t *testing.T) {
	t.Parallel()
	const made = 1_700_000_000
	addr := netip.MustParseAddr("192.0.2.1")
	cookies := NewCookies(NewCookieSecret())
	whole, _, _ := cookies.answer(octets(t, "0102030405060708"), addr, made)
	good := whole[:]
	changed := func(at int) []byte {
		other := slices.Clone(good)
		other[at] ^= 1
		return other
	}
	for name, test := range map[string]struct {
		option []byte
		addr   string
		now    uint32
		want   CookieState
	}{
		"as made":                {good, "192.0.2.1", made, CookieValid},
		"an hour old":            {good, "192.0.2.1", made + 3600, CookieValid},
		"older":                  {good, "192.0.2.1", made + 3601, CookieBad},
		"from 5 minutes hence":   {good, "192.0.2.1", made - 300, CookieValid},
		"from later":             {good, "192.0.2.1", made - 301, CookieBad},
		"of another address":     {good, "192.0.2.2", made, CookieBad},
		"of another client":      {changed(0), "192.0.2.1", made, CookieBad},
		"of another version":     {changed(8), "192.0.2.1", made, CookieBad},
		"with other reserved":    {changed(9), "192.0.2.1", made, CookieBad},
		"with another time":      {changed(15), "192.0.2.1", made, CookieBad},
		"with another hash":      {changed(23), "192.0.2.1", made, CookieBad},
		"of another's length":    {good[:20], "192.0.2.1", made, CookieBad},
		"the client's one alone": {good[:8], "192.0.2.1", made, CookieClient},
	} {
		if _, state, _ := cookies.answer(test.option, netip.MustParseAddr(test.addr), test.now); state != test.want {
			t.Errorf("a cookie %s is %s, want %s", name, state, test.want)
		}
	}
	if _, _, ok := NewCookies().answer(good, addr, made); ok {
		t.Error("a cookie was made without a secret")
	}
}

// TestParseCookieSecrets: the sentence names the line and never the secret.
func TestParseCookieSecrets(t *testing.T) {
	t.Parallel()
	const one, two = "e5e973e5a6b2a43f48e7dc849e37bfcf", "445536bcd2513298075a5d379663c962"
	got, err := ParseCookieSecrets([]byte("# current\n" + one + "\r\n\n  " + strings.ToUpper(two)))
	if want := []CookieSecret{secret(t, one), secret(t, two)}; err != nil || !slices.Equal(got, want) {
		t.Errorf("%v, %v", got, err)
	}
	many := ""
	for i := range maxCookieSecrets + 1 {
		many += one[:31] + string("0123456789"[i]) + "\n"
	}
	for text, want := range map[string]string{
		"":                              "1: there is no secret",
		"# none\n":                      "1: there is no secret",
		one + "\n" + one[1:]:            "2: a secret has 32 hexadecimal digits, and this one has 31 characters",
		one[1:] + "x":                   "1: a secret has hexadecimal digits alone",
		one + "\n\n" + one:              "3: the secret stands in the file already",
		many:                            "9: there are more than 8 secrets",
		"\xff\xfe" + one + "\x00\x00\n": "1: a secret has 32",
	} {
		_, err := ParseCookieSecrets([]byte(text))
		if err == nil || !strings.HasPrefix(err.Error(), want) || strings.Contains(err.Error(), one[2:10]) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}
