package server

import (
	"encoding/binary"
	"math/bits"
)

// sipHash is SipHash-2-4 of data under a key of 16 octets (Aumasson and
// Bernstein 2012), which RFC 9018 section 4.4 makes server cookies with.
func sipHash(key *[16]byte, data []byte) uint64 {
	k0 := binary.LittleEndian.Uint64(key[:8])
	k1 := binary.LittleEndian.Uint64(key[8:])
	s := sipState{
		k0 ^ 0x736f6d6570736575, // the constants spell "somepseudorandomlygeneratedbytes"
		k1 ^ 0x646f72616e646f6d,
		k0 ^ 0x6c7967656e657261,
		k1 ^ 0x7465646279746573,
	}
	last := uint64(len(data)) << 56
	for ; len(data) >= 8; data = data[8:] {
		s.add(binary.LittleEndian.Uint64(data))
	}
	for i, octet := range data {
		last |= uint64(octet) << (8 * i)
	}
	s.add(last)
	s.v2 ^= 0xff
	for range 4 {
		s.round()
	}
	return s.v0 ^ s.v1 ^ s.v2 ^ s.v3
}

type sipState struct{ v0, v1, v2, v3 uint64 }

// add takes in one word: the 2 of SipHash-2-4.
func (s *sipState) add(word uint64) {
	s.v3 ^= word
	s.round()
	s.round()
	s.v0 ^= word
}

func (s *sipState) round() {
	s.v0 += s.v1
	s.v1 = bits.RotateLeft64(s.v1, 13) ^ s.v0
	s.v0 = bits.RotateLeft64(s.v0, 32)
	s.v2 += s.v3
	s.v3 = bits.RotateLeft64(s.v3, 16) ^ s.v2
	s.v0 += s.v3
	s.v3 = bits.RotateLeft64(s.v3, 21) ^ s.v0
	s.v2 += s.v1
	s.v1 = bits.RotateLeft64(s.v1, 17) ^ s.v2
	s.v2 = bits.RotateLeft64(s.v2, 32)
}
