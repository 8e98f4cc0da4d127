package server

import (
	"encoding/binary"
	"net/netip"
	"unicode/utf8"
)

const (
	// plainUDP is what a client without EDNS takes (RFC 1035 section 4.2.1),
	// and the least that an EDNS client means (RFC 6891 section 6.2.3).
	plainUDP = 512
	// DefaultMaxUDP is the largest UDP reply unless set otherwise: it fits the
	// smallest IPv6 MTU unfragmented (DNS flag day 2020, RFC 9715).
	DefaultMaxUDP = 1232
	// optSize is the length of an OPT record without options.
	optSize = 11

	optionEDE = 15
	// maxReason bounds the text of an extended error.
	maxReason = 240
)

// An EDEMode says how much Extended DNS Errors (RFC 8914) tell.
type EDEMode uint8

// The modes, as --ede spells them.
const (
	// EDEFull: code and text for peers in Options.ExplainFrom, the code alone
	// for others.
	EDEFull EDEMode = iota
	// EDECode: the code alone, for everyone.
	EDECode
	// EDEOff: none.
	EDEOff
)

// Extended error codes (RFC 8914 section 5.2, RFC 9824 section 3.4).
const (
	edeNone = -1 // no extended error

	edeOther            = 0
	edeStale            = 3
	edeNotReady         = 14
	edeProhibited       = 18
	edeNotAuthoritative = 20
	edeNotSupported     = 21
	edeInvalidType      = 30
)

// An extendedError is a code with its text. Most replies have edeNone.
type extendedError struct {
	code int
	text string
}

// explain reports whether addr lies in a network whose peers may read why a
// name is missing. Without networks these are loopback, link-local and the
// private ranges (RFC 1918, RFC 4193).
func explain(networks []netip.Prefix, addr netip.Addr) bool {
	addr = addr.Unmap().WithZone("")
	if networks == nil {
		return addr.IsLoopback() || addr.IsPrivate() || addr.IsLinkLocalUnicast()
	}
	for _, network := range networks {
		if network.Contains(addr) {
			return true
		}
	}
	return false
}

// appendOPT appends the OPT record of a reply: built anew, never the query's.
// The extended error fills what room there is, its text first to go.
func appendOPT(dst []byte, payload int, rcode Rcode, do bool, ede extendedError, room int) []byte {
	flags := byte(0)
	if do {
		flags = 0x80 // RFC 3225
	}
	dst = append(dst, 0, 0, typeOPT, byte(payload>>8), byte(payload), byte(rcode>>4), 0, flags, 0, 0, 0)
	room -= optSize
	if ede.code == edeNone || room < 6 {
		return dst
	}
	text := clip(ede.text, maxReason)
	if room < 6+len(text) {
		text = ""
	}
	length := len(dst) - 2
	dst = append(dst, 0, optionEDE, byte((2+len(text))>>8), byte(2+len(text)), byte(ede.code>>8), byte(ede.code))
	dst = append(dst, text...)
	binary.BigEndian.PutUint16(dst[length:], uint16(len(dst)-length-2))
	return dst
}

// clip cuts text to at most limit octets, at the end of a character, and says
// so with an ellipsis. Text that is not UTF-8 ends where it stops being so
// (RFC 8914 section 2: EXTRA-TEXT is UTF-8).
func clip(text string, limit int) string {
	if !utf8.ValidString(text) {
		end := 0
		for end < len(text) {
			r, size := utf8.DecodeRuneInString(text[end:])
			if r == utf8.RuneError && size == 1 {
				break
			}
			end += size
		}
		text = text[:end]
	}
	if len(text) <= limit {
		return text
	}
	const ellipsis = "..."
	end := limit - len(ellipsis)
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + ellipsis
}
