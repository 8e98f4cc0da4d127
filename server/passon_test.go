package server

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/miekg/dns"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/clusterzone/clusterzone/zones"
)

const passMark = "12345678"

// sayPassed reads what another resolver says:
//
//	passed nothing                         it is not asked
//	passed rcode NUMBER                    a reply without records
//	passed failure NUMBER WHY              none, for this zones.PassFailure
//	passed answer|authority|additional NAME TTL TYPE DATA
func (s *script) sayPassed(words []string) error {
	switch words[0] {
	case "nothing":
		s.passed = nil
		return nil
	case "rcode", "failure":
		number, err := strconv.Atoi(words[1])
		s.passed = &zones.Passed{Rcode: uint16(number)}
		if words[0] == "failure" {
			s.passed = &zones.Passed{Failure: zones.PassFailure(number), Why: strings.Join(words[2:], " ")}
		}
		return err
	}
	entry, err := entryOf(words[1:])
	if err != nil {
		return err
	}
	section := map[string]*[]zones.Entry{"answer": &s.passed.Section, "authority": &s.passed.Authority, "additional": &s.passed.Additional}[words[0]]
	*section = append(*section, entry)
	return nil
}

// entryOf reads NAME TTL TYPE DATA.
func entryOf(words []string) (zones.Entry, error) {
	name, err := zones.ParseName(words[0])
	if err != nil {
		return zones.Entry{}, err
	}
	ttl, err := strconv.Atoi(words[1])
	if err != nil {
		return zones.Entry{}, err
	}
	kind, err := zones.ParseType(words[2])
	if err != nil {
		return zones.Entry{}, err
	}
	data, err := zones.ParseRdata(kind, strings.Join(words[3:], " "))
	return zones.Entry{Owner: name, Set: &zones.RRSet{Name: name, Type: kind, TTL: uint32(ttl), Data: []zones.Rdata{data}}}, err
}

func describeAsked(q *zones.PassQuestion) string {
	text := fmt.Sprintf("asked: %s %s", q.Name, q.Type)
	for _, bit := range []struct {
		name string
		set  bool
	}{{"rd", q.RD}, {"cd", q.CD}, {"do", q.DO}} {
		if bit.set {
			text += " " + bit.name
		}
	}
	if q.Trail != "" {
		text += fmt.Sprintf(" trail %q", q.Trail)
	}
	return text + "\n"
}

// A fakePasser says the address 198.51.100.7 of every name, but waits for gate
// where the name's first label is slow.
type fakePasser struct {
	gate  chan struct{}
	asked chan *zones.PassQuestion
}

func (f *fakePasser) Pass(ctx context.Context, q *zones.PassQuestion) *zones.Passed {
	if f.asked != nil {
		f.asked <- q
	}
	switch q.Name.FirstLabel() {
	case "slow":
		select {
		case <-f.gate:
		case <-ctx.Done():
			return &zones.Passed{Failure: zones.PassUnreachable, Why: "stopping"}
		}
	case "fault":
		panic("a fault")
	}
	set := &zones.RRSet{Name: q.Name, Type: q.Type, TTL: 30, Data: []zones.Rdata{"\xc6\x33\x64\x07"}}
	return &zones.Passed{Section: []zones.Entry{{Owner: q.Name, Set: set}}}
}

func passOptions(t *testing.T) Options {
	t.Helper()
	corp, err := zones.ParseName("corp.test")
	if err != nil {
		t.Fatal(err)
	}
	return Options{Passes: zones.NewPasses([]zones.PassRule{{Zone: corp}}), PassMark: passMark}
}

// What is passed on holds up no other query, over UDP or TCP, and comes from the
// address that was asked.
func TestPassOnOverSockets(t *testing.T) {
	t.Parallel()
	bothLoops(t, func(t *testing.T, plain bool) {
		passer := &fakePasser{gate: make(chan struct{}), asked: make(chan *zones.PassQuestion, 10)}
		registry := prometheus.NewRegistry()
		addr := start(t, &Server{
			plain:   plain,
			Options: passOptions(t), Passer: passer, Readers: 1, Listen: []Listen{{}}, Metrics: NewMetrics(registry),
			RateLimit: RateLimit{PerSecond: 1000},
		})
		addr = netip.AddrPortFrom(netip.MustParseAddr("127.0.0.2"), addr.Port())
		udp, tcp := dial(t, "udp", addr), dial(t, "tcp", addr)
		slow, _ := askFor(t, "slow.corp.test A id=1 rd")
		quick, _ := askFor(t, "www.corp.test A id=2")
		check := func(reply []byte, id uint16, want string) {
			t.Helper()
			if text := describe(reply, UDP); binary.BigEndian.Uint16(reply) != id || !strings.Contains(text, want) {
				t.Errorf("want %d %s, got %s", id, want, text)
			}
		}
		send(t, udp, slow)
		send(t, tcp, framed(slow))
		for range 2 {
			if q := <-passer.asked; !q.RD || q.From != netip.MustParseAddr("127.0.0.1") && q.From != netip.MustParseAddr("127.0.0.2") {
				t.Errorf("asked is %+v", q)
			}
		}
		send(t, udp, quick)
		check(receive(t, udp), 2, "192.0.2.10")
		send(t, tcp, framed(quick))
		check(receiveFramed(t, tcp), 2, "192.0.2.10")
		close(passer.gate)
		const passed = "answer: slow.corp.test. 30 IN A 198.51.100.7"
		check(receive(t, udp), 1, passed)
		check(receiveFramed(t, tcp), 1, passed)
		if got := metric(t, registry, "clusterzone_dns_passed_on_total"); got != 2 {
			t.Errorf("%v queries counted as passed on, want 2", got)
		}
		// A fault beyond is SERVFAIL for that query.
		fault, _ := askFor(t, "fault.corp.test A edns")
		send(t, udp, fault)
		if text := describe(receive(t, udp), UDP); !strings.HasPrefix(text, "SERVFAIL") || !strings.Contains(text, "EDE 22") {
			t.Errorf("after a fault: %s", text)
		}
	})
}

// A client that has said all closes its side; it still gets what it asked for. So
// does one that waits when the server stops.
func TestPassOnAtTheEnd(t *testing.T) {
	t.Parallel()
	passer := &fakePasser{gate: make(chan struct{}), asked: make(chan *zones.PassQuestion, 10)}
	addr, stop := startStoppable(t, &Server{Options: passOptions(t), Passer: passer})
	query, _ := askFor(t, "slow.corp.test A")
	half, udp := dial(t, "tcp", addr), dial(t, "udp", addr)
	send(t, half, framed(query))
	if err := half.(interface{ CloseWrite() error }).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	send(t, udp, query)
	<-passer.asked
	<-passer.asked
	ended := make(chan error, 1)
	go func() { ended <- stop() }()
	close(passer.gate)
	for _, reply := range [][]byte{receiveFramed(t, half), receive(t, udp)} {
		if text := describe(reply, UDP); !strings.Contains(text, "198.51.100.7") {
			t.Error(text)
		}
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// With too many queries waiting, the next one is SERVFAIL at once.
func TestPassOnIsBounded(t *testing.T) {
	t.Parallel()
	r := (&Server{View: viewOf(worldOf(t, "zone corp.test")), Options: passOptions(t), Passer: &fakePasser{}}).newRun()
	for range maxPassing {
		r.passing.places <- struct{}{}
	}
	query, peer := askFor(t, "absent.corp.test A edns")
	w := r.newWorker()
	_, outcome := w.answer(nil, query, peer)
	var reply []byte
	w.passOn(query, peer, outcome.PassOn, time.Now(), returnPath{
		send: func(framed []byte) error { reply = bytes.Clone(framed[2:]); return nil },
		done: func() {},
	})
	if text := describe(reply, UDP); !strings.HasPrefix(text, "SERVFAIL") || !strings.Contains(text, "too many queries") {
		t.Errorf("got %s", text)
	}
}

// What is passed on fits its client: 512 octets without EDNS, then TC.
func TestPassedFits(t *testing.T) {
	t.Parallel()
	r := Responder{Options: passOptions(t)}
	snap := worldOf(t, "zone corp.test").snapshot()
	passed := &zones.Passed{}
	for i := range 40 {
		entry, err := entryOf(strings.Fields(fmt.Sprintf("n%d.corp.test 60 TXT %s", i, strings.Repeat("x", 200))))
		if err != nil {
			t.Fatal(err)
		}
		passed.Section = append(passed.Section, entry)
	}
	for _, test := range []struct {
		words     string
		transport Transport
		limit     int
	}{{"BIG.corp.test TXT", UDP, 512}, {"big.corp.test TXT size=4096", UDP, 1232}, {"big.corp.test TXT", TCP, maxMessage}} {
		query, peer := askFor(t, test.words)
		peer.Transport = test.transport
		_, outcome := r.Respond(nil, query, snap, peer)
		reply, done := r.Finish(nil, query, snap, peer, outcome.PassOn, passed)
		var msg dns.Msg
		if err := msg.Unpack(reply); err != nil {
			t.Fatal(err)
		}
		if len(reply) > test.limit || msg.Truncated != (test.transport == UDP) || done.Truncated != msg.Truncated || msg.Question[0].Name != dns.Fqdn(strings.Fields(test.words)[0]) {
			t.Errorf("%s over %s: %d octets, TC %v, %s", test.words, test.transport, len(reply), msg.Truncated, msg.Question[0].Name)
		}
	}
}

// An object may claim the name while the other resolver is asked: then ours is
// the answer.
func TestPassedTooLate(t *testing.T) {
	t.Parallel()
	r := Responder{Options: passOptions(t)}
	query, peer := askFor(t, "new.corp.test A")
	_, outcome := r.Respond(nil, query, worldOf(t, "zone corp.test").snapshot(), peer)
	passed := &zones.Passed{Rcode: uint16(NXDomain)}
	snap := worldOf(t, "zone corp.test\nnew.corp.test 60 A 192.0.2.1").snapshot()
	reply, _ := r.Finish(nil, query, snap, peer, outcome.PassOn, passed)
	if text := describe(reply, UDP); !strings.Contains(text, "NOERROR aa") || !strings.Contains(text, "192.0.2.1") {
		t.Error(text)
	}
	// What the Responder was told belongs to that one query.
	if _, again := r.Respond(nil, query, worldOf(t, "zone corp.test").snapshot(), peer); again.PassOn == nil {
		t.Error("the next query is not passed on")
	}
}

// A tapped keeps what a Tap was told.
type tapped struct {
	mu   sync.Mutex
	seen []Seen
	more chan struct{}
}

func (l *tapped) Seen(s Seen) {
	l.mu.Lock()
	s.Query, s.Reply = bytes.Clone(s.Query), bytes.Clone(s.Reply)
	l.seen = append(l.seen, s)
	l.mu.Unlock()
	l.more <- struct{}{}
}

// The tap is told of each query and reply, octet for octet, passed on ones too.
func TestTap(t *testing.T) {
	t.Parallel()
	bothLoops(t, func(t *testing.T, plain bool) {
		tap := &tapped{more: make(chan struct{}, 100)}
		addr := start(t, &Server{plain: plain, Options: passOptions(t), Passer: &fakePasser{}, Tap: tap, Listen: []Listen{{}}})
		addr = netip.AddrPortFrom(netip.MustParseAddr("127.0.0.3"), addr.Port())
		for _, words := range []string{"www.corp.test A", "other.corp.test A", "www.example A"} {
			query, _ := askFor(t, words)
			for _, network := range []string{"udp", "tcp"} {
				conn := dial(t, network, addr)
				var reply []byte
				if network == "udp" {
					send(t, conn, query)
					reply = receive(t, conn)
				} else {
					send(t, conn, framed(query))
					reply = receiveFramed(t, conn)
				}
				<-tap.more
				tap.mu.Lock()
				s := tap.seen[len(tap.seen)-1]
				tap.mu.Unlock()
				zone := "corp.test"
				if words == "www.example A" {
					zone = ""
				}
				if !bytes.Equal(s.Query, query) || !bytes.Equal(s.Reply, reply) || s.Transport.String() != network ||
					s.Client.String() != conn.LocalAddr().String() || netip.AddrPortFrom(s.Server.Addr().Unmap(), s.Server.Port()) != addr ||
					s.Sent.Before(s.Came) || (s.Zone != "" || zone != "") && s.Zone.String() != zone {
					t.Errorf("%s over %s: told of %+v", words, network, s)
				}
			}
		}
		// No reply, no message of it.
		udp := dial(t, "udp", addr)
		send(t, udp, []byte{1, 2, 3})
		<-tap.more
		if s := tap.seen[len(tap.seen)-1]; s.Reply != nil || len(s.Query) != 3 {
			t.Errorf("told of %+v", s)
		}
	})
}

// Whatever is asked, what is passed on becomes a well-formed reply, and nothing
// else changes by it.
func FuzzPassOn(f *testing.F) {
	for _, query := range scriptQueries(f) {
		f.Add(query, false)
		f.Add(query, true)
	}
	w := worldOf(f, "zone corp.test\nwww.corp.test 60 A 192.0.2.10\nalias.corp.test 60 CNAME elsewhere.corp.test")
	snap, origin := w.snapshot(), w.options.Origins[0].Name
	entry, err := entryOf(strings.Fields("elsewhere.corp.test 60 MX 5 Mail.corp.test"))
	if err != nil {
		f.Fatal(err)
	}
	passed := &zones.Passed{Section: []zones.Entry{entry}, Additional: []zones.Entry{entry}}
	plain := Responder{}
	r := Responder{Options: Options{Passes: zones.NewPasses([]zones.PassRule{{Zone: origin}}), PassMark: passMark}}
	f.Fuzz(func(t *testing.T, query []byte, tcp bool) {
		peer := defaultPeer()
		if tcp {
			peer.Transport = TCP
		}
		plain.turn, r.turn = 0, 0
		want, _ := plain.Respond(nil, query, snap, peer)
		reply, outcome := r.Respond(nil, query, snap, peer)
		if outcome.PassOn == nil {
			if !outcome.Passed && !bytes.Equal(reply, want) {
				t.Fatalf("the reply is %x, and %x without the flag", reply, want)
			}
			return
		}
		if !outcome.PassOn.Name.In(origin) || len(reply) > 0 {
			t.Fatalf("%+v is asked for, with a reply of %d octets", outcome.PassOn, len(reply))
		}
		reply, outcome = r.Finish(nil, query, snap, peer, outcome.PassOn, passed)
		if outcome.PassOn != nil || !outcome.Passed || outcome.Zone != origin {
			t.Fatalf("the outcome is %+v", outcome)
		}
		checkReply(t, query, reply, outcome, peer.Transport)
	})
}
