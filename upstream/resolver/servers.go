package resolver

import (
	"bufio"
	"fmt"
	"io"
	"net/netip"
	"strings"
)

// dnsPort is the port of a server that none is given for.
const dnsPort = 53

// ParseServer reads the address of a recursive resolver: "10.0.0.2",
// "10.0.0.2:5353", "2001:db8::2" or "[2001:db8::2]:5353".
func ParseServer(text string) (netip.AddrPort, error) {
	if server, err := netip.ParseAddrPort(text); err == nil && server.Port() != 0 {
		return netip.AddrPortFrom(server.Addr().Unmap(), server.Port()), nil
	}
	addr, err := netip.ParseAddr(strings.TrimSuffix(strings.TrimPrefix(text, "["), "]"))
	if err != nil || strings.HasPrefix(text, "[") != strings.HasSuffix(text, "]") {
		return netip.AddrPort{}, fmt.Errorf("%q is no address of a resolver; write it like 10.0.0.2 or [2001:db8::2]:53", text)
	}
	return netip.AddrPortFrom(addr.Unmap(), dnsPort), nil
}

// SystemServers reads the nameserver lines of a file in the form of
// resolv.conf(5). Lines that make no sense are left out, as the C library does.
func SystemServers(file io.Reader) ([]netip.AddrPort, error) {
	var servers []netip.AddrPort
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		if len(fields) < 2 || fields[0] != "nameserver" {
			continue
		}
		if addr, err := netip.ParseAddr(fields[1]); err == nil {
			servers = append(servers, netip.AddrPortFrom(addr.Unmap(), dnsPort))
		}
	}
	return servers, lines.Err()
}

// Reaches reports whether what is sent to server from this machine comes to a
// socket that is bound to listen; local are the machine's addresses. A socket
// of port 0 is given any port, so that nobody can mean it.
func Reaches(server, listen netip.AddrPort, local []netip.Addr) bool {
	if server.Port() != listen.Port() || listen.Port() == 0 {
		return false
	}
	addr, bound := server.Addr().Unmap().WithZone(""), listen.Addr().Unmap().WithZone("")
	if addr == bound {
		return true
	}
	if bound.IsValid() && !bound.IsUnspecified() || bound.Is4() && addr.Is6() {
		return false
	}
	if addr.IsLoopback() || addr.IsUnspecified() {
		return true
	}
	for _, own := range local {
		if own.Unmap().WithZone("") == addr {
			return true
		}
	}
	return false
}
