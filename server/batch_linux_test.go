package server

import (
	"context"
	"encoding/binary"
	"net/netip"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// openTest returns a batchSocket on loopback with a worker for it.
func openTest(t *testing.T) (*batchSocket, *worker) {
	t.Helper()
	s, err := bind(context.Background(), []Listen{{Addr: netip.MustParseAddr("127.0.0.1")}}, openOptions{readers: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.close)
	r := (&Server{View: viewOf(worldOf(t, "zone corp.test\nwww.corp.test 60 A 192.0.2.10"))}).newRun()
	return s.udp[0].(*batchSocket), r.newWorker()
}

// A reply that can't be sent is counted, and keeps back none of those that go
// by the same system call.
func TestBatchSendsAroundErrors(t *testing.T) {
	t.Parallel()
	u, w := openTest(t)
	conn := dial(t, "udp", u.bound)
	b := newBatch(u, DefaultMaxUDP)
	const n = 7
	query, _ := askFor(t, "www.corp.test A")
	for i := range byte(n) {
		query[1] = i
		send(t, conn, query)
	}
	for got := 0; got < n; {
		more, errno := b.receive(u.fd, false)
		if errno != 0 {
			t.Fatal(errno)
		}
		if more != n && got == 0 {
			t.Fatalf("%d of %d queries came at once", more, n)
		}
		got += more
	}
	for _, forged := range []int{0, 3, 4, n - 1} {
		b.peers[forged].Port = 0 // nothing can be sent there
	}
	b.answer(u.fd, n, w)
	for _, id := range []byte{1, 2, 5} {
		if reply := receive(t, conn); reply[1] != id || !strings.Contains(describe(reply, UDP), "192.0.2.10") {
			t.Errorf("want the reply to query %d, got %x", id, reply)
		}
	}
	if got := w.dropped[UDP][DropWrite].Load(); got != 4 {
		t.Errorf("%d replies counted as not sent, want 4", got)
	}
	if got := w.count.Load(); got != 3 {
		t.Errorf("%d replies counted as sent, want 3", got)
	}
}

// The loop allocates nothing, whatever it answers.
func TestBatchAllocs(t *testing.T) {
	u, w := openTest(t)
	w.view = viewOf(sizes(t))
	w.responder.Options = hotOptions(t)
	conn := dial(t, "udp", u.bound)
	b := newBatch(u, DefaultMaxUDP)
	for _, question := range hotQuestions {
		if strings.Contains(question, "tcp") || strings.Contains(question, "MX") {
			continue // not over UDP; and see TestRespondAllocs
		}
		query, _ := askFor(t, question)
		allocs := testing.AllocsPerRun(50, func() {
			for range 3 {
				if _, err := conn.Write(query); err != nil {
					t.Fatal(err)
				}
			}
			n, errno := b.receive(u.fd, false)
			if errno != 0 || n != 3 {
				t.Fatal(n, errno)
			}
			b.answer(u.fd, n, w)
		})
		if allocs > 0 {
			t.Errorf("%s: %v allocations", question, allocs)
		}
		for n := 3; n > 0; n, _ = b.receive(u.fd, true) {
			b.answer(u.fd, n, w) // what the last run left
		}
	}
}

// What is queued when the server stops is answered before it ends.
func TestBatchDrains(t *testing.T) {
	t.Parallel()
	u, w := openTest(t)
	conn := dial(t, "udp", u.bound)
	query, _ := askFor(t, "www.corp.test A")
	const n = 3*batchSize + 1
	for i := range n {
		binary.BigEndian.PutUint16(query, uint16(i))
		send(t, conn, query)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	ended := make(chan error, 1)
	go func() { ended <- u.serve(ctx, w) }()
	u.wake()
	for i := range n {
		if reply := receive(t, conn); binary.BigEndian.Uint16(reply) != uint16(i) {
			t.Fatalf("want the reply to query %d, got %x", i, reply)
		}
	}
	select {
	case err := <-ended:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(wait):
		t.Fatal("the loop did not end")
	}
	u.close()
	u.wake() // late, and harmless
}

// A waiting loop ends when it is woken, on every kind of address.
func TestBatchWakes(t *testing.T) {
	t.Parallel()
	for _, host := range []string{"127.0.0.1", "::1", ""} {
		listen := Listen{}
		if host != "" {
			listen.Addr = netip.MustParseAddr(host)
		}
		if listen.Addr.Is6() && !hasIPv6() {
			continue
		}
		server := &Server{Listen: []Listen{listen}, Readers: 2}
		_, stop := startStoppable(t, server)
		if err := stop(); err != nil {
			t.Errorf("%v: %v", listen, err)
		}
	}
}

func TestPeerOf(t *testing.T) {
	t.Parallel()
	var name unix.RawSockaddrInet6
	if _, ok := peerOf(&name, 0); ok {
		t.Error("nobody is a peer")
	}
	name.Family = unix.AF_INET6
	name.Addr = netip.MustParseAddr("fe80::1").As16()
	name.Port = 0x3412 // 0x1234 or its reverse in network order, by the machine
	name.Scope_id = 7
	got, ok := peerOf(&name, unix.SizeofSockaddrInet6)
	port := binary.NativeEndian.AppendUint16(nil, name.Port)
	want := netip.AddrPortFrom(netip.MustParseAddr("fe80::1"), binary.BigEndian.Uint16(port))
	if !ok || got != want {
		t.Errorf("got %v, want %v", got, want)
	}
	if _, ok := peerOf(&name, unix.SizeofSockaddrInet4); ok {
		t.Error("half an address is a peer")
	}
}

// A read that a shutdown ends gives no query, not an empty one.
func TestBatchIgnoresNobody(t *testing.T) {
	t.Parallel()
	u, w := openTest(t)
	b := newBatch(u, DefaultMaxUDP)
	_ = unix.Shutdown(u.fd, unix.SHUT_RD) // not connected, says the system, and does it
	n, errno := b.receive(u.fd, false)
	if errno != 0 || n > 1 {
		t.Fatalf("%d datagrams, %v", n, errno)
	}
	b.answer(u.fd, n, w)
	if len(w.queries) != 0 || w.dropped[UDP][DropShort].Load() != 0 {
		t.Error("a query was counted")
	}
}
