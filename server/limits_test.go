package server

import (
	"net"
	"net/netip"
	"testing"
)

// Whoever has gone leaves no trace, however many clients come by.
func TestConnectionsForget(t *testing.T) {
	t.Parallel()
	c := newConnections(10, 2)
	for i := range 100 {
		client := netip.AddrFrom4([4]byte{10, 0, 0, byte(i)})
		a, b := net.Pipe()
		if refused := c.add(a, client); refused != "" {
			t.Fatalf("client %d: %s", i, refused)
		}
		c.remove(a)
		c.remove(a) // once more changes nothing
		a.Close()
		b.Close()
	}
	if len(c.open) != 0 || len(c.clients) != 0 {
		t.Errorf("%d connections and %d clients remembered", len(c.open), len(c.clients))
	}
}

// A connection whose client is not known yet counts in the total alone, and for
// the client from when it has a name.
func TestConnectionsNamedLater(t *testing.T) {
	t.Parallel()
	c := newConnections(4, 1)
	client := netip.MustParseAddr("203.0.113.9")
	var conns [4]net.Conn
	for i := range conns {
		a, b := net.Pipe()
		conns[i] = a
		t.Cleanup(func() { a.Close(); b.Close() })
		if refused := c.add(a, netip.Addr{}); refused != "" {
			t.Fatalf("connection %d: %s", i, refused)
		}
	}
	for i, want := range []string{"", "client"} {
		if got := c.name(conns[i], client); got != want {
			t.Errorf("connection %d of the client: %q, want %q", i, got, want)
		}
	}
	if got := c.name(conns[2], netip.Addr{}); got != "" {
		t.Errorf("nobody's connection: %q", got)
	}
	c.keep(conns[3])
	c.interrupt()
	for _, conn := range conns {
		c.remove(conn)
	}
	if got := c.name(conns[0], client); got != "" || len(c.clients) != 0 || len(c.open) != 0 {
		t.Errorf("what is gone is remembered: %q, %v, %v", got, c.clients, c.open)
	}
}
