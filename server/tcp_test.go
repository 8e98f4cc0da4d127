package server

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// pipelined are n queries with ids of their own.
func pipelined(t *testing.T, n int) (queries [][]byte) {
	t.Helper()
	for i := range n {
		query, _ := askFor(t, fmt.Sprintf("www.corp.test A id=%d", 20000+i))
		queries = append(queries, query)
	}
	return queries
}

// Many queries in one segment all get their replies, in order.
func TestTCPPipelining(t *testing.T) {
	t.Parallel()
	conn := dial(t, "tcp", start(t, &Server{}))
	queries := pipelined(t, 25)
	send(t, conn, framed(queries...))
	for _, query := range queries {
		if reply := receiveFramed(t, conn); !bytes.Equal(reply[:2], query[:2]) {
			t.Fatalf("reply to %x, want to %x", reply[:2], query[:2])
		}
	}
	// The connection serves on.
	send(t, conn, framed(queries[0]))
	receiveFramed(t, conn)
}

// A query may come in any pieces, and two and a half queries in one.
func TestTCPFragments(t *testing.T) {
	t.Parallel()
	conn := dial(t, "tcp", start(t, &Server{}))
	octets := framed(pipelined(t, 3)...)
	for _, size := range []int{1, 4, 7, len(octets) / 6 * 5} {
		for rest := octets; len(rest) > 0; {
			n := min(size, len(rest))
			send(t, conn, rest[:n])
			rest = rest[n:]
		}
		for range 3 {
			if got := describe(receiveFramed(t, conn), TCP); !strings.Contains(got, "192.0.2.10") {
				t.Fatalf("in pieces of %d: %s", size, got)
			}
		}
	}
}

// A client that has sent all and closed its side still gets every reply.
func TestTCPHalfClose(t *testing.T) {
	t.Parallel()
	conn := dial(t, "tcp", start(t, &Server{}))
	send(t, conn, framed(pipelined(t, 5)...))
	if err := conn.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	for range 5 {
		receiveFramed(t, conn)
	}
	wantEnd(t, conn)
}

// What is no DNS over TCP ends the connection, and only that.
func TestTCPOddMessages(t *testing.T) {
	t.Parallel()
	addr := start(t, &Server{})
	query, _ := askFor(t, "www.corp.test A")

	zero := dial(t, "tcp", addr)
	send(t, zero, append(framed(query), 0, 0))
	receiveFramed(t, zero)
	wantEnd(t, zero)

	cut := dial(t, "tcp", addr)
	send(t, cut, []byte{0, 0xff, 0x12, 0x34})
	if err := cut.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	wantEnd(t, cut)

	// Replies get no reply; the next query does.
	silent := dial(t, "tcp", addr)
	response := bytes.Clone(query)
	response[2] |= 0x80
	send(t, silent, framed(response, []byte{1}, query))
	if got := describe(receiveFramed(t, silent), TCP); !strings.Contains(got, "192.0.2.10") {
		t.Errorf("after a response: %s", got)
	}

	// A query too long to be one gets FORMERR, the one behind it its answer.
	long := dial(t, "tcp", addr)
	send(t, long, framed(append(bytes.Clone(query), make([]byte, 60000)...), query))
	if got := describe(receiveFramed(t, long), TCP); !strings.HasPrefix(got, "FORMERR") {
		t.Errorf("a query of 60 000 octets: %s", got)
	}
	if got := describe(receiveFramed(t, long), TCP); !strings.HasPrefix(got, "NOERROR") {
		t.Errorf("after a query of 60 000 octets: %s", got)
	}
}

// Replies larger than the flush limit, more of them than any buffer holds.
func TestTCPLargeReplies(t *testing.T) {
	t.Parallel()
	conn := dial(t, "tcp", start(t, &Server{View: viewOf(sizes(t))}))
	query, _ := askFor(t, "a1000.corp.test A")
	const n = 200
	var queries [][]byte
	for range n {
		queries = append(queries, query)
	}
	sent := make(chan error, 1)
	go func() {
		_, err := conn.Write(framed(queries...))
		sent <- err
	}()
	for range n {
		if reply := receiveFramed(t, conn); len(reply) < 16000 {
			t.Fatalf("a reply of %d octets", len(reply))
		}
	}
	if err := <-sent; err != nil {
		t.Fatal(err)
	}
}

func TestTCPLimits(t *testing.T) {
	t.Parallel()
	registry := prometheus.NewRegistry()
	addr := start(t, &Server{
		Metrics: NewMetrics(registry),
		TCP:     TCPOptions{MaxConnections: 3, MaxPerClient: 2, MaxQueries: 4},
	})
	query, _ := askFor(t, "www.corp.test A")
	from := func(client string) net.Conn {
		t.Helper()
		dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(client)}}
		conn, err := dialer.Dial("tcp", addr.String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { conn.Close() })
		if err := conn.SetDeadline(time.Now().Add(wait)); err != nil {
			t.Fatal(err)
		}
		return conn
	}
	works := func(conn net.Conn) {
		t.Helper()
		send(t, conn, framed(query))
		receiveFramed(t, conn)
	}
	first := from("127.0.0.1")
	works(first)
	works(from("127.0.0.1"))
	wantEnd(t, from("127.0.0.1")) // a third of one client
	works(from("127.0.0.2"))
	wantEnd(t, from("127.0.0.3")) // a fourth in all
	if got := metric(t, registry, "clusterzone_dns_tcp_refused_connections_total"); got != 2 {
		t.Errorf("%v connections refused, want 2", got)
	}

	// The fourth query is a connection's last, and gives its place free.
	send(t, first, framed(query, query, query, query, query))
	for range 3 {
		receiveFramed(t, first)
	}
	wantEnd(t, first)
	deadline := time.Now().Add(wait)
	for {
		conn := from("127.0.0.3")
		// The connection may be refused before or after the query is sent.
		_, err := conn.Write(framed(query))
		if err == nil {
			_, err = readFramed(conn)
		}
		if err == nil {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("the place is not free: %v", err)
		}
	}
}

// pipeServer serves one connection over a pipe, in a synctest bubble.
func pipeServer(t *testing.T, ctx context.Context, options TCPOptions, view View) (client net.Conn, ended chan struct{}, r *run) {
	r = (&Server{View: view, TCP: options}).newRun()
	client, served := net.Pipe()
	if refused := r.conns.add(served, netip.Addr{}); refused != "" {
		t.Fatalf("refused: %s", refused)
	}
	ended = make(chan struct{})
	go func() {
		defer close(ended)
		defer r.conns.remove(served)
		r.serveConn(ctx, served, Peer{Addr: netip.MustParseAddrPort("127.0.0.1:40000"), Transport: TCP})
	}()
	return client, ended, r
}

func isOpen(ended chan struct{}) bool {
	synctest.Wait()
	select {
	case <-ended:
		return false
	default:
		return true
	}
}

// A connection that brings no whole query in time is closed, however it spreads
// its octets; one that does is not.
func TestTCPIdleTimeout(t *testing.T) {
	t.Parallel()
	view := viewOf(worldOf(t, "zone corp.test\nwww.corp.test 60 A 192.0.2.10"))
	query, _ := askFor(t, "www.corp.test A")
	synctest.Test(t, func(t *testing.T) {
		client, ended, _ := pipeServer(t, t.Context(), TCPOptions{}, view)
		for range 5 {
			time.Sleep(9 * time.Second) // virtual
			send(t, client, framed(query))
			receiveFramed(t, client)
		}
		time.Sleep(9900 * time.Millisecond)
		if !isOpen(ended) {
			t.Fatal("closed before the timeout")
		}
		time.Sleep(200 * time.Millisecond)
		if isOpen(ended) {
			t.Fatal("open after the timeout")
		}
		if _, err := client.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
			t.Errorf("Read gives %v", err)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		client, ended, _ := pipeServer(t, t.Context(), TCPOptions{}, view)
		var err error
		for _, octet := range framed(query)[:11] {
			if _, err = client.Write([]byte{octet}); err != nil {
				break
			}
			time.Sleep(1001 * time.Millisecond)
		}
		if err == nil {
			t.Error("an octet a second kept the connection open for longer than the timeout")
		}
		if isOpen(ended) {
			t.Error("the connection is still open")
		}
	})
}

// A client that takes no replies is cut off, and counted.
func TestTCPSlowReader(t *testing.T) {
	t.Parallel()
	view := viewOf(worldOf(t, "zone corp.test\nwww.corp.test 60 A 192.0.2.10"))
	synctest.Test(t, func(t *testing.T) {
		client, ended, r := pipeServer(t, t.Context(), TCPOptions{WriteTimeout: 3 * time.Second}, view)
		registry := prometheus.NewRegistry()
		registry.MustRegister(newTallyCollector(r.metrics))
		send(t, client, framed(pipelined(t, 3)...))
		time.Sleep(2900 * time.Millisecond)
		if !isOpen(ended) {
			t.Fatal("closed before the timeout")
		}
		time.Sleep(200 * time.Millisecond)
		if isOpen(ended) {
			t.Error("open after the timeout")
		}
		if got := metric(t, registry, "clusterzone_dns_dropped_total"); got != 3 {
			t.Errorf("%v replies counted as not written, want 3", got)
		}
		client.Close()
	})
}

// When the server stops, a connection finishes what has come whole, and ends.
func TestTCPDrain(t *testing.T) {
	t.Parallel()
	view := viewOf(worldOf(t, "zone corp.test\nwww.corp.test 60 A 192.0.2.10"))
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		client, ended, r := pipeServer(t, ctx, TCPOptions{}, view)
		send(t, client, framed(pipelined(t, 3)...))
		synctest.Wait() // it is writing replies now
		cancel()
		r.conns.interrupt()
		for range 3 {
			receiveFramed(t, client)
		}
		if isOpen(ended) {
			t.Error("open after the stop")
		}
		if refused := r.conns.add(client, netip.Addr{}); refused != "stopping" {
			t.Errorf("a connection after the stop is %q", refused)
		}
	})
	// A deadline that a connection sets just after interrupt's must not keep it
	// open: the stop shows by ctx then.
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		client, ended, _ := pipeServer(t, ctx, TCPOptions{}, view)
		if isOpen(ended) {
			t.Error("open although the server has stopped")
		}
		client.Close()
	})
}

// A client that never takes its replies holds the stop up for Drain, no longer.
func TestDrainIsBounded(t *testing.T) {
	t.Parallel()
	view := viewOf(worldOf(t, "zone corp.test\nwww.corp.test 60 A 192.0.2.10"))
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		r := (&Server{View: view, Drain: 2 * time.Second, TCP: TCPOptions{WriteTimeout: time.Hour}}).newRun()
		client, served := net.Pipe()
		r.conns.add(served, netip.Addr{})
		r.open.Go(func() { r.serveConn(ctx, served, Peer{Transport: TCP}) })
		send(t, client, framed(pipelined(t, 1)...))
		synctest.Wait()
		cancel()
		r.conns.interrupt()
		began := time.Now()
		r.drain()
		if took := time.Since(began); took != 2*time.Second {
			t.Errorf("the drain took %v", took)
		}
		client.Close()
	})
}
