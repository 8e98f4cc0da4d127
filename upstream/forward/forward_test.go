package forward

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/miekg/dns"

	"github.com/clusterzone/clusterzone/zones"
)

const mark = "12345678"

func parseName(t *testing.T, text string) zones.Name {
	t.Helper()
	name, err := zones.ParseName(text)
	if err != nil {
		t.Fatal(err)
	}
	return name
}

// upstream starts a resolver on a free port of the loopback, UDP and TCP.
func upstream(t *testing.T, handle dns.HandlerFunc) netip.AddrPort {
	t.Helper()
	packets, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", packets.LocalAddr().String())
	if err != nil {
		t.Fatal(err)
	}
	var ready, ended sync.WaitGroup
	var stops []func() error
	for _, server := range []*dns.Server{{PacketConn: packets, Handler: handle}, {Listener: listener, Handler: handle}} {
		ready.Add(1)
		server.NotifyStartedFunc = ready.Done
		ended.Go(func() { _ = server.ActivateAndServe() })
		stops = append(stops, server.Shutdown)
	}
	t.Cleanup(func() {
		for _, stop := range stops {
			_ = stop()
		}
		ended.Wait()
	})
	ready.Wait()
	return netip.MustParseAddrPort(packets.LocalAddr().String())
}

func saying(rcode int) dns.HandlerFunc {
	return func(w dns.ResponseWriter, query *dns.Msg) { _ = w.WriteMsg(new(dns.Msg).SetRcode(query, rcode)) }
}

func forwarder(t *testing.T) *Forwarder {
	t.Helper()
	f, err := New(mark)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func asking(t *testing.T, servers ...netip.AddrPort) *zones.PassQuestion {
	t.Helper()
	return &zones.PassQuestion{
		Rule: &zones.PassRule{Zone: parseName(t, "corp.test"), Servers: servers}, Name: parseName(t, "b.corp.test"),
		Type: zones.TypeA, RD: true, From: netip.MustParseAddr("192.0.2.1"),
	}
}

func texts(entries []zones.Entry) (all []string) {
	for _, entry := range entries {
		for _, data := range entry.Set.Data {
			all = append(all, entry.Owner.String()+" "+entry.Set.Type.String()+" "+data.Text(entry.Set.Type))
		}
	}
	return all
}

// A reply comes through with its sections, without what belongs to the hop; the
// query has an EDNS of its own, the client's bits and our mark behind others.
func TestPass(t *testing.T) {
	t.Parallel()
	queries := make(chan *dns.Msg, 1)
	server := upstream(t, func(w dns.ResponseWriter, query *dns.Msg) {
		queries <- query
		reply := new(dns.Msg).SetReply(query)
		for section, lines := range map[*[]dns.RR][]string{
			&reply.Answer: {"B.corp.test. 300 CNAME c.corp.test.", "c.corp.test. 20 A 198.51.100.2", "c.corp.test. 60 A 198.51.100.1", "c.corp.test. 5 CH A 198.51.100.9", "c.corp.test. 4294967295 TYPE65400 \\# 2 abcd"},
			&reply.Ns:     {"corp.test. 60 NS ns.example."},
			&reply.Extra:  {"ns.example. 60 AAAA 2001:db8::1"},
		} {
			for _, line := range lines {
				rr, err := dns.NewRR(line)
				if err != nil {
					t.Error(err)
				}
				*section = append(*section, rr)
			}
		}
		reply.SetEdns0(4096, true)
		_ = w.WriteMsg(reply)
	})
	q := asking(t, server)
	q.DO, q.CD, q.Trail = true, true, "abcdefgh"
	passed := forwarder(t).Pass(t.Context(), q)
	if passed.Failure != zones.PassAnswered || passed.Rcode != 0 {
		t.Fatalf("%+v", passed)
	}
	if got := texts(passed.Section); !slices.Equal(got, []string{"b.corp.test CNAME c.corp.test.", "c.corp.test A 198.51.100.2", "c.corp.test A 198.51.100.1", "c.corp.test TYPE65400 \\# 2 ABCD"}) {
		t.Errorf("answer: %v", got)
	}
	if ttl := []uint32{passed.Section[0].Set.TTL, passed.Section[1].Set.TTL, passed.Section[2].Set.TTL}; !slices.Equal(ttl, []uint32{300, 20, 0}) {
		t.Errorf("TTLs %v; a set has its lowest, and one above 2^31 is none", ttl)
	}
	if got := texts(passed.Authority); !slices.Equal(got, []string{"corp.test NS ns.example."}) {
		t.Errorf("authority: %v", got)
	}
	if got := texts(passed.Additional); !slices.Equal(got, []string{"ns.example AAAA 2001:db8::1"}) {
		t.Errorf("additional: %v", got)
	}
	query := <-queries
	opt := query.IsEdns0()
	if !query.RecursionDesired || !query.CheckingDisabled || opt == nil || !opt.Do() || opt.UDPSize() != udpSize ||
		len(opt.Option) != 1 || opt.Option[0].Option() != zones.PassMarkOption || string(opt.Option[0].(*dns.EDNS0_LOCAL).Data) != "abcdefgh"+mark {
		t.Errorf("the query is %v", query)
	}
}

// What says nothing of the name is for the next server to better, and a failure
// in the end; NXDOMAIN is an answer.
func TestPassTurns(t *testing.T) {
	t.Parallel()
	refusing, failing, absent := upstream(t, saying(dns.RcodeRefused)), upstream(t, saying(dns.RcodeServerFailure)), upstream(t, saying(dns.RcodeNameError))
	closed, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	dead := netip.MustParseAddrPort(closed.LocalAddr().String())
	_ = closed.Close()
	for _, test := range []struct {
		servers []netip.AddrPort
		failure zones.PassFailure
		rcode   uint16
		why     string
	}{
		{[]netip.AddrPort{refusing, dead, absent}, zones.PassAnswered, 3, ""},
		{[]netip.AddrPort{refusing}, zones.PassUnreachable, 0, "the resolver " + refusing.String() + " says REFUSED"},
		{[]netip.AddrPort{dead, failing}, zones.PassUnreachable, 0, "says SERVFAIL"},
		{[]netip.AddrPort{dead}, zones.PassNetwork, 0, "can't be reached (connection refused)"},
	} {
		passed := forwarder(t).Pass(t.Context(), asking(t, test.servers...))
		if passed.Failure != test.failure || passed.Rcode != test.rcode || !strings.Contains(passed.Why, test.why) {
			t.Errorf("%v: %+v", test.servers, passed)
		}
	}
}

// Truncated replies are asked for again over TCP.
func TestPassOverTCP(t *testing.T) {
	t.Parallel()
	server := upstream(t, func(w dns.ResponseWriter, query *dns.Msg) {
		reply := new(dns.Msg).SetReply(query)
		if reply.Truncated = w.RemoteAddr().Network() == "udp"; !reply.Truncated {
			reply.Rcode = dns.RcodeNameError
		}
		_ = w.WriteMsg(reply)
	})
	if passed := forwarder(t).Pass(t.Context(), asking(t, server)); passed.Rcode != 3 || passed.Failure != zones.PassAnswered {
		t.Errorf("%+v", passed)
	}
}

// Equal questions at once are one lookup. The server itself is not let in: it
// would wait for itself.
func TestPassCoalesces(t *testing.T) {
	t.Parallel()
	f := forwarder(t)
	asked, answer := make(chan struct{}, 10), make(chan struct{})
	f.ask = func(_ context.Context, _ netip.AddrPort, query *dns.Msg) (*dns.Msg, error) {
		asked <- struct{}{}
		<-answer
		return new(dns.Msg).SetRcode(query, dns.RcodeNameError), nil
	}
	q := asking(t, netip.MustParseAddrPort("10.0.0.2:53"))
	results := make(chan *zones.Passed, 10)
	for range 10 {
		go func() { results <- f.Pass(context.Background(), q) }()
	}
	<-asked
	back := *q
	back.From, back.RD = netip.MustParseAddr("10.0.0.2"), false
	if passed := f.Pass(t.Context(), &back); passed.Failure != zones.PassLoop || !strings.Contains(passed.Why, "10.0.0.2") {
		t.Errorf("the server itself gets %+v", passed)
	}
	// On the loopback it may be any program, and waits with the others.
	near := *q
	near.Rule = &zones.PassRule{Servers: []netip.AddrPort{netip.MustParseAddrPort("127.0.0.1:53")}}
	near.From = netip.MustParseAddr("127.0.0.1")
	for range 2 {
		go func() { results <- f.Pass(context.Background(), &near) }()
	}
	<-asked
	// Whoever goes doesn't end it for the others.
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if passed := f.Pass(gone, q); passed.Failure != zones.PassUnreachable {
		t.Errorf("without time left: %+v", passed)
	}
	close(answer)
	for range 12 {
		if passed := <-results; passed.Rcode != 3 {
			t.Errorf("%+v", passed)
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.flights) > 0 || len(f.busy) > 0 {
		t.Errorf("left over: %d lookups, %v", len(f.flights), f.busy)
	}
}

// Lookups are bounded in all, and at one server.
func TestPassIsBounded(t *testing.T) {
	t.Parallel()
	f := forwarder(t)
	server := netip.MustParseAddrPort("10.0.0.2:53")
	f.busy[server] = maxServer
	if passed := f.Pass(t.Context(), asking(t, server)); passed.Failure != zones.PassBusy {
		t.Errorf("a busy server: %+v", passed)
	}
	for i := range maxLookups {
		f.flights[question{kind: zones.Type(i)}] = &flight{}
	}
	if passed := f.Pass(t.Context(), asking(t, server)); passed.Failure != zones.PassBusy {
		t.Errorf("too many lookups: %+v", passed)
	}
}

// A server that is silent gets its turn, and the error says for how long.
func TestPassErrors(t *testing.T) {
	t.Parallel()
	f := forwarder(t)
	f.ask = func(ctx context.Context, _ netip.AddrPort, _ *dns.Msg) (*dns.Msg, error) {
		if deadline, ok := ctx.Deadline(); !ok || time.Until(deadline) > Timeout {
			return nil, errors.New("no deadline")
		}
		return nil, &net.OpError{Op: "write", Err: os.NewSyscallError("sendto", syscall.ENETUNREACH)}
	}
	passed := f.Pass(t.Context(), asking(t, netip.MustParseAddrPort("10.0.0.2:53"), netip.MustParseAddrPort("10.0.0.3:53")))
	if passed.Failure != zones.PassNetwork || passed.Why != "the resolver 10.0.0.3:53 can't be reached (network is unreachable)" {
		t.Errorf("%+v", passed)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	if within := turn(ctx, 2); within > time.Second || within < leastTurn {
		t.Errorf("the first of two servers has %s", within)
	}
	if _, err := New("short"); err == nil {
		t.Error("a mark of the wrong length is taken")
	}
}

// What any server sends becomes a reply or a failure, and each record set can be
// written again.
func FuzzReply(f *testing.F) {
	query := new(dns.Msg).SetQuestion("b.corp.test.", dns.TypeA)
	for _, lines := range [][]string{{"b.corp.test. 1 A 192.0.2.1"}, {"b.corp.test. 1 MX 1 c.test.", "b.corp.test. 1 TYPE999 \\# 0"}, {"b.corp.test. 1 SVCB 1 . alpn=h2"}} {
		reply := new(dns.Msg).SetReply(query)
		for _, line := range lines {
			rr, err := dns.NewRR(line)
			if err != nil {
				f.Fatal(err)
			}
			reply.Answer = append(reply.Answer, rr)
		}
		wire, err := reply.Pack()
		if err != nil {
			f.Fatal(err)
		}
		f.Add(wire)
	}
	f.Fuzz(func(t *testing.T, octets []byte) {
		var reply dns.Msg
		if reply.Unpack(octets) != nil {
			return
		}
		all, err := entries(slices.Concat(reply.Answer, reply.Ns, reply.Extra))
		if err != nil {
			return
		}
		for _, entry := range all {
			if _, n, err := zones.NameFromWire([]byte(entry.Owner)); err != nil || n != len(entry.Owner) || len(entry.Set.Data) == 0 {
				t.Errorf("%q has %d records: %v", entry.Owner, len(entry.Set.Data), err)
			}
		}
	})
}
