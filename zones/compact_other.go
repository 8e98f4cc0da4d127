//go:build !linux

package zones

// hugeMemory returns empty memory with room for size octets.
func hugeMemory(size int) []byte { return make([]byte, 0, size) }

// settleMemory does nothing where huge pages can't be asked for.
func settleMemory([]byte) {}
