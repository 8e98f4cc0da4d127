package zonefile

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"iter"
	"slices"

	"github.com/clusterzone/clusterzone/zones"
)

// records are what was read from a zone file, as octets: a million records make
// no million objects for the collector to visit.
type records struct {
	origin zones.Name // all lie in this zone
	top    []byte     // the key of origin
	chunks [][]byte
	refs   []sorted // in the order of the file, until they are sorted
	files  []string
	buf    []byte
}

// A ref is where a record stands in chunks. Refs order like the file.
type ref struct{ chunk, at uint32 }

// A sorted is a ref with the first eight octets of the record's key, big-endian: most
// comparisons need no look at the record.
type sorted struct {
	head uint64
	ref
}

const chunkOctets = 1 << 20

// A record stands in a chunk as
//
//	length of the key    2 octets, big-endian like all numbers here
//	type                 2 octets
//	TTL                  4 octets
//	number of the file   2 octets
//	line                 4 octets
//	length of the data   2 octets
//	key, data
//
// where the key is the name's (see zones.Name.AppendKey) without the origin's,
// with which it begins.
type record []byte

const recordHead = 16

func (r record) key() []byte      { return r[recordHead:][:binary.BigEndian.Uint16(r)] }
func (r record) kind() zones.Type { return zones.Type(binary.BigEndian.Uint16(r[2:])) }
func (r record) ttl() uint32      { return binary.BigEndian.Uint32(r[4:]) }
func (r record) data() []byte {
	return r[recordHead+len(r.key()):][:binary.BigEndian.Uint16(r[14:])]
}

func (r *records) place(of record) place {
	return place{r.files[binary.BigEndian.Uint16(of[8:])], int(binary.BigEndian.Uint32(of[10:]))}
}

func (r *records) name(of record) zones.Name {
	r.buf = append(append(r.buf[:0], r.top...), of.key()...)
	return zones.NameOfKey(r.buf)
}

// begin makes room for records of a zone.
func (r *records) begin(origin zones.Name) {
	r.origin, r.top = origin, origin.AppendKey(nil)
}

// add keeps a record, whose name lies in the zone. Name and data are copied; data
// has at most 65535 octets.
func (r *records) add(name zones.Name, kind zones.Type, ttl uint32, data []byte, at place) {
	r.buf = name.AppendKey(r.buf[:0])
	key := r.buf[len(r.top):]
	size := recordHead + len(key) + len(data)
	last := len(r.chunks) - 1
	if last < 0 || cap(r.chunks[last])-len(r.chunks[last]) < size {
		r.chunks = append(r.chunks, make([]byte, 0, max(chunkOctets, size)))
		last++
	}
	// Files are few, and the last one is nearly always it.
	file := len(r.files) - 1
	for file >= 0 && r.files[file] != at.file {
		file--
	}
	if file < 0 {
		file = len(r.files)
		r.files = append(r.files, at.file)
	}
	chunk := r.chunks[last]
	var head [8]byte
	copy(head[:], key)
	r.refs = append(r.refs, sorted{binary.BigEndian.Uint64(head[:]), ref{uint32(last), uint32(len(chunk))}})
	chunk = binary.BigEndian.AppendUint16(chunk, uint16(len(key)))
	chunk = binary.BigEndian.AppendUint16(chunk, uint16(kind))
	chunk = binary.BigEndian.AppendUint32(chunk, ttl)
	chunk = binary.BigEndian.AppendUint16(chunk, uint16(file))
	chunk = binary.BigEndian.AppendUint32(chunk, uint32(at.line))
	chunk = binary.BigEndian.AppendUint16(chunk, uint16(len(data)))
	chunk = append(chunk, key...)
	r.chunks[last] = append(chunk, data...)
}

// end returns the ref of the next record.
func (r *records) end() ref {
	last := len(r.chunks) - 1
	if last < 0 {
		return ref{}
	}
	return ref{uint32(last), uint32(len(r.chunks[last]))}
}

func (r *records) at(at ref) record { return record(r.chunks[at.chunk][at.at:]) }

func (a ref) compare(b ref) int {
	return cmp.Or(cmp.Compare(a.chunk, b.chunk), cmp.Compare(a.at, b.at))
}

// sort brings the records in the canonical order of their names, those of a
// name in the order of types, and those of a set in that of the file.
func (r *records) sort() {
	slices.SortFunc(r.refs, func(a, b sorted) int {
		// A key that ends within its head orders before those that go on, as zeros do.
		if a.head != b.head {
			return cmp.Compare(a.head, b.head)
		}
		x, y := r.at(a.ref), r.at(b.ref)
		return cmp.Or(bytes.Compare(x.key(), y.key()), cmp.Compare(x.kind(), y.kind()), a.compare(b.ref))
	})
}

// names yields the sets of one name after the other, in canonical order; sort
// must have been called. With them come the records that have another TTL than
// those before them in their set.
func (r *records) names() iter.Seq2[[]*set, []ref] {
	return func(yield func([]*set, []ref) bool) {
		var sets []*set
		var odd []ref
		var key []byte
		var name zones.Name
		for _, at := range r.refs {
			at := at.ref
			one := r.at(at)
			if len(sets) > 0 && !bytes.Equal(key, one.key()) {
				if !yield(sets, odd) {
					return
				}
				sets, odd = nil, nil
			}
			if key = one.key(); len(sets) == 0 {
				name = r.name(one)
			}
			if n := len(sets); n == 0 || sets[n-1].Type != one.kind() {
				sets = append(sets, &set{
					RRSet: zones.RRSet{Name: name, Type: one.kind(), TTL: one.ttl()},
					first: at, place: r.place(one),
				})
			}
			s := sets[len(sets)-1]
			if s.TTL != one.ttl() {
				odd = append(odd, at)
				s.TTL = min(s.TTL, one.ttl())
			}
			data := zones.Rdata(one.data())
			if len(s.Data) > 0 && s.Data[0] != data && s.second.file == "" {
				s.second = r.place(one)
			}
			s.Data = append(s.Data, data)
		}
		if len(sets) > 0 {
			yield(sets, odd)
		}
	}
}
