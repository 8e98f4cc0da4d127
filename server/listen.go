package server

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"
	"syscall"
)

// The ports where none is given (RFC 1035, 7858 and 8484).
const (
	defaultPort      = 53
	defaultTLSPort   = 853
	defaultHTTPSPort = 443
)

// A Listen is an address to serve on: over UDP and TCP, over TLS, or over HTTPS.
type Listen struct {
	// Addr is the address; the zero Addr means every address of both families.
	Addr netip.Addr
	// Port is the port; 0 means a free one, the same for UDP and TCP.
	Port uint16
}

// String returns the form that ParseListen reads.
func (l Listen) String() string {
	if !l.Addr.IsValid() {
		return ":" + strconv.Itoa(int(l.Port))
	}
	return netip.AddrPortFrom(l.Addr, l.Port).String()
}

// ParseListen reads the value of --listen: an IP address with a port
// (192.0.2.1:53, [2001:db8::1]:53), a port alone (:53, every address of both
// families), or an address alone (port 53). Names are refused, since a name
// server can't depend on looking itself up. The error is one sentence that
// names the flag's value and what to write.
func ParseListen(text string) (Listen, error) { return parseListen("listen", defaultPort, text) }

// ParseListenTLS is ParseListen for the value of --listen-tls, with port 853.
func ParseListenTLS(text string) (Listen, error) {
	return parseListen("listen-tls", defaultTLSPort, text)
}

// ParseListenHTTPS is ParseListen for the value of --listen-https, with port 443.
func ParseListenHTTPS(text string) (Listen, error) {
	return parseListen("listen-https", defaultHTTPSPort, text)
}

func parseListen(flag string, usual uint16, text string) (Listen, error) {
	wrong := func(format string, args ...any) (Listen, error) {
		return Listen{}, fmt.Errorf("--%s %q: %s", flag, text, fmt.Sprintf(format, args...))
	}
	bare := text
	if strings.HasPrefix(text, "[") && strings.HasSuffix(text, "]") {
		bare = text[1 : len(text)-1]
	}
	if addr, err := netip.ParseAddr(bare); err == nil {
		return Listen{Addr: addr.Unmap(), Port: usual}, nil
	}
	if text == "" {
		return wrong("the address is empty; write for example :%d or 127.0.0.1:5353", usual)
	}
	host, port, err := net.SplitHostPort(text)
	if err != nil {
		if !strings.Contains(text, ":") {
			return wrong("it is no IP address; write for example 127.0.0.1:%d, or :%s for a port alone", usual, portHint(text, usual))
		}
		return wrong("it is no address with a port; write for example 127.0.0.1:%d, [::1]:%[1]d or :%[1]d", usual)
	}
	number, err := strconv.ParseUint(port, 10, 16)
	if err != nil {
		return wrong("the port %q is not a number from 0 to 65535", port)
	}
	if host == "" {
		return Listen{Port: uint16(number)}, nil
	}
	addr, err := netip.ParseAddr(host)
	if err != nil {
		return wrong("%q is no IP address; host names can't be listened on, write for example 127.0.0.1:%s", host, port)
	}
	return Listen{Addr: addr.Unmap(), Port: uint16(number)}, nil
}

// portHint returns text where it is a port number, else the usual one.
func portHint(text string, usual uint16) string {
	if _, err := strconv.ParseUint(text, 10, 16); err == nil {
		return text
	}
	return strconv.Itoa(int(usual))
}

// sockets are what a Server has bound.
type sockets struct {
	udp   []packetSocket // one a loop
	tcp   []net.Listener
	bound []netip.AddrPort

	// encrypted are the listeners and addresses of TLS and HTTPS.
	encrypted []encryptedListener
}

func (s *sockets) close() {
	for _, u := range s.udp {
		u.close()
	}
	s.closeListeners()
}

// closeListeners ends the accepting of connections.
func (s *sockets) closeListeners() {
	for _, l := range s.tcp {
		_ = l.Close()
	}
	for _, l := range s.encrypted {
		_ = l.Close()
	}
}

// openOptions say how addresses are opened.
type openOptions struct {
	readers int  // loops that read each UDP address
	share   bool // ports with other processes
	plain   bool // see udpOptions
}

// bind opens every address, or none.
func bind(ctx context.Context, listens []Listen, o openOptions) (*sockets, error) {
	all := &sockets{}
	for _, listen := range listens {
		one, err := bindOne(ctx, listen, o)
		if err != nil {
			all.close()
			return nil, err
		}
		all.udp = append(all.udp, one.udp...)
		all.tcp = append(all.tcp, one.tcp...)
		all.bound = append(all.bound, one.bound...)
	}
	return all, nil
}

// freePortTries bounds the search for a port that is free for UDP and TCP in
// every family alike.
const freePortTries = 50

func bindOne(ctx context.Context, listen Listen, o openOptions) (*sockets, error) {
	if listen.Port != 0 {
		return bindFamilies(ctx, listen, o)
	}
	var err error
	for range freePortTries {
		var s *sockets
		if s, err = bindFamilies(ctx, listen, o); err == nil || !errors.Is(err, syscall.EADDRINUSE) {
			return s, err
		}
	}
	return nil, err
}

// bindFamilies opens UDP and TCP sockets of one family each: every address of
// both families takes four of them.
func bindFamilies(ctx context.Context, listen Listen, o openOptions) (*sockets, error) {
	s := &sockets{}
	err := eachFamily(listen, "listen", func(addr netip.AddrPort) (netip.AddrPort, error) {
		bound, err := s.bindPair(ctx, addr, o)
		if err == nil {
			s.bound = append(s.bound, bound)
		}
		return bound, err
	})
	if err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

// eachFamily calls open with the address of each family that listen means, on
// one port: the first call's where listen names none. A family that the system
// lacks is left out as long as the other is there.
func eachFamily(listen Listen, flag string, open func(netip.AddrPort) (netip.AddrPort, error)) error {
	families := []netip.Addr{listen.Addr}
	if !listen.Addr.IsValid() {
		families = []netip.Addr{netip.IPv4Unspecified(), netip.IPv6Unspecified()}
	}
	var missing error
	port, opened := listen.Port, 0
	for _, addr := range families {
		bound, err := open(netip.AddrPortFrom(addr, port))
		if err != nil {
			if len(families) > 1 && lacksFamily(err) {
				missing = err
				continue
			}
			return bindError(listen, flag, err)
		}
		port = bound.Port()
		opened++
	}
	if opened == 0 {
		return bindError(listen, flag, missing)
	}
	return nil
}

// bindPair opens one address for UDP and TCP on the same port.
func (s *sockets) bindPair(ctx context.Context, addr netip.AddrPort, o openOptions) (netip.AddrPort, error) {
	udp, bound, err := openUDP(ctx, udpOptions{addr: addr, loops: o.readers, share: o.share, plain: o.plain})
	if err != nil {
		return addr, err
	}
	var config net.ListenConfig
	config.SetMultipathTCP(false) // costs speed, and no resolver asks for it
	if o.share {
		config.Control = sharePort
	}
	listener, err := config.Listen(ctx, "tcp"+family(addr.Addr()), bound.String())
	if err != nil {
		for _, socket := range udp {
			socket.close()
		}
		return addr, err
	}
	s.udp = append(s.udp, udp...)
	s.tcp = append(s.tcp, listener)
	return bound, nil
}

// lacksFamily reports whether err says that the system has no such family.
func lacksFamily(err error) bool {
	return errors.Is(err, syscall.EAFNOSUPPORT) || errors.Is(err, syscall.EADDRNOTAVAIL) ||
		errors.Is(err, syscall.EPROTONOSUPPORT)
}

// bindError says in one sentence what is wrong with the value of a flag, and what
// mends it. It wraps err.
func bindError(listen Listen, flag string, err error) error {
	network := "UDP"
	var op *net.OpError
	if errors.As(err, &op) && strings.HasPrefix(op.Net, "tcp") {
		network = "TCP"
	}
	what := &listenError{cause: err}
	switch {
	case errors.Is(err, syscall.EACCES) && listen.Port != 0 && listen.Port < 1024:
		what.text = "permission denied; ports below 1024 need root or CAP_NET_BIND_SERVICE (or choose another with --" + flag + ")"
	case errors.Is(err, syscall.EADDRINUSE):
		what.text = "the address is in use; stop what has it" + resolvedHint(listen) + " or choose another with --" + flag
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		what.text = "no interface of this machine has the address; choose another with --" + flag
	default:
		what.text = strings.TrimPrefix(err.Error(), "listen ")
	}
	what.text = fmt.Sprintf("can't listen on %s %s: %s", network, listen, what.text)
	return what
}

// resolvedHint names the program that mostly has the port on a desktop.
func resolvedHint(listen Listen) string {
	if listen.Port == defaultPort && (!listen.Addr.IsValid() || listen.Addr.IsUnspecified()) {
		return " (often systemd-resolved, on 127.0.0.53)"
	}
	return ""
}

// A listenError is a sentence for people over the system's error.
type listenError struct {
	text  string
	cause error
}

func (e *listenError) Error() string { return e.text }
func (e *listenError) Unwrap() error { return e.cause }
