package dnstap

import (
	"bytes"
	"context"
	"log/slog"
	"net"
	"net/netip"
	"path/filepath"
	"strings"
	"testing"
	"time"

	tap "github.com/dnstap/golang-dnstap"
	"google.golang.org/protobuf/proto"
)

// wait bounds what a test waits for.
const wait = 20 * time.Second

// A reader is the library's own, behind a socket.
type reader struct {
	listener net.Listener
	frames   chan *tap.Dnstap
	conns    chan net.Conn
}

// listen starts a reader that ends with the test.
func listen(t *testing.T, target Target) *reader {
	t.Helper()
	listener, err := net.Listen(target.Network, target.Address)
	if err != nil {
		t.Fatal(err)
	}
	r := &reader{listener: listener, frames: make(chan *tap.Dnstap, 100), conns: make(chan net.Conn, 10)}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			r.conns <- conn
			r.read(conn)
		}
	}()
	t.Cleanup(func() {
		_ = listener.Close()
		<-ended
	})
	return r
}

// read reads frames until the stream ends.
func (r *reader) read(conn net.Conn) {
	defer conn.Close()
	frames, err := tap.NewReader(conn, &tap.ReaderOptions{Bidirectional: true, Timeout: wait})
	if err != nil {
		return
	}
	buf := make([]byte, tap.MaxPayloadSize)
	for {
		n, err := frames.ReadFrame(buf)
		if err != nil {
			return
		}
		d := &tap.Dnstap{}
		if proto.Unmarshal(buf[:n], d) == nil {
			r.frames <- d
		}
	}
}

func (r *reader) next(t *testing.T) *tap.Dnstap {
	t.Helper()
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case d := <-r.frames:
		return d
	case <-timer.C:
		t.Fatal("no dnstap message comes")
	}
	return nil
}

// run runs a sender until the test ends.
func run(t *testing.T, target Target) (s *Sender, stop func()) {
	t.Helper()
	s = New(Options{Target: target, Identity: "replica-1", Version: "clusterzone test", Log: slog.New(slog.DiscardHandler)})
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	stopped := false
	stop = func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
	t.Cleanup(stop)
	return s, stop
}

func socket(t *testing.T) Target { return Target{"unix", filepath.Join(t.TempDir(), "tap")} }

func exchange(protocol string) Exchange {
	return Exchange{
		Client: netip.MustParseAddrPort("192.0.2.1:4000"), Server: netip.MustParseAddrPort("[::ffff:192.0.2.53]:53"),
		Protocol: protocol, Zone: "\x04corp\x04test\x00",
		Query: []byte("query"), Reply: []byte("reply"), Came: time.Unix(1_700_000_000, 7), Sent: time.Unix(1_700_000_001, 8),
	}
}

// A reader sees query and reply with all that stands beside them. Who queues them
// may do so before it is there, and use the memory again.
func TestMessages(t *testing.T) {
	t.Parallel()
	target := socket(t)
	s, stop := run(t, target)
	e := exchange("tls")
	e.Query = bytes.Clone(e.Query)
	s.Send(e)
	copy(e.Query, "other")
	r := listen(t, target)
	query, reply := r.next(t), r.next(t)
	m := query.GetMessage()
	if string(query.GetIdentity()) != "replica-1" || string(query.GetVersion()) != "clusterzone test" ||
		m.GetType() != tap.Message_AUTH_QUERY || m.GetSocketProtocol() != tap.SocketProtocol_DOT || m.GetSocketFamily() != tap.SocketFamily_INET ||
		string(m.GetQueryMessage()) != "query" || m.GetResponseMessage() != nil || string(m.GetQueryZone()) != "\x04corp\x04test\x00" ||
		net.IP(m.GetQueryAddress()).String() != "192.0.2.1" || m.GetQueryPort() != 4000 || m.GetQueryTimeSec() != 1_700_000_000 || m.GetQueryTimeNsec() != 7 ||
		net.IP(m.GetResponseAddress()).String() != "192.0.2.53" || len(m.GetResponseAddress()) != 4 || m.GetResponsePort() != 53 {
		t.Errorf("the query is %v", query)
	}
	m = reply.GetMessage()
	if m.GetType() != tap.Message_AUTH_RESPONSE || string(m.GetResponseMessage()) != "reply" || m.GetQueryMessage() != nil ||
		m.GetQueryTimeSec() != 1_700_000_000 || m.GetResponseTimeSec() != 1_700_000_001 || m.GetResponseTimeNsec() != 8 {
		t.Errorf("the reply is %v", reply)
	}
	// What is queued when the program stops still gets there.
	last := exchange("carrier pigeon")
	last.Reply, last.Client, last.Server, last.Zone = nil, netip.AddrPort{}, netip.AddrPort{}, ""
	s.Send(last)
	stop()
	d := r.next(t)
	if m := d.GetMessage(); m.SocketProtocol != nil || m.SocketFamily != nil || m.QueryAddress != nil || m.QueryPort != nil || m.QueryZone != nil {
		t.Errorf("what is not known is left out: %v", d)
	}
	if written, dropped := s.Counts(); written != 3 || dropped != 0 {
		t.Errorf("%d written and %d dropped, want 3 and 0", written, dropped)
	}
}

// A reader that goes away is found again, over TCP too.
func TestReaderComesBack(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	target := Target{"tcp", listener.Addr().String()}
	_ = listener.Close()
	r := listen(t, target)
	s, _ := run(t, target)
	s.Send(exchange("udp"))
	r.next(t)
	r.next(t)
	_ = (<-r.conns).Close()
	// Until the loss is noticed, messages go nowhere.
	deadline := time.Now().Add(wait)
	for len(r.frames) == 0 && time.Now().Before(deadline) {
		s.Send(exchange("tcp"))
		timer := time.NewTimer(5 * time.Millisecond)
		<-timer.C
	}
	if m := r.next(t).GetMessage(); m.GetSocketProtocol() != tap.SocketProtocol_TCP {
		t.Errorf("after the loss: %v", m)
	}
}

// A reader that accepts and never reads blocks nobody: what doesn't fit is
// dropped and counted, in bounded memory, and the program still stops.
func TestSlowReader(t *testing.T) {
	t.Parallel()
	target := socket(t)
	listener, err := net.Listen(target.Network, target.Address)
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	s, stop := run(t, target)
	conn, err := listener.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	e := exchange("udp")
	e.Reply = bytes.Repeat([]byte("x"), 60_000)
	const sent = 2 * maxQueue
	for range sent {
		s.Send(e)
		if octets := s.octets.Load(); octets > maxOctets+int64(len(e.Reply)) {
			t.Fatalf("the queue has %d octets", octets)
		}
	}
	if _, dropped := s.Counts(); dropped < sent {
		t.Errorf("%d of %d messages dropped", dropped, 2*sent)
	}
	stop()
	if written, dropped := s.Counts(); written+dropped != 2*sent || s.octets.Load() != 0 {
		t.Errorf("%d written and %d dropped of %d; %d octets left", written, dropped, 2*sent, s.octets.Load())
	}
}

// Small messages are bounded by number.
func TestQueueIsFull(t *testing.T) {
	t.Parallel()
	s := New(Options{Target: socket(t), Log: slog.New(slog.DiscardHandler)})
	for range maxQueue + 3 {
		s.Send(exchange("udp"))
	}
	if _, dropped := s.Counts(); dropped != 2*3 {
		t.Errorf("%d dropped, want 6", dropped)
	}
}

func TestParseTarget(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"unix:/run/dnstap.sock": "", "tcp:192.0.2.7:6000": "", "tcp:[2001:db8::7]:6000": "", "tcp:tap.example:6000": "",
		"unix:": "names no socket", "tcp:192.0.2.7": "no host with a port", "tcp::6000": "no host with a port", "tcp:h:0": "no host with a port",
		"tcp:h:70000": "no host with a port", "": "it is no socket", "/run/tap": "it is no socket", "unix:" + strings.Repeat("x", 108): "108 octets",
	} {
		target, err := ParseTarget(text)
		if want == "" && (err != nil || target.String() != text) || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: %v, %v", text, target, err)
		}
	}
}
