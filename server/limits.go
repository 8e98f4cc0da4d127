package server

import (
	"net"
	"net/netip"
	"sync"
	"time"
)

// connections are the open connections over TCP, TLS and HTTPS, bounded in total and for each
// client address (RFC 9210 section 4.2), so that neither a crowd nor one
// client takes all. Safe for concurrent use.
type connections struct {
	maxTotal, maxClient int

	mu      sync.Mutex
	open    map[net.Conn]guest
	clients map[netip.Addr]int
	closing bool
}

// A guest is who has a connection.
type guest struct {
	client netip.Addr // the zero Addr while it is not known
	// kept: interrupt leaves it to net/http, which ends it in its own way.
	kept bool
}

func newConnections(maxTotal, maxClient int) *connections {
	return &connections{
		maxTotal: maxTotal, maxClient: maxClient,
		open: map[net.Conn]guest{}, clients: map[netip.Addr]int{},
	}
}

// add admits a connection, or says which limit it hit: "total", "client" or
// "stopping". The zero client, of a connection whose PROXY header is to come, is
// bounded by the total alone.
func (c *connections) add(conn net.Conn, client netip.Addr) (refused string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.closing:
		return "stopping"
	case len(c.open) >= c.maxTotal:
		return "total"
	case client.IsValid() && c.clients[client] >= c.maxClient:
		return "client"
	}
	c.open[conn] = guest{client: client}
	c.count(client, 1)
	return ""
}

// name says whose an admitted connection is, in the place of nobody's. It returns
// "client" where that one has too many.
func (c *connections) name(conn net.Conn, client netip.Addr) (refused string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	g, ok := c.open[conn]
	if !ok || g.client.IsValid() {
		return ""
	}
	if client.IsValid() && c.clients[client] >= c.maxClient {
		return "client"
	}
	g.client = client
	c.open[conn] = g
	c.count(client, 1)
	return ""
}

// keep exempts a connection from an interrupt that is still to come.
func (c *connections) keep(conn net.Conn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if g, ok := c.open[conn]; ok {
		g.kept = true
		c.open[conn] = g
	}
}

// count changes the number of a client's connections. c.mu is held.
func (c *connections) count(client netip.Addr, by int) {
	if !client.IsValid() {
		return
	}
	if c.clients[client] += by; c.clients[client] == 0 {
		delete(c.clients, client)
	}
}

func (c *connections) remove(conn net.Conn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	g, ok := c.open[conn]
	if !ok {
		return
	}
	delete(c.open, conn)
	c.count(g.client, -1)
}

// interrupt admits no more connections and wakes those that wait for a query,
// but for those that are kept.
func (c *connections) interrupt() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closing = true
	for conn, g := range c.open {
		if !g.kept {
			_ = conn.SetReadDeadline(time.Unix(1, 0))
		}
	}
}

// cut closes all connections.
func (c *connections) cut() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for conn := range c.open {
		_ = conn.Close()
	}
}
