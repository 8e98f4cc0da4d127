package server

import (
	"net/netip"

	"github.com/clusterzone/clusterzone/zones"
)

// A Transport is how a query came.
type Transport uint8

// The transports.
const (
	UDP Transport = iota
	TCP
	TLS   // DNS over TLS (RFC 7858)
	HTTPS // DNS over HTTPS (RFC 8484)

	transports int = iota // how many there are
)

// String returns "udp", "tcp", "tls" or "https", as metrics spell it.
func (t Transport) String() string {
	switch t {
	case TCP:
		return "tcp"
	case TLS:
		return "tls"
	case HTTPS:
		return "https"
	}
	return "udp"
}

// Stream reports whether messages come one after the other in a connection, each
// behind its length (RFC 1035 section 4.2.2), as over TCP and TLS. A reply may
// there be of several messages.
func (t Transport) Stream() bool { return t == TCP || t == TLS }

// Encrypted reports whether nobody on the way can read messages.
func (t Transport) Encrypted() bool { return t == TLS || t == HTTPS }

// A Peer is who asks, and how.
type Peer struct {
	Addr      netip.AddrPort
	Transport Transport
	// Time is when the query came, in Unix seconds modulo 2^32: the age of
	// cookies is told by it.
	Time uint32
}

// A Drop is the reason why a message got no reply. The zero value, Answered,
// means that it got one.
type Drop uint8

// Messages without a reply. Everything else gets one (RFC 8906 section 3):
// a forwarder takes silence for a dead server.
const (
	Answered Drop = iota
	// DropShort: the message is shorter than a header, so there is no id to
	// reply to.
	DropShort
	// DropResponse: the message is itself a reply. Replying to replies lets two
	// servers talk for ever.
	DropResponse
	// DropWrite: there was a reply, but the socket did not take it. Only the
	// loops set it, never Respond.
	DropWrite
	// DropLimited: the rate limit left the reply out, to a client that may have
	// forged its address. Only the UDP loop sets it.
	DropLimited
	// DropProxy: no PROXY header, or none that can be read, came from a proxy.
	// Over UDP that is a message, else a connection. Only the loops set it.
	DropProxy
	// DropHandshake: a connection over TLS or HTTPS ended in its handshake.
	DropHandshake
	// DropHTTP: an HTTP request got an error of HTTP, as it had no DNS query.
	DropHTTP

	drops int = iota // how many there are
)

// String returns the reason as metrics spell it.
func (d Drop) String() string {
	switch d {
	case DropShort:
		return "short"
	case DropResponse:
		return "response"
	case DropWrite:
		return "write"
	case DropLimited:
		return "limited"
	case DropProxy:
		return "proxy"
	case DropHandshake:
		return "handshake"
	case DropHTTP:
		return "http"
	}
	return "answered"
}

// An Outcome says what became of one query: plain data from which the loops
// write metrics and logs. It shares no memory with the query or the reply.
type Outcome struct {
	// Zone is the origin of the zone that the question lies in, or the zero
	// Name where it lies in none or was not looked up.
	Zone zones.Name
	// Type is the question's type; TypeNone where there is no readable question.
	Type zones.Type
	// Rcode is the reply's, extended by EDNS (RFC 6891 section 6.1.3).
	Rcode     Rcode
	Transport Transport
	// Size is the length of the reply in octets, without the length field of TCP and TLS.
	Size int
	// Truncated is the reply's TC bit.
	Truncated bool
	// Cookie is what the query's COOKIE option was worth.
	Cookie CookieState
	// Short: the rate limit put a short reply in the place of the true one.
	// Only the UDP loop sets it.
	Short bool
	// PassOn is what another resolver is to be asked before there can be a reply:
	// there is none yet, and Finish makes it. Nil for every other query.
	PassOn *zones.PassQuestion
	// Passed says that the reply is another resolver's, or, with a PassFailure,
	// SERVFAIL in its place.
	Passed      bool
	PassFailure zones.PassFailure
	// Dropped says why there is no reply; all but Transport is then unset, but
	// for Cookie with DropLimited.
	Dropped Drop
}

// An Rcode is a response code with the bits that EDNS and TSIG add.
type Rcode uint16

// The response codes that this server gives.
const (
	NoError  Rcode = 0  // RFC 1035
	FormErr  Rcode = 1  // RFC 1035: the query is malformed
	ServFail Rcode = 2  // RFC 1035: not ready, or a fault of this server
	NXDomain Rcode = 3  // RFC 1035: the name does not exist
	NotImp   Rcode = 4  // RFC 1035: this kind of query is not served
	Refused  Rcode = 5  // RFC 1035: not from here, or not to this peer
	YXDomain Rcode = 6  // RFC 6672: a DNAME gave too long a name
	NotAuth  Rcode = 9  // RFC 8945: unknown key; RFC 5936: not our zone
	BadVers  Rcode = 16 // RFC 6891: EDNS version not served
	// BadCookie: RFC 7873: ask again with the server cookie given here.
	BadCookie Rcode = 23
)

// String returns the mnemonic, as metrics and dig spell it.
func (r Rcode) String() string {
	switch r {
	case NoError:
		return "NOERROR"
	case FormErr:
		return "FORMERR"
	case ServFail:
		return "SERVFAIL"
	case NXDomain:
		return "NXDOMAIN"
	case NotImp:
		return "NOTIMP"
	case Refused:
		return "REFUSED"
	case YXDomain:
		return "YXDOMAIN"
	case NotAuth:
		return "NOTAUTH"
	case BadVers:
		return "BADVERS"
	case BadCookie:
		return "BADCOOKIE"
	}
	return "RESERVED"
}
