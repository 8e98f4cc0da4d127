//go:build linux

// Command echo is the floor that test/bench measures servers against: it
// receives and sends datagrams by the same system calls as the server, with
// batches of the same size, and does nothing with them but setting the QR bit.
//
//	echo ADDRESS:PORT
package main

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// batch is the server's batch size.
const batch = 64

// A header is struct mmsghdr of recvmmsg(2).
type header struct {
	unix.Msghdr
	size uint32
}

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "echo:", err)
		os.Exit(1)
	}
}

// run echoes until a system call fails.
func run(args []string) error {
	if len(args) != 1 {
		return errors.New("give one address with a port, like 127.0.0.1:5300")
	}
	addr, err := netip.ParseAddrPort(args[0])
	if err != nil {
		return err
	}
	conn, err := net.ListenUDP("udp", net.UDPAddrFromAddrPort(addr))
	if err != nil {
		return err
	}
	if err := conn.SetReadBuffer(1 << 20); err != nil {
		return err
	}
	file, err := conn.File()
	if err != nil {
		return err
	}
	fd := file.Fd()
	if err := unix.SetNonblock(int(fd), false); err != nil {
		return err
	}
	return echo(fd)
}

func echo(fd uintptr) error {
	var (
		headers [batch]header
		vectors [batch]unix.Iovec
		names   [batch]unix.RawSockaddrInet6
		buffers [batch][4096 + 192]byte
	)
	for i := range headers {
		vectors[i].Base = &buffers[i][0]
		headers[i].Name = (*byte)(unsafe.Pointer(&names[i]))
		headers[i].Iov = &vectors[i]
		headers[i].SetIovlen(1)
	}
	n := uintptr(0)
	for {
		for i := range headers {
			vectors[i].SetLen(len(buffers[i]))
			headers[i].Namelen = unix.SizeofSockaddrInet6
		}
		call, flags := unix.Syscall6, uintptr(unix.MSG_WAITFORONE)
		if n == batch {
			call, flags = unix.RawSyscall6, unix.MSG_DONTWAIT
		}
		var errno unix.Errno
		n, _, errno = call(unix.SYS_RECVMMSG, fd, uintptr(unsafe.Pointer(&headers)), batch, flags, 0, 0)
		if errno == unix.EAGAIN || errno == unix.EINTR {
			n = 0
			continue
		}
		if errno != 0 {
			return os.NewSyscallError("recvmmsg", errno)
		}
		for i := range n {
			buffers[i][2] |= 0x80
			vectors[i].SetLen(int(headers[i].size))
		}
		for sent := uintptr(0); sent < n; {
			done, _, errno := unix.RawSyscall6(unix.SYS_SENDMMSG, fd, uintptr(unsafe.Pointer(&headers[sent])), n-sent, 0, 0, 0)
			if errno != 0 {
				return os.NewSyscallError("sendmmsg", errno)
			}
			sent += done
		}
	}
}
