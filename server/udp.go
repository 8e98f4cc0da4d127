package server

import (
	"bytes"
	"context"
	"errors"
	"net"
	"net/netip"
	"time"
)

const (
	// maxQuery is the longest query that is read whole. No honest one comes
	// near; a longer one is cut, and so gets FORMERR.
	maxQuery = 4096
	// udpReadBuffer asks the system to hold this many octets of queries while
	// all readers are busy; it grants what its limits allow.
	udpReadBuffer = 1 << 20
	// readPause is the pause after a failed read, so that a socket in trouble
	// does not cost a whole core.
	readPause = 20 * time.Millisecond
)

// A udpSocket is a bound UDP socket. Its readers share it.
type udpSocket struct {
	conn *net.UDPConn
	// control says that replies need the address that was asked, given with
	// each packet: on a socket bound to no single address, the system would
	// choose one by its routes, and the client would drop the reply.
	control bool
	// bound is the socket's own address.
	bound netip.AddrPort
}

func newUDPSocket(conn *net.UDPConn, addr netip.Addr) (*udpSocket, error) {
	_ = conn.SetReadBuffer(udpReadBuffer) // best effort: smaller works too
	u := &udpSocket{conn: conn, bound: conn.LocalAddr().(*net.UDPAddr).AddrPort()}
	if !addr.IsUnspecified() {
		return u, nil
	}
	control, err := askForDestination(conn, addr.Is4())
	u.control = control
	return u, err
}

// serve reads queries and answers each before it reads the next, until ctx
// ends and a deadline in the past wakes it. Memory is bounded by the number of
// readers, not by the number of packets.
func (u *udpSocket) serve(ctx context.Context, w *worker) error {
	buf := make([]byte, maxQuery)
	out := make([]byte, 0, w.responder.maxUDP())
	var control []byte
	if u.control {
		control = make([]byte, controlSize)
	}
	for {
		n, controlled, _, addr, err := u.conn.ReadMsgUDPAddrPort(buf, control)
		if err != nil {
			switch {
			case ctx.Err() != nil:
				return nil
			case errors.Is(err, net.ErrClosed):
				return err
			}
			w.trouble("reading a query over UDP failed", err)
			pause(ctx, readPause)
			continue
		}
		start := time.Now()
		query, client, ok := w.unwrap(buf[:n], addr)
		if !ok {
			w.observe(Outcome{Transport: UDP, Dropped: DropProxy}, 0)
			continue
		}
		peer := Peer{Addr: client, Transport: UDP, Time: uint32(start.Unix())}
		var outcome Outcome
		out, outcome = w.answer(out[:0], query, peer)
		if outcome.PassOn != nil {
			w.passOn(query, peer, outcome.PassOn, start, u.returnPath(addr, control[:controlled]))
			continue
		}
		if w.limiter != nil {
			out, outcome = w.limit(out, query, peer, outcome, start)
		}
		if outcome.Dropped == Answered {
			_, _, err := u.conn.WriteMsgUDPAddrPort(out, replyControl(control[:controlled]), addr)
			if err != nil {
				// The peer's address can't be reached, or was forged.
				outcome = Outcome{Transport: UDP, Dropped: DropWrite}
			}
		}
		w.observe(outcome, time.Since(start))
		if w.tap != nil {
			w.seen(peer, u.local(control[:controlled]), query, out, outcome, start)
		}
	}
}

// returnPath is the way back to a client for a reply that is made beside the
// loop. control came with the query.
func (u *udpSocket) returnPath(addr netip.AddrPort, control []byte) returnPath {
	control = bytes.Clone(replyControl(control))
	return returnPath{
		local: func() netip.AddrPort { return u.local(control) },
		send: func(framed []byte) error {
			_, _, err := u.conn.WriteMsgUDPAddrPort(framed[2:], control, addr)
			return err
		},
		done: func() {},
	}
}

// local is the address that a query was sent to; control came with it, or goes
// with its reply.
func (u *udpSocket) local(control []byte) netip.AddrPort {
	addr := u.bound.Addr()
	if u.control {
		addr = destination(control, addr)
	}
	return netip.AddrPortFrom(addr, u.bound.Port())
}

// pause waits for d or for the end of ctx.
func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}
