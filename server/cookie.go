package server

import (
	"crypto/rand"
	"crypto/subtle"
	"encoding/binary"
	"net/netip"
	"sync/atomic"
)

const (
	clientCookieSize = 8
	serverCookieSize = 16 // ours; others' have 8 to 32 octets (RFC 7873 section 4.2)
	maxServerCookie  = 32
	cookieSize       = clientCookieSize + serverCookieSize

	cookieVersion = 1 // RFC 9018 section 4.1
)

// Ages of server cookies in seconds (RFC 9018 section 4.3). All are made anew
// in every reply, which is more often than the half hour asked for.
const (
	cookiePast   = 3600
	cookieFuture = 300
)

// A CookieSecret is the key of server cookies, the same for all replicas of a
// server.
type CookieSecret [16]byte

// NewCookieSecret returns a random secret.
func NewCookieSecret() CookieSecret {
	var secret CookieSecret
	_, _ = rand.Read(secret[:]) // never fails, says crypto/rand
	return secret
}

// Cookies make and check server cookies in the form that servers of all makers
// have in common (RFC 9018). Safe for concurrent use, and never waited for.
type Cookies struct {
	secrets atomic.Pointer[[]CookieSecret]
}

// NewCookies returns Cookies with secrets, as Set takes them.
func NewCookies(secrets ...CookieSecret) *Cookies {
	c := &Cookies{}
	c.Set(secrets)
	return c
}

// Set changes the secrets: the first one makes cookies, and all of them check
// cookies, so that a secret can be changed on one replica after the other (RFC
// 9018 section 5). Without any, every server cookie is a bad one and none is
// made. Cookies keeps the slice, which must not change any more.
func (c *Cookies) Set(secrets []CookieSecret) { c.secrets.Store(&secrets) }

// A CookieState is what the COOKIE option of a query was worth.
type CookieState uint8

// The states.
const (
	// CookieNone: no COOKIE option, or it was not looked at.
	CookieNone CookieState = iota
	// CookieClient: a client cookie alone.
	CookieClient
	// CookieBad: a server cookie that is not from here, of another address, or
	// too old.
	CookieBad
	// CookieValid: the client has got a reply from here at this address
	// before; it does not forge its address.
	CookieValid

	cookieStates int = iota // how many there are
)

// String returns the state as metrics spell it.
func (s CookieState) String() string {
	switch s {
	case CookieClient:
		return "client"
	case CookieBad:
		return "bad"
	case CookieValid:
		return "valid"
	}
	return "none"
}

// validCookieSize reports whether a COOKIE option may have so many octets (RFC
// 7873 section 5.2.2).
func validCookieSize(size int) bool {
	return size == clientCookieSize || size >= clientCookieSize+8 && size <= clientCookieSize+maxServerCookie
}

// answer judges the COOKIE option of a query that came from addr at the Unix
// time now, and returns the one of its reply: the client cookie as it came, and
// a new server cookie. It returns false where there is no secret.
func (c *Cookies) answer(option []byte, addr netip.Addr, now uint32) (reply [cookieSize]byte, state CookieState, ok bool) {
	secrets := *c.secrets.Load()
	if len(secrets) == 0 {
		return reply, CookieBad, false
	}
	copy(reply[:], option[:clientCookieSize])
	state = CookieClient
	if len(option) > clientCookieSize {
		state = CookieBad
		if len(option) == cookieSize && option[clientCookieSize] == cookieVersion && inTime(option, now) {
			for i := range secrets {
				if hash := cookieHash(&secrets[i], option, addr); subtle.ConstantTimeCompare(hash[:], option[cookieSize-8:]) == 1 {
					state = CookieValid
				}
			}
		}
	}
	reply[clientCookieSize] = cookieVersion
	binary.BigEndian.PutUint32(reply[clientCookieSize+4:], now)
	hash := cookieHash(&secrets[0], reply[:], addr)
	copy(reply[cookieSize-8:], hash[:])
	return reply, state, true
}

// inTime compares the time in a server cookie by serial number arithmetic (RFC
// 1982), which RFC 9018 section 4.3 asks for.
func inTime(option []byte, now uint32) bool {
	age := int32(now - binary.BigEndian.Uint32(option[clientCookieSize+4:]))
	return age <= cookiePast && age >= -cookieFuture
}

// cookieHash is the last 8 octets of a server cookie (RFC 9018 section 4.4):
// over client cookie, version, reserved octets and time, which are the first 16
// of the option, and over the client's address.
func cookieHash(secret *CookieSecret, option []byte, addr netip.Addr) (hash [8]byte) {
	var input [16 + 16]byte
	size := 16 + copyAddr(input[16:], addr)
	copy(input[:16], option)
	binary.LittleEndian.PutUint64(hash[:], sipHash((*[16]byte)(secret), input[:size]))
	return hash
}

// copyAddr writes the 4 or 16 octets of an address, and says how many.
func copyAddr(dst []byte, addr netip.Addr) int {
	addr = addr.Unmap()
	if addr.Is4() {
		octets := addr.As4()
		return copy(dst, octets[:])
	}
	octets := addr.As16()
	return copy(dst, octets[:])
}
