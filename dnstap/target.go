package dnstap

import (
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
)

// maxPath is the longest path of a Unix socket (unix(7)).
const maxPath = 107

// A Target is where a reader of dnstap messages listens.
type Target struct {
	// Network is "unix" or "tcp", Address a path or host:port.
	Network, Address string
}

// ParseTarget reads "unix:PATH" or "tcp:HOST:PORT".
func ParseTarget(text string) (Target, error) {
	network, address, _ := strings.Cut(text, ":")
	switch network {
	case "unix":
		switch {
		case address == "":
			return Target{}, errors.New("it names no socket; write it like unix:/run/dnstap.sock")
		case len(address) > maxPath:
			return Target{}, fmt.Errorf("the path has %d octets, and a socket's has %d at most; choose a shorter one", len(address), maxPath)
		}
		return Target{network, address}, nil
	case "tcp":
		host, port, err := net.SplitHostPort(address)
		if number, bad := strconv.ParseUint(port, 10, 16); err != nil || host == "" || bad != nil || number == 0 {
			return Target{}, fmt.Errorf("%q is no host with a port; write it like tcp:192.0.2.7:6000", address)
		}
		return Target{network, address}, nil
	}
	return Target{}, errors.New("it is no socket; write it like unix:/run/dnstap.sock or tcp:192.0.2.7:6000")
}

// String returns what ParseTarget reads.
func (t Target) String() string { return t.Network + ":" + t.Address }
