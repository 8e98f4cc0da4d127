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
