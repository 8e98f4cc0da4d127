package zones

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/idna"
)

// A Name is a domain name in canonical form: the uncompressed wire form of
// RFC 1035 section 3.1 (length octets, labels, a final zero octet) with the
// ASCII letters in lower case (RFC 4034 section 6.2). Equal names are equal
// strings, so a Name can be compared with == and used as a map key.
//
// The zero value "" is no name at all; Root is the name of the root zone.
// Make names with ParseName, ParseHost or NameFromWire only.
type Name string

// Root is the name of the root zone.
const Root Name = "\x00"

const (
	maxNameOctets  = 255 // RFC 1035 section 2.3.4
	maxLabelOctets = 63
	// maxUnicodeText bounds the octets of a name outside ASCII before it is
	// mapped: four full labels of decomposed four-octet characters.
	maxUnicodeText = 4 * 63 * 4 * 2
)

// Errors that say why a text or wire form is no name. Errors returned by
// ParseName, ParseHost and NameFromWire wrap one of them.
var (
	errEmptyName   = errors.New("the name is empty")
	errEmptyLabel  = errors.New("it has an empty label (two dots in a row, or a leading dot)")
	errLongLabel   = errors.New("a label is longer than 63 octets")
	errLongName    = errors.New("the name is longer than 253 characters")
	errIPName      = errors.New("it is an IP address, not a name")
	errWildcard    = errors.New("an asterisk may only stand alone as the leftmost label")
	errBadEscape   = errors.New("a backslash must be followed by a character or three digits up to 255")
	errTruncated   = errors.New("the name ends inside a label")
	errUTF8        = errors.New("it is not valid UTF-8")
	errCompression = errors.New("the name is compressed")
)

// hostProfile maps Unicode host names to A-labels (UTS 46, non-transitional),
// but leaves the choice of ASCII characters to ParseHost.
func hostProfile() *idna.Profile {
	return idna.New(idna.MapForLookup(), idna.Transitional(false), idna.StrictDomainName(false))
}

// ParseHost reads a host name as people write it in objects and flags: any
// case, Unicode or A-labels, with or without one final dot. A label holds
// letters, digits, hyphens and underscores; an asterisk may stand as the
// leftmost label. IP addresses, white space, empty names and labels are
// refused. The error says what is wrong in words that follow "because".
func ParseHost(text string) (Name, error) {
	// The mapping makes digits of full-width ones and dots of the ideographic
	// full stops, so it comes before the checks.
	host, err := toASCII(text)
	if err != nil {
		return "", err
	}
	host = strings.TrimSuffix(host, ".")
	if host == "" {
		return "", errEmptyName
	}
	if _, err := netip.ParseAddr(host); err == nil {
		return "", errIPName
	}
	wire := make([]byte, 0, len(host)+2)
	first := true
	for label := range strings.SplitSeq(host, ".") {
		if label == "*" && first {
			wire = append(wire, 1, '*')
			first = false
			continue
		}
		first = false
		if err := checkHostLabel(label); err != nil {
			return "", err
		}
		wire = append(wire, byte(len(label)))
		wire = append(wire, label...)
	}
	if len(wire)+1 > maxNameOctets {
		return "", errLongName
	}
	wire = append(wire, 0)
	lowerASCII(wire)
	return Name(wire), nil
}

func checkHostLabel(label string) error {
	switch {
	case label == "":
		return errEmptyLabel
	case len(label) > maxLabelOctets:
		return errLongLabel
	}
	for i := range len(label) {
		switch c := label[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '-', c == '_':
		case c == '*':
			return errWildcard
		default:
			return fmt.Errorf("%q is no character of a host name", label[i:i+1])
		}
	}
	return nil
}

// toASCII maps a name with characters outside ASCII to A-labels. Pure ASCII
// names pass as they are, so that underscores and odd hyphens stay.
func toASCII(text string) (string, error) {
	for i := range len(text) {
		if text[i] >= 0x80 {
			// The punycode of a long text takes time in the square of its
			// length, and an annotation may hold 256 KiB.
			if len(text) > maxUnicodeText {
				return "", errLongName
			}
			if !utf8.ValidString(text) {
				return "", errUTF8
			}
			mapped, err := hostProfile().ToASCII(text)
			if err != nil {
				return "", fmt.Errorf("it has no form in A-labels (%w)", err)
			}
			return mapped, nil
		}
	}
	return text, nil
}

// ParseName reads a name in the presentation form of RFC 1035 section 5.1:
// any octet may stand in a label, dots and other octets escaped as \. and
// \DDD. A final dot is optional, "." is the root. Text outside ASCII is mapped
// to A-labels as in ParseHost.
func ParseName(text string) (Name, error) {
	if text == "." {
		return Root, nil
	}
	if text == "" {
		return "", errEmptyName
	}
	text, err := toASCII(text)
	if err != nil {
		return "", err
	}
	wire := make([]byte, 1, len(text)+2)
	start := 0 // where the open label's length octet stands
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch c {
		case '.':
			if len(wire)-start == 1 {
				return "", errEmptyLabel
			}
			if err := closeLabel(wire, start); err != nil {
				return "", err
			}
			start = len(wire)
			wire = append(wire, 0)
			continue
		case '\\':
			octet, n, err := unescape(text[i+1:])
			if err != nil {
				return "", err
			}
			wire = append(wire, octet)
			i += n
			continue
		}
		wire = append(wire, c)
	}
	if len(wire)-start > 1 {
		if err := closeLabel(wire, start); err != nil {
			return "", err
		}
		wire = append(wire, 0)
	}
	if len(wire) > maxNameOctets {
		return "", errLongName
	}
	lowerASCII(wire)
	return Name(wire), nil
}

func closeLabel(wire []byte, start int) error {
	n := len(wire) - start - 1
	if n > maxLabelOctets {
		return errLongLabel
	}
	wire[start] = byte(n)
	return nil
}

// unescape reads what follows a backslash and returns the octet and how many
// characters it took.
func unescape(rest string) (octet byte, n int, err error) {
	if rest == "" {
		return 0, 0, errBadEscape
	}
	if rest[0] < '0' || rest[0] > '9' {
		return rest[0], 1, nil
	}
	if len(rest) < 3 {
		return 0, 0, errBadEscape
	}
	value := 0
	for _, c := range []byte(rest[:3]) {
		if c < '0' || c > '9' {
			return 0, 0, errBadEscape
		}
		value = value*10 + int(c-'0')
	}
	if value > 255 {
		return 0, 0, errBadEscape
	}
	return byte(value), 3, nil
}

// NameFromWire copies the uncompressed wire name at the start of wire and
// returns it in canonical form with the number of octets it took.
func NameFromWire(wire []byte) (Name, int, error) {
	for i := 0; i < len(wire); {
		n := int(wire[i])
		if n > maxLabelOctets {
			return "", 0, errCompression
		}
		i += n + 1
		if i > maxNameOctets {
			return "", 0, errLongName
		}
		if n == 0 {
			name := append([]byte(nil), wire[:i]...)
			lowerASCII(name)
			return Name(name), i, nil
		}
	}
	return "", 0, errTruncated
}

// lowerASCII folds the letters of a wire name. Length octets are at most 63
// and so never look like letters.
func lowerASCII(wire []byte) {
	for i, c := range wire {
		if 'A' <= c && c <= 'Z' {
			wire[i] = c + ('a' - 'A')
		}
	}
}

// String returns the presentation form without a final dot; the root is ".".
// Octets other than printable ASCII are escaped.
func (n Name) String() string {
	if n == "" {
		return ""
	}
	if n == Root {
		return "."
	}
	text := make([]byte, 0, len(n))
	for rest := n; len(rest) > 1; rest = rest.Parent() {
		if len(text) > 0 {
			text = append(text, '.')
		}
		for _, c := range []byte(rest.FirstLabel()) {
			switch {
			case c == '.' || c == '\\' || c == '"' || c == ';' || c == '(' || c == ')' || c == '@' || c == '$':
				text = append(text, '\\', c)
			case c <= ' ' || c > '~':
				text = fmt.Appendf(text, "\\%03d", c)
			default:
				text = append(text, c)
			}
		}
	}
	return string(text)
}

// FQDN returns the presentation form with a final dot, as master files want it.
func (n Name) FQDN() string {
	if n == Root {
		return "."
	}
	return n.String() + "."
}

// FirstLabel returns the octets of the leftmost label; "" for the root.
func (n Name) FirstLabel() string {
	if len(n) < 2 {
		return ""
	}
	return string(n[1 : 1+n[0]])
}

// Parent returns the name without its leftmost label. The root's parent is
// the zero Name.
func (n Name) Parent() Name {
	if len(n) < 2 {
		return ""
	}
	return n[1+n[0]:]
}

// Labels counts the labels, the root's empty one left out.
func (n Name) Labels() int {
	count := 0
	for rest := n; len(rest) > 1; rest = rest.Parent() {
		count++
	}
	return count
}

// In reports whether n is zone or lies below it.
func (n Name) In(zone Name) bool {
	if zone == "" || len(n) < len(zone) {
		return false
	}
	for rest := n; len(rest) >= len(zone); rest = rest.Parent() {
		if len(rest) == len(zone) {
			return rest == zone
		}
	}
	return false
}

// IsWildcard reports whether the leftmost label is a lone asterisk
// (RFC 4592 section 2.1.1).
func (n Name) IsWildcard() bool {
	return len(n) > 2 && n[0] == 1 && n[1] == '*'
}

// Wildcard returns the name of the wildcard directly below n, or the zero Name
// where that would be too long.
func (n Name) Wildcard() Name { return n.Child("*") }

// Child returns the name of the given label (in lower case, up to 63 octets)
// directly below n, or the zero Name where that would be too long.
func (n Name) Child(label string) Name {
	if len(label) == 0 || len(label) > maxLabelOctets || len(n)+len(label)+1 > maxNameOctets {
		return ""
	}
	return Name(string([]byte{byte(len(label))})+label) + n
}

// Compare orders names canonically (RFC 4034 section 6.1): label by label from
// the right, each as a string of octets, a missing label first.
func (n Name) Compare(other Name) int {
	var a, b [128]uint8 // where each label starts, leftmost first
	na, nb := labelStarts(n, &a), labelStarts(other, &b)
	for na > 0 && nb > 0 {
		na--
		nb--
		la := n[a[na]+1 : int(a[na])+1+int(n[a[na]])]
		lb := other[b[nb]+1 : int(b[nb])+1+int(other[b[nb]])]
		if c := strings.Compare(string(la), string(lb)); c != 0 {
			return c
		}
	}
	return na - nb
}

func labelStarts(n Name, starts *[128]uint8) int {
	count := 0
	for i := 0; i+1 < len(n); i += int(n[i]) + 1 {
		starts[count] = uint8(i)
		count++
	}
	return count
}
