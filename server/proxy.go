package server

import (
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/netip"
)

// The PROXY protocol, version 2 (https://www.haproxy.org/download/2.8/doc/proxy-protocol.txt,
// section 2.2): a load balancer puts the client's address before each datagram,
// or at the start of each connection, TLS included.

// proxySignature begins every header.
const proxySignature = "\r\n\r\n\x00\r\nQUIT\n"

const (
	// proxyFixed is the header's length without addresses: the signature, an
	// octet each of version with command and of family with transport, and the
	// length of the rest.
	proxyFixed = len(proxySignature) + 4
	// maxProxy bounds a header. Those of balancers have some 30 octets, and
	// extensions (TLVs) that fit a packet.
	maxProxy = 4096
)

// What can be wrong with a header, each a sentence for the log.
var (
	errProxyNone    = errors.New("no PROXY header came from a network of --proxy-protocol-from; let the proxy send it, or take its network out")
	errProxyOld     = errors.New("a PROXY header of version 1 came; let the proxy send version 2")
	errProxyVersion = errors.New("a PROXY header of a version other than 2 came; let the proxy send version 2")
	errProxyCommand = errors.New("a PROXY header has a command other than LOCAL and PROXY")
	errProxyFamily  = errors.New("a PROXY header is of a family other than IPv4 and IPv6, or of an unknown transport")
	errProxyShort   = errors.New("a PROXY header ends before its addresses do")
	errProxySilent  = errors.New("a connection has ended, or its time, before its first octet")
	errProxyLong    = errors.New("a PROXY header has more than 4096 octets; let the proxy send fewer extensions")
)

// parseProxyHeader reads the PROXY header at the start of octets. It returns the
// client's address, and the header's length with its extensions, which are
// skipped. src is the zero AddrPort where the header names nobody (LOCAL, as
// health checks of the proxy itself are, or an unspecified family): the sender
// is then the client. It keeps no memory of octets.
func parseProxyHeader(octets []byte) (src netip.AddrPort, n int, err error) {
	n, err = proxyLength(octets)
	if err != nil {
		return src, 0, err
	}
	if n > len(octets) {
		return src, 0, errProxyShort
	}
	addresses := octets[proxyFixed:n]
	switch command := octets[12] & 0xf; command {
	case 0: // LOCAL: the rest says nothing
		return src, n, nil
	case 1: // PROXY
	default:
		return src, 0, errProxyCommand
	}
	family, transport := octets[13]>>4, octets[13]&0xf
	if transport > 2 {
		return src, 0, errProxyFamily
	}
	switch family {
	case 0: // unspecified
		return src, n, nil
	case 1: // two addresses, two ports
		if len(addresses) < 4+4+2+2 {
			return src, 0, errProxyShort
		}
		src = netip.AddrPortFrom(netip.AddrFrom4([4]byte(addresses)), binary.BigEndian.Uint16(addresses[8:]))
	case 2:
		if len(addresses) < 16+16+2+2 {
			return src, 0, errProxyShort
		}
		src = netip.AddrPortFrom(netip.AddrFrom16([16]byte(addresses)).Unmap(), binary.BigEndian.Uint16(addresses[32:]))
	default:
		return src, 0, errProxyFamily
	}
	return src, n, nil
}

// proxyLength reads the first proxyFixed octets of a header and returns the
// length of the whole, at most maxProxy.
func proxyLength(octets []byte) (int, error) {
	const old = "PROXY "
	switch {
	case len(octets) >= len(old) && string(octets[:len(old)]) == old:
		return 0, errProxyOld
	case len(octets) < len(proxySignature) || string(octets[:len(proxySignature)]) != proxySignature:
		return 0, errProxyNone
	case len(octets) < proxyFixed:
		return 0, errProxyShort
	case octets[12]>>4 != 2:
		return 0, errProxyVersion
	}
	n := proxyFixed + int(binary.BigEndian.Uint16(octets[14:]))
	if n > maxProxy {
		return 0, errProxyLong
	}
	return n, nil
}

// readProxyHeader reads a header from a connection, and not an octet more. The
// error is errProxySilent where nothing at all came, as of a balancer that only
// looks whether the port is open.
func readProxyHeader(c net.Conn) (src netip.AddrPort, err error) {
	header := make([]byte, proxyFixed, 128)
	got, err := io.ReadFull(c, header)
	if err != nil && got == 0 {
		return src, errProxySilent
	}
	n, err := proxyLength(header[:got])
	if err != nil {
		return src, err
	}
	header = append(header, make([]byte, n-proxyFixed)...)
	if _, err := io.ReadFull(c, header[proxyFixed:]); err != nil {
		return src, errProxyShort
	}
	src, _, err = parseProxyHeader(header)
	return src, err
}

// proxied reports whether whoever sends from addr must send a PROXY header.
func (r *run) proxied(addr netip.Addr) bool {
	return len(r.proxies) > 0 && inAny(r.proxies, addr.Unmap().WithZone(""))
}

// unwrap takes the PROXY header off a datagram that came from a proxy, and
// returns the query behind it and who asks. The query is a part of packet.
// Where ok is false, there is no header that can be read: the datagram gets no
// reply, since whom it is from is not known. Datagrams of others stay as they
// are.
func (r *run) unwrap(packet []byte, from netip.AddrPort) (query []byte, client netip.AddrPort, ok bool) {
	if !r.proxied(from.Addr()) {
		return packet, from, true
	}
	client, n, err := parseProxyHeader(packet)
	if err != nil {
		r.trouble("a query over UDP is dropped", err, "from", from)
		return nil, from, false
	}
	if !client.IsValid() {
		client = from
	}
	return packet[n:], client, true
}
