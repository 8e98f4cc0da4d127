package mirror

import (
	"maps"
	"slices"
	"strings"
)

// The grammar of an ownership text (external-dns calls the pairs labels):
//
//	"heritage=external-dns,external-dns/owner=ID,external-dns/resource=ingress/NS/NAME"
//
// The quotes are a part of the value that is sent to the provider; heritage
// stands first and the other keys follow in ascending order.
const (
	heritage      = "external-dns"
	labelPrefix   = heritage + "/"
	labelOwner    = "owner"
	labelResource = "resource"
	// labelDualstack was written up to v0.15 for an alias that has an AAAA beside
	// it without ownership record of its own.
	labelDualstack = "dualstack"
	// maxText is the longest character-string (RFC 1035 section 3.3). A longer text
	// would be split, and external-dns can't read one that is.
	maxText = 255
)

// labels are the pairs of one ownership text, without heritage.
type labels struct {
	pairs map[string]string
	nonce []byte // that it was encrypted with; nil for plain text
}

func (l labels) owner() string { return l.pairs[labelOwner] }

// plainText returns the text without quotes.
func (l labels) plainText() string {
	var text strings.Builder
	text.WriteString("heritage=" + heritage)
	for _, key := range slices.Sorted(maps.Keys(l.pairs)) {
		text.WriteString("," + labelPrefix + key + "=" + l.pairs[key])
	}
	return text.String()
}

// parseLabels reads a text with or without quotes. ok is false where it isn't an
// ownership text: its record is then one like any other. Old texts out of
// Alibaba Cloud have semicolons between the pairs.
func parseLabels(text string) (l labels, ok bool) {
	l.pairs = map[string]string{}
	text = strings.Trim(text, `"`)
	for pair := range strings.FieldsFuncSeq(text, func(c rune) bool { return c == ',' || c == ';' }) {
		key, value, found := strings.Cut(pair, "=")
		switch {
		case !found:
		case key == "heritage":
			if value != heritage {
				return labels{}, false
			}
			ok = true
		case strings.HasPrefix(key, labelPrefix):
			l.pairs[strings.TrimPrefix(key, labelPrefix)] = value
		}
	}
	if !ok {
		return labels{}, false
	}
	return l, true
}

// badInText is what no owner and no resource may hold: there is no way to write
// it that external-dns reads back.
const badInText = ",\"=;\\"
