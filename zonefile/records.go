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
	chunks [][]byte
	refs   []ref // in the order of the file, until they are sorted
	files  []string
	key    []byte
}

// A ref is where a record stands in chunks. Refs order like the file.
type ref struct{ chunk, at uint32 }

const chunkOctets = 1 << 20

// A record stands in a chunk as
//
//	length of the key    2 octets, big-endian like all numbers here
//	length of the name   1 octet
//	type                 2 octets
//	TTL                  4 octets
//	number of the file   2 octets
//	line                 4 octets
//	length of the data   2 octets
//	key, name, data
type record []byte

const recordHead = 17

func (r record) key() []byte      { return r[recordHead:][:binary.BigEndian.Uint16(r)] }
func (r record) name() []byte     { return r[recordHead+len(r.key()):][:r[2]] }
func (r record) kind() zones.Type { return zones.Type(binary.BigEndian.Uint16(r[3:])) }
func (r record) ttl() uint32      { return binary.BigEndian.Uint32(r[5:]) }
func (r record) data() []byte {
	return r[recordHead+len(r.key())+int(r[2]):][:binary.BigEndian.Uint16(r[15:])]
}

func (r *records) place(of record) place {
	return place{r.files[binary.BigEndian.Uint16(of[9:])], int(binary.BigEndian.Uint32(of[11:]))}
}

// add keeps a record. Name and data are copied; data has at most 65535 octets.
func (r *records) add(name zones.Name, kind zones.Type, ttl uint32, data []byte, at place) {
	r.key = name.AppendKey(r.key[:0])
	size := recordHead + len(r.key) + len(name) + len(data)
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
	r.refs = append(r.refs, ref{uint32(last), uint32(len(chunk))})
	chunk = binary.BigEndian.AppendUint16(chunk, uint16(len(r.key)))
	chunk = append(chunk, byte(len(name)))
	chunk = binary.BigEndian.AppendUint16(chunk, uint16(kind))
	chunk = binary.BigEndian.AppendUint32(chunk, ttl)
	chunk = binary.BigEndian.AppendUint16(chunk, uint16(file))
	chunk = binary.BigEndian.AppendUint32(chunk, uint32(at.line))
	chunk = binary.BigEndian.AppendUint16(chunk, uint16(len(data)))
	chunk = append(chunk, r.key...)
	chunk = append(chunk, name...)
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
	slices.SortFunc(r.refs, func(a, b ref) int {
		x, y := r.at(a), r.at(b)
		return cmp.Or(bytes.Compare(x.key(), y.key()), cmp.Compare(x.kind(), y.kind()), a.compare(b))
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
		for _, at := range r.refs {
			one := r.at(at)
			if len(sets) > 0 && !bytes.Equal(key, one.key()) {
				if !yield(sets, odd) {
					return
				}
				sets, odd = nil, nil
			}
			key = one.key()
			if n := len(sets); n == 0 || sets[n-1].Type != one.kind() {
				sets = append(sets, &set{
					RRSet: zones.RRSet{Name: zones.Name(one.name()), Type: one.kind(), TTL: one.ttl()},
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
