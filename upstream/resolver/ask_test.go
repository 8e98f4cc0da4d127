package resolver

import (
	"context"
	"log/slog"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/miekg/dns"

	"github.com/clusterzone/clusterzone/zones"
)

// upstream starts a recursive resolver on a free port of the loopback, UDP and
// TCP, and returns its address.
func upstream(t *testing.T, handle dns.HandlerFunc) netip.AddrPort {
	t.Helper()
	packets, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := packets.LocalAddr().String()
	listener, err := net.Listen("tcp", address)
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
	return netip.MustParseAddrPort(address)
}

// answering answers each question with the records given for its type.
func answering(t *testing.T, records map[uint16][]string) dns.HandlerFunc {
	t.Helper()
	parsed := map[uint16][]dns.RR{}
	for kind, lines := range records {
		for _, line := range lines {
			rr, err := dns.NewRR(line)
			if err != nil {
				t.Fatal(err)
			}
			parsed[kind] = append(parsed[kind], rr)
		}
	}
	return func(w dns.ResponseWriter, query *dns.Msg) {
		reply := new(dns.Msg).SetReply(query)
		reply.Answer = parsed[query.Question[0].Qtype]
		_ = w.WriteMsg(reply)
	}
}

func askOne(t *testing.T, server netip.AddrPort, kind zones.Type) (texts []string, ttl uint32, err error) {
	t.Helper()
	result, err := wire{}.ask(t.Context(), server, name(t, "lb.example"), kind)
	for _, data := range result.data {
		texts = append(texts, data.Text(kind))
	}
	return texts, result.ttl, err
}

// Addresses stand at the end of the upstream's own CNAMEs; the lowest TTL on the
// way counts, and records of other names and types don't.
func TestAskFollowsChains(t *testing.T) {
	t.Parallel()
	server := upstream(t, answering(t, map[uint16][]string{
		dns.TypeA: {
			"LB.example. 300 CNAME zone-a.example.",
			"zone-a.example. 20 CNAME node.example.",
			"node.example. 60 A 198.51.100.2",
			"node.example. 60 A 198.51.100.1",
			"node.example. 60 A 198.51.100.1",
			"other.example. 5 A 203.0.113.9",
		},
		dns.TypeAAAA: {"lb.example. 60 CNAME loop.example.", "loop.example. 60 CNAME lb.example."},
	}))
	texts, ttl, err := askOne(t, server, zones.TypeA)
	if err != nil || ttl != 20 || !slices.Equal(texts, []string{"198.51.100.1", "198.51.100.2"}) {
		t.Errorf("A: %v for %d seconds, %v", texts, ttl, err)
	}
	if texts, _, err := askOne(t, server, zones.TypeAAAA); err != nil || len(texts) > 0 {
		t.Errorf("a loop gives %v, %v; it has no addresses", texts, err)
	}
}

// What a server says becomes an error in words; NXDOMAIN is one that ends the
// asking.
func TestAskErrors(t *testing.T) {
	t.Parallel()
	for rcode, want := range map[int]string{
		dns.RcodeNameError:     "NXDOMAIN",
		dns.RcodeServerFailure: "says SERVFAIL",
		dns.RcodeRefused:       "says REFUSED",
	} {
		server := upstream(t, func(w dns.ResponseWriter, query *dns.Msg) {
			_ = w.WriteMsg(new(dns.Msg).SetRcode(query, rcode))
		})
		if _, _, err := askOne(t, server, zones.TypeA); err == nil || err.Error() != want {
			t.Errorf("an rcode of %d gives %v, want %s", rcode, err, want)
		}
	}
	closed, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := netip.MustParseAddrPort(closed.LocalAddr().String())
	_ = closed.Close()
	if _, _, err := askOne(t, address, zones.TypeA); err == nil || strings.Contains(err.Error(), "->") || !strings.Contains(err.Error(), "refused") {
		t.Errorf("a closed port gives %v", err)
	}
}

// A truncated reply is asked for again over TCP.
func TestAskOverTCP(t *testing.T) {
	t.Parallel()
	whole := answering(t, map[uint16][]string{dns.TypeA: {"lb.example. 60 A 198.51.100.1"}})
	server := upstream(t, func(w dns.ResponseWriter, query *dns.Msg) {
		if w.RemoteAddr().Network() == "tcp" {
			whole(w, query)
			return
		}
		reply := new(dns.Msg).SetReply(query)
		reply.Truncated = true
		_ = w.WriteMsg(reply)
	})
	if texts, _, err := askOne(t, server, zones.TypeA); err != nil || !slices.Equal(texts, []string{"198.51.100.1"}) {
		t.Errorf("%v, %v", texts, err)
	}
}

// Packets that answer another question, and garbage, are no answer: the right one
// after them counts.
func TestAskLeavesOthersOut(t *testing.T) {
	t.Parallel()
	right := answering(t, map[uint16][]string{dns.TypeA: {"lb.example. 60 A 198.51.100.1"}})
	server := upstream(t, func(w dns.ResponseWriter, query *dns.Msg) {
		for _, forge := range []func(*dns.Msg){
			func(m *dns.Msg) { m.Id++ },
			func(m *dns.Msg) { m.Question[0].Name = "evil.example." },
			func(m *dns.Msg) { m.Response = false },
		} {
			forged := new(dns.Msg).SetReply(query)
			forged.Answer = []dns.RR{&dns.A{Hdr: dns.RR_Header{Name: "lb.example.", Rrtype: dns.TypeA, Class: dns.ClassINET, Ttl: 60}, A: net.IPv4(203, 0, 113, 6)}}
			forge(forged)
			_ = w.WriteMsg(forged)
		}
		right(w, query)
	})
	if texts, _, err := askOne(t, server, zones.TypeA); err != nil || !slices.Equal(texts, []string{"198.51.100.1"}) {
		t.Errorf("%v, %v", texts, err)
	}
}

// A question to a server that never answers ends with its context.
func TestAskEnds(t *testing.T) {
	t.Parallel()
	asked := make(chan struct{}, 1)
	server := upstream(t, func(dns.ResponseWriter, *dns.Msg) { asked <- struct{}{} })
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		_, err := wire{}.ask(ctx, server, "\x02lb\x07example\x00", zones.TypeA)
		ended <- err
	}()
	<-asked
	cancel()
	if err := <-ended; err == nil || !strings.Contains(err.Error(), "does not answer within 2s") {
		t.Errorf("the question ends with %v", err)
	}
}

// A publisher passes on what is published.
type publisher chan *zones.Targets

func (p publisher) SwapTargets(targets *zones.Targets) { p <- targets }

// With real servers: a dead one before a good one.
func TestRunAsksRealServers(t *testing.T) {
	t.Parallel()
	refusing := upstream(t, func(w dns.ResponseWriter, query *dns.Msg) {
		_ = w.WriteMsg(new(dns.Msg).SetRcode(query, dns.RcodeRefused))
	})
	good := upstream(t, answering(t, map[uint16][]string{dns.TypeAAAA: {"lb.example. 60 AAAA 2001:db8::7"}}))
	published := make(publisher, 100)
	r, err := New(Options{Servers: []netip.AddrPort{refusing, good}, Stale: time.Hour, Publisher: published, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- r.Run(ctx) }()
	lb := name(t, "lb.example")
	r.Update([]zones.Name{lb}, nil)
	for targets := range published {
		target := targets.Get(lb)
		if target == nil || target.State() == "waiting" {
			continue
		}
		if target.State() != "resolved" || target.A.Set != nil || target.AAAA.Set.Data[0].Text(zones.TypeAAAA) != "2001:db8::7" {
			t.Errorf("the target is %+v", target)
		}
		break
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
