package server

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/netip"
	"strings"
	"sync"
	"syscall"
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
	// inputSize is how many octets of queries one read takes; more than a query
	// may have.
	inputSize = 16 << 10
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
// waits holds no worker and no buffer, but for the part of a query that has
// come, where it is the system's own.
func (r *run) serveConn(ctx context.Context, c net.Conn, peer Peer) {
	defer c.Close()
	r.metrics.connections.Inc()
	defer r.metrics.connections.Dec()

	conn := r.newConnection(c, peer)
	for range r.tcp.MaxQueries {
		if !conn.next(ctx) {
			break
		}
	}
	conn.flush()
	conn.park()
	conn.passes.Wait()
}

// A connection is one connection over TCP or TLS being served by one goroutine.
type connection struct {
	run  *run
	net  net.Conn
	peer Peer
	// receive waits for more octets, puts them behind held into in, and borrows
	// a worker.
	receive func() error
	// worker is borrowed from the arrival of octets until the connection waits
	// again.
	worker  *worker
	pending int       // replies in worker.out
	arrived time.Time // when in came

	// passes are the replies that other resolvers are still asked for. Each is
	// written when it is there, whatever else was asked since (RFC 7766 section
	// 6.2.1.1).
	passes sync.WaitGroup

	in   []byte // octets that are not yet answered, in the worker's memory or held's
	held []byte // of those, what is kept while the connection waits
	skip int    // octets of an overlong message that are yet to come
	// awaited: the deadline of the next query is set.
	awaited bool
}

func (r *run) newConnection(c net.Conn, peer Peer) *connection {
	conn := &connection{run: r, net: c, peer: peer}
	if raw := rawConn(c); raw != nil {
		conn.receive = func() error { return conn.receiveRaw(raw) }
	} else {
		conn.receive = conn.receivePlain
	}
	return conn
}

// next answers one query into the pending replies, and waits for it where it
// has not come. It returns false when the connection is over.
func (c *connection) next(ctx context.Context) bool {
	for !c.whole() {
		if !c.wait(ctx) {
			return false
		}
	}
	size := c.length()
	if size == 0 { // a message of no octets is no DNS (RFC 1035 section 4.2.2)
		return false
	}
	// Of a message longer than any query only the header is looked at: the
	// reply is FORMERR, or what its opcode gets.
	readable := size
	if size > maxQuery {
		readable = headerSize
	}
	w := c.worker
	mark := len(w.out)
	c.peer.Time = uint32(c.arrived.Unix())
	var outcome Outcome
	query := c.in[2 : 2+readable]
	w.out, outcome = w.answer(append(w.out, 0, 0), query, c.peer)
	switch {
	case outcome.PassOn != nil:
		w.out = w.out[:mark]
		w.passOn(query, c.peer, outcome.PassOn, c.arrived, c.returnPath())
	case outcome.Dropped == Answered:
		binary.BigEndian.PutUint16(w.out[mark:], uint16(len(w.out)-mark-2))
		c.pending++
	default:
		w.out = w.out[:mark]
	}
	if outcome.PassOn == nil {
		w.observe(outcome)
		w.sample(c.peer.Transport, 1, c.arrived)
		if w.tap != nil {
			w.seen(c.peer, c.local(), query, w.out[min(mark+2, len(w.out)):], outcome, c.arrived)
		}
	}
	c.pass(2 + size)
	c.awaited = false
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

// whole reports whether the next query has come, or as much of it as is looked
// at.
func (c *connection) whole() bool {
	return len(c.in) >= 2 && len(c.in) >= 2+min(c.length(), maxQuery)
}

// length is the next message's, of which two octets must have come.
func (c *connection) length() int { return int(binary.BigEndian.Uint16(c.in)) }

// pass takes n octets off what has come and will come.
func (c *connection) pass(n int) {
	there := min(n, len(c.in))
	c.in = c.in[there:]
	c.skip = n - there
}

// wait sends the pending replies, since a client that waits for them would else
// wait for ever, and then waits for octets.
func (c *connection) wait(ctx context.Context) bool {
	if !c.flush() {
		return false
	}
	c.park()
	if !c.awaited {
		// The deadline is for writing too: TLS may answer a client while it reads.
		if c.net.SetDeadline(time.Now().Add(c.run.tcp.IdleTimeout)) != nil {
			return false
		}
		c.awaited = true
	}
	// connections.interrupt sets a deadline in the past after ctx has ended: if
	// it came before ours, ctx says so now.
	if ctx.Err() != nil || c.receive() != nil {
		return false
	}
	c.arrived = time.Now()
	c.pass(c.skip)
	return true
}

// park gives the worker back. The replies must have been written.
func (c *connection) park() {
	if cap(c.held) < len(c.in) {
		c.held = make([]byte, len(c.in))
	}
	c.held = c.held[:copy(c.held[:len(c.in)], c.in)]
	c.in = nil
	if c.worker != nil {
		c.run.giveBack(c.worker)
		c.worker = nil
	}
}

// receivePlain reads any connection, into memory that it keeps: 4 KiB.
func (c *connection) receivePlain() error {
	if cap(c.held) < 2+maxQuery {
		c.held = append(make([]byte, 0, 2+maxQuery), c.held...)
	}
	n, err := c.net.Read(c.held[len(c.held):cap(c.held)])
	if n == 0 {
		return cmp.Or(err, io.ErrNoProgress)
	}
	c.in = c.held[:len(c.held)+n]
	c.worker = c.run.borrow()
	return nil
}

// receiveRaw waits until the system has octets, and only then takes memory to
// read them into: the worker's.
func (c *connection) receiveRaw(raw syscall.RawConn) error {
	var failed error
	err := raw.Read(func(fd uintptr) bool {
		w := c.run.borrow()
		if w.in == nil {
			w.in = make([]byte, inputSize)
		}
		held := copy(w.in, c.held)
		n, again, err := readNow(fd, w.in[held:])
		if again || err != nil {
			c.run.giveBack(w)
			failed = err
			return !again
		}
		c.worker, c.in, c.held = w, w.in[:held+n], nil
		return true
	})
	return cmp.Or(err, failed)
}

// flush writes the pending replies. It returns false where the client did not
// take them in time.
func (c *connection) flush() bool {
	w := c.worker
	if w == nil || len(w.out) == 0 {
		return true
	}
	err := c.net.SetWriteDeadline(time.Now().Add(c.run.tcp.WriteTimeout))
	if err == nil {
		_, err = c.net.Write(w.out)
	}
	if err != nil {
		for range c.pending {
			w.observe(Outcome{Transport: c.peer.Transport, Dropped: DropWrite})
		}
	}
	w.out, c.pending = w.out[:0], 0
	return err == nil
}
