package server

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/miekg/dns"

	"github.com/clusterzone/clusterzone/zones"
)

// FuzzLoops sends any datagram to a server of either kind of packetSocket: they
// answer alike, octet by octet, or both are silent.
func FuzzLoops(f *testing.F) {
	if runtime.GOOS != "linux" {
		f.Skip("there is one kind of packetSocket but on Linux")
	}
	for _, query := range scriptQueries(f) {
		f.Add(query)
	}
	f.Add([]byte{})
	query, _ := askFor(f, "a30.corp.test A edns")
	f.Add(append(query, make([]byte, maxQuery)...))
	view := viewOf(sizes(f))
	var conns [2]net.Conn
	for i := range conns {
		conns[i] = dial(f, "udp", start(f, &Server{View: view, Readers: 1, plain: i == 0}))
	}
	probe, _ := askFor(f, "corp.test SOA")
	count := uint16(0)
	f.Fuzz(func(t *testing.T, query []byte) {
		count++
		probe[0], probe[1] = byte(count>>8), byte(count)
		var replies [2][]byte
		for i, conn := range conns {
			if err := conn.SetDeadline(time.Now().Add(wait)); err != nil {
				t.Fatal(err)
			}
			if _, err := conn.Write(query); err != nil {
				t.Skip("no datagram: ", err)
			}
			send(t, conn, probe)
			// Silence shows by the probe's reply coming first, by its question.
			if reply := receive(t, conn); !answers(reply, probe) || answers(reply, query) {
				replies[i] = reply
				receive(t, conn)
			}
		}
		if !bytes.Equal(replies[0], replies[1]) {
			t.Errorf("query %x:\nplain %x\nbatch %x", query, replies[0], replies[1])
		}
	})
}

// answers reports whether reply has the id and the question of query.
func answers(reply, query []byte) bool {
	return len(query) > headerSize && len(reply) >= len(query) && bytes.Equal(reply[:2], query[:2]) &&
		query[2]&0x80 == 0 && bytes.Equal(reply[headerSize:len(query)], query[headerSize:])
}

// A server that doesn't share has its port alone, though it may have several
// sockets: neither who shares nor who doesn't gets a part of its queries.
func TestPortIsNotShared(t *testing.T) {
	t.Parallel()
	bothLoops(t, func(t *testing.T, plain bool) {
		addr := start(t, &Server{Readers: 3, plain: plain})
		for _, share := range []bool{false, true} {
			if share && runtime.GOOS != "linux" {
				continue
			}
			second := &Server{View: viewOf(newWorld()), Listen: []Listen{{addr.Addr(), addr.Port()}}, Readers: 3, ReusePort: share, plain: plain}
			ctx, cancel := context.WithCancel(context.Background())
			second.Bound = func([]netip.AddrPort) { cancel() }
			if err := second.Serve(ctx); !errors.Is(err, syscall.EADDRINUSE) {
				t.Errorf("a second server (sharing: %v) on %s: %v", share, addr, err)
			}
			cancel()
		}
	})
}

// One server takes the place of another on the same address while clients ask:
// no query is lost.
func TestReusePortLosesNothing(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("ports are shared on Linux only")
	}
	server := func(listen Listen) *Server { return &Server{Listen: []Listen{listen}, Readers: 2, ReusePort: true} }
	addr, stop := startStoppable(t, server(Listen{Addr: netip.MustParseAddr("127.0.0.1")}))
	var answered atomic.Int64
	done := make(chan struct{})
	var clients sync.WaitGroup
	query, _ := askFor(t, "www.corp.test A")
	for range 4 {
		clients.Go(func() {
			buf := make([]byte, maxMessage)
			for {
				select {
				case <-done:
					return
				default:
				}
				// A new port each time, so that both servers get their part.
				if err := exchange(addr, query, buf); err != nil {
					t.Error(err)
					return
				}
				answered.Add(1)
			}
		})
	}
	progress := func(n int64) {
		for goal := answered.Load() + n; answered.Load() < goal && !t.Failed(); {
			runtime.Gosched()
		}
	}
	for range 5 {
		progress(200)
		_, next := startStoppable(t, server(Listen{addr.Addr(), addr.Port()}))
		progress(200)
		if err := stop(); err != nil {
			t.Error(err)
		}
		stop = next
	}
	progress(200)
	close(done)
	clients.Wait()
	if err := stop(); err != nil {
		t.Error(err)
	}
}

func exchange(addr netip.AddrPort, query, buf []byte) error {
	conn, err := net.Dial("udp", addr.String())
	if err != nil {
		return err
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(wait)); err != nil {
		return err
	}
	if _, err := conn.Write(query); err != nil {
		return err
	}
	_, err = conn.Read(buf)
	return err
}

// Every reply is made from one snapshot, while a table makes a thousand of them
// under load, which share what did not change: all records of one have its
// number.
func TestRepliesMixNoSnapshots(t *testing.T) {
	t.Parallel()
	bothLoops(t, func(t *testing.T, plain bool) {
		lines := "zone corp.test"
		worlds := make([]*world, 3)
		for i := range worlds {
			text := lines
			for j := range 9 {
				text += fmt.Sprintf("\nwww.corp.test %d A 10.%d.0.%d", 100+i, i, j)
			}
			text += fmt.Sprintf("\nalias.corp.test %d CNAME www.corp.test\nmail.corp.test %d MX %d www.corp.test", 100+i, 100+i, i)
			worlds[i] = worldOf(t, text)
		}
		table := zones.NewTable(worlds[0].options)
		table.SetReady(true, "")
		var view swapped
		change := func(i int) {
			table.Put(worlds[i%len(worlds)].object)
			view.Store(table.Commit(time.Unix(1_700_000_000+int64(i), 0)).Snapshot)
		}
		change(0)
		addr := start(t, &Server{View: &view, plain: plain})
		done := make(chan struct{})
		var all sync.WaitGroup
		all.Go(func() {
			defer close(done)
			for i := range 1000 {
				change(i)
				if i%10 == 0 {
					if err := exchange(addr, mustPack(t, "www.corp.test.", dns.TypeA), make([]byte, maxMessage)); err != nil {
						t.Error(err)
					}
				}
			}
		})
		for _, question := range []struct {
			network, name string
			qtype         uint16
		}{{"udp", "alias.corp.test.", dns.TypeA}, {"udp", "mail.corp.test.", dns.TypeMX}, {"tcp", "www.corp.test.", dns.TypeA}} {
			all.Go(func() {
				query := mustPack(t, question.name, question.qtype)
				conn := dial(t, question.network, addr)
				for {
					select {
					case <-done:
						return
					default:
					}
					var reply []byte
					var err error
					if question.network == "udp" {
						buf := make([]byte, maxMessage)
						var n int
						if _, err = conn.Write(query); err == nil {
							n, err = conn.Read(buf)
						}
						reply = buf[:n]
					} else if _, err = conn.Write(framed(query)); err == nil {
						reply, err = readFramed(conn)
					}
					if err == nil {
						err = oneSnapshot(reply)
					}
					if err != nil {
						t.Error(err)
						return
					}
				}
			})
		}
		all.Wait()
	})
}

// swapped is a View that changes.
type swapped struct{ atomic.Pointer[zones.Snapshot] }

func mustPack(t *testing.T, name string, qtype uint16) []byte {
	t.Helper()
	query, err := new(dns.Msg).SetQuestion(name, qtype).Pack()
	if err != nil {
		t.Error(err)
	}
	return query
}

// oneSnapshot checks that all TTLs, addresses and preferences of a reply name
// the same snapshot.
func oneSnapshot(reply []byte) error {
	var msg dns.Msg
	if err := msg.Unpack(reply); err != nil {
		return err
	}
	numbers := map[int]bool{}
	records := append(msg.Answer, msg.Extra...)
	for _, rr := range records {
		numbers[int(rr.Header().Ttl)-100] = true
		switch rr := rr.(type) {
		case *dns.A:
			numbers[int(rr.A.To4()[1])] = true
		case *dns.MX:
			numbers[int(rr.Preference)] = true
		}
	}
	if len(records) < 9 || len(numbers) != 1 {
		return fmt.Errorf("the reply has %d records of snapshots %v: %s", len(records), numbers, msg.String())
	}
	return nil
}
