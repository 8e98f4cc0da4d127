package server

import (
	"net/netip"
	"time"

	"github.com/clusterzone/clusterzone/zones"
)

// A Tap is told of every query with its reply, once that has been sent. Seen is
// called on the way of queries, from many goroutines: it must not wait, and keeps
// nothing of the memory that Seen refers to.
type Tap interface {
	Seen(Seen)
}

// Seen is one query with its reply. Its octets are valid during the call only.
type Seen struct {
	// Client is who asks, Server the address that was asked; the zero value where
	// that is not known.
	Client, Server netip.AddrPort
	Transport      Transport
	// Zone is the zone that the question lies in, or the zero Name.
	Zone zones.Name
	// Query came at Came. Reply was sent at Sent; nil where none was.
	Query, Reply []byte
	Came, Sent   time.Time
}

// seen tells the tap, which must be there, of one query.
func (r *run) seen(peer Peer, local netip.AddrPort, query, reply []byte, o Outcome, start time.Time) {
	if o.Dropped != Answered {
		reply = nil
	}
	r.tap.Seen(Seen{
		Client: peer.Addr, Server: local, Transport: peer.Transport, Zone: o.Zone,
		Query: query, Reply: reply, Came: start, Sent: time.Now(),
	})
}
