package server

import (
	"encoding/binary"
	"net/netip"
	"time"
	"unicode/utf8"

	"github.com/clusterzone/clusterzone/zones"
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

	optionNSID      = 3
	optionExpire    = 9
	optionCookie    = 10
	optionKeepAlive = 11
	optionEDE       = 15
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
	edeUnreachable      = 22
	edeNetwork          = 23
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
	return inAny(networks, addr)
}

// inAny reports whether addr, which is neither mapped nor has a zone, lies in
// one of the networks.
func inAny(networks []netip.Prefix, addr netip.Addr) bool {
	for _, network := range networks {
		if network.Contains(addr) {
			return true
		}
	}
	return false
}

// optLength is the length of the reply's OPT record without an extended error,
// which takes what room is left.
func (r *Responder) optLength(transport Transport, v *verdict) int {
	if !r.msg.edns {
		return 0
	}
	length := optSize
	if v.options {
		if r.cookied {
			length += 4 + cookieSize
		}
		if r.msg.nsid && r.NSID != "" {
			length += 4 + len(r.NSID)
		}
		if v.expires {
			length += 4 + 4
		}
		if r.keepAlive(transport) {
			length += 4 + 2
		}
		if r.pads(transport) {
			length += 4
		}
	}
	return length
}

// noteExpire answers the EXPIRE option of a question for the zone's SOA or content
// with the SOA's timer, since this server is the zone's primary (RFC 7314 section 3).
func noteExpire(soa *zones.RRSet, v *verdict) {
	if soa.Type != zones.TypeSOA || len(soa.Data) == 0 {
		return
	}
	// The fields behind the names are serial, refresh, retry, expire and minimum.
	data := string(soa.Data[0])
	v.expire, v.expires = binary.BigEndian.Uint32([]byte(data[len(data)-8:])), true
}

// keepAlive reports whether the reply has the edns-tcp-keepalive option: only
// where it was asked for, and never over UDP (RFC 7828 section 3.2.1) or HTTPS,
// where HTTP keeps connections (RFC 8484 section 6).
func (r *Responder) keepAlive(transport Transport) bool {
	return transport.Stream() && r.msg.keepAlive && r.TCPIdle > 0
}

// appendOPT appends the OPT record of a reply: built anew, never the query's.
// The extended error fills what room there is, its text first to go.
func (r *Responder) appendOPT(dst []byte, transport Transport, v *verdict, room int) []byte {
	flags := byte(0)
	if r.msg.do {
		flags = 0x80 // RFC 3225
	}
	payload := r.maxUDP()
	start := len(dst)
	dst = append(dst, 0, 0, typeOPT, byte(payload>>8), byte(payload), byte(v.rcode>>4), 0, flags, 0, 0, 0)
	length := len(dst) - 2
	if v.options {
		if r.cookied {
			dst = append(dst, 0, optionCookie, 0, cookieSize)
			dst = append(dst, r.cookie[:]...)
		}
		if r.msg.nsid && r.NSID != "" {
			dst = append(dst, 0, optionNSID, byte(len(r.NSID)>>8), byte(len(r.NSID)))
			dst = append(dst, r.NSID...)
		}
		if v.expires {
			dst = append(dst, 0, optionExpire, 0, 4)
			dst = binary.BigEndian.AppendUint32(dst, v.expire)
		}
		if r.keepAlive(transport) {
			units := min(r.TCPIdle/(100*time.Millisecond), 0xffff) // RFC 7828 section 3.1
			dst = append(dst, 0, optionKeepAlive, 0, 2, byte(units>>8), byte(units))
		}
	}
	pads := v.options && r.pads(transport)
	reserved := 0
	if pads {
		reserved = 4
	}
	dst = appendEDE(dst, v.ede, room-(len(dst)-start)-reserved)
	if pads {
		limit := r.limit(transport)
		dst = appendPadding(dst, limit-room+len(dst)-start, limit)
	}
	binary.BigEndian.PutUint16(dst[length:], uint16(len(dst)-length-2))
	return dst
}

func appendEDE(dst []byte, ede extendedError, room int) []byte {
	if ede.code == edeNone || room < 6 {
		return dst
	}
	text := clip(ede.text, maxReason)
	if room < 6+len(text) {
		text = ""
	}
	dst = append(dst, 0, optionEDE, byte((2+len(text))>>8), byte(2+len(text)), byte(ede.code>>8), byte(ede.code))
	return append(dst, text...)
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
