package server

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"strings"

	"github.com/clusterzone/clusterzone/zones"
)

// Editions give what secondaries get of a zone. A zones.Journal is one. Edition
// returns nil where nothing can be transferred yet; it is called from many
// goroutines.
type Editions interface {
	Edition(origin zones.Name) *zones.Edition
}

// A TransferRule names who may transfer zones: who asks from the network, where
// it is valid, with the key, where there is a name.
type TransferRule struct {
	Network netip.Prefix
	Key     zones.Name
}

// mayTransfer reports whether one of the rules lets the asker transfer zones.
func (r *Responder) mayTransfer(addr netip.Addr) bool {
	addr = addr.Unmap().WithZone("")
	for _, rule := range r.AllowTransfer {
		if rule.Key != "" {
			if key := r.signer(); key == nil || key.name != rule.Key {
				continue
			}
		}
		if !rule.Network.IsValid() || rule.Network.Contains(addr) {
			return true
		}
	}
	return false
}

// A TransferKind is the form of an answer to AXFR or IXFR.
type TransferKind uint8

// The kinds. Only the two last are of several messages, over connections.
const (
	NoTransfer TransferKind = iota
	// TransferCurrent: the secondary has what there is; the SOA alone says so.
	TransferCurrent
	// TransferDatagram: a difference in one message over UDP, or the SOA alone,
	// after which the secondary asks over TCP (RFC 1995 section 2).
	TransferDatagram
	// TransferSteps: the differences since the secondary's serial (RFC 1995
	// section 4).
	TransferSteps
	// TransferWhole: the whole zone, as an answer to AXFR or IXFR (RFC 5936
	// section 2.2).
	TransferWhole
)

// String returns the kind as metrics and logs spell it.
func (k TransferKind) String() string {
	return [...]string{"none", "current", "datagram", "ixfr", "axfr"}[k]
}

// A transfer is an answer that a connection streams.
type transfer struct {
	edition *zones.Edition
	steps   []*zones.Step // nil for the whole zone
	from    uint32        // the secondary's serial, where it asked for steps
}

// decideTransfer judges a question for AXFR or IXFR. What is more than one message
// is left in r.transfer, and not in the answer.
func (r *Responder) decideTransfer(query []byte, snap *zones.Snapshot, peer Peer, v *verdict) {
	m := &r.msg
	zone := snap.Zone(r.question())
	switch {
	case zone == nil || m.qclass != classIN:
		// RFC 5936 section 2.2.1: not our zone is another thing than not
		// allowed.
		v.rcode, v.ede = NotAuth, extendedError{edeNotAuthoritative, "no zone of that name is served here"}
		return
	case !r.mayTransfer(peer.Addr.Addr()):
		v.rcode, v.ede = Refused, extendedError{edeProhibited, "zone transfers are not allowed"}
		if len(r.AllowTransfer) > 0 {
			v.ede.text += " from this address and with this key"
		}
		return
	case m.qtype == typeAXFR && !peer.Transport.Stream():
		// RFC 5936 section 4.2 leaves it undefined for UDP, RFC 8484 for HTTPS.
		v.rcode, v.ede = Refused, extendedError{edeNotSupported, "AXFR goes over TCP and TLS"}
		return
	}
	var edition *zones.Edition
	if r.Editions != nil && snap.Ready {
		edition = r.Editions.Edition(zone.Origin())
	}
	if edition == nil {
		waiting := snap.Waiting
		if waiting == "" {
			waiting = "the zone's next serial"
		}
		v.rcode, v.ede = ServFail, extendedError{edeNotReady, "waiting for " + waiting}
		return
	}
	if m.expire {
		noteExpire(edition.SOA(), v)
	}
	r.answer.Zone = zone
	if m.qtype == typeAXFR {
		r.transfer = transfer{edition: edition}
		v.transfer = TransferWhole
		return
	}
	serial, ok := secondarySerial(query, m)
	if !ok {
		v.rcode = FormErr // RFC 1995 section 3: the SOA stands in the authority section
		return
	}
	steps, known := edition.Since(serial)
	switch {
	case int32(edition.Serial()-serial) <= 0: // RFC 1982; RFC 1995 section 2
		v.transfer = TransferCurrent
	case !peer.Transport.Stream():
		v.transfer = TransferDatagram
		if known && r.datagram(edition, steps, peer, v) {
			return
		}
	case known:
		r.transfer, v.transfer = transfer{edition: edition, steps: steps, from: serial}, TransferSteps
		return
	default:
		r.transfer, v.transfer = transfer{edition: edition, from: serial}, TransferWhole
		return
	}
	v.authoritative = true
	r.answer.Section = append(r.answer.Section[:0], soaEntry(edition.SOA()))
}

func soaEntry(soa *zones.RRSet) zones.Entry { return zones.Entry{Owner: soa.Name, Set: soa} }

// datagram puts the steps into the answer section, if they fit into one message
// without any compression.
func (r *Responder) datagram(edition *zones.Edition, steps []*zones.Step, peer Peer, v *verdict) bool {
	room := r.limit(peer.Transport) - r.tsigLength() - r.optLength(peer.Transport, v) - r.msg.questionEnd
	list := []zones.Entry{soaEntry(edition.SOA())}
	for _, step := range steps {
		list = append(list, soaEntry(step.From))
		for _, set := range step.Removed {
			list = append(list, zones.Entry{Owner: set.Name, Set: set})
		}
		list = append(list, soaEntry(step.To))
		for _, set := range step.Added {
			list = append(list, zones.Entry{Owner: set.Name, Set: set})
		}
	}
	list = append(list, soaEntry(edition.SOA()))
	for _, entry := range list {
		for _, data := range entry.Set.Data {
			room -= len(entry.Owner) + 10 + len(data)
		}
		if room < 0 {
			return false
		}
	}
	v.authoritative = true
	r.answer.Section = append(r.answer.Section[:0], list...)
	return true
}

// secondarySerial returns the serial of the SOA in the authority section of an
// IXFR query. The message has been parsed.
func secondarySerial(query []byte, m *message) (serial uint32, ok bool) {
	answers, authority := int(binary.BigEndian.Uint16(query[6:])), int(binary.BigEndian.Uint16(query[8:]))
	at := m.questionEnd
	for i := range answers + authority {
		rec, ok := readRecord(query, at)
		if !ok {
			return 0, false
		}
		at = rec.end
		if i < answers || rec.typ != uint16(zones.TypeSOA) {
			continue
		}
		data, ok := skipName(query, rec.data)
		if !ok {
			return 0, false
		}
		if data, ok = skipName(query, data); !ok || data+20 != rec.end {
			return 0, false
		}
		return binary.BigEndian.Uint32(query[data:]), true
	}
	return 0, false
}

// ParseTransferRule reads the value of --allow-transfer: NETWORK, key:NAME, or
// key:NAME@NETWORK, where both must hold. The error is one sentence that names the
// value and what to write.
func ParseTransferRule(text string) (TransferRule, error) {
	var rule TransferRule
	network := text
	if rest, keyed := strings.CutPrefix(text, keyPrefix); keyed {
		name, at, hasNetwork := strings.Cut(rest, "@")
		parsed, err := zones.ParseName(name)
		if err != nil {
			return rule, fmt.Errorf("--allow-transfer %q: %q is no name of a key (%w); write for example key:transfer.corp.test", text, name, err)
		}
		rule.Key, network = parsed, at
		if !hasNetwork {
			return rule, nil
		}
	}
	prefix, err := netip.ParsePrefix(network)
	if addr, addrErr := netip.ParseAddr(network); addrErr == nil && addr.Zone() == "" {
		prefix, err = netip.PrefixFrom(addr, addr.BitLen()), nil
	}
	if err != nil {
		return rule, fmt.Errorf("--allow-transfer %q: %q is no network; write for example 192.0.2.53, 10.0.0.0/8, key:NAME, or key:NAME@10.0.0.0/8", text, network)
	}
	rule.Network = prefix.Masked()
	return rule, nil
}

// keyPrefix stands before the name of a key in the values of flags.
const keyPrefix = "key:"
