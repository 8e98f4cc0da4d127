package server

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/netip"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// selfSigned makes a certificate for dns.corp.test, and a pool of it.
func selfSigned(tb testing.TB) (tls.Certificate, *x509.CertPool) {
	tb.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		tb.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), DNSNames: []string{"dns.corp.test"}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Unix(0, 0), NotAfter: time.Unix(1<<33, 0), // synctest's clock stands in 2000
	}
	octets, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		tb.Fatal(err)
	}
	leaf, err := x509.ParseCertificate(octets)
	if err != nil {
		tb.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(leaf)
	return tls.Certificate{Certificate: [][]byte{octets}, PrivateKey: key, Leaf: leaf}, pool
}

// encryptedAddrs are where a server answers over all transports.
type encryptedAddrs struct {
	plain, tls, https netip.AddrPort
	roots             *x509.CertPool
	stop              func() error
}

// startEncrypted is start with TLS and HTTPS.
func startEncrypted(t *testing.T, server *Server) *encryptedAddrs {
	t.Helper()
	at := startEncryptedStoppable(t, server)
	t.Cleanup(func() {
		if err := at.stop(); err != nil {
			t.Errorf("Serve: %v", err)
		}
	})
	return at
}

func startEncryptedStoppable(t *testing.T, server *Server) *encryptedAddrs {
	t.Helper()
	certificate, roots := selfSigned(t)
	at := &encryptedAddrs{roots: roots}
	local := []Listen{{Addr: netip.MustParseAddr("127.0.0.1")}}
	server.ListenTLS, server.ListenHTTPS = local, local
	server.TLS = &tls.Config{Certificates: []tls.Certificate{certificate}}
	server.BoundEncrypted = func(overTLS, overHTTPS []netip.AddrPort) { at.tls, at.https = overTLS[0], overHTTPS[0] }
	at.plain, at.stop = startStoppable(t, server)
	return at
}

func (at *encryptedAddrs) config(protocols ...string) *tls.Config {
	return &tls.Config{RootCAs: at.roots, ServerName: "dns.corp.test", NextProtos: protocols}
}

// secure makes the client's half of a handshake.
func (at *encryptedAddrs) secure(t *testing.T, conn net.Conn, protocols ...string) *tls.Conn {
	t.Helper()
	secured := tls.Client(conn, at.config(protocols...))
	if err := secured.Handshake(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { secured.Close() })
	return secured
}

// client is an HTTP client with connections of its own, which begin with header.
func (at *encryptedAddrs) client(t *testing.T, header []byte, protocols ...string) *http.Client {
	transport := &http.Transport{
		ForceAttemptHTTP2: true,
		DialTLSContext: func(context.Context, string, string) (net.Conn, error) {
			conn := dial(t, "tcp", at.https)
			send(t, conn, header)
			return at.secure(t, conn, protocols...), nil
		},
	}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport, Timeout: wait}
}

// post asks over HTTPS and returns the reply.
func (at *encryptedAddrs) post(t *testing.T, header, query []byte) []byte {
	t.Helper()
	reply, err := at.client(t, header, "h2").Post("https://dns.corp.test/dns-query", dohType, bytes.NewReader(query))
	if err != nil {
		t.Fatal(err)
	}
	defer reply.Body.Close()
	body, err := io.ReadAll(reply.Body)
	if err != nil || reply.StatusCode != http.StatusOK || reply.ProtoMajor != 2 {
		t.Fatalf("%s %s %q, %v", reply.Proto, reply.Status, body, err)
	}
	return body
}

// The scripts' queries get over TLS and HTTPS what Respond gives.
func TestEncryptedAnswersScripts(t *testing.T) {
	t.Parallel()
	w := worldOf(t, "zone corp.test\nwww.corp.test 60 A 192.0.2.10\nshop.corp.test 60 A 192.0.2.11\nb.corp.test 60 CNAME www.corp.test")
	at := startEncrypted(t, &Server{View: viewOf(w)})
	conn := at.secure(t, dial(t, "tcp", at.tls), "dot")
	client := at.client(t, nil, "h2")
	for _, query := range scriptQueries(t) {
		want, outcome := Respond(nil, query, w.snapshot(), Peer{Addr: defaultPeer().Addr, Transport: TLS})
		if outcome.Dropped != Answered {
			continue
		}
		send(t, conn, framed(query))
		if got := receiveFramed(t, conn); !bytes.Equal(got, want) {
			t.Errorf("query %x over TLS:\ngot  %s\nwant %s", query, describe(got, TLS), describe(want, TLS))
		}
		want, _ = Respond(nil, query, w.snapshot(), Peer{Addr: defaultPeer().Addr, Transport: HTTPS})
		reply, err := client.Post("https://dns.corp.test/dns-query", dohType, bytes.NewReader(query))
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(reply.Body)
		reply.Body.Close()
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("query %x over HTTPS: %v\ngot  %s\nwant %s", query, err, describe(got, HTTPS), describe(want, HTTPS))
		}
	}
}

// Many queries in one record, with padding, and replies larger than any record.
func TestTLSPipelining(t *testing.T) {
	t.Parallel()
	at := startEncrypted(t, &Server{View: viewOf(sizes(t))})
	conn := at.secure(t, dial(t, "tcp", at.tls))
	query, _ := askFor(t, "a1000.corp.test A option=12:")
	var queries [][]byte
	for range 30 {
		queries = append(queries, query)
	}
	sent := make(chan error, 1)
	go func() {
		_, err := conn.Write(framed(queries...))
		sent <- err
	}()
	for range queries {
		if reply := receiveFramed(t, conn); len(reply) < 16000 || len(reply)%paddingBlock != 0 {
			t.Fatalf("a reply of %d octets", len(reply))
		}
	}
	if err := <-sent; err != nil {
		t.Fatal(err)
	}
}

// A client may name the protocol (ALPN) or not, but no other one; TLS 1.1 is
// refused. What fails is counted, and what comes after it is answered.
func TestTLSHandshakes(t *testing.T) {
	t.Parallel()
	registry := prometheus.NewRegistry()
	at := startEncrypted(t, &Server{Metrics: NewMetrics(registry)})
	for _, test := range []struct {
		protocols []string
		max       uint16
		good      bool
	}{
		{nil, 0, true}, {[]string{"dot"}, 0, true}, {[]string{"http/1.1", "dot"}, tls.VersionTLS12, true},
		{[]string{"h2"}, 0, false}, {nil, tls.VersionTLS11, false},
	} {
		config := at.config(test.protocols...)
		config.MinVersion, config.MaxVersion = tls.VersionTLS10, test.max
		conn := tls.Client(dial(t, "tcp", at.tls), config)
		if err := conn.Handshake(); (err == nil) != test.good {
			t.Errorf("%v up to version %x: %v", test.protocols, test.max, err)
		}
		conn.Close()
	}
	plain := dial(t, "tcp", at.tls)
	send(t, plain, []byte("GET / HTTP/1.1\r\n\r\n"))
	if _, err := io.Copy(io.Discard, plain); isTimeout(err) {
		t.Error("a connection that speaks no TLS stays open")
	}
	open := dial(t, "tcp", at.tls) // looks whether the port is open: no fault
	if err := open.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	wantEnd(t, open)
	conn := at.secure(t, dial(t, "tcp", at.tls))
	query, _ := askFor(t, "www.corp.test A")
	send(t, conn, framed(query))
	receiveFramed(t, conn)
	if got := metric(t, registry, "clusterzone_dns_dropped_total"); got != 3 {
		t.Errorf("%v handshakes counted as failed, want 3", got)
	}
}

// The limits are one for TCP, TLS and HTTPS together.
func TestLimitsAreShared(t *testing.T) {
	t.Parallel()
	registry := prometheus.NewRegistry()
	at := startEncrypted(t, &Server{Metrics: NewMetrics(registry), TCP: TCPOptions{MaxConnections: 3}})
	query, _ := askFor(t, "www.corp.test A")
	tcp := dial(t, "tcp", at.plain)
	send(t, tcp, framed(query))
	receiveFramed(t, tcp)
	dot := at.secure(t, dial(t, "tcp", at.tls))
	send(t, dot, framed(query))
	receiveFramed(t, dot)
	at.post(t, nil, query)
	if got := metric(t, registry, "clusterzone_dns_tcp_connections"); got != 3 {
		t.Errorf("%v connections counted, want 3", got)
	}
	for _, addr := range []netip.AddrPort{at.plain, at.tls, at.https} {
		wantEnd(t, dial(t, "tcp", addr))
	}
}

// gatePipe lets one connection through a gate over a pipe, in a synctest bubble.
func gatePipe(t *testing.T, ctx context.Context, server *Server, transport Transport) (client net.Conn, ended chan struct{}, r *run) {
	certificate, _ := selfSigned(t)
	server.View = viewOf(newWorld())
	r = server.newRun()
	client, served := net.Pipe()
	if refused := r.conns.add(served, netip.Addr{}); refused != "" {
		t.Fatal(refused)
	}
	to := &gate{run: r, transport: transport, config: tlsConfig(&tls.Config{Certificates: []tls.Certificate{certificate}})}
	ended = make(chan struct{})
	go func() {
		defer close(ended)
		to.enter(ctx, served, netip.MustParseAddrPort("127.0.0.1:40000"))
	}()
	return client, ended, r
}

// A client that makes no handshake, or sends no PROXY header, is closed like one
// that is idle; so it is when the server stops.
func TestSilenceBeforeHandshake(t *testing.T) {
	t.Parallel()
	proxies := []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
	for _, proxied := range [][]netip.Prefix{nil, proxies} {
		synctest.Test(t, func(t *testing.T) {
			client, ended, r := gatePipe(t, t.Context(), &Server{ProxyFrom: proxied}, TLS)
			time.Sleep(9900 * time.Millisecond) // virtual
			if !isOpen(ended) {
				t.Fatal("closed before the timeout")
			}
			time.Sleep(200 * time.Millisecond)
			if isOpen(ended) || len(r.conns.open) != 0 {
				t.Error("open after the timeout")
			}
			client.Close()
		})
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			client, ended, r := gatePipe(t, ctx, &Server{ProxyFrom: proxied}, TLS)
			synctest.Wait()
			cancel()
			r.conns.interrupt()
			if isOpen(ended) {
				t.Error("open after the stop")
			}
			client.Close()
		})
	}
}

// When the server stops, a client over TLS gets the replies to what it has sent,
// and a proper end; an HTTP request that has begun is answered.
func TestEncryptedDrain(t *testing.T) {
	t.Parallel()
	at := startEncryptedStoppable(t, &Server{Drain: time.Hour})
	query, _ := askFor(t, "www.corp.test A")
	dot := at.secure(t, dial(t, "tcp", at.tls), "dot")
	send(t, dot, framed(query))
	receiveFramed(t, dot)
	silent := at.secure(t, dial(t, "tcp", at.https), "h2")
	used := at.client(t, nil, "h2")
	if reply, err := used.Get("https://dns.corp.test" + getURL(query)); err != nil || reply.Body.Close() != nil {
		t.Fatal(err)
	}

	web := at.secure(t, dial(t, "tcp", at.https), "http/1.1")
	send(t, web, []byte("POST /dns-query HTTP/1.1\r\nHost: dns.corp.test\r\nContent-Type: application/dns-message\r\n"+
		"Content-Length: 31\r\nExpect: 100-continue\r\n\r\n"))
	if len(query) != 31 {
		t.Fatalf("the query has %d octets", len(query))
	}
	early := make([]byte, len("HTTP/1.1 100 Continue\r\n\r\n"))
	if _, err := io.ReadFull(web, early); err != nil || !strings.Contains(string(early), "100 Continue") {
		t.Fatalf("%q, %v", early, err)
	}
	stopped := make(chan error, 1)
	go func() { stopped <- at.stop() }()
	if n, err := dot.Read(make([]byte, 1)); n != 0 || !errors.Is(err, io.EOF) {
		t.Errorf("the end of a connection over TLS: %d, %v", n, err)
	}
	send(t, web, query)
	reply, err := io.ReadAll(web)
	if err != nil || !bytes.HasPrefix(reply, []byte("HTTP/1.1 200 OK\r\n")) {
		t.Errorf("the request that had begun: %q, %v", reply, err)
	}
	// One that never asked has got the settings of HTTP/2, and its end.
	if _, err := io.Copy(io.Discard, silent); isTimeout(err) {
		t.Error("a connection that never asked stays open")
	}
	if err := <-stopped; err != nil {
		t.Error(err)
	}
}

func TestEncryptedNeedsCertificate(t *testing.T) {
	t.Parallel()
	local := []Listen{{Addr: netip.MustParseAddr("127.0.0.1")}}
	err := (&Server{View: viewOf(newWorld()), Listen: local, ListenTLS: local}).Serve(t.Context())
	if err == nil || !strings.Contains(err.Error(), "no certificate") {
		t.Errorf("Serve gives %v", err)
	}
}

// An address that is taken fails the whole start with the flag to change.
func TestEncryptedBindTaken(t *testing.T) {
	t.Parallel()
	taken, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	addr := taken.Addr().(*net.TCPAddr).AddrPort()
	local := Listen{Addr: netip.MustParseAddr("127.0.0.1")}
	server := &Server{View: viewOf(newWorld()), Listen: []Listen{local}, ListenTLS: []Listen{local}, TLS: &tls.Config{},
		ListenHTTPS: []Listen{{addr.Addr(), addr.Port()}}}
	err = server.Serve(t.Context())
	if err == nil || !strings.Contains(err.Error(), "can't listen on TCP "+addr.String()) || !strings.Contains(err.Error(), "another with --listen-https") {
		t.Errorf("Serve gives %v", err)
	}
}

// An endlessConn brings the same octets again and again, and takes everything.
type endlessConn struct {
	net.Conn
	octets []byte
	at     int
}

func (c *endlessConn) Read(p []byte) (n int, err error) {
	for n < len(p) {
		copied := copy(p[n:], c.octets[c.at:])
		n += copied
		c.at = (c.at + copied) % len(c.octets)
	}
	return n, nil
}

func (c *endlessConn) Write(p []byte) (int, error)      { return len(p), nil }
func (c *endlessConn) SetDeadline(time.Time) error      { return nil }
func (c *endlessConn) SetWriteDeadline(time.Time) error { return nil }

// What a query over TLS costs in memory is what crypto/tls takes, and no more.
func TestTLSAllocs(t *testing.T) {
	r := (&Server{View: viewOf(sizes(t)), ListenTLS: []Listen{{}}}).newRun()
	query, _ := askFor(t, "a1.corp.test A option=12:")
	stream := &endlessConn{octets: framed(query)}
	c := r.newConnection(stream, Peer{Addr: defaultPeer().Addr, Transport: TLS})
	ctx := t.Context()
	allocs := testing.AllocsPerRun(1000, func() {
		if !c.next(ctx) {
			t.Fatal("the connection ended")
		}
	})
	if allocs > 0 {
		t.Errorf("%v allocations for a query", allocs)
	}
}

// With ReusePort the ports of TLS and HTTPS are shared too; without it they are not.
func TestEncryptedPortsAreShared(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("ports are shared on Linux only")
	}
	local := Listen{Addr: netip.MustParseAddr("127.0.0.1")}
	var taken [2]netip.AddrPort
	first := &Server{ListenTLS: []Listen{local}, ListenHTTPS: []Listen{local}, TLS: &tls.Config{}, ReusePort: true,
		BoundEncrypted: func(tls, https []netip.AddrPort) { taken = [2]netip.AddrPort{tls[0], https[0]} }}
	start(t, first)
	for _, share := range []bool{true, false} {
		second := &Server{View: viewOf(newWorld()), Listen: []Listen{local}, TLS: &tls.Config{}, ReusePort: share,
			ListenTLS: []Listen{{taken[0].Addr(), taken[0].Port()}}, ListenHTTPS: []Listen{{taken[1].Addr(), taken[1].Port()}}}
		ctx, cancel := context.WithCancel(t.Context())
		second.Bound = func([]netip.AddrPort) { cancel() }
		if err := second.Serve(ctx); errors.Is(err, syscall.EADDRINUSE) == share {
			t.Errorf("a second one, sharing %t: %v", share, err)
		}
		cancel()
	}
}
