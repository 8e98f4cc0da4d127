package route53

import (
	"fmt"
	"strings"

	"github.com/clusterzone/clusterzone/zones"
)

// Route 53 writes octets of names other than letters, digits, hyphen, underscore
// and dot as a backslash and three octal digits (an asterisk as \052), where master
// files have decimal ones (API reference, "DNS domain name format").

// parseName reads a name as Route 53 writes it.
func parseName(text string) (zones.Name, error) {
	return zones.ParseName(decimal(text))
}

// decimal turns octal escapes into decimal ones; other escapes stay. Text that has
// no form as such is left as it stands.
func decimal(text string) string {
	return escapes(text, 8, `\%03d`)
}

// octal turns decimal escapes into octal ones; other escapes stay.
func octal(text string) string {
	return escapes(text, 10, `\%03o`)
}

// escapes rewrites escapes of three digits of a base.
func escapes(text string, base int, to string) string {
	if !strings.Contains(text, `\`) {
		return text
	}
	var out strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] != '\\' || i+1 == len(text) {
			out.WriteByte(text[i])
			continue
		}
		if octet, ok := escaped(text[i+1:], base); ok {
			fmt.Fprintf(&out, to, octet)
			i += 3
			continue
		}
		out.WriteString(text[i : i+2])
		i++
	}
	return out.String()
}

// escaped reads three digits of a base.
func escaped(text string, base int) (byte, bool) {
	if len(text) < 3 {
		return 0, false
	}
	value := 0
	for _, c := range []byte(text[:3]) {
		digit := int(c) - '0'
		if digit < 0 || digit >= base {
			return 0, false
		}
		value = value*base + digit
	}
	return byte(value), value <= 255
}

// formatName writes a name as requests have it, with a final dot. An asterisk stays
// one: as the whole first label it is a wildcard, and elsewhere Route 53 takes it
// for the character.
func formatName(name zones.Name) string {
	var out strings.Builder
	for rest := name; len(rest) > 1; rest = rest.Parent() {
		for _, c := range []byte(rest.FirstLabel()) {
			switch {
			case 'a' <= c && c <= 'z', '0' <= c && c <= '9', c == '-', c == '_', c == '*':
				out.WriteByte(c)
			default:
				fmt.Fprintf(&out, "\\%03o", c)
			}
		}
		out.WriteByte('.')
	}
	if out.Len() == 0 {
		return "."
	}
	return out.String()
}

// bare returns the ID of a hosted zone without the path that responses put before
// it ("/hostedzone/Z123").
func bare(id string) string {
	return id[strings.LastIndexByte(id, '/')+1:]
}
