package server

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"os"
	"strings"
	"syscall"
	"testing"
)

func TestParseListen(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		":53":               ":53",
		":0":                ":0",
		"127.0.0.1:5353":    "127.0.0.1:5353",
		"[::1]:5353":        "[::1]:5353",
		"[fe80::1%eth0]:53": "[fe80::1%eth0]:53",
		"0.0.0.0:53":        "0.0.0.0:53",
		"[::]:53":           "[::]:53",
		"192.0.2.1":         "192.0.2.1:53",
		"2001:db8::1":       "[2001:db8::1]:53",
		"[2001:db8::1]":     "[2001:db8::1]:53",
	} {
		got, err := ParseListen(text)
		if err != nil || got.String() != want {
			t.Errorf("ParseListen(%q) = %v, %v; want %s", text, got, err, want)
		}
	}
	for text, want := range map[string]string{
		":99999":       `--listen ":99999": the port "99999" is not a number from 0 to 65535`,
		":dns":         `--listen ":dns": the port "dns" is not a number from 0 to 65535`,
		"":             `--listen "": the address is empty; write for example :53 or 127.0.0.1:5353`,
		"53":           `--listen "53": it is no IP address; write for example 127.0.0.1:53, or :53 for a port alone`,
		"5353":         `--listen "5353": it is no IP address; write for example 127.0.0.1:53, or :5353 for a port alone`,
		"localhost:53": `--listen "localhost:53": "localhost" is no IP address; host names can't be listened on, write for example 127.0.0.1:53`,
		"::1:x:53:y":   `--listen "::1:x:53:y": it is no address with a port; write for example 127.0.0.1:53, [::1]:53 or :53`,
	} {
		_, err := ParseListen(text)
		if err == nil || err.Error() != want {
			t.Errorf("ParseListen(%q) gives\n%v\nwant\n%s", text, err, want)
		}
	}
}

func TestBindErrors(t *testing.T) {
	t.Parallel()
	wrap := func(network string, number syscall.Errno) error {
		return &net.OpError{Op: "listen", Net: network, Err: os.NewSyscallError("bind", number)}
	}
	for _, test := range []struct {
		listen Listen
		err    error
		want   string
	}{
		{Listen{Port: 53}, wrap("udp4", syscall.EACCES), "can't listen on UDP :53: permission denied; ports below 1024 need root or CAP_NET_BIND_SERVICE (or choose another with --listen)"},
		{Listen{Port: 53}, wrap("tcp4", syscall.EADDRINUSE), "can't listen on TCP :53: the address is in use; stop what has it (often systemd-resolved, on 127.0.0.53) or choose another with --listen"},
		{Listen{netip.MustParseAddr("127.0.0.1"), 5353}, wrap("udp4", syscall.EADDRINUSE), "can't listen on UDP 127.0.0.1:5353: the address is in use; stop what has it or choose another with --listen"},
		{Listen{netip.MustParseAddr("192.0.2.9"), 53}, wrap("udp4", syscall.EADDRNOTAVAIL), "can't listen on UDP 192.0.2.9:53: no interface of this machine has the address; choose another with --listen"},
	} {
		err := bindError(test.listen, "listen", test.err)
		if err.Error() != test.want || !errors.Is(err, test.err) {
			t.Errorf("got\n%v\nwant\n%s", err, test.want)
		}
	}
}

// An address that is taken fails the whole start, and leaves nothing open.
func TestBindTaken(t *testing.T) {
	t.Parallel()
	bothLoops(t, func(t *testing.T, plain bool) {
		taken, err := net.ListenPacket("udp4", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer taken.Close()
		addr := taken.LocalAddr().(*net.UDPAddr).AddrPort()

		free := Listen{Addr: netip.MustParseAddr("127.0.0.1")}
		server := &Server{plain: plain, View: viewOf(newWorld()), Listen: []Listen{free, {addr.Addr(), addr.Port()}}}
		err = server.Serve(context.Background())
		if err == nil || !strings.Contains(err.Error(), "can't listen on UDP "+addr.String()+": the address is in use") {
			t.Errorf("Serve gives %v", err)
		}
		if !errors.Is(err, syscall.EADDRINUSE) {
			t.Errorf("the error does not wrap the system's: %v", err)
		}
	})
}

func TestServeWithoutListen(t *testing.T) {
	t.Parallel()
	if err := (&Server{View: viewOf(newWorld())}).Serve(context.Background()); err == nil {
		t.Error("a server without addresses must not start")
	}
}
