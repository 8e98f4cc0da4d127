package server

// Name compression (RFC 1035 section 4.1.4).

const (
	// Pointers have 14 bits.
	maxPointer = 1 << 14
	// The table has a fixed size: a message of the largest size may hold more
	// names, which are then written in full where the table is crowded.
	compressSlots  = 512
	compressProbes = 4
	maxLabels      = 128
)

// A compressor remembers where names stand in the message being written. Its
// entries are hints: a match is verified against the message's bytes, so that
// neither a hash collision nor a record taken back can give a wrong pointer.
type compressor struct {
	slots [compressSlots]compressSlot
	// generation tells this message's entries from those of earlier ones, so
	// that nothing has to be cleared between messages.
	generation uint32
}

type compressSlot struct {
	hash, generation uint32
	offset           uint16
}

// begin forgets all names.
func (c *compressor) begin() {
	c.generation++
	if c.generation == 0 { // wrapped after 2^32 messages
		clear(c.slots[:])
		c.generation = 1
	}
}

// append appends the wire name (uncompressed, complete) to buf, whose message
// begins at base, and points at an earlier occurrence of its longest known
// suffix. Names that it writes become known.
func (c *compressor) append(buf []byte, base int, name string) []byte {
	var starts [maxLabels]uint8
	var hashes [maxLabels]uint32
	labels := splitName(name, &starts, &hashes)

	// The longest suffix that stands already.
	known, target := labels, 0
	for i := range labels {
		if at, ok := c.find(buf[base:], hashes[i], name[starts[i]:]); ok {
			known, target = i, at
			break
		}
	}
	for i := range known {
		c.remember(hashes[i], len(buf)-base)
		size := int(name[starts[i]])
		buf = append(buf, name[starts[i]:int(starts[i])+1+size]...)
	}
	if known == labels {
		return append(buf, 0)
	}
	return append(buf, 0xc0|byte(target>>8), byte(target))
}

// know makes the name that stands at offset, uncompressed, a target.
func (c *compressor) know(name string, offset int) {
	var starts [maxLabels]uint8
	var hashes [maxLabels]uint32
	for i := range splitName(name, &starts, &hashes) {
		c.remember(hashes[i], offset+int(starts[i]))
	}
}

// splitName finds where the labels of name start (the root's left out) and
// hashes the suffix that begins with each, letters folded.
func splitName(name string, starts *[maxLabels]uint8, hashes *[maxLabels]uint32) int {
	labels := 0
	for at := 0; at < len(name) && name[at] != 0 && labels < maxLabels; at += 1 + int(name[at]) {
		starts[labels] = uint8(at)
		labels++
	}
	hash := uint32(2166136261) // FNV-1a, from the right-most label on
	for i := labels - 1; i >= 0; i-- {
		at := int(starts[i])
		for j := at; j <= at+int(name[at]) && j < len(name); j++ {
			hash = (hash ^ uint32(lower(name[j]))) * 16777619
		}
		hashes[i] = hash
	}
	return labels
}

func (c *compressor) remember(hash uint32, offset int) {
	if offset >= maxPointer {
		return
	}
	for i := range uint32(compressProbes) {
		slot := &c.slots[(hash+i)%compressSlots]
		if slot.generation != c.generation {
			*slot = compressSlot{hash, c.generation, uint16(offset)}
			return
		}
	}
}

func (c *compressor) find(msg []byte, hash uint32, suffix string) (offset int, ok bool) {
	for i := range uint32(compressProbes) {
		slot := &c.slots[(hash+i)%compressSlots]
		if slot.generation != c.generation {
			return 0, false
		}
		if slot.hash == hash && standsAt(msg, int(slot.offset), suffix) {
			return int(slot.offset), true
		}
	}
	return 0, false
}

// standsAt reports whether the name at offset in msg is name, letters folded.
func standsAt(msg []byte, offset int, name string) bool {
	at, i := offset, 0
	for at < len(msg) && i < len(name) {
		size := int(msg[at])
		if size >= 0xc0 {
			if at+2 > len(msg) {
				return false
			}
			target := (size&0x3f)<<8 | int(msg[at+1])
			if target >= offset {
				return false
			}
			at, offset = target, target
			continue
		}
		if size > 63 || at+1+size > len(msg) || i+1+size > len(name) || name[i] != byte(size) {
			return false
		}
		if size == 0 {
			return true
		}
		for j := 1; j <= size; j++ {
			if lower(msg[at+j]) != lower(name[i+j]) {
				return false
			}
		}
		at += 1 + size
		i += 1 + size
	}
	return false
}
