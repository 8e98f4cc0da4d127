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

const defaultPort = 53

// A Listen is an address to serve on, over UDP and TCP.
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
func ParseListen(text string) (Listen, error) {
	wrong := func(format string, args ...any) (Listen, error) {
		return Listen{}, fmt.Errorf("--listen %q: %s", text, fmt.Sprintf(format, args...))
	}
	bare := text
	if strings.HasPrefix(text, "[") && strings.HasSuffix(text, "]") {
		bare = text[1 : len(text)-1]
	}
	if addr, err := netip.ParseAddr(bare); err == nil {
		return Listen{Addr: addr.Unmap(), Port: defaultPort}, nil
	}
	if text == "" {
		return wrong("the address is empty; write for example :53 or 127.0.0.1:5353")
	}
	host, port, err := net.SplitHostPort(text)
	if err != nil {
		if !strings.Contains(text, ":") {
			return wrong("it is no IP address; write for example 127.0.0.1:53, or :%s for a port alone", portHint(text))
		}
		return wrong("it is no address with a port; write for example 127.0.0.1:53, [::1]:53 or :53")
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

// portHint returns text where it is a port number, else 53.
func portHint(text string) string {
	if _, err := strconv.ParseUint(text, 10, 16); err == nil {
		return text
	}
	return strconv.Itoa(defaultPort)
}

// sockets are what a Server has bound.
type sockets struct {
	udp   []packetSocket // one a loop
	tcp   []net.Listener
	bound []netip.AddrPort
}

func (s *sockets) close() {
	for _, u := range s.udp {
		u.close()
	}
	for _, l := range s.tcp {
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
// both families takes four of them. A family that the system lacks is left
// out as long as the other is there.
func bindFamilies(ctx context.Context, listen Listen, o openOptions) (*sockets, error) {
	families := []netip.Addr{listen.Addr}
	if !listen.Addr.IsValid() {
		families = []netip.Addr{netip.IPv4Unspecified(), netip.IPv6Unspecified()}
	}
	s := &sockets{}
	var missing error
	port := listen.Port
	for _, addr := range families {
		bound, err := s.bindPair(ctx, netip.AddrPortFrom(addr, port), o)
		if err != nil {
			if len(families) > 1 && lacksFamily(err) {
				missing = err
				continue
			}
			s.close()
			return nil, bindError(listen, err)
		}
		port = bound.Port()
		s.bound = append(s.bound, bound)
	}
	if len(s.bound) == 0 {
		return nil, bindError(listen, missing)
	}
	return s, nil
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

// bindError says in one sentence what is wrong and what mends it. It wraps err.
func bindError(listen Listen, err error) error {
	network := "UDP"
	var op *net.OpError
	if errors.As(err, &op) && strings.HasPrefix(op.Net, "tcp") {
		network = "TCP"
	}
	what := &listenError{cause: err}
	switch {
	case errors.Is(err, syscall.EACCES) && listen.Port != 0 && listen.Port < 1024:
		what.text = "permission denied; ports below 1024 need root or CAP_NET_BIND_SERVICE (or choose another with --listen)"
	case errors.Is(err, syscall.EADDRINUSE):
		what.text = "the address is in use; stop what has it" + resolvedHint(listen) + " or choose another with --listen"
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		what.text = "no interface of this machine has the address; choose another with --listen"
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
