package zones

import (
	"encoding/binary"
	"iter"
	"maps"
	"net/netip"
	"slices"
)

// An Origin describes a zone to be served: its name and the records of its
// apex that no object claims.
type Origin struct {
	Name Name
	// NS are the zone's name servers, the first also being the SOA's MNAME.
	// Without any, ns1.<origin> without addresses stands in.
	NS []NameServer
	// Hostmaster is the SOA's RNAME; hostmaster.<origin> where unset.
	Hostmaster Name
	// TTL of SOA, NS and the name servers' addresses, in seconds; 300 where 0.
	TTL uint32
	// NegativeTTL is the SOA's MINIMUM (RFC 2308 section 4), in seconds.
	NegativeTTL uint32
}

// A NameServer is the target of an NS record at an apex. Its addresses are
// served where its name lies in one of the zones and no object claims
// addresses for it (PAINS 43: an NS name that the server itself doesn't know
// breaks delegations).
type NameServer struct {
	Name      Name
	Addresses []netip.Addr
}

// SOA timers for secondaries, in seconds: zones change often and a NOTIFY can
// get lost, so they are short; a zone survives a week without its primary.
const (
	soaRefresh = 300
	soaRetry   = 60
	soaExpire  = 7 * 24 * 3600
	defaultTTL = 300
)

func (o Origin) withDefaults() Origin {
	if len(o.NS) == 0 {
		o.NS = []NameServer{{Name: o.Name.Child("ns1")}}
	}
	if o.Hostmaster == "" {
		o.Hostmaster = o.Name.Child("hostmaster")
	}
	if o.TTL == 0 {
		o.TTL = defaultTTL
	}
	return o
}

// soa returns the zone's SOA set (RFC 1035 section 3.3.13) and the one that
// stands in negative answers, whose TTL is the lower of its own and MINIMUM
// (RFC 2308 section 3).
func (o Origin) soa(serial uint32) (soa, negative *RRSet) {
	data := []byte(o.NS[0].Name + o.Hostmaster)
	for _, n := range []uint32{serial, soaRefresh, soaRetry, soaExpire, o.NegativeTTL} {
		data = binary.BigEndian.AppendUint32(data, n)
	}
	soa = &RRSet{Name: o.Name, Type: TypeSOA, TTL: o.TTL, Data: []Rdata{Rdata(data)}}
	clipped := *soa
	clipped.TTL = min(o.TTL, o.NegativeTTL)
	return soa, &clipped
}

func (o Origin) ns() *RRSet {
	set := &RRSet{Name: o.Name, Type: TypeNS, TTL: o.TTL}
	for _, server := range o.NS {
		set.Data = append(set.Data, Rdata(server.Name))
	}
	set.Data = canonicalData(set.Data)
	return set
}

// canonicalData sorts data in canonical order and removes duplicates.
func canonicalData(data []Rdata) []Rdata {
	slices.Sort(data)
	return slices.Compact(data)
}

// A Zone is one compiled zone at one moment. It is immutable.
type Zone struct {
	origin   Origin
	serial   uint32
	negative *RRSet
	tree     tree
	cuts     tree         // of the nodes that stop a lookup; see edit
	flats    int          // flattened names
	records  map[Type]int // records by type, for metrics; frozen
}

// Origin returns the zone's name.
func (z *Zone) Origin() Name { return z.origin.Name }

// Serial returns the serial of the zone's SOA.
func (z *Zone) Serial() uint32 { return z.serial }

// SOA returns the zone's SOA set.
func (z *Zone) SOA() *RRSet { return z.tree.get(z.origin.Name).set(TypeSOA) }

// RRSets yields every record set of the zone, names in canonical order, the
// types of a name in ascending order.
func (z *Zone) RRSets() iter.Seq[*RRSet] {
	return func(yield func(*RRSet) bool) {
		for n := range z.tree.walk() {
			for _, set := range n.sets {
				if !yield(set) {
					return
				}
			}
		}
	}
}

// At returns the record sets that stand at exactly that name, by type. The slice is
// the caller's.
func (z *Zone) At(name Name) []*RRSet {
	if n := z.tree.get(name); n != nil {
		return n.sets
	}
	return nil
}

// Names counts the zone's nodes, empty non-terminals included.
func (z *Zone) Names() int { return z.tree.nodes }

// Records counts the zone's records by type. The map is the caller's.
func (z *Zone) Records() map[Type]int { return maps.Clone(z.records) }
