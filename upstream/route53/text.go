package route53

import (
	"fmt"
	"strings"
)

// maxString is how many octets one character-string holds (RFC 1035 section 3.3).
const maxString = 255

// canonicalText is one spelling of TXT data: quoted strings in which octets other
// than printable ASCII are escaped in decimal and all others aren't, but for quote
// and backslash. Data without quotes is one string.
func canonicalText(text string) string {
	if !strings.HasPrefix(text, `"`) {
		text = `"` + strings.ReplaceAll(text, `"`, `\"`) + `"`
	}
	var out strings.Builder
	eachOctet(text, func(octet byte, quote bool) {
		switch {
		case quote:
			out.WriteByte('"')
		case octet == '"' || octet == '\\':
			out.Write([]byte{'\\', octet})
		case octet < ' ' || octet > '~':
			fmt.Fprintf(&out, "\\%03d", octet)
		default:
			out.WriteByte(octet)
		}
	})
	return out.String()
}

// longestString is the length of the longest character-string in octets.
func longestString(text string) int {
	longest, length, inside := 0, 0, false
	eachOctet(text, func(_ byte, quote bool) {
		switch {
		case quote:
			inside, length = !inside, 0
		case inside:
			length++
			longest = max(longest, length)
		}
	})
	return longest
}

// eachOctet reads TXT data with decimal escapes. quote says that an octet is one of
// the quotes around a string.
func eachOctet(text string, yield func(octet byte, quote bool)) {
	for i := 0; i < len(text); i++ {
		if text[i] != '\\' || i+1 == len(text) {
			yield(text[i], text[i] == '"')
			continue
		}
		if octet, ok := escaped(text[i+1:], 10); ok {
			yield(octet, false)
			i += 3
			continue
		}
		yield(text[i+1], false)
		i++
	}
}
