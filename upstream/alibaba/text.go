package alibaba

import (
	"fmt"
	"strings"
)

// maxString is the most octets of a character-string (RFC 1035 section 3.3).
const maxString = 255

// quoteText returns the value of a TXT as quoted character-strings. The API is
// sent quotes and leaves them out of what it returns, but not always (values of
// several strings keep theirs). It reads the text in presentation form (RFC 1035
// section 5.1) where it can be read so, and by itself otherwise, which is how a
// text with loose quotes in it, typed in the console, comes out.
//
// Old versions of external-dns wrote semicolons for the commas of an ownership
// text. They are returned as commas, since a text that says the same needs no
// writing.
func quoteText(value string) string {
	content, ok := unquote(value)
	if !ok {
		content = value
	}
	if strings.HasPrefix(content, "heritage=external-dns;") {
		content = strings.ReplaceAll(content, ";", ",")
	}
	return quote(content)
}

// quote writes octets as character-strings, as few as there can be.
func quote(content string) string {
	var text strings.Builder
	text.WriteByte('"')
	for i := range len(content) {
		if i > 0 && i%maxString == 0 {
			text.WriteString(`" "`)
		}
		switch c := content[i]; {
		case c == '"' || c == '\\':
			text.WriteByte('\\')
			text.WriteByte(c)
		case c < ' ' || c > '~':
			fmt.Fprintf(&text, "\\%03d", c)
		default:
			text.WriteByte(c)
		}
	}
	text.WriteByte('"')
	return text.String()
}

// unquote returns the octets of quoted strings, put together, or of one string
// whose quotes were left out. ok is false where the text is neither.
func unquote(text string) (content string, ok bool) {
	quoted := strings.HasPrefix(text, `"`) && len(text) > 1
	var octets strings.Builder
	inside := !quoted
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case c == '"' && quoted:
			inside = !inside
		case c == '"':
			return "", false
		case !inside:
			if c != ' ' {
				return "", false
			}
		case c == '\\':
			octet, more, fine := unescape(text[i+1:])
			if !fine {
				return "", false
			}
			octets.WriteByte(octet)
			i += more
		default:
			octets.WriteByte(c)
		}
	}
	return octets.String(), inside != quoted
}

// unescape reads what follows a backslash: three digits, or one other octet.
func unescape(text string) (octet byte, length int, ok bool) {
	if text == "" {
		return 0, 0, false
	}
	if text[0] < '0' || text[0] > '9' {
		return text[0], 1, true
	}
	if len(text) < 3 {
		return 0, 0, false
	}
	number := 0
	for _, c := range []byte(text[:3]) {
		if c < '0' || c > '9' {
			return 0, 0, false
		}
		number = number*10 + int(c-'0')
	}
	return byte(number), 3, number < 256
}
