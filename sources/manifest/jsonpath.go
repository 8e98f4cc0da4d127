package manifest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// pathAt returns the path of the value that stands at an offset of a JSON
// document, as strict decoding would write it.
func pathAt(document []byte, offset int64) string {
	type level struct {
		key   string // the member at hand, in an object
		index int    // the element at hand, in an array
		array bool
		value bool // the next token is a member's value
	}
	var levels []level
	path := func() string {
		var text strings.Builder
		for _, l := range levels {
			switch {
			case l.array:
				fmt.Fprintf(&text, "[%d]", l.index)
			case l.key != "":
				if text.Len() > 0 {
					text.WriteByte('.')
				}
				text.WriteString(l.key)
			}
		}
		return text.String()
	}
	decoder := json.NewDecoder(bytes.NewReader(document))
	for {
		token, err := decoder.Token()
		if err != nil {
			return path()
		}
		delim, isDelim := token.(json.Delim)
		closes := isDelim && (delim == '}' || delim == ']')
		if closes {
			levels = levels[:len(levels)-1]
		}
		if n := len(levels); n > 0 && !closes && !levels[n-1].array && !levels[n-1].value {
			levels[n-1].key, levels[n-1].value = fmt.Sprint(token), true
			continue
		}
		if decoder.InputOffset() >= offset {
			return path()
		}
		if isDelim && !closes {
			levels = append(levels, level{array: delim == '['})
			continue
		}
		if n := len(levels); n > 0 {
			levels[n-1].value = false
			levels[n-1].index++
		}
	}
}
