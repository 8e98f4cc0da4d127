package zones

import (
	"syscall"
	"unsafe"
)

const (
	hugePage = 2 << 20
	// madviseCollapse is MADV_COLLAPSE, since Linux 6.1.
	madviseCollapse = 25
)

// hugeMemory returns empty memory with room for size octets, for which the
// system is asked to use huge pages.
func hugeMemory(size int) []byte {
	memory := make([]byte, 0, size)
	advise(memory, syscall.MADV_HUGEPAGE)
	return memory
}

// settleMemory asks the system to put memory that has been filled into huge pages
// where it is not yet.
func settleMemory(memory []byte) { advise(memory, madviseCollapse) }

// advise tells the system about the huge pages that lie whole in the memory. It
// is a wish: a system without them goes on as it would, only slower.
func advise(memory []byte, how int) {
	start := uintptr(unsafe.Pointer(unsafe.SliceData(memory)))
	skip := int(-start & (hugePage - 1))
	whole := (cap(memory) - skip) &^ (hugePage - 1)
	if skip >= cap(memory) || whole <= 0 {
		return
	}
	_ = syscall.Madvise(memory[:cap(memory)][skip:skip+whole], how)
}
