//go:build !linux

package server

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"syscall"
)

const controlSize = 0

// openUDP opens a UDP address: package net's loop is the only one here.
func openUDP(ctx context.Context, o udpOptions) ([]packetSocket, netip.AddrPort, error) {
	return openPlain(ctx, o)
}

// sharePort is for Linux, where queries are spread over the processes that
// share a port; elsewhere one of them would get all.
func sharePort(string, string, syscall.RawConn) error {
	return errors.New("sharing a port between processes needs Linux; leave --reuse-port out")
}

// askForDestination: elsewhere than on Linux the system chooses the source of
// replies; listen on single addresses where that matters.
func askForDestination(*net.UDPConn, bool) (bool, error) { return false, nil }

func replyControl([]byte) []byte { return nil }

func destination(_ []byte, bound netip.Addr) netip.Addr { return bound }
