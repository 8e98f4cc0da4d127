package server

import (
	"encoding/binary"

	"github.com/clusterzone/clusterzone/zones"
)

// A writer appends the sections of one reply to the caller's buffer and keeps
// it within its limit: a record is written whole or not at all.
type writer struct {
	buf  []byte
	base int // where the message begins in buf
	// limit is the number of octets that the message may have so far; what OPT
	// and TSIG need at the end is taken off beforehand.
	limit int
	// question is the question's name, which stands at offset headerSize; the
	// zero Name where the reply has no question.
	question zones.Name
	// indexed says that the compressor knows the question's name.
	indexed bool
	// rotation is how far each record set is turned.
	rotation uint32
	names    compressor
}

func (w *writer) begin(dst []byte, limit int, rotation uint32) {
	w.buf, w.base, w.limit, w.rotation = dst, len(dst), limit, rotation
	w.question, w.indexed = "", false
	w.names.begin()
	w.buf = append(w.buf, make([]byte, headerSize)...)
}

// size is the number of octets that the message has so far.
func (w *writer) size() int { return len(w.buf) - w.base }

// records writes the sets of a section, each turned by the rotation, until a
// record does not fit. It returns how many records it wrote and whether that
// was all. Sets of one record, as CNAMEs are, keep their place; so a chain
// stands in order and before the addresses at its end (RFC 1034 section 3.6.2).
func (w *writer) records(entries []zones.Entry) (count int, whole bool) {
	for i := range entries {
		n, whole := w.set(&entries[i])
		count += n
		if !whole {
			return count, false
		}
	}
	return count, true
}

// extra writes sets of the additional section, each whole or not at all (RFC
// 2181 section 9), and says how many records those were and whether all fit.
func (w *writer) extra(entries []zones.Entry) (count int, whole bool) {
	whole = true
	for i := range entries {
		n, fits := w.wholeSet(&entries[i])
		count += n
		whole = whole && fits
	}
	return count, whole
}

// glue is extra for the sets whose owner lies below the cut, or for those whose
// owner does not.
func (w *writer) glue(entries []zones.Entry, cut zones.Name, below bool) (count int, whole bool) {
	whole = true
	for i := range entries {
		if entries[i].Owner.In(cut) != below {
			continue
		}
		n, fits := w.wholeSet(&entries[i])
		count += n
		whole = whole && fits
	}
	return count, whole
}

// wholeSet writes a set, or leaves the message as it was.
func (w *writer) wholeSet(entry *zones.Entry) (count int, whole bool) {
	mark := len(w.buf)
	if count, whole = w.set(entry); !whole {
		w.buf = w.buf[:mark]
		return 0, false
	}
	return count, true
}

// set writes the records of a set, turned by the rotation, until one does not
// fit.
func (w *writer) set(entry *zones.Entry) (count int, whole bool) {
	set := entry.Set
	n := len(set.Data)
	if n == 0 {
		return 0, true
	}
	turn := int(w.rotation % uint32(n))
	for i := range n {
		next := turn + i
		if next >= n {
			next -= n
		}
		if !w.record(entry.Owner, set.Type, set.TTL, string(set.Data[next])) {
			return i, false
		}
	}
	return n, true
}

// record writes one record, or leaves the message as it was where there is no
// room for it.
func (w *writer) record(owner zones.Name, typ zones.Type, ttl uint32, data string) bool {
	mark := len(w.buf)
	compressed := hasCompressedNames(typ)
	// Don't copy what can't fit: at least a pointer, the fixed part, the data.
	if !compressed && w.size()+2+10+len(data) > w.limit {
		return false
	}
	w.name(string(owner))
	w.buf = append(w.buf, byte(typ>>8), byte(typ), 0, classIN,
		byte(ttl>>24), byte(ttl>>16), byte(ttl>>8), byte(ttl), 0, 0)
	start := len(w.buf)
	if compressed {
		w.namedData(typ, data)
	} else {
		w.buf = append(w.buf, data...)
	}
	if w.size() > w.limit {
		w.buf = w.buf[:mark]
		return false
	}
	binary.BigEndian.PutUint16(w.buf[start-2:], uint16(len(w.buf)-start))
	return true
}

// hasCompressedNames lists the types whose data may hold compressed names and
// that we compress: those of RFC 1035 that every reader knows (RFC 3597
// section 4). Not SRV (RFC 2782), not DNAME (RFC 6672 section 2.5).
func hasCompressedNames(typ zones.Type) bool {
	switch typ {
	case zones.TypeNS, zones.TypeCNAME, zones.TypePTR, zones.TypeMX, zones.TypeSOA:
		return true
	}
	return false
}

// namedData writes the data of such a record.
func (w *writer) namedData(typ zones.Type, data string) {
	switch typ {
	case zones.TypeMX:
		if len(data) > 2 {
			w.buf = append(w.buf, data[:2]...)
			w.name(data[2:])
			return
		}
	case zones.TypeSOA:
		mname := nameLength(data)
		rname := nameLength(data[mname:])
		if mname > 0 && rname > 0 {
			w.name(data[:mname])
			w.name(data[mname : mname+rname])
			w.buf = append(w.buf, data[mname+rname:]...)
			return
		}
	default:
		w.name(data)
		return
	}
	w.buf = append(w.buf, data...) // no such data comes from the zones
}

// nameLength returns the octets of the uncompressed name at the start of data,
// or 0 where there is none.
func nameLength(data string) int {
	for at := 0; at < len(data); at += 1 + int(data[at]) {
		if data[at] == 0 {
			return at + 1
		}
	}
	return 0
}

// name writes a name. Nearly all owners are the question's name: two octets.
func (w *writer) name(name string) {
	if w.question != "" {
		if name == string(w.question) && len(name) > 2 {
			w.buf = append(w.buf, 0xc0, headerSize)
			return
		}
		if !w.indexed {
			w.names.know(string(w.question), headerSize)
			w.indexed = true
		}
	}
	w.buf = w.names.append(w.buf, w.base, name)
}
