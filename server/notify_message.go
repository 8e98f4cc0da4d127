package server

import (
	"encoding/binary"
	"time"

	"github.com/clusterzone/clusterzone/zones"
)

// notify returns a NOTIFY message for the zone of the SOA, which stands in the
// answer section as a hint (RFC 1996 section 3.7), and its MAC where key is not
// nil. The message is the writer's until its next use.
func (w *writer) notify(id uint16, soa *zones.RRSet, key *TSIGKey, now time.Time) (text, mac []byte) {
	m := message{id: id, flags: opcodeNotify << 11}
	w.begin(w.buf[:0], maxMessage, 0)
	w.question = soa.Name
	w.buf = append(w.buf, soa.Name...)
	w.buf = append(w.buf, 0, byte(zones.TypeSOA), 0, classIN)
	answers, _ := w.set(&zones.Entry{Owner: soa.Name, Set: soa}) // fits
	w.header(&m, &verdict{authoritative: true}, 1, answers, 0, 0)
	w.buf[2] &^= flagQR >> 8
	if key != nil {
		s := signature{query: tsig{key: key.name, algorithm: key.algorithm.name, id: id}, key: key}
		w.buf = s.sign(w.buf, w.base, uint64(now.Unix()))
		mac = s.prior
	}
	return w.buf, mac
}

// readNotifyReply returns the zone, the id and the response code of a reply to a
// NOTIFY.
func readNotifyReply(msg []byte) (zone zones.Name, id uint16, rcode Rcode, ok bool) {
	if len(msg) < headerSize {
		return "", 0, 0, false
	}
	flags := binary.BigEndian.Uint16(msg[2:])
	if flags&flagQR == 0 || flags&maskOpcode != opcodeNotify<<11 || binary.BigEndian.Uint16(msg[4:]) != 1 {
		return "", 0, 0, false
	}
	name, _, err := zones.NameFromWire(msg[headerSize:])
	return name, binary.BigEndian.Uint16(msg), Rcode(flags & 0xf), err == nil
}

// signedReply reports whether the reply to a message with that MAC is signed with
// the key.
func signedReply(msg []byte, key *TSIGKey, mac []byte, now time.Time) bool {
	t, ok := findTSIG(msg)
	return ok && t.key == key.name && t.code == 0 && t.check(key, mac, msg, uint64(now.Unix())) == 0
}

// findTSIG returns the TSIG record at the end of any message.
func findTSIG(msg []byte) (tsig, bool) {
	if len(msg) < headerSize {
		return tsig{}, false
	}
	at := headerSize
	for range binary.BigEndian.Uint16(msg[4:]) {
		end, ok := skipName(msg, at)
		if !ok || end+4 > len(msg) {
			return tsig{}, false
		}
		at = end + 4
	}
	records := 0
	for section := 6; section <= 10; section += 2 {
		records += int(binary.BigEndian.Uint16(msg[section:]))
	}
	for i := range records {
		rec, ok := readRecord(msg, at)
		if !ok {
			return tsig{}, false
		}
		at = rec.end
		if rec.typ == typeTSIG {
			extra := binary.BigEndian.Uint16(msg[10:])
			if i != records-1 || extra == 0 || at != len(msg) || rec.class != classANY || rec.ttl != 0 || !validTSIG(msg, rec) {
				return tsig{}, false
			}
			return readTSIG(msg, rec.start, rec.data), true
		}
	}
	return tsig{}, false
}
