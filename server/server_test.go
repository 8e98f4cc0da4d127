package server

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/miekg/dns"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/clusterzone/clusterzone/zones"
)

// The scripts' queries get over real sockets what Respond gives: one query
// each, UDP and TCP, and the server lives through all of them.
func TestServerAnswersScripts(t *testing.T) {
	t.Parallel()
	bothLoops(t, func(t *testing.T, plain bool) {
		w := worldOf(t, "zone corp.test\nwww.corp.test 60 A 192.0.2.10\nshop.corp.test 60 A 192.0.2.11\nb.corp.test 60 CNAME www.corp.test")
		addr := start(t, &Server{plain: plain, View: viewOf(w)})
		udp := dial(t, "udp", addr)
		tcp := dial(t, "tcp", addr)
		probe, _ := askFor(t, "corp.test SOA id=999")
		for _, query := range scriptQueries(t) {
			want, outcome := Respond(nil, query, w.snapshot(), defaultPeer())
			send(t, udp, query)
			if outcome.Dropped != Answered {
				// Silence shows by the next query's reply coming first.
				send(t, udp, probe)
				want, _ = Respond(nil, probe, w.snapshot(), defaultPeer())
			}
			if got := receive(t, udp); !bytes.Equal(got, want) {
				t.Errorf("query %x over UDP:\ngot  %s\nwant %s", query, describe(got, UDP), describe(want, UDP))
			}
			if outcome.Dropped != Answered {
				continue
			}
			want, _ = Respond(nil, query, w.snapshot(), Peer{Addr: defaultPeer().Addr, Transport: TCP})
			send(t, tcp, framed(query))
			if got := receiveFramed(t, tcp); !bytes.Equal(got, want) {
				t.Errorf("query %x over TCP:\ngot  %s\nwant %s", query, describe(got, TCP), describe(want, TCP))
			}
		}
	})
}

// What AUTHORITY's list asks of sizes, with another implementation as client.
func TestServerSizes(t *testing.T) {
	t.Parallel()
	bothLoops(t, func(t *testing.T, plain bool) {
		addr := start(t, &Server{plain: plain, View: viewOf(sizes(t))})
		ask := func(network, name string, qtype, size uint16) *dns.Msg {
			t.Helper()
			m := new(dns.Msg).SetQuestion(name, qtype)
			if size > 0 {
				m.SetEdns0(size, false)
			}
			client := &dns.Client{Net: network, Timeout: wait, UDPSize: maxMessage}
			reply, _, err := client.Exchange(m, addr.String())
			if err != nil {
				t.Fatalf("%s over %s: %v", name, network, err)
			}
			return reply
		}
		const big = "txt.corp.test."
		for _, test := range []struct {
			network   string
			size      uint16
			limit     int
			truncated bool
		}{
			{"udp", 0, 512, true}, {"udp", 100, 512, true}, {"udp", 1232, 1232, true}, {"udp", 4096, 1232, true},
			{"tcp", 0, maxMessage, false}, {"tcp", 512, maxMessage, false},
		} {
			reply := ask(test.network, big, dns.TypeTXT, test.size)
			reply.Compress = true
			if reply.Truncated != test.truncated || reply.Len() > test.limit || (reply.IsEdns0() != nil) != (test.size > 0) {
				t.Errorf("%s offering %d: TC %v, %d octets, OPT %v", test.network, test.size, reply.Truncated, reply.Len(), reply.IsEdns0() != nil)
			}
			if test.network == "tcp" && len(reply.Answer) != 200 {
				t.Errorf("over TCP %d of 200 records", len(reply.Answer))
			}
		}
		if reply := ask("tcp", "a5000.corp.test.", dns.TypeA, 0); !reply.Truncated || len(reply.Answer) < 4000 {
			t.Errorf("80 000 octets over TCP: TC %v with %d records", reply.Truncated, len(reply.Answer))
		}
	})
}

// A reply comes from the address that was asked, also on a socket bound to all
// of them: a connected client drops replies from elsewhere.
func TestReplyFromAddressAsked(t *testing.T) {
	t.Parallel()
	bothLoops(t, func(t *testing.T, plain bool) {
		if runtime.GOOS != "linux" {
			t.Skip("the source address of replies is chosen by the system but on Linux")
		}
		addr := start(t, &Server{plain: plain, Listen: []Listen{{}}})
		query, _ := askFor(t, "www.corp.test A")
		hosts := []string{"127.0.0.1", "127.0.0.2", "127.1.2.3"}
		if hasIPv6() {
			hosts = append(hosts, "::1")
		}
		for _, host := range hosts {
			for _, network := range []string{"udp", "tcp"} {
				conn := dial(t, network, netip.AddrPortFrom(netip.MustParseAddr(host), addr.Port()))
				var reply []byte
				if network == "udp" {
					send(t, conn, query)
					reply = receive(t, conn)
				} else {
					send(t, conn, framed(query))
					reply = receiveFramed(t, conn)
				}
				if !strings.Contains(describe(reply, UDP), "192.0.2.10") {
					t.Errorf("%s %s: %x", network, host, reply)
				}
			}
		}
	})
}

func hasIPv6() bool {
	l, err := net.Listen("tcp6", "[::1]:0")
	if err != nil {
		return false
	}
	l.Close()
	return true
}

// UDP and TCP share a port on every address, also where it is a free one.
func TestBoundPorts(t *testing.T) {
	t.Parallel()
	bothLoops(t, func(t *testing.T, plain bool) {
		var bound []netip.AddrPort
		server := &Server{
			plain:  plain,
			View:   viewOf(newWorld()),
			Listen: []Listen{{}, {Addr: netip.MustParseAddr("127.0.0.1")}},
		}
		ctx, cancel := context.WithCancel(context.Background())
		server.Bound = func(addrs []netip.AddrPort) { bound = addrs; cancel() }
		if err := server.Serve(ctx); err != nil {
			t.Fatal(err)
		}
		want := 2
		if hasIPv6() {
			want = 3
			if bound[0].Port() != bound[1].Port() {
				t.Errorf("the families have different ports: %v", bound)
			}
		}
		if len(bound) != want || bound[0].Port() == 0 {
			t.Errorf("bound %v, want %d addresses", bound, want)
		}
	})
}

// A fault in answering one query is SERVFAIL for that query alone.
func TestPanicIsConfined(t *testing.T) {
	t.Parallel()
	bothLoops(t, func(t *testing.T, plain bool) {
		var logged lockedBuffer
		registry := prometheus.NewRegistry()
		view := &faultyView{snap: worldOf(t, "zone corp.test\nwww.corp.test 60 A 192.0.2.10").snapshot()}
		addr := start(t, &Server{
			plain: plain,
			View:  view, Metrics: NewMetrics(registry), Readers: 1,
			Log: slog.New(slog.NewTextHandler(&logged, nil)),
		})
		udp, tcp := dial(t, "udp", addr), dial(t, "tcp", addr)
		query, _ := askFor(t, "www.corp.test A edns rd")
		for range 2 {
			view.set(true)
			send(t, udp, query)
			checkServfail(t, receive(t, udp))
			send(t, tcp, framed(query))
			checkServfail(t, receiveFramed(t, tcp))
			view.set(false)
			send(t, udp, query)
			if got := describe(receive(t, udp), UDP); !strings.HasPrefix(got, "NOERROR") {
				t.Errorf("after the fault: %s", got)
			}
			send(t, tcp, framed(query))
			if got := describe(receiveFramed(t, tcp), TCP); !strings.HasPrefix(got, "NOERROR") {
				t.Errorf("after the fault: %s", got)
			}
		}
		if got := metric(t, registry, "clusterzone_dns_panics_total"); got != 4 {
			t.Errorf("%v panics counted, want 4", got)
		}
		if text := logged.String(); !strings.Contains(text, "a query made the server panic") || !strings.Contains(text, "goroutine") {
			t.Errorf("want the fault logged with its stack: %s", text)
		}
	})
}

func checkServfail(t *testing.T, reply []byte) {
	t.Helper()
	if got := describe(reply, UDP); !strings.HasPrefix(got, "SERVFAIL rd,") || !strings.Contains(got, ";www.corp.test. IN A") || !strings.Contains(got, "OPT") {
		t.Errorf("want SERVFAIL with question and OPT, got %s", got)
	}
}

type faultyView struct {
	mu     sync.Mutex
	faulty bool
	snap   *zones.Snapshot
}

func (v *faultyView) set(faulty bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.faulty = faulty
}

func (v *faultyView) Load() *zones.Snapshot {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.faulty {
		return nil
	}
	return v.snap
}

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// metric sums the counters or gauges of a name.
func metric(t *testing.T, registry *prometheus.Registry, name string) (sum float64) {
	t.Helper()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		if family.GetName() == name {
			for _, m := range family.GetMetric() {
				sum += m.GetCounter().GetValue() + m.GetGauge().GetValue()
			}
		}
	}
	return sum
}

// The outcomes reach the metrics, with labels that nobody can multiply.
func TestMetrics(t *testing.T) {
	t.Parallel()
	bothLoops(t, testMetrics)
}

func testMetrics(t *testing.T, plain bool) {
	registry := prometheus.NewRegistry()
	metrics := NewMetrics(registry)
	addr, stop := startStoppable(t, &Server{View: viewOf(sizes(t)), Metrics: metrics, Readers: 1, plain: plain})
	udp := dial(t, "udp", addr)
	for _, words := range []string{
		"a1.corp.test A", "a1.corp.test A", "absent.corp.test TYPE666", "absent.corp.test TYPE667", "www.other.test A", "a200.corp.test A",
	} {
		query, _ := askFor(t, words)
		send(t, udp, query)
		receive(t, udp)
	}
	send(t, udp, []byte{1, 2, 3})
	tcp := dial(t, "tcp", addr)
	query, _ := askFor(t, "a1.corp.test AAAA")
	send(t, tcp, framed(query))
	receiveFramed(t, tcp)
	if got := metric(t, registry, "clusterzone_dns_tcp_connections"); got != 1 {
		t.Errorf("%v open connections, want 1", got)
	}
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	want := `
# HELP clusterzone_dns_dropped_total Messages without a reply, by reason (short, response: no query; write: the reply could not be sent; limited: the rate limit; http: an HTTP request without a query) and transport. Of TCP, TLS and HTTPS also connections that ended before a query (proxy: no valid PROXY header; handshake: TLS failed).
# TYPE clusterzone_dns_dropped_total counter
clusterzone_dns_dropped_total{reason="limited",transport="udp"} 0
clusterzone_dns_dropped_total{reason="response",transport="tcp"} 0
clusterzone_dns_dropped_total{reason="response",transport="udp"} 0
clusterzone_dns_dropped_total{reason="short",transport="tcp"} 0
clusterzone_dns_dropped_total{reason="short",transport="udp"} 1
clusterzone_dns_dropped_total{reason="write",transport="tcp"} 0
clusterzone_dns_dropped_total{reason="write",transport="udp"} 0
# HELP clusterzone_dns_queries_total Queries answered, by zone (none: outside of all), type, response code and transport.
# TYPE clusterzone_dns_queries_total counter
clusterzone_dns_queries_total{rcode="NOERROR",transport="tcp",type="AAAA",zone="corp.test"} 1
clusterzone_dns_queries_total{rcode="NOERROR",transport="udp",type="A",zone="corp.test"} 3
clusterzone_dns_queries_total{rcode="NXDOMAIN",transport="udp",type="other",zone="corp.test"} 2
clusterzone_dns_queries_total{rcode="REFUSED",transport="udp",type="A",zone="none"} 1
# HELP clusterzone_dns_tcp_connections Open connections over TCP, TLS and HTTPS.
# TYPE clusterzone_dns_tcp_connections gauge
clusterzone_dns_tcp_connections 0
# HELP clusterzone_dns_truncated_total Replies with the TC bit: the client has to ask again over TCP.
# TYPE clusterzone_dns_truncated_total counter
clusterzone_dns_truncated_total 1
`
	if err := testutil.GatherAndCompare(registry, strings.NewReader(want), "clusterzone_dns_dropped_total",
		"clusterzone_dns_queries_total", "clusterzone_dns_tcp_connections", "clusterzone_dns_truncated_total"); err != nil {
		t.Error(err)
	}
	if problems, err := testutil.GatherAndLint(registry); err != nil || len(problems) > 0 {
		t.Errorf("metric names: %v %v", problems, err)
	}
	if n, err := testutil.GatherAndCount(registry, "clusterzone_dns_request_duration_seconds"); err != nil || n != 2 {
		t.Errorf("%d latency histograms, want 2 (%v)", n, err)
	}
}

// After Serve nothing of it is left: no goroutine, no socket. Not parallel, so
// that other tests' goroutines don't count.
func TestNothingIsLeft(t *testing.T) {
	bothLoops(t, func(t *testing.T, plain bool) {
		before := runtime.NumGoroutine()
		at := startEncryptedStoppable(t, &Server{plain: plain})
		addr, stop := at.plain, at.stop
		udp, tcp := dial(t, "udp", addr), dial(t, "tcp", addr)
		query, _ := askFor(t, "www.corp.test A")
		send(t, udp, query)
		receive(t, udp)
		send(t, tcp, framed(query))
		receiveFramed(t, tcp)
		dot := at.secure(t, dial(t, "tcp", at.tls))
		send(t, dot, framed(query))
		receiveFramed(t, dot)
		web := at.secure(t, dial(t, "tcp", at.https))
		send(t, web, []byte("GET "+getURL(query)+" HTTP/1.1\r\nHost: dns.corp.test\r\n\r\n"))
		receive(t, web)
		if err := stop(); err != nil {
			t.Fatal(err)
		}
		wantEnd(t, tcp)
		wantEnd(t, dot)
		wantEnd(t, web)
		// Goroutines that have returned may still be on their way out.
		deadline := time.Now().Add(wait)
		for runtime.NumGoroutine() > before && time.Now().Before(deadline) {
			runtime.Gosched()
		}
		if after := runtime.NumGoroutine(); after > before {
			stacks := make([]byte, 1<<20)
			t.Errorf("%d goroutines before, %d after:\n%s", before, after, stacks[:runtime.Stack(stacks, true)])
		}
		again, err := net.ListenPacket("udp", addr.String())
		if err != nil {
			t.Fatalf("the socket is still open: %v", err)
		}
		again.Close()
	})
}

// A socket in trouble ends Serve with its error instead of silence.
func TestServeEndsWithItsSockets(t *testing.T) {
	t.Parallel()
	bothLoops(t, func(t *testing.T, plain bool) {
		listen := []Listen{{Addr: netip.MustParseAddr("127.0.0.1")}}
		s, err := bind(context.Background(), listen, openOptions{readers: 1, plain: plain})
		if err != nil {
			t.Fatal(err)
		}
		r := (&Server{View: viewOf(newWorld())}).newRun()
		s.close()
		if err := s.udp[0].serve(context.Background(), r.newWorker()); err == nil {
			t.Error("reading from a closed UDP socket must end with an error")
		}
		if err := s.udp[0].sendLater([]byte{1}, netip.MustParseAddrPort("127.0.0.1:9"), nil); !errors.Is(err, net.ErrClosed) {
			t.Errorf("sending on a closed UDP socket gives %v", err)
		}
		if err := r.accept(context.Background(), s.tcp[0], &gate{run: r, transport: TCP}); err == nil {
			t.Error("accepting on a closed socket must end with an error")
		}
	})
}

// Descriptors that run out are trouble for a while, not the end.
func TestTroubleIsBounded(t *testing.T) {
	t.Parallel()
	var logged lockedBuffer
	r := (&Server{View: viewOf(newWorld()), Log: slog.New(slog.NewTextHandler(&logged, nil))}).newRun()
	for range 100 {
		r.trouble("accepting failed", os.NewSyscallError("accept", syscall.EMFILE))
	}
	if n := strings.Count(logged.String(), "accepting failed"); n < 1 || n > 50 {
		t.Errorf("%d lines for 100 faults at once", n)
	}
}
