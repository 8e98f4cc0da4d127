package server

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/clusterzone/clusterzone/zones"
)

// Any sequence of names reads back as written, in messages that outgrow both
// the table and the reach of pointers, and with records taken back in between.
func TestCompression(t *testing.T) {
	t.Parallel()
	for seed := range uint64(20) {
		rng := rand.New(rand.NewPCG(seed, 0))
		var c compressor
		c.begin()
		const base = 7 // the message need not start the buffer
		buf := make([]byte, base+headerSize)
		type written struct {
			at   int
			name zones.Name
		}
		var all []written
		for len(buf) < maxMessage-300 {
			name := randomName(rng)
			mark := len(buf)
			buf = c.append(buf, base, string(name))
			if rng.IntN(5) == 0 {
				buf = buf[:mark]
				continue
			}
			all = append(all, written{mark - base, name})
			buf = append(buf, make([]byte, rng.IntN(40))...)
		}
		for _, w := range all {
			got, ok := appendExpanded(nil, buf[base:], w.at)
			if !ok || string(got) != string(w.name) {
				t.Fatalf("seed %d, offset %d: %q (%v), want %s", seed, w.at, got, ok, w.name)
			}
		}
		if last := all[len(all)-1].at; last < maxPointer {
			t.Fatalf("seed %d: the message is too short to test anything: %d", seed, last)
		}
	}
}

func randomName(rng *rand.Rand) zones.Name {
	name := zones.Root
	for range 1 + rng.IntN(5) {
		name = name.Child(fmt.Sprintf("l%d", rng.IntN(40)))
	}
	return name
}

// Two names with one hash must not share a pointer: what stands there decides.
func TestCompressionVerifies(t *testing.T) {
	t.Parallel()
	name := zones.Root.Child("test").Child("corp")
	other := zones.Root.Child("test").Child("evil")
	var c compressor
	c.begin()
	buf := c.append(make([]byte, headerSize), 0, string(other))
	var starts [maxLabels]uint8
	var hashes [maxLabels]uint32
	for i := range splitName(string(name), &starts, &hashes) {
		c.remember(hashes[i], headerSize) // as if other's hash were name's
	}
	at := len(buf)
	buf = c.append(buf, 0, string(name))
	if got, ok := appendExpanded(nil, buf, at); !ok || string(got) != string(name) {
		t.Errorf("%q (%v), want %s", got, ok, name)
	}
}

// The table's memory of one message must not reach the next, also when the
// generation counter wraps.
func TestCompressionForgets(t *testing.T) {
	t.Parallel()
	name := string(zones.Root.Child("test").Child("corp"))
	var c compressor
	for _, generation := range []uint32{0, 1, ^uint32(0) - 1, ^uint32(0)} {
		c.generation = generation
		c.begin()
		first := c.append(make([]byte, headerSize), 0, name)
		if len(first) != headerSize+len(name) {
			t.Errorf("generation %d: the first name is not written in full: %x", c.generation, first)
		}
		if second := c.append(first, 0, name); len(second) != len(first)+2 {
			t.Errorf("generation %d: the second name is no pointer: %x", c.generation, second)
		}
		c.begin()
		if fresh := c.append(make([]byte, headerSize), 0, name); len(fresh) != headerSize+len(name) {
			t.Errorf("generation %d: the next message points: %x", c.generation, fresh)
		}
	}
}

// Pointers have 14 bits: a name that stands beyond their reach is written again.
func TestCompressionReach(t *testing.T) {
	t.Parallel()
	name := string(zones.Root.Child("test").Child("corp"))
	for _, at := range []int{maxPointer - 1, maxPointer} {
		var c compressor
		c.begin()
		buf := c.append(make([]byte, at), 0, name)
		end := len(buf)
		buf = c.append(buf, 0, name)
		if got, ok := appendExpanded(nil, buf, end); !ok || string(got) != name {
			t.Errorf("after a name at %d: %q (%v), want %s", at, got, ok, zones.Name(name))
		}
		if pointed := len(buf) == end+2; pointed != (at < maxPointer) {
			t.Errorf("after a name at %d: a pointer is %v", at, pointed)
		}
	}
}

// When the generation counter wraps, what is left of the first generation must
// not take up the table.
func TestCompressionWraps(t *testing.T) {
	t.Parallel()
	name := string(zones.Root.Child("test").Child("corp"))
	var c compressor
	c.begin()
	for i := range c.slots {
		c.slots[i] = compressSlot{generation: c.generation}
	}
	c.generation = ^uint32(0)
	c.begin()
	buf := c.append(make([]byte, headerSize), 0, name)
	if again := c.append(buf, 0, name); len(again) != len(buf)+2 {
		t.Errorf("the second name is no pointer: %x", again)
	}
}
