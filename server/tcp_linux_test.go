package server

import (
	"context"
	"net"
	"net/netip"
	"runtime"
	"testing"
	"time"
)

// acceptOne returns both ends of a TCP connection on loopback, the served one
// as serveConn makes it.
func acceptOne(t *testing.T, r *run) (client net.Conn, served *connection) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	client = dial(t, "tcp", listener.Addr().(*net.TCPAddr).AddrPort())
	c, err := listener.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return client, r.newConnection(c, Peer{Addr: netip.MustParseAddrPort("127.0.0.1:40000"), Transport: TCP})
}

// A connection that waits has given its worker back, and keeps the part of a
// query that has come, no more.
func TestTCPWaitsWithoutMemory(t *testing.T) {
	t.Parallel()
	r := (&Server{View: viewOf(worldOf(t, "zone corp.test\nwww.corp.test 60 A 192.0.2.10"))}).newRun()
	query, _ := askFor(t, "www.corp.test A")
	for part := range 4 {
		client, c := acceptOne(t, r)
		send(t, client, append(framed(query, query), framed(query)[:part]...))
		ctx, cancel := context.WithCancel(t.Context())
		for range 2 {
			if !c.next(ctx) {
				t.Fatal("the connection is over")
			}
		}
		if c.worker == nil || c.pending != 2 {
			t.Fatalf("%d replies wait to be sent, want 2 by one write", c.pending)
		}
		if part > 0 { // all of it may not have come with the rest
			for len(c.in) < part {
				if !c.wait(ctx) {
					t.Fatal("the rest does not come")
				}
			}
		}
		cancel()
		if c.next(ctx) {
			t.Fatal("a query from nowhere")
		}
		if c.worker != nil || c.in != nil || cap(c.held) != part {
			t.Errorf("with %d octets of a query: worker %v, input %d, kept %d octets", part, c.worker != nil, len(c.in), cap(c.held))
		}
		for range 2 {
			receiveFramed(t, client)
		}
		client.Close()
	}
	if n := len(r.workers.idle); n != 1 {
		t.Errorf("%d workers were made for one connection at a time", n)
	}
}

// A query may come octet by octet, in any parts, and behind one that is too
// long.
func TestTCPParts(t *testing.T) {
	t.Parallel()
	addr := start(t, &Server{})
	query, _ := askFor(t, "www.corp.test A")
	conn := dial(t, "tcp", addr)
	if err := conn.(*net.TCPConn).SetNoDelay(true); err != nil {
		t.Fatal(err)
	}
	long := framed(append(query[:len(query):len(query)], make([]byte, 2*inputSize)...))
	stream := append(framed(query), long...)
	stream = append(stream, framed(query)...)
	go func() {
		for at := 0; at < len(stream); {
			size := 1
			if at > 60 && at < len(stream)-60 {
				size = 1000
			}
			size = min(size, len(stream)-at)
			if _, err := conn.Write(stream[at : at+size]); err != nil {
				t.Error(err)
				return
			}
			runtime.Gosched()
			at += size
		}
	}()
	for i, want := range []string{"NOERROR", "FORMERR", "NOERROR"} {
		if got := describe(receiveFramed(t, conn), TCP); got[:len(want)] != want {
			t.Errorf("reply %d is %s, want %s", i, got, want)
		}
	}
}

// The timeout holds for the system's connections too: receiveRaw honours the
// deadline.
func TestTCPRawTimeout(t *testing.T) {
	t.Parallel()
	addr := start(t, &Server{TCP: TCPOptions{IdleTimeout: time.Millisecond}})
	wantEnd(t, dial(t, "tcp", addr))
}
