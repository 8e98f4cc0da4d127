package server

import (
	"bytes"
	"encoding/binary"
	"errors"
	"log/slog"
	"net"
	"net/netip"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
)

// proxyHeader is a header of version 2 with addresses and extensions.
func proxyHeader(command, family byte, rest ...[]byte) []byte {
	body := bytes.Join(rest, nil)
	header := append([]byte(proxySignature), 0x20|command, family)
	header = binary.BigEndian.AppendUint16(header, uint16(len(body)))
	return append(header, body...)
}

// proxyFrom is the header of a client, to some address of a server.
func proxyFrom(client string, transport byte, tlvs ...byte) []byte {
	addr := netip.MustParseAddrPort(client)
	family := byte(0x20)
	if addr.Addr().Is4() {
		family = 0x10
	}
	octets := addr.Addr().AsSlice()
	ports := binary.BigEndian.AppendUint16(nil, addr.Port())
	return proxyHeader(1, family|transport, octets, octets, ports, []byte{0, 53}, tlvs)
}

func TestParseProxyHeader(t *testing.T) {
	t.Parallel()
	tlvs := []byte{0x04, 0, 2, 'x', 'y', 0x30, 0, 0}
	good := proxyFrom("192.0.2.7:4711", 1)
	for name, test := range map[string]struct {
		octets []byte
		want   string
		err    error
	}{
		"IPv4":               {good, "192.0.2.7:4711", nil},
		"IPv4 with TLVs":     {proxyFrom("192.0.2.7:4711", 2, tlvs...), "192.0.2.7:4711", nil},
		"IPv6":               {proxyFrom("[2001:db8::7]:4711", 2), "[2001:db8::7]:4711", nil},
		"mapped":             {proxyFrom("[::ffff:192.0.2.7]:4711", 2), "192.0.2.7:4711", nil},
		"local":              {proxyHeader(0, 0), "invalid AddrPort", nil},
		"local with rest":    {proxyHeader(0, 0xff, tlvs), "invalid AddrPort", nil},
		"unspecified":        {proxyHeader(1, 0, tlvs), "invalid AddrPort", nil},
		"longest":            {proxyHeader(0, 0, make([]byte, maxProxy-proxyFixed)), "invalid AddrPort", nil},
		"too long":           {proxyHeader(0, 0, make([]byte, maxProxy-proxyFixed+1)), "", errProxyLong},
		"empty":              {nil, "", errProxyNone},
		"DNS":                {[]byte("\x12\x34\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\x00\x01\x00\x01"), "", errProxyNone},
		"version 1":          {[]byte("PROXY TCP4 192.0.2.7 192.0.2.53 4711 53\r\n"), "", errProxyOld},
		"version 3":          {append([]byte(proxySignature), 0x31, 0x11, 0, 0), "", errProxyVersion},
		"command":            {proxyHeader(2, 0x11, make([]byte, 12)), "", errProxyCommand},
		"unix":               {proxyHeader(1, 0x31, make([]byte, 216)), "", errProxyFamily},
		"transport":          {proxyHeader(1, 0x13, make([]byte, 12)), "", errProxyFamily},
		"short IPv4":         {proxyHeader(1, 0x11, make([]byte, 11)), "", errProxyShort},
		"short IPv6":         {proxyHeader(1, 0x21, make([]byte, 35)), "", errProxyShort},
		"signature alone":    {[]byte(proxySignature), "", errProxyShort},
		"cut in the length":  {good[:15], "", errProxyShort},
		"cut in the address": {good[:20], "", errProxyShort},
	} {
		behind := append(bytes.Clone(test.octets), "query"...)
		if errors.Is(test.err, errProxyShort) || errors.Is(test.err, errProxyNone) {
			behind = test.octets
		}
		src, n, err := parseProxyHeader(behind)
		if !errors.Is(err, test.err) {
			t.Errorf("%s: %v, want %v", name, err, test.err)
			continue
		}
		if err == nil && (src.String() != test.want || n != len(test.octets)) {
			t.Errorf("%s: %v in %d octets, want %s in %d", name, src, n, test.want, len(test.octets))
		}
	}
}

// FuzzProxyHeader: any octets give a header that lies within them, and the same
// from a connection, which then goes on behind it.
func FuzzProxyHeader(f *testing.F) {
	f.Add(proxyFrom("192.0.2.7:4711", 1, 4, 0, 1, 'x'))
	f.Add(proxyFrom("[2001:db8::7]:4711", 2))
	f.Add(proxyHeader(0, 0))
	f.Add([]byte("PROXY UNKNOWN\r\n"))
	f.Fuzz(func(t *testing.T, octets []byte) {
		src, n, err := parseProxyHeader(octets)
		if err != nil && (n != 0 || src.IsValid()) || err == nil && (n < proxyFixed || n > len(octets) || n > maxProxy) {
			t.Fatalf("%v in %d of %d octets, %v", src, n, len(octets), err)
		}
		conn := &readerConn{Reader: bytes.NewReader(octets)}
		streamed, streamErr := readProxyHeader(conn)
		if (err == nil) != (streamErr == nil) || streamed != src {
			t.Fatalf("of a connection %v, %v; at once %v, %v", streamed, streamErr, src, err)
		}
		if err == nil && conn.Len() != len(octets)-n {
			t.Fatalf("%d octets are left, want %d", conn.Len(), len(octets)-n)
		}
	})
}

// A readerConn is a connection that can be read.
type readerConn struct {
	net.Conn
	*bytes.Reader
}

func (c *readerConn) Read(p []byte) (int, error) { return c.Reader.Read(p) }

// What comes from a proxy counts as the client's, over every transport; what has
// no header, or a bad one, gets no reply and is counted.
func TestProxied(t *testing.T) {
	t.Parallel()
	registry := prometheus.NewRegistry()
	var logged lockedBuffer
	at := startEncrypted(t, &Server{
		Metrics:   NewMetrics(registry),
		Log:       slog.New(slog.NewTextHandler(&logged, nil)),
		ProxyFrom: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")},
		Options:   Options{AllowQuery: []netip.Prefix{netip.MustParsePrefix("203.0.113.0/24"), netip.MustParsePrefix("127.0.0.0/8")}},
	})
	query, _ := askFor(t, "www.corp.test A")
	friend, stranger := proxyFrom("203.0.113.9:4711", 1, 4, 0, 1, 'x'), proxyFrom("[2001:db8::9]:4711", 1)
	local := proxyHeader(0, 0)
	ask := map[string]func(header []byte) string{
		"udp": func(header []byte) string {
			conn := dial(t, "udp", at.plain)
			send(t, conn, append(bytes.Clone(header), query...))
			return describe(receive(t, conn), UDP)
		},
		"tcp": func(header []byte) string {
			conn := dial(t, "tcp", at.plain)
			for _, octet := range header { // in pieces
				send(t, conn, []byte{octet})
			}
			send(t, conn, framed(query))
			return describe(receiveFramed(t, conn), UDP)
		},
		"tls": func(header []byte) string {
			conn := dial(t, "tcp", at.tls)
			send(t, conn, header)
			secured := at.secure(t, conn, "dot")
			send(t, secured, framed(query))
			return describe(receiveFramed(t, secured), UDP)
		},
		"https": func(header []byte) string {
			return describe(at.post(t, header, query), UDP)
		},
	}
	for transport, ask := range ask {
		for header, want := range map[string]string{string(friend): "NOERROR", string(local): "NOERROR", string(stranger): "REFUSED"} {
			if got := ask([]byte(header)); !strings.HasPrefix(got, want) {
				t.Errorf("over %s with the header %x: %s, want %s", transport, header, got, want)
			}
		}
	}

	// Silence shows by the next reply, which is the only one.
	udp := dial(t, "udp", at.plain)
	marked, _ := askFor(t, "www.corp.test A id=77")
	for _, bad := range [][]byte{query, append([]byte("PROXY UNKNOWN\r\n"), query...), friend[:20], append(bytes.Clone(friend), marked...)} {
		send(t, udp, bad)
	}
	if reply := receive(t, udp); !bytes.Equal(reply[:2], marked[:2]) {
		t.Errorf("a reply to %x", reply[:2])
	}
	for _, bad := range [][]byte{framed(query), []byte("PROXY TCP4 192.0.2.7 192.0.2.53 4711 53\r\n")} {
		for _, addr := range []netip.AddrPort{at.plain, at.tls, at.https} {
			conn := dial(t, "tcp", addr)
			send(t, conn, bad)
			wantEnd(t, conn)
		}
	}
	// Who only looks whether the ports are open is no fault.
	for _, addr := range []netip.AddrPort{at.plain, at.tls, at.https} {
		conn := dial(t, "tcp", addr)
		if err := conn.(*net.TCPConn).CloseWrite(); err != nil {
			t.Fatal(err)
		}
		wantEnd(t, conn)
	}
	if got := metric(t, registry, "clusterzone_dns_dropped_total"); got != 3+2*3 {
		t.Errorf("%v counted as dropped, want 9", got)
	}
	if !strings.Contains(logged.String(), "PROXY header") {
		t.Errorf("nothing is logged: %s", logged.String())
	}
}

// Who is no proxy can't name another client: the header is no DNS message.
func TestProxyHeaderOfOthers(t *testing.T) {
	t.Parallel()
	addr := start(t, &Server{
		ProxyFrom: []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")},
		Options:   Options{AllowQuery: []netip.Prefix{netip.MustParsePrefix("203.0.113.0/24")}},
	})
	query, _ := askFor(t, "www.corp.test A")
	udp := dial(t, "udp", addr)
	send(t, udp, append(proxyFrom("203.0.113.9:4711", 2), query...))
	if reply := receive(t, udp); reply[3]&0xf != byte(NotImp) {
		t.Errorf("reply: %x", reply)
	}
	send(t, udp, query)
	if got := describe(receive(t, udp), UDP); !strings.HasPrefix(got, "REFUSED") {
		t.Errorf("without a header: %s", got)
	}
}

// The limit on connections is one for each client behind a proxy, not for the
// proxy.
func TestProxiedClientsAreLimited(t *testing.T) {
	t.Parallel()
	addr := start(t, &Server{
		ProxyFrom: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")},
		TCP:       TCPOptions{MaxPerClient: 1},
	})
	query, _ := askFor(t, "www.corp.test A")
	open := func(client string) net.Conn {
		conn := dial(t, "tcp", addr)
		send(t, conn, append(proxyFrom(client, 1), framed(query)...))
		return conn
	}
	receiveFramed(t, open("203.0.113.9:1"))
	receiveFramed(t, open("203.0.113.10:1"))
	wantEnd(t, open("203.0.113.9:2"))
}
