package server

import (
	"crypto/hmac"
	"encoding/binary"

	"github.com/clusterzone/clusterzone/zones"
)

// TSIG error codes (RFC 8945 section 3).
const (
	tsigBadSig   = 16
	tsigBadKey   = 17
	tsigBadTime  = 18
	tsigBadTrunc = 22
)

const (
	// tsigFixed is the length of a TSIG record's data without the algorithm's name,
	// the MAC and other data: time signed (6), fudge (2), MAC size (2), original id
	// (2), error (2), other length (2).
	tsigFixed = 16
	// tsigFudge is how far, in seconds, clocks may be apart (RFC 8945 section 10).
	tsigFudge = 300
	// minMAC is the shortest MAC that is one (RFC 8945 section 5.2.2.1).
	minMAC = 10
)

// validTSIG checks the layout of a TSIG record's data (RFC 8945 section 4.2).
func validTSIG(msg []byte, rec record) bool {
	if _, ok := appendExpanded(make([]byte, 0, maxName), msg, rec.start); !ok {
		return false
	}
	if _, ok := appendExpanded(make([]byte, 0, maxName), msg, rec.data); !ok {
		return false
	}
	at, ok := skipName(msg, rec.data)
	if !ok || at+tsigFixed > rec.end {
		return false
	}
	mac := int(binary.BigEndian.Uint16(msg[at+8:]))
	if at+tsigFixed+mac > rec.end {
		return false
	}
	other := int(binary.BigEndian.Uint16(msg[at+10+mac+4:]))
	return at+tsigFixed+mac+other == rec.end
}

// A tsig is a TSIG record that validTSIG has let pass. Its slices share the
// message's memory, but for the names.
type tsig struct {
	start          int // of the record in the message
	key, algorithm zones.Name
	signed         uint64 // Unix seconds, 48 bits
	fudge          uint16
	mac            []byte
	id, code       uint16
	other          []byte
}

func readTSIG(msg []byte, owner, data int) tsig {
	key, _ := appendExpanded(make([]byte, 0, maxName), msg, owner)
	algorithm, _ := appendExpanded(make([]byte, 0, maxName), msg, data)
	at, _ := skipName(msg, data)
	size := int(binary.BigEndian.Uint16(msg[at+8:]))
	rest := at + 10 + size
	return tsig{
		start: owner, key: zones.Name(key), algorithm: zones.Name(algorithm),
		signed: uint64(binary.BigEndian.Uint16(msg[at:]))<<32 | uint64(binary.BigEndian.Uint32(msg[at+2:])),
		fudge:  binary.BigEndian.Uint16(msg[at+6:]),
		mac:    msg[at+10 : rest],
		id:     binary.BigEndian.Uint16(msg[rest:]),
		code:   binary.BigEndian.Uint16(msg[rest+2:]),
		other:  msg[rest+6 : rest+6+int(binary.BigEndian.Uint16(msg[rest+4:]))],
	}
}

// sum returns the MAC over a message (RFC 8945 section 4.3). prior is the MAC
// that the message answers or follows, empty for a request. msg ends where the
// TSIG record begins and does not count it. timers says that t follows the first
// message of an answer of several: then only the times are covered (section 5.3.1).
func (t *tsig) sum(key *TSIGKey, prior, msg []byte, timers bool) []byte {
	mac := hmac.New(key.algorithm.hash, key.secret)
	// A hash never fails to take octets.
	if len(prior) > 0 {
		_, _ = mac.Write(binary.BigEndian.AppendUint16(nil, uint16(len(prior))))
		_, _ = mac.Write(prior)
	}
	_, _ = mac.Write(msg)
	var variables []byte
	if !timers {
		variables = append(variables, t.key...)
		variables = append(variables, 0, classANY, 0, 0, 0, 0)
		variables = append(variables, t.algorithm...)
	}
	variables = t.appendTimes(variables)
	if !timers {
		variables = binary.BigEndian.AppendUint16(variables, t.code)
		variables = binary.BigEndian.AppendUint16(variables, uint16(len(t.other)))
		variables = append(variables, t.other...)
	}
	_, _ = mac.Write(variables)
	return mac.Sum(nil)
}

func (t *tsig) appendTimes(dst []byte) []byte {
	dst = appendTime(dst, t.signed)
	return binary.BigEndian.AppendUint16(dst, t.fudge)
}

func appendTime(dst []byte, seconds uint64) []byte {
	dst = binary.BigEndian.AppendUint16(dst, uint16(seconds>>32))
	return binary.BigEndian.AppendUint32(dst, uint32(seconds))
}

// size is the length of the record.
func (t *tsig) size() int {
	return len(t.key) + 10 + len(t.algorithm) + tsigFixed + len(t.mac) + len(t.other)
}

// append appends the record to the message that begins at base, and counts it.
func (t *tsig) append(dst []byte, base int) []byte {
	dst = append(dst, t.key...)
	dst = append(dst, 0, typeTSIG, 0, classANY, 0, 0, 0, 0, 0, 0)
	length := len(dst) - 2
	dst = append(dst, t.algorithm...)
	dst = t.appendTimes(dst)
	dst = binary.BigEndian.AppendUint16(dst, uint16(len(t.mac)))
	dst = append(dst, t.mac...)
	dst = binary.BigEndian.AppendUint16(dst, t.id)
	dst = binary.BigEndian.AppendUint16(dst, t.code)
	dst = binary.BigEndian.AppendUint16(dst, uint16(len(t.other)))
	dst = append(dst, t.other...)
	binary.BigEndian.PutUint16(dst[length:], uint16(len(dst)-length-2))
	count := dst[base+10:]
	binary.BigEndian.PutUint16(count, binary.BigEndian.Uint16(count)+1)
	return dst
}

// unsigned returns the message as it was when it was signed: without its TSIG
// record, which is the last one, and with the id of the time (RFC 8945 section
// 5.1).
func (t *tsig) unsigned(msg []byte) []byte {
	plain := append([]byte(nil), msg[:t.start]...)
	binary.BigEndian.PutUint16(plain, t.id)
	binary.BigEndian.PutUint16(plain[10:], binary.BigEndian.Uint16(plain[10:])-1)
	return plain
}

// check verifies the record of a message (RFC 8945 section 5.2) at the time now, in
// Unix seconds. It returns 0 or a TSIG error code. key is nil for an unknown one.
func (t *tsig) check(key *TSIGKey, prior, msg []byte, now uint64) uint16 {
	if key == nil || key.algorithm.name != t.algorithm {
		return tsigBadKey
	}
	want := t.sum(key, prior, t.unsigned(msg), false)
	if len(t.mac) > len(want) || !hmac.Equal(t.mac, want[:len(t.mac)]) {
		return tsigBadSig
	}
	if apart := int64(now) - int64(t.signed); apart > int64(t.fudge) || -apart > int64(t.fudge) {
		return tsigBadTime
	}
	if len(t.mac) < len(want) {
		return tsigBadTrunc // only whole MACs are taken
	}
	return 0
}

// A signature is what a Responder keeps of a signed query, to sign the reply.
type signature struct {
	query tsig
	// key signs the replies; nil where the query's key or MAC is not good: then the
	// reply has a record without MAC (RFC 8945 section 5.3.2).
	key   *TSIGKey
	code  uint16
	prior []byte
	later bool // a message was signed already
}

// authenticate judges a signed query. It reports whether the query is to be
// answered; else v says what the reply is.
func (r *Responder) authenticate(query []byte, peer Peer, v *verdict) bool {
	m := &r.msg
	s := signature{query: readTSIG(query, m.tsigOwner, m.tsigData)}
	key := r.Keys.find(s.query.key)
	if key != nil && key.algorithm.name == s.query.algorithm {
		if most := key.algorithm.size; len(s.query.mac) > most || len(s.query.mac) < max(minMAC, most/2) {
			v.rcode = FormErr // RFC 8945 section 5.2.2.1
			m.tsigOwner = 0
			return false
		}
	}
	s.code = s.query.check(key, nil, query, uint64(peer.Time))
	if s.code != tsigBadKey && s.code != tsigBadSig {
		s.key, s.prior = key, append([]byte(nil), s.query.mac...)
	}
	r.signature = s
	if s.code != 0 {
		v.rcode = NotAuth
		return false
	}
	return true
}

// signer is the key of a query that was found to be signed well, else nil.
func (r *Responder) signer() *TSIGKey {
	if r.msg.tsigOwner == 0 || r.signature.code != 0 {
		return nil
	}
	return r.signature.key
}

// tsigLength is the length of the reply's TSIG record.
func (r *Responder) tsigLength() int {
	if r.msg.tsigOwner == 0 {
		return 0
	}
	record := r.signature.record(0)
	size := record.size()
	if r.signature.key != nil {
		size += r.signature.key.algorithm.size
	}
	return size
}

// record returns the TSIG record of a reply that is made now, without a MAC.
func (s *signature) record(now uint64) tsig {
	t := tsig{key: s.query.key, algorithm: s.query.algorithm, signed: now, fudge: tsigFudge, id: s.query.id, code: s.code}
	if s.key == nil || s.code == tsigBadTime {
		// The time of the query, so that its sender can tell what this is about.
		t.signed, t.fudge = s.query.signed, s.query.fudge
	}
	if s.code == tsigBadTime {
		t.other = appendTime(nil, now) // RFC 8945 section 5.2.3
	}
	return t
}

// sign ends the message that begins at base with a TSIG record, signed where
// there is a key.
func (s *signature) sign(dst []byte, base int, now uint64) []byte {
	t := s.record(now)
	if s.key != nil {
		t.mac = t.sum(s.key, s.prior, dst[base:], s.later)
		s.prior, s.later = t.mac, true
	}
	return t.append(dst, base)
}
