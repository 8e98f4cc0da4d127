package server

import "slices"

const (
	optionPadding = 12
	// paddingBlock: encrypted replies get a length that is a multiple of it, so
	// that their length tells little of what they say (RFC 8467 section 4.1).
	paddingBlock = 468
)

// pads reports whether the reply has the padding option: only where it was
// asked for, and only where nobody on the way can read it (RFC 7830 section 6).
func (r *Responder) pads(transport Transport) bool {
	return r.msg.padding && transport.Encrypted()
}

// appendPadding appends the padding option (RFC 7830 section 3), the last one
// of the OPT record, to a message that has size octets so far and may have
// limit. A TSIG record comes behind: of one length for one key, it tells nothing.
func appendPadding(dst []byte, size, limit int) []byte {
	size += 4
	fill := min((size+paddingBlock-1)/paddingBlock*paddingBlock, limit) - size
	if fill < 0 {
		return dst
	}
	dst = append(dst, 0, optionPadding, byte(fill>>8), byte(fill))
	dst = slices.Grow(dst, fill)[:len(dst)+fill]
	clear(dst[len(dst)-fill:])
	return dst
}
