package zonefile

import "bytes"

// mend works around faults of the parser, in an entry that goes to it:
//   - Where parentheses hold lines together, it takes a line's end for nothing, and
//     not for a blank (RFC 1035 section 5.1): a word at the start of the next line
//     would be one with the last of this. And behind a comment there it takes words
//     that are types' names for a record's type.
//   - After an IPSECKEY record (RFC 4025) it expects the line to end, though it has
//     read the line's end already, and takes the next record for rubbish. An
//     empty line more serves.
//   - The address of an X25 record (RFC 1183 section 3.1) may stand in quotation
//     marks, as named prints it; the parser takes the first of them for the
//     whole address. It holds digits alone, so that they can go.
func mend(entry []byte) []byte {
	if at := bytes.IndexByte(entry, '\n'); at >= 0 && at < len(entry)-1 {
		entry = spaced(entry)
	}
	switch {
	case hasFold(entry, "IPSECKEY") || hasFold(entry, "TYPE45"):
		return append(bytes.Clone(entry), '\n')
	case hasFold(entry, "X25"):
		return mendX25(entry)
	}
	return entry
}

// spaced puts a blank behind the line ends in an entry of several lines, but for
// those in quotation marks, and leaves comments out.
func spaced(entry []byte) []byte {
	out := make([]byte, 0, len(entry)+16)
	quoted, comment := false, false
	for i := 0; i < len(entry); i++ {
		c := entry[i]
		comment = comment && c != '\n' || c == ';' && !quoted
		if comment {
			continue
		}
		out = append(out, c)
		switch {
		case c == '\n' && !quoted && i < len(entry)-1:
			out = append(out, ' ')
		case c == '\\' && i < len(entry)-1 && entry[i+1] != '\n':
			i++
			out = append(out, entry[i])
		case c == '"':
			quoted = !quoted
		}
	}
	return out
}

// mendX25 takes the quotation marks out of an X25 record's data, if it is one.
func mendX25(entry []byte) []byte {
	fields := bytes.Fields(entry)
	for i, field := range fields[:max(len(fields)-1, 0)] {
		if i > 3 { // name, TTL and class may stand before
			break
		}
		address := fields[i+1]
		if bytes.EqualFold(field, []byte("X25")) && len(address) > 2 && address[0] == '"' && bytes.IndexByte(address[1:], '"') == len(address)-2 {
			return bytes.Replace(entry, address, address[1:len(address)-1], 1)
		}
	}
	return entry
}

// hasFold reports whether text holds the word, which is in upper case, in any case.
func hasFold(text []byte, word string) bool {
	for {
		at := bytes.IndexByte(text, word[0])
		if lower := bytes.IndexByte(text, word[0]|0x20); at < 0 || lower >= 0 && lower < at {
			at = lower
		}
		if at < 0 || len(text)-at < len(word) {
			return false
		}
		if bytes.EqualFold(text[at:at+len(word)], []byte(word)) {
			return true
		}
		text = text[at+1:]
	}
}
