package zones

import (
	"math/rand/v2"
	"strings"
	"testing"
)

// FuzzParseName: no text makes ParseName or ParseHost panic, and what they
// accept is a name.
func FuzzParseName(f *testing.F) {
	for _, text := range []string{
		".", "a.test", "A.Test.", `a\.b`, `\065`, `\25`, "a..b", "münchen.test", "shop。test", "*.test",
		"192.0.2.1", "１.２.３.４", "\xff", strings.Repeat("x.", 128), strings.Repeat("ü", 70),
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if name, err := ParseName(text); err == nil {
			checkName(t, name)
		} else if name != "" {
			t.Errorf("ParseName(%q) gives a name and an error", text)
		}
		host, err := ParseHost(text)
		if err != nil {
			if host != "" {
				t.Errorf("ParseHost(%q) gives a name and an error", text)
			}
			return
		}
		checkName(t, host)
		if again, err := ParseHost(host.String()); again != host || err != nil {
			t.Errorf("ParseHost(%q) = %s, and of that %s, %v", text, host, again, err)
		}
		if name, err := ParseName(text); name != host || err != nil {
			t.Errorf("ParseHost(%q) = %s, ParseName %s, %v", text, host, name, err)
		}
	})
}

// FuzzNameFromWire: no octets make NameFromWire panic or read beyond them, and
// what it accepts is a name.
func FuzzNameFromWire(f *testing.F) {
	for _, wire := range []string{"", "\x00", "\x01a\x00", "\x01A\x04tEst\x00rest", "\x01a\xc0\x0c", "\x3f", strings.Repeat("\x01x", 130)} {
		f.Add([]byte(wire))
	}
	f.Fuzz(func(t *testing.T, wire []byte) {
		name, taken, err := NameFromWire(wire)
		if err != nil {
			if name != "" || taken != 0 {
				t.Errorf("NameFromWire(%q) gives a name and an error", wire)
			}
			return
		}
		if taken > len(wire) || taken != len(name) {
			t.Errorf("NameFromWire(%q) takes %d octets for a name of %d", wire, taken, len(name))
		}
		if !strings.EqualFold(string(name), string(wire[:taken])) && isASCII(wire[:taken]) {
			t.Errorf("NameFromWire(%q) = %q", wire, string(name))
		}
		checkName(t, name)
	})
}

func isASCII(octets []byte) bool {
	for _, c := range octets {
		if c >= 0x80 {
			return false
		}
	}
	return true
}

// FuzzLookup: the octets choose a world and a question; Lookup gives what the
// twin gives.
func FuzzLookup(f *testing.F) {
	f.Add([]byte{})
	random := rand.New(rand.NewPCG(1, 2))
	for range 20 {
		octets := make([]byte, 40+random.IntN(160))
		for i := range octets {
			octets[i] = byte(random.IntN(256))
		}
		f.Add(octets)
	}
	f.Fuzz(func(t *testing.T, octets []byte) {
		choices := &octetChooser{octets}
		name, kind := drawName(choices), worldQueries[choices.IntN(len(worldQueries))]
		for range choices.IntN(3) {
			name = name.Child(worldLabels[choices.IntN(len(worldLabels))])
		}
		w := draw(choices, 12, "web")
		snap, twin := w.build(t)
		var answer Answer
		// The second time with memory that the first left behind.
		for range 2 {
			if compareWithTwin(snap, twin, name, kind, &answer) != "" {
				w.report(t, name, kind)
			}
		}
	})
}
