package server

import (
	"io"
	"net"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// rawConn returns what to wait with for octets without memory to read them
// into; nil where the connection is not the system's own.
func rawConn(c net.Conn) syscall.RawConn {
	conn, ok := c.(*net.TCPConn)
	if !ok {
		return nil
	}
	raw, err := conn.SyscallConn()
	if err != nil {
		return nil // it is closed, as the first read will tell
	}
	return raw
}

// readNow reads what is there: again says that it is nothing yet, io.EOF that
// nothing will come.
func readNow(fd uintptr, buf []byte) (n int, again bool, err error) {
	for {
		n, err = unix.Read(int(fd), buf)
		switch {
		case err == unix.EINTR:
			continue
		case err == unix.EAGAIN:
			return 0, true, nil
		case err != nil:
			return 0, false, os.NewSyscallError("read", err)
		case n == 0:
			return 0, false, io.EOF
		}
		return n, false, nil
	}
}
