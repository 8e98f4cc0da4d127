package server

import (
	"net"
	"net/netip"
	"sync"
	"time"
)

// connections are the open TCP connections, bounded in total and for each
// client address (RFC 9210 section 4.2), so that neither a crowd nor one
// client takes all. Safe for concurrent use.
type connections struct {
	maxTotal, maxClient int

	mu      sync.Mutex
	open    map[net.Conn]netip.Addr
	clients map[netip.Addr]int
	closing bool
}

func newConnections(maxTotal, maxClient int) *connections {
	return &connections{
		maxTotal: maxTotal, maxClient: maxClient,
		open: map[net.Conn]netip.Addr{}, clients: map[netip.Addr]int{},
	}
}

// add admits a connection, or says which limit it hit: "total", "client" or
// "stopping".
func (c *connections) add(conn net.Conn, client netip.Addr) (refused string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.closing:
		return "stopping"
	case len(c.open) >= c.maxTotal:
		return "total"
	case c.clients[client] >= c.maxClient:
		return "client"
	}
	c.open[conn] = client
	c.clients[client]++
	return ""
}

func (c *connections) remove(conn net.Conn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	client, ok := c.open[conn]
	if !ok {
		return
	}
	delete(c.open, conn)
	if c.clients[client]--; c.clients[client] == 0 {
		delete(c.clients, client)
	}
}

// interrupt admits no more connections and wakes those that wait for a query.
func (c *connections) interrupt() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closing = true
	for conn := range c.open {
		_ = conn.SetReadDeadline(time.Unix(1, 0))
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
