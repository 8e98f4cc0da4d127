//go:build !linux

package server

import (
	"errors"
	"net"
	"syscall"
)

// rawConn: elsewhere than on Linux connections are read as package net does it.
func rawConn(net.Conn) syscall.RawConn { return nil }

func readNow(uintptr, []byte) (n int, again bool, err error) {
	return 0, false, errors.ErrUnsupported
}
