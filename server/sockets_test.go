package server

import (
	"context"
	"encoding/binary"
	"io"
	"net"
	"net/netip"
	"runtime"
	"testing"
	"time"

	"github.com/clusterzone/clusterzone/zones"
)

// wait bounds every wait in these tests: it only passes when something is wrong.
const wait = 20 * time.Second

type fixedView struct{ snap *zones.Snapshot }

func (v fixedView) Load() *zones.Snapshot { return v.snap }

func viewOf(w *world) View { return fixedView{w.snapshot()} }

// bothLoops runs a test over both kinds of packetSocket, where there are two.
func bothLoops(t *testing.T, test func(t *testing.T, plain bool)) {
	t.Helper()
	t.Run("plain", func(t *testing.T) { test(t, true) })
	if runtime.GOOS == "linux" {
		t.Run("batch", func(t *testing.T) { test(t, false) })
	}
}

// start serves until the test ends, checks that Serve then returns nil, and
// returns the first address.
func start(t testing.TB, server *Server) netip.AddrPort {
	t.Helper()
	addr, stop := startStoppable(t, server)
	t.Cleanup(func() {
		if err := stop(); err != nil {
			t.Errorf("Serve: %v", err)
		}
	})
	return addr
}

// startStoppable is start for tests that stop the server themselves.
func startStoppable(t testing.TB, server *Server) (addr netip.AddrPort, stop func() error) {
	t.Helper()
	if server.Listen == nil {
		server.Listen = []Listen{{Addr: netip.MustParseAddr("127.0.0.1")}}
	}
	if server.View == nil {
		server.View = viewOf(worldOf(t, "zone corp.test\nwww.corp.test 60 A 192.0.2.10"))
	}
	bound := make(chan []netip.AddrPort, 1)
	server.Bound = func(addrs []netip.AddrPort) { bound <- addrs }
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(ctx) }()
	stop = func() error {
		cancel()
		select {
		case err := <-ended:
			return err
		case <-time.After(wait):
			t.Fatal("Serve did not end")
			return nil
		}
	}
	select {
	case addrs := <-bound:
		return addrs[0], stop
	case err := <-ended:
		t.Fatalf("Serve: %v", err)
	}
	return
}

// dial connects, with a deadline on all that follows.
func dial(t testing.TB, network string, addr netip.AddrPort) net.Conn {
	t.Helper()
	conn, err := net.Dial(network, addr.String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(wait)); err != nil {
		t.Fatal(err)
	}
	return conn
}

func send(t testing.TB, conn net.Conn, octets []byte) {
	t.Helper()
	if _, err := conn.Write(octets); err != nil {
		t.Fatal(err)
	}
}

// receive reads one reply over UDP.
func receive(t testing.TB, conn net.Conn) []byte {
	t.Helper()
	buf := make([]byte, maxMessage)
	n, err := conn.Read(buf)
	if err != nil {
		t.Fatal(err)
	}
	return buf[:n]
}

// framed puts the lengths before messages (RFC 1035 section 4.2.2).
func framed(messages ...[]byte) (out []byte) {
	for _, m := range messages {
		out = binary.BigEndian.AppendUint16(out, uint16(len(m)))
		out = append(out, m...)
	}
	return out
}

// receiveFramed reads one reply over TCP.
func receiveFramed(t testing.TB, conn net.Conn) []byte {
	t.Helper()
	reply, err := readFramed(conn)
	if err != nil {
		t.Fatal(err)
	}
	return reply
}

func readFramed(conn io.Reader) ([]byte, error) {
	var length [2]byte
	if _, err := io.ReadFull(conn, length[:]); err != nil {
		return nil, err
	}
	reply := make([]byte, binary.BigEndian.Uint16(length[:]))
	_, err := io.ReadFull(conn, reply)
	return reply, err
}

func wantEnd(t testing.TB, conn net.Conn) {
	t.Helper()
	if n, err := conn.Read(make([]byte, 1)); n != 0 || err == nil || isTimeout(err) {
		t.Errorf("the connection must be closed, but Read gives %d, %v", n, err)
	}
}

func isTimeout(err error) bool {
	timeout, ok := err.(net.Error)
	return ok && timeout.Timeout()
}
