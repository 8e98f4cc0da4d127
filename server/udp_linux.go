package server

import (
	"encoding/binary"
	"net"
	"net/netip"
	"os"
	"syscall"
	"unsafe"
)

// IP_PKTINFO (ip(7)) and IPV6_PKTINFO (RFC 3542 section 6): the system gives
// the destination of a packet in a control message, and takes the same as the
// source of the reply.

// controlSize holds one control message of either family, with room for others.
const controlSize = 128

// askForDestination makes the system report each packet's destination.
func askForDestination(conn *net.UDPConn, ipv4 bool) (bool, error) {
	level, option := syscall.IPPROTO_IPV6, syscall.IPV6_RECVPKTINFO
	if ipv4 {
		level, option = syscall.IPPROTO_IP, syscall.IP_PKTINFO
	}
	raw, err := conn.SyscallConn()
	if err != nil {
		return false, err
	}
	var failed error
	err = raw.Control(func(fd uintptr) {
		failed = os.NewSyscallError("setsockopt", syscall.SetsockoptInt(int(fd), level, option, 1))
	})
	if err == nil {
		err = failed
	}
	return err == nil, err
}

const (
	controlHeader = int(unsafe.Sizeof(syscall.Cmsghdr{}))
	controlLen    = int(unsafe.Sizeof(syscall.Cmsghdr{}.Len))
	controlAlign  = int(unsafe.Sizeof(uintptr(0)))
)

// replyControl turns, in place, what came with a query into what goes with its
// reply, or returns nil where there is nothing to say. The interface is left to
// the routes, but for link-local addresses, which mean nothing without it.
func replyControl(control []byte) []byte {
	for at := 0; at+controlHeader <= len(control); {
		size := int(binary.NativeEndian.Uint32(control[at:]))
		if controlLen == 8 {
			size = int(binary.NativeEndian.Uint64(control[at:]))
		}
		if size < controlHeader || at+size > len(control) {
			return nil
		}
		level := int32(binary.NativeEndian.Uint32(control[at+controlLen:]))
		kind := int32(binary.NativeEndian.Uint32(control[at+controlLen+4:]))
		data := control[at+controlHeader : at+size]
		switch {
		case level == syscall.IPPROTO_IP && kind == syscall.IP_PKTINFO && len(data) >= syscall.SizeofInet4Pktinfo:
			// struct in_pktinfo: interface, local address (the source of
			// what is sent), destination in the packet's header.
			clear(data[:4])
			return control[at : at+size]
		case level == syscall.IPPROTO_IPV6 && kind == syscall.IPV6_PKTINFO && len(data) >= syscall.SizeofInet6Pktinfo:
			// struct in6_pktinfo: address, interface.
			if data[0] != 0xfe || data[1]&0xc0 != 0x80 {
				clear(data[16:20])
			}
			return control[at : at+size]
		}
		at += (size + controlAlign - 1) &^ (controlAlign - 1)
	}
	return nil
}

// destination is the address that a query was sent to, from what came with it or
// from what goes with its reply; bound where that doesn't tell.
func destination(control []byte, bound netip.Addr) netip.Addr {
	control = replyControl(control)
	if len(control) < controlHeader {
		return bound
	}
	data := control[controlHeader:]
	if bound.Is4() {
		return netip.AddrFrom4([4]byte(data[4:8]))
	}
	return netip.AddrFrom16([16]byte(data[:16]))
}
