//go:build !linux

package server

import (
	"net"
	"net/netip"
)

const controlSize = 0

// askForDestination: elsewhere than on Linux the system chooses the source of
// replies; listen on single addresses where that matters.
func askForDestination(*net.UDPConn, bool) (bool, error) { return false, nil }

func replyControl([]byte) []byte { return nil }

func destination(_ []byte, bound netip.Addr) netip.Addr { return bound }
