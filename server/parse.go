package server

import (
	"encoding/binary"

	"github.com/clusterzone/clusterzone/zones"
)

const (
	headerSize = 12
	maxName    = 255 // octets, RFC 1035 section 2.3.4
	maxMessage = 65535
)

// The header's second word (RFC 1035 section 4.1.1, RFC 4035 section 3).
const (
	flagQR      = 1 << 15
	flagAA      = 1 << 10
	flagTC      = 1 << 9
	flagRD      = 1 << 8
	flagCD      = 1 << 4
	maskOpcode  = 0xf << 11
	opcodeQuery = 0
)

// Types and classes that a message itself gives a meaning to.
const (
	typeOPT    = 41
	typeNXNAME = 128
	typeTKEY   = 249
	typeTSIG   = 250
	typeIXFR   = 251
	typeAXFR   = 252
	typeMAILB  = 253
	typeMAILA  = 254

	classIN  = 1
	classCH  = 3
	classANY = 255
)

// A message is a query as far as a reply depends on it. It refers to the
// query's memory by offset only.
type message struct {
	id    uint16
	flags uint16

	// malformed: the reply is FORMERR. What was read before the fault stays.
	malformed bool

	// The question: query[headerSize:questionEnd], when questionEnd > 0.
	questionEnd int
	qtype       zones.Type
	qclass      uint16
	// name[:nameLen] is the question's name in canonical form.
	name    [maxName]byte
	nameLen int

	// The OPT record (RFC 6891). edns says that there was one, well-formed or
	// not: then the reply has one too.
	edns    bool
	version uint8
	do      bool
	payload uint16
	// The COOKIE option (RFC 7873), the first one, by offset: query[cookie:cookieEnd].
	// Zero without one.
	cookie, cookieEnd int
	// The marks of servers that passed the query on, likewise: query[trail:trailEnd].
	trail, trailEnd int
	// nsid and keepAlive say that the query has these options (RFC 5001, 7828).
	nsid, keepAlive bool
	// padding and expire: the query has these options (RFC 7830, 7314).
	padding, expire bool

	// The TSIG record (RFC 8945): where its owner and its data begin, and where
	// it ends. Zero without one.
	tsigOwner, tsigData, tsigEnd int
}

func (m *message) opcode() uint16 { return (m.flags & maskOpcode) >> 11 }

// parse reads query into m. It returns a reason where no reply may be given;
// else m.malformed tells a well-formed query from one to call FORMERR.
//
// Every byte is accounted for: lengths inside the message, exactly one
// question, as many records as the counts say, nothing after the last one.
func (m *message) parse(query []byte) Drop {
	m.malformed, m.questionEnd, m.qtype, m.qclass, m.nameLen = false, 0, 0, 0, 0
	m.edns, m.version, m.do, m.payload = false, 0, false, 0
	m.cookie, m.cookieEnd, m.nsid, m.keepAlive, m.padding, m.expire = 0, 0, false, false, false, false
	m.trail, m.trailEnd = 0, 0
	m.tsigOwner, m.tsigData, m.tsigEnd = 0, 0, 0
	if len(query) < headerSize {
		return DropShort
	}
	m.id = binary.BigEndian.Uint16(query)
	m.flags = binary.BigEndian.Uint16(query[2:])
	if m.flags&flagQR != 0 {
		return DropResponse
	}
	m.malformed = !m.parseBody(query)
	return Answered
}

func (m *message) parseBody(query []byte) bool {
	questions := binary.BigEndian.Uint16(query[4:])
	if questions > 1 { // RFC 9619
		return false
	}
	at := headerSize
	if questions == 1 {
		end, ok := m.parseQuestion(query)
		if !ok {
			return false
		}
		m.questionEnd, at = end, end
	}
	// Records in the answer and authority sections of a query say nothing to
	// this server (an IXFR's SOA included), but must be well-formed.
	others := int(binary.BigEndian.Uint16(query[6:])) + int(binary.BigEndian.Uint16(query[8:]))
	extra := int(binary.BigEndian.Uint16(query[10:]))
	for i := range others + extra {
		rec, ok := readRecord(query, at)
		if !ok {
			return false
		}
		at = rec.end
		switch rec.typ {
		case typeOPT:
			// RFC 6891 section 6.1.1: one only, in the additional section. The
			// reply to a faulty one still has an OPT, which tells the client
			// that EDNS is understood here.
			again := m.edns
			m.edns = true
			if again || i < others || !m.parseOPT(query, rec) {
				return false
			}
		case typeTSIG:
			// RFC 8945 section 5.1: the last record of the additional section.
			if i != others+extra-1 || extra == 0 || rec.class != classANY || rec.ttl != 0 {
				return false
			}
			if !validTSIG(query, rec) {
				return false
			}
			m.tsigOwner, m.tsigData, m.tsigEnd = rec.start, rec.data, rec.end
		}
	}
	// Only who asks for a cookie may ask nothing else (RFC 7873 section 5.4).
	return at == len(query) && (questions == 1 || m.cookie > 0)
}

// parseQuestion reads the name in canonical form, type and class. A pointer
// can't stand here: there is nothing before the question to point at.
func (m *message) parseQuestion(query []byte) (end int, ok bool) {
	at := headerSize
	n := 0
	for {
		if at >= len(query) {
			return 0, false
		}
		size := int(query[at])
		if size > 63 || n+1+size > maxName || at+1+size > len(query) {
			return 0, false
		}
		m.name[n] = byte(size)
		for i := 1; i <= size; i++ {
			m.name[n+i] = lower(query[at+i])
		}
		n += 1 + size
		at += 1 + size
		if size == 0 {
			break
		}
	}
	if at+4 > len(query) {
		return 0, false
	}
	m.nameLen = n
	m.qtype = zones.Type(binary.BigEndian.Uint16(query[at:]))
	m.qclass = binary.BigEndian.Uint16(query[at+2:])
	return at + 4, true
}

// parseOPT reads the OPT record. Options that this server doesn't know are
// checked to lie within it, and not echoed.
func (m *message) parseOPT(query []byte, rec record) bool {
	if query[rec.start] != 0 { // the owner is the root, uncompressed
		return false
	}
	m.payload = rec.class
	m.version = uint8(rec.ttl >> 16)
	m.do = rec.ttl&(1<<15) != 0
	for at := rec.data; at < rec.end; {
		if at+4 > rec.end {
			return false
		}
		code, data := binary.BigEndian.Uint16(query[at:]), at+4
		at = data + int(binary.BigEndian.Uint16(query[at+2:]))
		if at > rec.end {
			return false
		}
		switch code {
		case optionNSID:
			m.nsid = true
		case optionExpire:
			m.expire = true
		case optionCookie:
			if m.cookie == 0 { // RFC 7873 section 5.2: the first one counts
				m.cookie, m.cookieEnd = data, at
			}
		case optionKeepAlive:
			m.keepAlive = true
		case optionPadding:
			m.padding = true
		case zones.PassMarkOption:
			m.trail, m.trailEnd = data, at
		}
	}
	return true
}

// A record is the frame of one resource record, by offsets into the message.
type record struct {
	start, data, end int
	typ, class       uint16
	ttl              uint32
}

func readRecord(msg []byte, at int) (record, bool) {
	rec := record{start: at}
	at, ok := skipName(msg, at)
	if !ok || at+10 > len(msg) {
		return rec, false
	}
	rec.typ = binary.BigEndian.Uint16(msg[at:])
	rec.class = binary.BigEndian.Uint16(msg[at+2:])
	rec.ttl = binary.BigEndian.Uint32(msg[at+4:])
	rec.data = at + 10
	rec.end = rec.data + int(binary.BigEndian.Uint16(msg[at+8:]))
	return rec, rec.end <= len(msg)
}

// skipName returns the offset behind the name at the given one. A pointer ends
// a name; it must point back (RFC 1035 section 4.1.4: a prior occurrence), into
// the part of the message that holds names.
func skipName(msg []byte, at int) (int, bool) {
	start := at
	for at < len(msg) {
		size := int(msg[at])
		switch {
		case size == 0:
			return at + 1, true
		case size >= 0xc0:
			if at+2 > len(msg) {
				return 0, false
			}
			target := (size&0x3f)<<8 | int(msg[at+1])
			return at + 2, target >= headerSize && target < start
		case size > 63:
			return 0, false
		}
		at += 1 + size
		if at-start >= maxName {
			return 0, false
		}
	}
	return 0, false
}

// appendExpanded appends the name at the given offset without compression and
// in canonical form. Each pointer must point before the part of the name that
// it ends, so that no loop is possible.
func appendExpanded(dst, msg []byte, at int) ([]byte, bool) {
	begin := len(dst)
	start := at
	for at < len(msg) {
		size := int(msg[at])
		switch {
		case size >= 0xc0:
			if at+2 > len(msg) {
				return dst, false
			}
			target := (size&0x3f)<<8 | int(msg[at+1])
			if target < headerSize || target >= start {
				return dst, false
			}
			start, at = target, target
			continue
		case size > 63 || at+1+size > len(msg) || len(dst)-begin+1+size > maxName:
			return dst, false
		}
		dst = append(dst, byte(size))
		for _, c := range msg[at+1 : at+1+size] {
			dst = append(dst, lower(c))
		}
		if size == 0 {
			return dst, true
		}
		at += 1 + size
	}
	return dst, false
}

// lower folds one ASCII letter (RFC 4343).
func lower(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		return c + ('a' - 'A')
	}
	return c
}
