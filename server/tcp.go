package server

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"net"
	"net/netip"
	"time"
)

// TCPOptions bound TCP connections. Zero values stand for the defaults.
type TCPOptions struct {
	// IdleTimeout is how long a connection may take to bring its next whole
	// query, counted from its last reply; 10 s (RFC 7766 section 6.2.3).
	IdleTimeout time.Duration
	// WriteTimeout is how long a client may take to accept replies; 5 s.
	WriteTimeout time.Duration
	// MaxConnections bounds all open connections; 1000.
	MaxConnections int
	// MaxPerClient bounds the open connections of one address; 200, since a
	// whole cluster's resolver may come from one.
	MaxPerClient int
	// MaxQueries bounds the queries of one connection, after which it is
	// closed; 100 000.
	MaxQueries int
}

func (o TCPOptions) withDefaults() TCPOptions {
	fill(&o.IdleTimeout, 10*time.Second)
	fill(&o.WriteTimeout, 5*time.Second)
	fill(&o.MaxConnections, 1000)
	fill(&o.MaxPerClient, 200)
	fill(&o.MaxQueries, 100_000)
	return o
}

func fill[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

const (
	// flushAt is how many octets of replies gather before they are written,
	// while more queries wait in the read buffer.
	flushAt = 16 << 10
	// acceptPause is the pause after a failed accept (no more descriptors).
	acceptPause = 20 * time.Millisecond
)

// accept admits connections until ctx ends and the listener is closed.
func (r *run) accept(ctx context.Context, listener net.Listener) error {
	for {
		c, err := listener.Accept()
		if err != nil {
			switch {
			case ctx.Err() != nil:
				return nil
			case errors.Is(err, net.ErrClosed):
				return err
			}
			r.trouble("accepting a TCP connection failed", err)
			pause(ctx, acceptPause)
			continue
		}
		peer := netip.AddrPort{}
		if tcp, ok := c.RemoteAddr().(*net.TCPAddr); ok {
			peer = tcp.AddrPort()
		}
		if refused := r.conns.add(c, peer.Addr()); refused != "" {
			r.metrics.refused.WithLabelValues(refused).Inc()
			_ = c.Close()
			continue
		}
		r.open.Go(func() {
			defer r.conns.remove(c)
			r.serveConn(ctx, c, peer)
		})
	}
}

// serveConn answers the queries of one connection in their order, until the
// client is done or too slow, or ctx ends. It closes c.
//
// Replies to queries that came together leave together. A connection that
// waits holds its read buffer and nothing else.
func (r *run) serveConn(ctx context.Context, c net.Conn, peer netip.AddrPort) {
	defer c.Close()
	r.metrics.connections.Inc()
	defer r.metrics.connections.Dec()

	conn := &connection{run: r, net: c, in: bufio.NewReaderSize(c, 2+maxQuery), peer: Peer{Addr: peer, Transport: TCP}}
	for range r.tcp.MaxQueries {
		if !conn.next(ctx) {
			break
		}
	}
	conn.flush()
}

// A connection is one TCP connection being served by one goroutine.
type connection struct {
	run  *run
	net  net.Conn
	in   *bufio.Reader
	peer Peer
	// worker and its out buffer are borrowed from the first query of a batch
	// to the flush of its replies.
	worker  *worker
	pending int // replies in worker.out
}

// next reads one query and answers it into the pending replies. It returns
// false when the connection is over.
func (c *connection) next(ctx context.Context) bool {
	size, ok := c.wait(ctx)
	if !ok || size == 0 { // a message of no octets is no DNS (RFC 1035 section 4.2.2)
		return false
	}
	// Of a message longer than the buffer only the header is looked at: the
	// reply is FORMERR, or what its opcode gets.
	readable := size
	if size > maxQuery {
		readable = headerSize
	}
	frame, err := c.in.Peek(2 + readable)
	if err != nil {
		return false
	}
	start := time.Now()
	if c.worker == nil {
		c.worker = c.run.borrow()
	}
	w := c.worker
	mark := len(w.out)
	c.peer.Time = uint32(start.Unix())
	var outcome Outcome
	w.out, outcome = w.answer(append(w.out, 0, 0), frame[2:], c.peer)
	if w.responder.transfer.edition != nil {
		if !c.stream(ctx, frame[2:], mark, outcome, start) {
			return false
		}
		_, err := c.in.Discard(2 + size)
		return err == nil
	}
	if outcome.Dropped == Answered {
		binary.BigEndian.PutUint16(w.out[mark:], uint16(len(w.out)-mark-2))
		c.pending++
	} else {
		w.out = w.out[:mark]
	}
	w.observe(outcome, time.Since(start))
	if _, err := c.in.Discard(2 + size); err != nil {
		return false
	}
	return len(w.out) < flushAt || c.flush()
}

// wait returns the length of the next query once all of it is there (or as much
// as the buffer holds). Before it blocks, it sends the pending replies; a
// client that waits for them would else wait for ever.
func (c *connection) wait(ctx context.Context) (size int, ok bool) {
	if c.whole() {
		return c.length(), true
	}
	if !c.flush() {
		return 0, false
	}
	if c.net.SetReadDeadline(time.Now().Add(c.run.tcp.IdleTimeout)) != nil {
		return 0, false
	}
	// connections.interrupt sets a deadline in the past after ctx has ended: if
	// it came before ours, ctx says so now.
	if ctx.Err() != nil {
		return 0, false
	}
	if _, err := c.in.Peek(2); err != nil {
		return 0, false
	}
	size = c.length()
	if size == 0 {
		return 0, true
	}
	_, err := c.in.Peek(2 + min(size, maxQuery))
	return size, err == nil
}

// whole reports whether the next query stands in the read buffer.
func (c *connection) whole() bool {
	return c.in.Buffered() >= 2 && c.in.Buffered() >= 2+c.length()
}

// length is the next message's, which must be in the buffer.
func (c *connection) length() int {
	prefix, _ := c.in.Peek(2)
	return int(binary.BigEndian.Uint16(prefix))
}

// flush writes the pending replies and gives the worker back. It returns false
// where the client did not take them in time.
func (c *connection) flush() bool {
	w := c.worker
	if w == nil {
		return true
	}
	defer func() {
		c.run.giveBack(w)
		c.worker, c.pending = nil, 0
	}()
	if len(w.out) == 0 {
		return true
	}
	err := c.net.SetWriteDeadline(time.Now().Add(c.run.tcp.WriteTimeout))
	if err == nil {
		_, err = c.net.Write(w.out)
	}
	if err != nil {
		for range c.pending {
			w.metrics.drop(TCP, DropWrite)
		}
	}
	return err == nil
}
