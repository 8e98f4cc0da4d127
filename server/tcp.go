package server

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"net"
	"net/netip"
	"strings"
	"sync"
	"time"
)

// TCPOptions bound connections over TCP and TLS, and but for MaxQueries those over
// HTTPS: all count together. Zero values stand for the defaults.
type TCPOptions struct {
	// IdleTimeout is how long a connection may take to bring its next whole
	// query, counted from its last reply; 10 s (RFC 7766 section 6.2.3). A PROXY
	// header and a handshake have the same time, both together.
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
func (r *run) accept(ctx context.Context, listener net.Listener, to *gate) error {
	for {
		c, err := listener.Accept()
		if err != nil {
			switch {
			case ctx.Err() != nil:
				return nil
			case errors.Is(err, net.ErrClosed):
				return err
			}
			r.trouble("accepting a connection over "+strings.ToUpper(to.transport.String())+" failed", err)
			pause(ctx, acceptPause)
			continue
		}
		peer := netip.AddrPort{}
		if tcp, ok := c.RemoteAddr().(*net.TCPAddr); ok {
			peer = tcp.AddrPort()
		}
		client := peer.Addr()
		if r.proxied(client) {
			client = netip.Addr{}
		}
		if refused := r.conns.add(c, client); refused != "" {
			r.metrics.refused.WithLabelValues(refused).Inc()
			_ = c.Close()
			continue
		}
		r.open.Go(func() { to.enter(ctx, c, peer) })
	}
}

// serveConn answers the queries of one connection in their order, until the
// client is done or too slow, or ctx ends. It closes c.
//
// Replies to queries that came together leave together. A connection that
// waits holds its read buffer and nothing else.
func (r *run) serveConn(ctx context.Context, c net.Conn, peer Peer) {
	defer c.Close()
	r.metrics.connections.Inc()
	defer r.metrics.connections.Dec()

	conn := &connection{run: r, net: c, in: bufio.NewReaderSize(c, 2+maxQuery), peer: peer}
	for range r.tcp.MaxQueries {
		if !conn.next(ctx) {
			break
		}
	}
	conn.flush()
	conn.passes.Wait()
}

// A connection is one connection over TCP or TLS being served by one goroutine.
type connection struct {
	run  *run
	net  net.Conn
	in   *bufio.Reader
	peer Peer
	// worker and its out buffer are borrowed from the first query of a batch
	// to the flush of its replies.
	worker  *worker
	pending int // replies in worker.out
	// passes are the replies that other resolvers are still asked for. Each is
	// written when it is there, whatever else was asked since (RFC 7766 section
	// 6.2.1.1).
	passes sync.WaitGroup
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
	switch {
	case outcome.PassOn != nil:
		w.out = w.out[:mark]
		w.passOn(frame[2:], c.peer, outcome.PassOn, start, c.returnPath())
	case outcome.Dropped == Answered:
		binary.BigEndian.PutUint16(w.out[mark:], uint16(len(w.out)-mark-2))
		c.pending++
	default:
		w.out = w.out[:mark]
	}
	if outcome.PassOn == nil {
		w.observe(outcome, time.Since(start))
		if w.tap != nil {
			w.seen(c.peer, c.local(), frame[2:], w.out[min(mark+2, len(w.out)):], outcome, start)
		}
	}
	if _, err := c.in.Discard(2 + size); err != nil {
		return false
	}
	return len(w.out) < flushAt || c.flush()
}

// returnPath is the way back for a reply that is made beside this goroutine.
func (c *connection) returnPath() returnPath {
	c.passes.Add(1)
	return returnPath{
		local: c.local,
		send: func(framed []byte) error {
			err := c.net.SetWriteDeadline(time.Now().Add(c.run.tcp.WriteTimeout))
			if err == nil {
				_, err = c.net.Write(framed) // whole, beside other writers
			}
			return err
		},
		done: c.passes.Done,
	}
}

// local is the address of this end; the zero one where it is none of TCP's.
func (c *connection) local() netip.AddrPort {
	if tcp, ok := c.net.LocalAddr().(*net.TCPAddr); ok {
		return tcp.AddrPort()
	}
	return netip.AddrPort{}
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
	// The deadline is for writing too: TLS may answer a client while it reads.
	if c.net.SetDeadline(time.Now().Add(c.run.tcp.IdleTimeout)) != nil {
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
			w.metrics.drop(c.peer.Transport, DropWrite)
		}
	}
	return err == nil
}
