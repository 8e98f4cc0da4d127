package server

import (
	"encoding/binary"
	"net/netip"
	"time"

	"github.com/clusterzone/clusterzone/zones"
)

// Options say how replies are made. The zero value is the default.
type Options struct {
	// MaxUDP is the largest UDP reply in octets, whatever more a client offers;
	// 0 means DefaultMaxUDP. Values below 512 count as 512.
	MaxUDP int
	// EDE says how much extended errors tell.
	EDE EDEMode
	// ExplainFrom are the networks whose peers may read the reason why a name
	// is missing, which names objects. Nil means loopback, link-local and the
	// private ranges; empty and not nil means nobody.
	ExplainFrom []netip.Prefix
	// AllowQuery are the networks whose queries are answered; others get
	// REFUSED. Nil means everyone.
	AllowQuery []netip.Prefix
	// Cookies makes and checks DNS cookies (RFC 7873); nil means that COOKIE
	// options are ignored.
	Cookies *Cookies
	// NSID tells this server from its replicas, to clients that ask with the
	// NSID option (RFC 5001) or for id.server (RFC 4892). Empty means that they
	// are not told. At most MaxNSID octets.
	NSID string
	// Version is the answer to version.bind and version.server, at most
	// MaxVersion octets. Empty means that the question is refused.
	Version string
	// Passes are the names that another resolver is asked for, in place of a
	// negative answer. Respond then makes no reply: Outcome.PassOn says what to
	// ask, and Finish makes the reply of it. Nil passes nothing on.
	Passes *zones.Passes
	// PassMark tells a query that this server has passed on, and that comes back:
	// zones.PassMarkSize octets that no other server has.
	PassMark string
	// TCPIdle is what clients are told in the edns-tcp-keepalive option (RFC
	// 7828); 0 means that it is left out.
	TCPIdle time.Duration
	// Keys are the TSIG keys that queries may be signed with (RFC 8945).
	Keys *TSIGKeys
	// AllowTransfer says who may transfer zones; nobody without a rule.
	AllowTransfer []TransferRule
	// Editions give what they get; required with AllowTransfer.
	Editions Editions
}

// The longest texts of Options in octets. A reply of 512 octets has room for
// the one, a character string (RFC 1035 section 3.3) for the other.
const (
	MaxNSID    = 128
	MaxVersion = 255
)

func (o *Options) maxUDP() int {
	if o.MaxUDP == 0 {
		return DefaultMaxUDP
	}
	return min(max(o.MaxUDP, plainUDP), maxMessage)
}

// Respond appends the reply to query to dst and returns the extended slice with
// what became of the query. It keeps neither dst nor query. Where no reply may
// be given, dst comes back as it was and Outcome.Dropped says why.
//
// Respond is a pure function: the same query, snapshot and peer give the same
// bytes. It is Responder.Respond with default options and fresh memory; loops
// keep a Responder.
func Respond(dst, query []byte, snap *zones.Snapshot, peer Peer) ([]byte, Outcome) {
	return new(Responder).Respond(dst, query, snap, peer)
}

// A Responder answers queries with options and with memory that it uses again,
// so that a plain answer allocates nothing as long as dst has room. The zero
// value is ready.
//
// A Responder belongs to one goroutine. Its replies depend on nothing but the
// arguments and the options, but for one thing: each reply turns record sets of
// several records further, so that clients that take the first one spread.
type Responder struct {
	Options

	turn   uint32
	msg    message
	answer zones.Answer
	out    writer

	// cookie is the COOKIE option of the reply, where cookied.
	cookie  [cookieSize]byte
	cookied bool
	// limiter is nil where nothing is limited; else identity tells equal
	// replies, and options is the verdict's, for what short makes of the reply.
	limiter  *limiter
	identity uint64
	options  bool
	// passed is what another resolver says to passQuestion; nil until it was asked.
	passed       *zones.Passed
	passQuestion *zones.PassQuestion
	// signature belongs to a signed query; transfer is what its connection is to
	// stream.
	signature signature
	transfer  transfer
	opening   verdict // of a transfer's first message
}

// A verdict is what a reply says besides its sections.
type verdict struct {
	rcode         Rcode
	authoritative bool
	truncated     bool
	ede           extendedError
	// options says that the query's options were read, and are answered.
	options bool
	cookie  CookieState
	// passOn is what another resolver is to be asked before there can be a reply.
	passOn *zones.PassQuestion
	// failure is why that one's reply is none; passed says that it was asked, or
	// can't be.
	passed  bool
	failure zones.PassFailure
	// expire is the timer that answers the EXPIRE option, if expires.
	expire  uint32
	expires bool
	// chaos is the text of the TXT record that answers a question of class CH.
	chaos string
	// transfer is the form of the answer to AXFR or IXFR.
	transfer TransferKind
}

// Respond appends the reply to query to dst. See the function Respond for the
// contract.
func (r *Responder) Respond(dst, query []byte, snap *zones.Snapshot, peer Peer) ([]byte, Outcome) {
	m := &r.msg
	if drop := m.parse(query); drop != Answered {
		return dst, Outcome{Transport: peer.Transport, Dropped: drop}
	}
	outcome := Outcome{Transport: peer.Transport, Type: m.qtype}
	r.transfer = transfer{}
	v := r.decide(query, snap, peer)
	if r.answer.Zone != nil {
		outcome.Zone = r.answer.Zone.Origin()
	}
	if v.passOn != nil {
		outcome.PassOn = v.passOn
		r.release()
		return dst, outcome
	}
	outcome.Passed, outcome.PassFailure = v.passed, v.failure
	if r.limiter != nil {
		r.identity, r.options = r.limiter.identity(m, &r.answer, &v), v.options
	}
	outcome.Transfer, outcome.Signed = v.transfer, r.signer() != nil
	if r.transfer.edition != nil {
		r.opening = v
		return dst, outcome
	}
	dst = r.encode(dst, query, peer, &v)
	outcome.Cookie = v.cookie
	outcome.Rcode, outcome.Truncated, outcome.Size = v.rcode, v.truncated, r.out.size()
	r.release()
	return dst, outcome
}

// fail appends SERVFAIL to the query that Respond has just panicked on; what
// parse had read by then is good. The Responder starts afresh.
func (r *Responder) fail(dst, query []byte, peer Peer) ([]byte, Outcome) {
	r.answer = zones.Answer{}
	r.msg.tsigOwner = 0
	r.cookied, r.options, r.identity, r.transfer = false, false, 0, transfer{}
	v := verdict{rcode: ServFail, ede: extendedError{code: edeNone}}
	dst = r.encode(dst, query, peer, &v)
	outcome := Outcome{Type: r.msg.qtype, Rcode: v.rcode, Transport: peer.Transport, Size: r.out.size()}
	r.release()
	return dst, outcome
}

// decide judges the message and, where it asks something of the zones, looks it
// up. The order is that of the RFCs: the message's own form, its signature, its
// EDNS version, then its question.
func (r *Responder) decide(query []byte, snap *zones.Snapshot, peer Peer) verdict {
	m := &r.msg
	v := verdict{ede: extendedError{code: edeNone}}
	option := query[m.cookie:m.cookieEnd]
	cookies := r.Cookies != nil && m.cookie > 0
	badCookie := cookies && !validCookieSize(len(option))
	v.options = m.edns && !m.malformed && m.version == 0 && !badCookie
	r.cookied = false
	if cookies && v.options {
		r.cookie, v.cookie, r.cookied = r.Cookies.answer(option, peer.Addr.Addr(), peer.Time)
	}
	switch {
	case m.opcode() != opcodeQuery:
		v.rcode = NotImp
		m.questionEnd = 0 // the header alone: what follows has another meaning
		m.tsigOwner = 0
	case m.malformed:
		v.rcode = FormErr
		m.tsigOwner = 0
	case m.tsigOwner > 0 && !r.authenticate(query, peer, &v): // v says why
	case m.version != 0:
		v.rcode = BadVers // RFC 6891 section 6.1.3
	case badCookie, m.questionEnd == 0 && !cookies:
		v.rcode = FormErr // RFC 7873 section 5.2.2
	case r.AllowQuery != nil && !inAny(r.AllowQuery, peer.Addr.Addr().Unmap().WithZone("")):
		v.rcode = Refused
		v.ede = extendedError{edeProhibited, "this address may not ask here"}
	case m.questionEnd == 0:
		if v.cookie == CookieBad {
			v.rcode = BadCookie // RFC 7873 section 5.4
		}
	case m.qclass == classCH:
		r.answerChaos(&v)
	case m.qclass != classIN && m.qclass != classANY:
		v.rcode = Refused
		v.ede = extendedError{edeNotAuthoritative, "only class IN is served here"}
	case isMeta(m.qtype):
		r.answerMeta(query, snap, peer, &v)
	default:
		snap.Lookup(r.question(), m.qtype, &r.answer)
		if !r.passOn(query, peer, &v) {
			r.judge(snap, &v)
		}
	}
	if v.ede.code != edeNone {
		switch {
		case r.EDE == EDEOff:
			v.ede.code = edeNone
		case r.EDE == EDECode || !explain(r.ExplainFrom, peer.Addr.Addr()):
			v.ede.text = ""
		}
	}
	return v
}

// question is the question's name without a copy: it is valid until the next
// message is parsed, and release forgets every reference to it.
func (r *Responder) question() zones.Name {
	return zones.NameInPlace(r.msg.name[:r.msg.nameLen])
}

// judge turns the kind of an answer into what the header says.
func (r *Responder) judge(snap *zones.Snapshot, v *verdict) {
	a := &r.answer
	v.authoritative = a.Authoritative
	switch a.Kind {
	case zones.NotReady:
		v.rcode = ServFail
		v.ede = extendedError{edeNotReady, "waiting for " + snap.Waiting}
	case zones.NotOurs:
		v.rcode = Refused
		v.ede = extendedError{edeNotAuthoritative, "the name lies in none of the zones served here"}
	case zones.Unresolved:
		v.rcode = ServFail
		v.ede = extendedError{edeOther, a.Reason}
	case zones.NXDomain:
		v.rcode = NXDomain
	case zones.TooLong:
		v.rcode = YXDomain
	}
	if a.Reason != "" && (a.Kind == zones.NoData || a.Kind == zones.NXDomain) {
		v.ede = extendedError{edeOther, a.Reason}
	}
	if a.Stale {
		v.ede = extendedError{edeStale, "the addresses are the last good ones of a target that can't be looked up now"}
	}
	if r.msg.expire && r.msg.qtype == zones.TypeSOA && a.Authoritative && len(a.Section) > 0 {
		noteExpire(a.Section[0].Set, v)
	}
	if r.msg.qclass == classANY {
		v.authoritative = false // RFC 1035 section 6.2
	}
}

// isMeta lists the question types that ask for no data of a name: no record set
// can have them (RFC 6895 section 3.1). ANY is not among them: the zones answer
// it (RFC 8482).
func isMeta(t zones.Type) bool {
	switch t {
	case zones.TypeNone, typeOPT, typeNXNAME, typeTKEY, typeTSIG, typeIXFR, typeAXFR, typeMAILB, typeMAILA:
		return true
	}
	return false
}

func (r *Responder) answerMeta(query []byte, snap *zones.Snapshot, peer Peer, v *verdict) {
	switch r.msg.qtype {
	case typeAXFR, typeIXFR:
		r.decideTransfer(query, snap, peer, v)
	case typeTKEY, typeMAILA, typeMAILB:
		v.rcode = NotImp
		v.ede = extendedError{edeNotSupported, "this type of question is not served"}
	default:
		v.rcode = FormErr
		v.ede = extendedError{edeInvalidType, "no question can be of this type"}
	}
}

// encode writes the reply that v and r.answer make.
func (r *Responder) encode(dst, query []byte, peer Peer, v *verdict) []byte {
	m, w := &r.msg, &r.out
	limit := r.limit(peer.Transport) - r.tsigLength()
	w.begin(dst, limit-r.optLength(peer.Transport, v), r.nextRotation())
	questions, authority, additional := 0, 0, 0
	if m.questionEnd > 0 {
		w.buf = append(w.buf, query[headerSize:m.questionEnd]...) // byte for byte (0x20)
		w.question = r.question()
		questions = 1
	}

	a := &r.answer
	answers, whole := w.records(a.Section)
	if v.chaos != "" {
		w.chaos(v.chaos)
		answers++
	}
	if whole {
		authority, whole = w.records(a.Authority)
	}
	if whole {
		additional, whole = r.additional()
	}
	v.truncated = v.truncated || !whole

	if m.edns {
		w.buf = r.appendOPT(w.buf, peer.Transport, v, limit-w.size())
		additional++
	}
	w.header(m, v, questions, answers, authority, additional)
	if m.tsigOwner > 0 {
		if w.size() > limit {
			// No room for the signature: only with names of the greatest length.
			v.truncated = true
			w.header(m, v, questions, answers, authority, additional)
			return w.buf
		}
		w.buf = r.signature.sign(w.buf, w.base, uint64(peer.Time))
	}
	return w.buf
}

// limit is the number of octets that the reply may have.
func (r *Responder) limit(transport Transport) int {
	switch {
	case transport != UDP:
		return maxMessage
	case !r.msg.edns:
		return plainUDP
	}
	return min(max(int(r.msg.payload), plainUDP), r.maxUDP())
}

// additional writes the additional section. What does not fit is left out, and
// nobody is the worse for it, but for the glue of a referral that lies below
// the zone cut: without it the delegation can't be followed (RFC 9471 section
// 2). That glue goes first, and says TC where it does not fit.
func (r *Responder) additional() (count int, whole bool) {
	a, w := &r.answer, &r.out
	if a.Kind != zones.Delegation || len(a.Authority) == 0 {
		count, _ = w.extra(a.Additional)
		return count, true
	}
	count, whole = w.glue(a.Additional, a.Authority[0].Owner, true)
	if whole {
		others, _ := w.glue(a.Additional, a.Authority[0].Owner, false)
		count += others
	}
	return count, whole
}

// nextRotation gives the next turn of the record sets. The counter is mixed
// with the query's id and scattered, so that a client that asks for A and AAAA
// in turn does not see every second order only.
func (r *Responder) nextRotation() uint32 {
	x := r.turn<<16 ^ uint32(r.msg.id)
	r.turn++
	x ^= r.turn >> 16
	x = (x ^ x>>16) * 0x7feb352d // a 32-bit integer hash: two rounds of xor-shift and multiply
	x = (x ^ x>>15) * 0x846ca68b
	return x ^ x>>16
}

// header fills in the first twelve octets. All bits but those named here are
// clear: RA, AD, Z and what else the query had set.
func (w *writer) header(m *message, v *verdict, questions, answers, authority, additional int) {
	flags := uint16(flagQR) | m.flags&maskOpcode | uint16(v.rcode)&0xf
	if m.opcode() == opcodeQuery {
		flags |= m.flags & (flagRD | flagCD) // RFC 1035 section 4.1.1, RFC 4035 section 3
	}
	if v.authoritative {
		flags |= flagAA
	}
	if v.truncated {
		flags |= flagTC
	}
	h := w.buf[w.base:]
	binary.BigEndian.PutUint16(h, m.id)
	binary.BigEndian.PutUint16(h[2:], flags)
	binary.BigEndian.PutUint16(h[4:], uint16(questions))
	binary.BigEndian.PutUint16(h[6:], uint16(answers))
	binary.BigEndian.PutUint16(h[8:], uint16(authority))
	binary.BigEndian.PutUint16(h[10:], uint16(additional))
}

// release forgets what the answer refers to, so that an idle Responder keeps
// neither an old snapshot nor the question's memory alive.
func (r *Responder) release() {
	r.answer.Release()
	r.out.buf, r.out.question = nil, ""
}
