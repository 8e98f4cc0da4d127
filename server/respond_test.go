package server

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/miekg/dns"

	"github.com/clusterzone/clusterzone/zones"
)

// sizes is a world whose answers have every size.
func sizes(tb testing.TB) *world {
	var lines strings.Builder
	lines.WriteString("zone corp.test\n")
	for _, n := range []int{1, 2, 3, 10, 28, 29, 30, 60, 74, 80, 200, 1000, 5000} {
		for i := range n {
			fmt.Fprintf(&lines, "a%d.corp.test 60 A 10.0.%d.%d\n", n, i/256, i%256)
			if n <= 200 {
				fmt.Fprintf(&lines, "ns%d.corp.test 60 NS ns%d.ns%d.corp.test\n", n, i, n)
				fmt.Fprintf(&lines, "ns%d.ns%d.corp.test 60 A 10.1.%d.%d\n", i, n, i/256, i%256)
				fmt.Fprintf(&lines, "srv%d.corp.test 60 SRV 0 0 %d host%d.corp.test\n", n, i, i)
				fmt.Fprintf(&lines, "mx%d.corp.test 60 MX %d host%d.corp.test\n", n, i, i)
			}
		}
		fmt.Fprintf(&lines, "c%d.corp.test 60 CNAME cc%d.corp.test\ncc%d.corp.test 60 CNAME a%d.corp.test\n", n, n, n, n)
	}
	for i := range 200 {
		fmt.Fprintf(&lines, "host%d.corp.test 60 A 10.2.0.%d\n", i, i)
		fmt.Fprintf(&lines, "txt.corp.test 60 TXT \"%d %s\"\n", i, strings.Repeat("x", i))
	}
	return worldOf(tb, lines.String())
}

func askFor(tb testing.TB, words string) ([]byte, Peer) {
	tb.Helper()
	query, peer, err := buildQuery(strings.Fields(words))
	if err != nil {
		tb.Fatal(err)
	}
	return query, peer
}

// Every reply keeps to its limit, holds whole records, says TC if and only if
// answer or authority records (or a referral's glue below the cut) are missing,
// and is whole over TCP.
func TestTruncation(t *testing.T) {
	t.Parallel()
	snap := sizes(t).snapshot()
	var r Responder
	for _, n := range []int{1, 2, 3, 10, 28, 29, 30, 60, 74, 80, 200, 1000, 5000} {
		for _, question := range []string{
			fmt.Sprintf("a%d.corp.test A", n), fmt.Sprintf("c%d.corp.test A", n), fmt.Sprintf("x.ns%d.corp.test A", n),
			fmt.Sprintf("srv%d.corp.test SRV", n), fmt.Sprintf("mx%d.corp.test MX", n), "txt.corp.test TXT",
		} {
			for _, words := range []string{"", "edns size=512", "edns size=600", "edns size=1232", "edns size=4096 do", "tcp", "tcp edns"} {
				query, peer := askFor(t, question+" "+words)
				reply, outcome := r.Respond(nil, query, snap, peer)
				checkTruncation(t, question+" "+words, snap, query, reply, outcome, peer)
			}
		}
	}
}

func checkTruncation(t *testing.T, what string, snap *zones.Snapshot, query, reply []byte, outcome Outcome, peer Peer) {
	t.Helper()
	var asked, msg dns.Msg
	if err := asked.Unpack(query); err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	if err := msg.Unpack(reply); err != nil {
		t.Fatalf("%s: the reply can't be read: %v", what, err)
	}
	limit := maxMessage
	if peer.Transport == UDP {
		limit = plainUDP
		if opt := asked.IsEdns0(); opt != nil {
			limit = min(int(opt.UDPSize()), DefaultMaxUDP)
		}
	}
	if len(reply) > limit {
		t.Errorf("%s: %d octets, more than %d", what, len(reply), limit)
	}
	if (asked.IsEdns0() != nil) != (msg.IsEdns0() != nil) {
		t.Errorf("%s: OPT in the query: %v, in the reply: %v", what, asked.IsEdns0() != nil, msg.IsEdns0() != nil)
	}

	var a zones.Answer
	name, err := zones.ParseName(asked.Question[0].Name)
	if err != nil {
		t.Fatal(err)
	}
	snap.Lookup(name, zones.Type(asked.Question[0].Qtype), &a)
	glue := 0
	if a.Kind == zones.Delegation {
		for _, rr := range msg.Extra {
			if rr.Header().Rrtype == dns.TypeA {
				glue++
			}
		}
	}
	missing := count(a.Section) - len(msg.Answer) + count(a.Authority) - len(msg.Ns)
	if a.Kind == zones.Delegation {
		missing += count(a.Additional) - glue // all of it lies below the cut here
	}
	if (missing > 0) != msg.Truncated || outcome.Truncated != msg.Truncated || outcome.Size != len(reply) {
		t.Errorf("%s: TC %v with %d records missing; outcome %+v", what, msg.Truncated, missing, outcome)
	}
	if peer.Transport == TCP && msg.Truncated && count(a.Section) < 1000 {
		t.Errorf("%s: TC over TCP with %d octets", what, len(reply))
	}
	// What the limit leaves room for is used: one more record would not fit.
	if msg.Truncated && missing > 0 && len(msg.Answer) > 0 {
		largest := 0
		for _, entry := range a.Section {
			for _, data := range entry.Set.Data {
				largest = max(largest, len(data)+len(entry.Owner)+10)
			}
		}
		if len(reply)+largest < limit-optSize {
			t.Errorf("%s: only %d of %d octets used", what, len(reply), limit)
		}
	}
}

func count(entries []zones.Entry) (n int) {
	for _, entry := range entries {
		n += len(entry.Set.Data)
	}
	return n
}

// A chain stands in order and before its addresses in every turn, and every
// address gets its turn at the front (PAINS 42).
func TestRotation(t *testing.T) {
	t.Parallel()
	snap := sizes(t).snapshot()
	var r Responder
	first := map[string]int{}
	const asked = 3000
	for i := range asked {
		query, peer := askFor(t, fmt.Sprintf("c10.corp.test A id=%d", i%7))
		reply, _ := r.Respond(nil, query, snap, peer)
		var msg dns.Msg
		if err := msg.Unpack(reply); err != nil {
			t.Fatal(err)
		}
		if len(msg.Answer) != 12 {
			t.Fatalf("%d records, want 12", len(msg.Answer))
		}
		for j, want := range []string{"c10.corp.test.", "cc10.corp.test."} {
			if h := msg.Answer[j].Header(); h.Rrtype != dns.TypeCNAME || h.Name != want {
				t.Fatalf("record %d is %s", j, msg.Answer[j])
			}
		}
		distinct := map[string]bool{}
		for _, rr := range msg.Answer[2:] {
			distinct[rr.(*dns.A).A.String()] = true
		}
		if len(distinct) != 10 {
			t.Fatalf("%d distinct addresses, want 10", len(distinct))
		}
		first[msg.Answer[2].(*dns.A).A.String()]++
	}
	for address, n := range first {
		if n < asked/10/2 || n > asked/10*2 {
			t.Errorf("%s came first %d times of %d", address, n, asked)
		}
	}
	if len(first) != 10 {
		t.Errorf("%d addresses came first, want 10", len(first))
	}
}

// A client that asks for A and AAAA in turn must not see one order only.
func TestRotationOfAlternatingQuestions(t *testing.T) {
	t.Parallel()
	snap := worldOf(t, `zone corp.test
		two.corp.test 60 A 192.0.2.1
		two.corp.test 60 A 192.0.2.2`).snapshot()
	var r Responder
	first := map[string]int{}
	for range 200 {
		query, peer := askFor(t, "two.corp.test A id=0")
		reply, _ := r.Respond(nil, query, snap, peer)
		var msg dns.Msg
		if err := msg.Unpack(reply); err != nil {
			t.Fatal(err)
		}
		first[msg.Answer[0].(*dns.A).A.String()]++
		query, peer = askFor(t, "two.corp.test AAAA id=0")
		r.Respond(nil, query, snap, peer)
	}
	if first["192.0.2.1"] < 60 || first["192.0.2.2"] < 60 {
		t.Errorf("first addresses: %v", first)
	}
}

// The extended error gives way before any record does.
func TestExtendedErrorGivesWay(t *testing.T) {
	t.Parallel()
	label := strings.Repeat("l", 63)
	name := strings.Join([]string{label, label, label, strings.Repeat("m", 45), "corp.test"}, ".")
	snap := worldOf(t, "zone corp.test\nskip "+name+" "+strings.Repeat("because ", 28)).snapshot()
	query, peer := askFor(t, name+" A edns size=512")
	reply, outcome := Respond(nil, query, snap, peer)
	text := describe(reply, UDP)
	if outcome.Truncated || len(reply) > 512 || !strings.Contains(text, "authority: corp.test.") || !strings.Contains(text, `EDE 0 ""`) {
		t.Errorf("want the SOA and the code without text in 512 octets, got %d octets:\n%s", len(reply), text)
	}
}

// In-domain glue that does not fit says TC, sibling glue does not (RFC 9471).
func TestGlueTruncation(t *testing.T) {
	t.Parallel()
	var lines strings.Builder
	lines.WriteString("zone corp.test\nin.corp.test 60 NS ns.in.corp.test\nout.corp.test 60 NS ns.other.corp.test\n")
	lines.WriteString("both.corp.test 60 NS a.corp.test\nboth.corp.test 60 NS ns.both.corp.test\nns.both.corp.test 60 A 10.0.0.1\n")
	for i := range 100 {
		fmt.Fprintf(&lines, "ns.in.corp.test 60 A 10.0.1.%d\nns.other.corp.test 60 A 10.0.2.%d\na.corp.test 60 A 10.0.3.%d\n", i, i, i)
	}
	snap := worldOf(t, lines.String()).snapshot()
	for question, truncated := range map[string]bool{
		"x.in.corp.test A edns":   true,
		"x.out.corp.test A edns":  false,
		"x.both.corp.test A edns": false,
	} {
		query, peer := askFor(t, question)
		reply, outcome := Respond(nil, query, snap, peer)
		if outcome.Truncated != truncated {
			t.Errorf("%s: TC is %v, want %v\n%s", question, outcome.Truncated, truncated, describe(reply, UDP))
		}
		if strings.Contains(question, "both") && !strings.Contains(describe(reply, UDP), "additional: ns.both.corp.test. 60 IN A 10.0.0.1") {
			t.Errorf("%s: the glue below the cut must go first\n%s", question, describe(reply, UDP))
		}
	}
}

// Replies are appended: what stands in dst before stays, and pointers count
// from the message's own start.
func TestRespondAppends(t *testing.T) {
	t.Parallel()
	snap := sizes(t).snapshot()
	for _, question := range []string{"c3.corp.test A edns", "mx10.corp.test MX tcp", "absent.corp.test A"} {
		query, peer := askFor(t, question)
		alone, _ := Respond(nil, query, snap, peer)
		prefix := []byte("twelve octets and more")
		behind, _ := Respond(bytes.Clone(prefix), query, snap, peer)
		if !bytes.Equal(behind, append(prefix, alone...)) {
			t.Errorf("%s: the reply differs behind a prefix", question)
		}
	}
	short := []byte{1, 2, 3}
	if dst, outcome := Respond(short, []byte{0}, snap, Peer{}); !bytes.Equal(dst, short) || outcome.Dropped != DropShort {
		t.Errorf("a dropped message changed dst to %x (%v)", dst, outcome.Dropped)
	}
}

// A Responder's memory of one query must not show in the next reply.
func TestResponderKeepsNothing(t *testing.T) {
	t.Parallel()
	snap := sizes(t).snapshot()
	questions := []string{
		"c3.corp.test A", "mx10.corp.test MX edns", "absent.corp.test A", "x.ns3.corp.test A", "other.test A edns",
		"corp.test SOA key=nokey", "corp.test SOA version=1", "corp.test SOA opcode=5", "corp.test AXFR", "txt.corp.test TXT edns do",
	}
	var r Responder
	rng := rand.New(rand.NewPCG(1, 2))
	for range 500 {
		query, peer := askFor(t, questions[rng.IntN(len(questions))])
		r.turn = 0
		got, outcome := r.Respond(nil, query, snap, peer)
		want, fresh := Respond(nil, query, snap, peer)
		if !bytes.Equal(got, want) || outcome != fresh {
			t.Fatalf("a used Responder answers otherwise:\n%s%+v\nfresh:\n%s%+v",
				describe(got, UDP), outcome, describe(want, UDP), fresh)
		}
	}
}

// An idle Responder must not keep an old snapshot in memory.
func TestResponderReleases(t *testing.T) {
	t.Parallel()
	snap := sizes(t).snapshot()
	var r Responder
	for _, words := range []string{"c3.corp.test A", "mx10.corp.test MX", "absent.corp.test A", "x.ns3.corp.test A"} {
		query, peer := askFor(t, words)
		r.Respond(nil, query, snap, peer)
		a := &r.answer
		if a.Zone != nil || a.End != nil || a.Wildcard != "" || a.Reason != "" {
			t.Errorf("%s: the answer is kept: %+v", words, a)
		}
		for _, section := range [][]zones.Entry{a.Section, a.Authority, a.Additional} {
			for _, entry := range section[:cap(section)] {
				if entry != (zones.Entry{}) {
					t.Errorf("%s: an entry is kept: %v", words, entry)
				}
			}
		}
		if r.out.buf != nil || r.out.question != "" {
			t.Errorf("%s: the reply is kept", words)
		}
	}
}

func TestExplain(t *testing.T) {
	t.Parallel()
	some := []netip.Prefix{netip.MustParsePrefix("203.0.113.0/24"), netip.MustParsePrefix("2001:db8::/32")}
	for _, test := range []struct {
		networks []netip.Prefix
		addr     string
		want     bool
	}{
		{nil, "127.0.0.1", true}, {nil, "::1", true}, {nil, "172.20.0.1", true}, {nil, "fe80::1%eth0", true},
		{nil, "8.8.8.8", false}, {some, "::ffff:203.0.113.7", true}, {some, "2001:db8::7%eth0", true},
		{some, "127.0.0.1", false}, {[]netip.Prefix{}, "127.0.0.1", false},
	} {
		if got := explain(test.networks, netip.MustParseAddr(test.addr)); got != test.want {
			t.Errorf("explain(%v, %s) = %v", test.networks, test.addr, got)
		}
	}
	if explain(nil, netip.Addr{}) {
		t.Error("an unknown peer must not be told")
	}
}

// Answers of the hot path allocate nothing: the question is read in place, the
// answer's sections and the compression table are the Responder's, and dst is
// the caller's. That is what 100 000 queries a second on one core need.
func TestRespondAllocs(t *testing.T) {
	snap := sizes(t).snapshot()
	for _, question := range hotQuestions {
		query, peer := askFor(t, question)
		r := Responder{Options: hotOptions(t), limiter: newLimiter(RateLimit{PerSecond: 1})}
		w := worker{run: &run{limiter: r.limiter}, responder: r}
		at := time.Now()
		dst := make([]byte, 0, maxMessage)
		allocs := testing.AllocsPerRun(200, func() {
			var outcome Outcome
			dst, outcome = w.responder.Respond(dst[:0], query, snap, peer)
			dst, _ = w.limit(dst, query, peer, outcome, at)
		})
		budget := 0.0
		if strings.Contains(question, "MX") {
			// zones.Rdata.Target copies each target name: once for the address
			// and once for each comparison with the targets before it.
			budget = 12
		}
		if allocs > budget {
			t.Errorf("%s: %v allocations, at most %v allowed", question, allocs, budget)
		}
	}
}

// hotOptions turn on all that costs time for every query.
func hotOptions(tb testing.TB) Options {
	return Options{
		Cookies: NewCookies(secret(tb, "dd3bdf9344b678b185a6f5cb60fca715"), secret(tb, "e5e973e5a6b2a43f48e7dc849e37bfcf")),
		NSID:    "dns-0", Version: "clusterzone", TCPIdle: 10 * time.Second,
		AllowQuery: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("127.0.0.0/8")},
	}
}

var hotQuestions = []string{
	"a1.corp.test A option=10:0102030405060708 option=3:",                             // a first cookie
	"a1.corp.test A option=10:2464c4abcf10c957010000005cf79f111f8130c3eee29480",       // a server cookie
	"a200.corp.test A option=10:2464c4abcf10c957010000005cf79f111f8130c3eee29480 tcp", // and TCP
	"a1.corp.test A option=12:00 tls",                                                 // padded
	"id.server TXT class=3",                                                           // class CH
	"a1.corp.test A edns",                                                             // hit
	"a1.corp.test AAAA edns",                                                          // NODATA
	"absent.corp.test A edns",                                                         // NXDOMAIN
	"c3.corp.test A edns",                                                             // alias
	"a30.corp.test A edns",                                                            // rotated
	"a200.corp.test A edns",                                                           // truncated
	"www.other.test A edns",                                                           // refused
	"mx3.corp.test MX edns",                                                           // compressed data, additional
	"x.ns3.corp.test A edns size=4096",                                                // referral
}

func BenchmarkRespond(b *testing.B) {
	snap := sizes(b).snapshot()
	for _, question := range hotQuestions {
		query, peer := askFor(b, question)
		b.Run(strings.ReplaceAll(question, " ", "_"), func(b *testing.B) {
			r := Responder{Options: hotOptions(b)}
			dst := make([]byte, 0, maxMessage)
			b.ReportAllocs()
			for b.Loop() {
				dst, _ = r.Respond(dst[:0], query, snap, peer)
			}
		})
	}
}
