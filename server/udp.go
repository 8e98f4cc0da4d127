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

// A packetSocket is a bound UDP socket as one loop uses it. There are two
// kinds: batchSocket, on Linux, and plainSocket, everywhere. Which one it is,
// openUDP decides, and nothing else depends on it: both hand every datagram to
// worker.handle.
type packetSocket interface {
	// serve reads queries and answers them with w, which is the loop's own,
	// until ctx ends and wake is called. It returns nil then, or the error of a
	// socket that has failed for good. Memory is bounded by the number of
	// loops, not by the number of packets.
	serve(ctx context.Context, w *worker) error
	// wake makes serve see that ctx has ended. What the system has queued is
	// answered by a batchSocket.
	wake()
	// sendLater sends one reply outside of the loop, to where a query came from;
	// control is a copy of what replyControl made of the query's, or nil. Safe
	// for concurrent use, with close too: it then fails.
	sendLater(reply []byte, to netip.AddrPort, control []byte) error
	// close frees the socket. The loop must have ended.
	close()
}

// handle answers one datagram: this is all that happens between its arrival
// and its reply, in either loop. The reply is appended to dst; it is to be sent
// where Outcome.Dropped is Answered and PassOn is nil.
func (w *worker) handle(dst, query []byte, peer Peer, at time.Time) ([]byte, Outcome) {
	reply, outcome := w.answer(dst, query, peer)
	if w.limiter != nil && outcome.PassOn == nil {
		reply, outcome = w.limit(reply, query, peer, outcome, at)
	}
	return reply, outcome
}

// A plainSocket is a UDP socket of package net, read by several loops, each a
// query at a time.
type plainSocket struct {
	conn *net.UDPConn
	// control says that replies need the address that was asked, given with
	// each packet: on a socket bound to no single address, the system would
	// choose one by its routes, and the client would drop the reply.
	control bool
	// bound is the socket's own address.
	bound netip.AddrPort
}

// newPlainSocket takes conn over, which is bound to addr, also where it fails.
func newPlainSocket(conn *net.UDPConn, addr netip.Addr) (*plainSocket, error) {
	_ = conn.SetReadBuffer(udpReadBuffer) // best effort: smaller works too
	u := &plainSocket{conn: conn, bound: conn.LocalAddr().(*net.UDPAddr).AddrPort()}
	if !addr.IsUnspecified() {
		return u, nil
	}
	control, err := askForDestination(conn, addr.Is4())
	if err != nil {
		_ = conn.Close()
		return nil, err
	}
	u.control = control
	return u, nil
}

// openPlain opens one socket for all of the loops.
func openPlain(ctx context.Context, o udpOptions) ([]packetSocket, netip.AddrPort, error) {
	conn, err := listenUDP(ctx, o.addr, o.share)
	if err != nil {
		return nil, o.addr, err
	}
	bound := netip.AddrPortFrom(o.addr.Addr(), conn.LocalAddr().(*net.UDPAddr).AddrPort().Port())
	socket, err := newPlainSocket(conn, o.addr.Addr())
	if err != nil {
		return nil, o.addr, err
	}
	var all []packetSocket
	for range o.loops {
		all = append(all, socket)
	}
	return all, bound, nil
}

// udpOptions say how to open one address for UDP.
type udpOptions struct {
	addr  netip.AddrPort
	loops int  // how many loops will read; at least one
	share bool // with other processes
	plain bool // the loop of package net also where there is a faster one
}

// listenUDP binds a socket of one family.
func listenUDP(ctx context.Context, addr netip.AddrPort, share bool) (*net.UDPConn, error) {
	config := net.ListenConfig{}
	if share {
		config.Control = sharePort
	}
	packets, err := config.ListenPacket(ctx, "udp"+family(addr.Addr()), addr.String())
	if err != nil {
		return nil, err
	}
	return packets.(*net.UDPConn), nil // what "udp4" and "udp6" are
}

// family is "4" or "6", as package net ends its networks.
func family(addr netip.Addr) string {
	if addr.Is4() {
		return "4"
	}
	return "6"
}

func (u *plainSocket) wake() { _ = u.conn.SetReadDeadline(time.Unix(1, 0)) }

func (u *plainSocket) close() { _ = u.conn.Close() }

func (u *plainSocket) sendLater(reply []byte, to netip.AddrPort, control []byte) error {
	_, _, err := u.conn.WriteMsgUDPAddrPort(reply, control, to)
	return err
}

func (u *plainSocket) serve(ctx context.Context, w *worker) error {
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
			w.observe(Outcome{Transport: UDP, Dropped: DropProxy})
			continue
		}
		peer := Peer{Addr: client, Transport: UDP, Time: uint32(start.Unix())}
		var outcome Outcome
		out, outcome = w.handle(out[:0], query, peer, start)
		if outcome.PassOn != nil {
			w.passOn(query, peer, outcome.PassOn, start, returnTo(u, addr, control[:controlled], u.local))
			continue
		}
		if outcome.Dropped == Answered {
			if err := u.sendLater(out, addr, replyControl(control[:controlled])); err != nil {
				// The peer's address can't be reached, or was forged.
				outcome = Outcome{Transport: UDP, Dropped: DropWrite}
			}
		}
		w.observe(outcome)
		w.sample(UDP, 1, start)
		if w.tap != nil {
			w.seen(peer, u.local(control[:controlled]), query, out, outcome, start)
		}
	}
}

// returnTo is the way back to a client for a reply that is made beside the loop.
// control came with the query; local reads out of it what was asked.
func returnTo(u packetSocket, client netip.AddrPort, control []byte, local func([]byte) netip.AddrPort) returnPath {
	control = bytes.Clone(replyControl(control))
	return returnPath{
		local: func() netip.AddrPort { return local(control) },
		send:  func(framed []byte) error { return u.sendLater(framed[2:], client, control) },
		done:  func() {},
	}
}

// local is the address that a query was sent to; control came with it, or goes
// with its reply.
func (u *plainSocket) local(control []byte) netip.AddrPort {
	return asked(u.bound, u.control, control)
}

// asked is the address that a query to a socket was sent to: the one that the
// socket is bound to, unless the system tells with each packet.
func asked(bound netip.AddrPort, told bool, control []byte) netip.AddrPort {
	if !told {
		return bound
	}
	return netip.AddrPortFrom(destination(control, bound.Addr()), bound.Port())
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
