package server

import (
	"encoding/binary"
	"hash/maphash"
	"net/netip"
	"sync"
	"time"

	"github.com/clusterzone/clusterzone/zones"
)

// RateLimit bounds how many equal replies one network gets over UDP, so that
// this server is of no use to somebody who sends queries with the address of
// another. The zero value limits nothing.
//
// A network is a /24 of IPv4 or a /56 of IPv6. Replies are equal when they have
// the same data: all names of one wildcard, all names below one delegation, all
// absent names of a zone, all errors of a kind. Of the replies above the rate
// every second one is sent short, so that an honest client asks again over TCP
// or with a cookie, and the others are not sent.
//
// Clients that send a valid cookie or ask over TCP don't forge their address,
// and are not limited.
type RateLimit struct {
	// PerSecond is the number of equal replies a second; 0 means no limit. So
	// many may be sent at once.
	PerSecond int
	// Exempt are networks that are not limited.
	Exempt []netip.Prefix
}

// The table of a limiter is of fixed size, 1.5 MiB: where more networks ask for
// more answers at once, the oldest are forgotten and begin anew. To get one more
// second's worth of replies sent, who forges addresses must send as many other
// queries as the table has buckets, or nearly so.
const (
	limitShards = 64
	limitSets   = 256 // a shard
	limitWays   = 4   // a set
)

// networks whose clients are counted as one, in octets.
const (
	limitOctets4 = 24 / 8
	limitOctets6 = 56 / 8
)

// A limiter is the state of a RateLimit. Safe for concurrent use.
type limiter struct {
	exempt   []netip.Prefix
	interval int64 // nanoseconds between equal replies
	seed     maphash.Seed
	started  time.Time // what times are counted from: the wall clock may step back
	shards   [limitShards]limitShard
}

type limitShard struct {
	mu   sync.Mutex
	sets [limitSets][limitWays]bucket
}

// A bucket counts equal replies to one network.
type bucket struct {
	key uint64
	// due is when a reply would be due if they came at the rate exactly (the
	// "generic cell rate algorithm"): at most a second ahead.
	due  int64
	slip bool // the next limited reply is sent short
}

// newLimiter returns nil where nothing is limited.
func newLimiter(o RateLimit) *limiter {
	if o.PerSecond <= 0 {
		return nil
	}
	return &limiter{exempt: o.Exempt, interval: int64(time.Second) / int64(o.PerSecond), seed: maphash.MakeSeed(), started: time.Now()}
}

// A pressure is what is to become of a reply.
type pressure uint8

const (
	pressureNone  pressure = iota
	pressureShort          // sent short
	pressureDrop           // not sent
)

// judge counts one reply of the given identity to addr.
func (l *limiter) judge(addr netip.Addr, identity uint64, at time.Time) pressure {
	now := int64(at.Sub(l.started))
	addr = addr.Unmap().WithZone("")
	if inAny(l.exempt, addr) {
		return pressureNone
	}
	key := l.key(addr, identity)
	shard := &l.shards[key%limitShards]
	set := &shard.sets[key/limitShards%limitSets]
	shard.mu.Lock()
	defer shard.mu.Unlock()
	b := &set[0]
	for i := range set {
		if set[i].key == key {
			b = &set[i]
			break
		}
		if set[i].due < b.due {
			b = &set[i]
		}
	}
	if b.key != key {
		*b = bucket{key: key}
	}
	due := max(b.due, now) + l.interval
	if due-now <= int64(time.Second) {
		b.due = due
		return pressureNone
	}
	b.slip = !b.slip
	if b.slip {
		return pressureDrop
	}
	return pressureShort
}

func (l *limiter) key(addr netip.Addr, identity uint64) uint64 {
	var input [16 + 8]byte
	size := limitOctets6
	if copyAddr(input[:], addr) == 4 {
		size = limitOctets4
	}
	clear(input[size:])
	binary.NativeEndian.PutUint64(input[16:], identity)
	return maphash.Bytes(l.seed, input[:]) | 1<<63 // zero is an empty bucket
}

// identity is the same for replies that have the same data.
func (l *limiter) identity(m *message, a *zones.Answer, v *verdict) uint64 {
	name, typ := zones.Name(""), zones.TypeNone
	switch {
	case a.Zone == nil || v.rcode != NoError:
		// Names that don't exist and errors: anybody can make up as many as
		// he likes. YXDOMAIN is one of them.
		if a.Zone != nil {
			name = a.Zone.Origin()
		}
	case a.Kind == zones.Delegation && len(a.Authority) > 0:
		name = a.Authority[0].Owner
	case a.Wildcard != "":
		name, typ = a.Wildcard, m.qtype
	case len(a.Section) > 0:
		name, typ = a.Section[0].Owner, m.qtype // the question, or a DNAME above it
	default:
		name = zones.NameInPlace(m.name[:m.nameLen])
	}
	var hash maphash.Hash
	hash.SetSeed(l.seed)
	_, _ = hash.WriteString(string(name)) // never fails
	var tail [6]byte
	binary.NativeEndian.PutUint16(tail[:], uint16(v.rcode))
	binary.NativeEndian.PutUint16(tail[2:], uint16(typ))
	binary.NativeEndian.PutUint16(tail[4:], m.qclass)
	_, _ = hash.Write(tail[:])
	return hash.Sum64()
}

// limit applies the rate limit to a reply made for a query over UDP: it stays
// as it is, is made short, or is dropped.
func (w *worker) limit(reply, query []byte, peer Peer, o Outcome, at time.Time) ([]byte, Outcome) {
	if o.Dropped != Answered || o.Cookie == CookieValid || o.Signed {
		return reply, o
	}
	switch w.limiter.judge(peer.Addr.Addr(), w.responder.identity, at) {
	case pressureDrop:
		return reply[:0], Outcome{Transport: o.Transport, Cookie: o.Cookie, Dropped: DropLimited}
	case pressureShort:
		return w.responder.short(reply[:0], query, peer, o)
	}
	return reply, o
}

// short appends what stands for a reply above the rate: the question with TC,
// or, to a client that knows cookies, BADCOOKIE with one to ask again with (RFC
// 7873 section 5.2.3), or the bare error. It belongs to the query that Respond was called for last,
// with what became of it.
func (r *Responder) short(dst, query []byte, peer Peer, o Outcome) ([]byte, Outcome) {
	v := verdict{ede: extendedError{code: edeNone}, options: r.options}
	switch {
	case o.Rcode != NoError && o.Rcode != NXDomain:
		v.rcode = o.Rcode // an error is short already, and the same over TCP
	case v.options && o.Cookie != CookieNone:
		v.rcode = BadCookie
	default:
		v.truncated = true
	}
	r.msg.tsigOwner = 0
	dst = r.encode(dst, query, peer, &v)
	o.Rcode, o.Truncated, o.Size, o.Short = v.rcode, v.truncated, r.out.size(), true
	r.release()
	return dst, o
}
