package zonefile

import "bytes"

// mend works around two faults of the parser, in an entry that goes to it:
//   - After an IPSECKEY record (RFC 4025) it expects the line to end, though it has
//     read the line's end already, and takes the next record for rubbish. An
//     empty line more serves.
//   - The address of an X25 record (RFC 1183 section 3.1) may stand in quotation
//     marks, as named prints it; the parser takes the first of them for the
//     whole address. It holds digits alone, so that they can go.
func mend(entry []byte) []byte {
	switch {
	case hasFold(entry, "IPSECKEY") || hasFold(entry, "TYPE45"):
		return append(bytes.Clone(entry), '\n')
	case hasFold(entry, "X25"):
		return mendX25(entry)
	}
	return entry
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
