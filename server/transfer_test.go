package server

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"net"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/miekg/dns"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/clusterzone/clusterzone/zones"
)

const (
	testKey    = "xfr.corp.test."
	testSecret = "MDEyMzQ1Njc4OWFiY2RlZg=="
)

// A primary is a zone that changes, with its Journal.
type primary struct {
	table   *zones.Table
	store   zones.Store
	journal *zones.Journal
	now     time.Time
}

func newPrimary(t *testing.T) *primary {
	t.Helper()
	origin := testName(t, "corp.test")
	p := &primary{
		table:   zones.NewTable(zones.Options{Origins: []zones.Origin{{Name: origin, NegativeTTL: 5}}, DefaultTTL: 60}),
		journal: zones.NewJournal(10_000, time.Time{}),
		now:     time.Unix(1_700_000_000, 0),
	}
	p.table.SetReady(true, "")
	return p
}

func testName(t *testing.T, text string) zones.Name {
	t.Helper()
	name, err := zones.ParseName(text)
	if err != nil {
		t.Fatal(err)
	}
	return name
}

// set gives a name these records; commit publishes, a second after the last one.
func (p *primary) set(t *testing.T, name string, kind zones.Type, data ...string) {
	t.Helper()
	p.table.Put(zones.Object{
		Owner:  zones.Owner{Source: "ingress", Name: name},
		Claims: []zones.Claim{{Name: testName(t, name), Type: kind, Targets: data}},
	})
}

func (p *primary) commit() (serial uint32) {
	commit := p.table.Commit(p.now)
	p.now = p.now.Add(time.Second)
	p.store.Swap(commit.Snapshot)
	p.journal.Note(commit, p.store.Load())
	return p.journal.Edition(commit.Snapshot.Origins()[0]).Serial()
}

// records are what the zone has, as miekg/dns prints them.
func (p *primary) records(t *testing.T) map[string]bool {
	t.Helper()
	edition := p.journal.Edition(testName(t, "corp.test"))
	records := map[string]bool{}
	add := func(set *zones.RRSet) {
		for _, data := range set.Data {
			rr, err := dns.NewRR(fmt.Sprintf("%s %d IN %s %s", set.Name.FQDN(), set.TTL, set.Type, data.Text(set.Type)))
			if err != nil {
				t.Fatal(err)
			}
			records[rr.String()] = true
		}
	}
	for set := range edition.RRSets() {
		add(set)
	}
	add(edition.SOA())
	return records
}

// options let everyone transfer on loopback, and who has the key.
func (p *primary) options(t *testing.T) Options {
	t.Helper()
	key, err := NewTSIGKey(testKey, "hmac-sha256", testSecret)
	if err != nil {
		t.Fatal(err)
	}
	return Options{
		Keys: NewTSIGKeys(key), Editions: p.journal,
		AllowTransfer: []TransferRule{{Network: netip.MustParsePrefix("127.0.0.0/8")}},
	}
}

// transferFrom transfers as a secondary does, signed or not. The library
// verifies every message's signature.
func transferFrom(t *testing.T, addr netip.AddrPort, question *dns.Msg, signed bool) (records []dns.RR, messages int) {
	t.Helper()
	return transferOver(t, dial(t, "tcp", addr), question, signed)
}

// transferOver is transferFrom over a connection.
func transferOver(t *testing.T, conn net.Conn, question *dns.Msg, signed bool) (records []dns.RR, messages int) {
	t.Helper()
	client := &dns.Transfer{Conn: &dns.Conn{Conn: conn}, ReadTimeout: wait, WriteTimeout: wait}
	if signed {
		client.TsigSecret = map[string]string{testKey: testSecret}
		question.SetTsig(testKey, dns.HmacSHA256, 300, time.Now().Unix())
	}
	envelopes, err := client.In(question, "")
	if err != nil {
		t.Fatal(err)
	}
	for envelope := range envelopes {
		if envelope.Error != nil {
			t.Fatalf("message %d: %v", messages, envelope.Error)
		}
		records = append(records, envelope.RR...)
		messages++
	}
	return records, messages
}

func axfr() *dns.Msg { return new(dns.Msg).SetAxfr("corp.test.") }

func ixfr(serial uint32) *dns.Msg { return new(dns.Msg).SetIxfr("corp.test.", serial, ".", ".") }

// whole checks the form of a whole zone, and returns its records.
func whole(t *testing.T, records []dns.RR) map[string]bool {
	t.Helper()
	last := len(records) - 1
	if last < 1 || records[0].Header().Rrtype != dns.TypeSOA || records[0].String() != records[last].String() {
		t.Fatalf("a zone of %d records doesn't begin and end with its SOA", len(records))
	}
	all := map[string]bool{}
	for _, rr := range records[:last] {
		if all[rr.String()] {
			t.Errorf("%s comes twice", rr)
		}
		all[rr.String()] = true
	}
	return all
}

// TestTransferWhole: zones of one message and of many, with and without a key,
// arrive as they are.
func TestTransferWhole(t *testing.T) {
	t.Parallel()
	p := newPrimary(t)
	p.set(t, "www.corp.test", zones.TypeA, "192.0.2.1", "192.0.2.2")
	p.set(t, "sub.corp.test", zones.TypeNS, "ns.sub.corp.test")
	p.set(t, "ns.sub.corp.test", zones.TypeA, "192.0.2.3")
	p.set(t, "below.sub.corp.test", zones.TypeTXT, `"occluded"`)
	p.commit()
	addr := start(t, &Server{View: &p.store, Options: p.options(t)})
	check := func(signed bool, least int) {
		t.Helper()
		records, messages := transferFrom(t, addr, axfr(), signed)
		if got, want := whole(t, records), p.records(t); !maps.Equal(got, want) {
			t.Errorf("signed %t: %d records arrive of %d", signed, len(got), len(want))
		}
		if messages < least {
			t.Errorf("%d messages", messages)
		}
	}
	check(false, 1)
	check(true, 1)
	long := strings.Repeat("x", 255)
	for i := range 3000 {
		p.set(t, fmt.Sprintf("host%d.corp.test", i), zones.TypeA, fmt.Sprintf("10.0.%d.%d", i/250, i%250))
	}
	p.set(t, "long.corp.test", zones.TypeTXT, `"`+strings.Repeat(long+`" "`, 150)+`"`) // longer than a message is else
	p.commit()
	check(false, 4)
	check(true, 4)

	// In the question's place: what the secondary has is not known.
	records, _ := transferFrom(t, addr, ixfr(1), true)
	if got, want := whole(t, records), p.records(t); !maps.Equal(got, want) {
		t.Errorf("%d records arrive of %d", len(got), len(want))
	}
}

// TestTransferOverTLS: zones and differences arrive over TLS as over TCP (RFC 9103),
// and over HTTPS nothing does.
func TestTransferOverTLS(t *testing.T) {
	t.Parallel()
	p := newPrimary(t)
	for i := range 3000 {
		p.set(t, fmt.Sprintf("host%d.corp.test", i), zones.TypeA, fmt.Sprintf("10.0.%d.%d", i/250, i%250))
	}
	first := p.commit()
	at := startEncrypted(t, &Server{View: &p.store, Options: p.options(t)})
	over := func(question *dns.Msg) ([]dns.RR, int) {
		t.Helper()
		return transferOver(t, at.secure(t, dial(t, "tcp", at.tls), "dot"), question, true)
	}
	records, messages := over(axfr())
	has := whole(t, records)
	if want := p.records(t); !maps.Equal(has, want) || messages < 2 {
		t.Errorf("%d records arrive of %d, in %d messages", len(has), len(want), messages)
	}
	p.set(t, "host7.corp.test", zones.TypeA, "10.1.0.7")
	p.commit()
	steps, _ := over(ixfr(first))
	if got, want := follow(t, has, steps), p.records(t); !maps.Equal(got, want) {
		t.Errorf("after the difference there are %d records of %d", len(got), len(want))
	}
	query, err := axfr().Pack()
	if err != nil {
		t.Fatal(err)
	}
	var reply dns.Msg
	if err := reply.Unpack(at.post(t, nil, query)); err != nil || reply.Rcode != dns.RcodeRefused {
		t.Errorf("over HTTPS AXFR gets %v %v", dns.RcodeToString[reply.Rcode], err)
	}
}

// TestTransferSteps: a secondary that follows 50 changes by IXFR has the zone,
// whichever serial it goes on from.
func TestTransferSteps(t *testing.T) {
	t.Parallel()
	p := newPrimary(t)
	for i := range 400 {
		p.set(t, fmt.Sprintf("host%d.corp.test", i), zones.TypeA, "192.0.2.1")
	}
	contents, serials := map[uint32]map[string]bool{}, []uint32{}
	publish := func() {
		serial := p.commit()
		contents[serial] = p.records(t)
		serials = append(serials, serial)
	}
	publish()
	for i := range 50 {
		p.set(t, fmt.Sprintf("host%d.corp.test", i), zones.TypeA, fmt.Sprintf("192.0.2.%d", i+2))
		p.set(t, fmt.Sprintf("new%d.corp.test", i), zones.TypeTXT, `"new"`)
		publish()
	}
	addr := start(t, &Server{View: &p.store, Options: p.options(t)})
	last := serials[len(serials)-1]
	for i, serial := range serials[:len(serials)-1] {
		records, _ := transferFrom(t, addr, ixfr(serial), i%2 == 0)
		has := follow(t, contents[serial], records)
		if !maps.Equal(has, contents[last]) {
			t.Errorf("from %d: %d records, want %d", serial, len(has), len(contents[last]))
		}
	}

	// Over UDP: what fits, else the SOA alone.
	client := &dns.Client{Timeout: wait, UDPSize: 1232}
	ask := func(serial uint32) []dns.RR {
		question := ixfr(serial)
		question.SetEdns0(1232, false)
		reply, _, err := client.Exchange(question, addr.String())
		if err != nil || reply.Truncated {
			t.Fatalf("%v, %v", reply, err)
		}
		return reply.Answer
	}
	if has := follow(t, contents[serials[48]], ask(serials[48])); !maps.Equal(has, contents[last]) {
		t.Errorf("over UDP: %d records, want %d", len(has), len(contents[last]))
	}
	if answer := ask(serials[0]); len(answer) != 1 || answer[0].(*dns.SOA).Serial != last {
		t.Errorf("a difference too large for UDP is %v", answer)
	}
}

// follow applies the records of an incremental transfer (RFC 1995 section 4).
func follow(t *testing.T, has map[string]bool, records []dns.RR) map[string]bool {
	t.Helper()
	has = maps.Clone(has)
	if len(records) < 4 || records[0].String() != records[len(records)-1].String() {
		t.Fatalf("%d records are no incremental transfer", len(records))
	}
	adding := true
	for _, rr := range records[1 : len(records)-1] {
		if rr.Header().Rrtype == dns.TypeSOA {
			adding = !adding
		}
		if has[rr.String()] == adding {
			t.Fatalf("%s: adding is %t", rr, adding)
		}
		if adding {
			has[rr.String()] = true
		} else {
			delete(has, rr.String())
		}
	}
	return has
}

// TestSignedReplies: another implementation accepts the signatures, each key's
// algorithm, and finds the errors in signed replies.
func TestSignedReplies(t *testing.T) {
	t.Parallel()
	w := worldOf(t, "zone corp.test\nwww.corp.test 60 A 192.0.2.10")
	for _, algorithm := range []string{dns.HmacSHA256, dns.HmacSHA384, dns.HmacSHA512} {
		key, err := NewTSIGKey(testKey, algorithm, testSecret)
		if err != nil {
			t.Fatal(err)
		}
		r := Responder{Options: Options{Keys: NewTSIGKeys(key)}}
		for _, name := range []string{"www.corp.test.", "absent.corp.test."} {
			question := new(dns.Msg).SetQuestion(name, dns.TypeA)
			question.SetTsig(testKey, algorithm, 300, 1_700_000_000)
			query, mac, err := dns.TsigGenerate(question, testSecret, "", false)
			if err != nil {
				t.Fatal(err)
			}
			peer := defaultPeer()
			peer.Time = 1_700_000_000
			reply, outcome := r.Respond(nil, query, w.snapshot(), peer)
			if !outcome.Signed {
				t.Errorf("%s: the query counts as unsigned", algorithm)
			}
			// The library judges by the clock: all but the time must be good.
			if err := dns.TsigVerify(bytes.Clone(reply), testSecret, mac, false); err != dns.ErrTime {
				t.Errorf("%s: %v", algorithm, err)
			}
			reply[len(reply)-20] ^= 1 // of the MAC
			if err := dns.TsigVerify(reply, testSecret, mac, false); err != dns.ErrSig {
				t.Errorf("%s: a changed signature gives %v", algorithm, err)
			}
		}
	}
}

// TestSignedTruncation: the signature counts in the length of a reply.
func TestSignedTruncation(t *testing.T) {
	t.Parallel()
	key, err := NewTSIGKey(testKey, "hmac-sha512", testSecret)
	if err != nil {
		t.Fatal(err)
	}
	snap := sizes(t).snapshot()
	r := Responder{Options: Options{Keys: NewTSIGKeys(key)}}
	for _, words := range []string{"", "edns size=512", "edns"} {
		query, peer := askFor(t, fmt.Sprintf("a60.corp.test A %s time=1700000000 key=%s algorithm=hmac-sha512 secret=MDEyMzQ1Njc4OWFiY2RlZg=", words, testKey))
		reply, outcome := r.Respond(nil, query, snap, peer)
		limit := 512
		if words == "edns" {
			limit = 1232
		}
		if len(reply) > limit || outcome.Truncated != (limit == 512) {
			t.Fatalf("%q: %d octets, truncated %t", words, len(reply), outcome.Truncated)
		}
		if _, signed := findTSIG(reply); !signed {
			t.Fatalf("%q: the reply is not signed", words)
		}
	}
}

// TestSlowSecondary: who takes nothing loses its connection after the write
// timeout, and others have theirs meanwhile.
func TestSlowSecondary(t *testing.T) {
	t.Parallel()
	p := newPrimary(t)
	long := `"` + strings.Repeat("x", 255) + `"`
	for i := range 1000 {
		p.set(t, fmt.Sprintf("host%d.corp.test", i), zones.TypeTXT, strings.Repeat(long+" ", 60)) // 16 MB, more than sockets hold
	}
	p.commit()
	registry := prometheus.NewRegistry()
	var log lockedBuffer
	addr := start(t, &Server{View: &p.store, Options: p.options(t), TCP: TCPOptions{WriteTimeout: time.Second}, Metrics: NewMetrics(registry), Log: newLog(&log)})
	slow := dial(t, "tcp", addr)
	query, err := axfr().Pack()
	if err != nil {
		t.Fatal(err)
	}
	send(t, slow, framed(query))
	receiveFramed(t, slow) // it is under way
	small, _ := askFor(t, "ns1.corp.test A")
	other := dial(t, "tcp", addr)
	send(t, other, framed(small))
	receiveFramed(t, other)
	deadline := time.Now().Add(wait)
	for metric(t, registry, "clusterzone_dns_tcp_connections") > 1 && time.Now().Before(deadline) {
		send(t, other, framed(small))
		receiveFramed(t, other)
	}
	if !strings.Contains(log.String(), "a zone transfer has failed") {
		t.Errorf("the log says %s", log.String())
	}
}

// TestTransfersAreBounded: above the limit a transfer waits for a place, and then
// gets SERVFAIL on a connection that stays.
func TestTransfersAreBounded(t *testing.T) {
	t.Parallel()
	p := newPrimary(t)
	p.commit()
	synctest.Test(t, func(t *testing.T) {
		options := p.options(t)
		options.AllowTransfer = []TransferRule{{Network: netip.MustParsePrefix("0.0.0.0/0")}}
		r := (&Server{View: &p.store, Options: options, Transfers: 1}).newRun()
		client, ours := net.Pipe()
		ctx, cancel := context.WithCancel(t.Context())
		var serving sync.WaitGroup
		serving.Go(func() { r.serveConn(ctx, ours, Peer{Addr: netip.MustParseAddrPort("192.0.2.1:1000"), Transport: TCP}) })
		query, err := axfr().Pack()
		if err != nil {
			t.Fatal(err)
		}
		ask := func() *dns.Msg {
			send(t, client, framed(query))
			reply := new(dns.Msg)
			if err := reply.Unpack(receiveFramed(t, client)); err != nil {
				t.Fatal(err)
			}
			return reply
		}
		r.transferSlots <- struct{}{} // another transfer is under way
		if reply := ask(); reply.Rcode != dns.RcodeServerFailure || len(reply.Answer) > 0 {
			t.Errorf("above the limit: %v", reply)
		}
		time.AfterFunc(r.tcp.WriteTimeout/2, func() { <-r.transferSlots }) // it ends in time
		if reply := ask(); reply.Rcode != dns.RcodeSuccess || len(reply.Answer) < 3 {
			t.Errorf("with a place: %v", reply)
		}
		synctest.Wait()
		if len(r.transferSlots) != 0 {
			t.Error("the place was not given back")
		}
		cancel()
		client.Close()
		serving.Wait()
	})
}

// TestTransferNotReady: nothing is transferred before everything was read.
func TestTransferNotReady(t *testing.T) {
	t.Parallel()
	w := worldOf(t, "zone corp.test\nwaiting Ingresses")
	r := Responder{Options: Options{Editions: w, AllowTransfer: []TransferRule{{Network: netip.MustParsePrefix("127.0.0.1/32")}}}}
	query, peer := askFor(t, "corp.test AXFR tcp edns")
	reply, _ := r.Respond(nil, query, w.snapshot(), peer)
	if text := describe(reply, TCP); !strings.Contains(text, "SERVFAIL") || !strings.Contains(text, "waiting for Ingresses") {
		t.Errorf("the reply is %s", text)
	}
}

func TestParseTransferRule(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"192.0.2.1":              "192.0.2.1/32 ",
		"10.1.2.3/8":             "10.0.0.0/8 ",
		"2001:db8::/32":          "2001:db8::/32 ",
		"key:Xfr.corp.test":      "invalid Prefix xfr.corp.test",
		"key:xfr@192.0.2.0/24":   "192.0.2.0/24 xfr",
		"":                       "network",
		"corp.test":              "network",
		"key:":                   "name of a key",
		"key:xfr@":               "network",
		"key:xfr@192.0.2.0/33":   "network",
		"192.0.2.0/24@key:xfr":   "network",
		"fe80::1%eth0":           "network",
		"key:a..b@192.0.2.0/24":  "name of a key",
		"key:xfr@[2001:db8::]/3": "network",
	} {
		rule, err := ParseTransferRule(text)
		if err != nil {
			if !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "--allow-transfer") {
				t.Errorf("%q: %v", text, err)
			}
			continue
		}
		if got := fmt.Sprintf("%s %s", rule.Network, rule.Key); got != want {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
	}
}

// brokenEditions give an edition that no code can read.
type brokenEditions struct{}

func (brokenEditions) Edition(zones.Name) *zones.Edition { return new(zones.Edition) }

// TestTransferPanicIsConfined: a fault in a transfer ends its connection, and in
// the decision on one the reply is SERVFAIL; the server goes on.
func TestTransferPanicIsConfined(t *testing.T) {
	t.Parallel()
	w := worldOf(t, "zone corp.test\nwww.corp.test 60 A 192.0.2.10")
	registry := prometheus.NewRegistry()
	addr := start(t, &Server{View: viewOf(w), Metrics: NewMetrics(registry), Transfers: 1, Options: Options{
		Editions: brokenEditions{}, AllowTransfer: []TransferRule{{Network: netip.MustParsePrefix("127.0.0.1/32")}},
	}})
	for range 2 { // the place is given back
		conn := dial(t, "tcp", addr)
		query, _ := askFor(t, "corp.test IXFR serial=1")
		send(t, conn, framed(query))
		if got := describe(receiveFramed(t, conn), TCP); !strings.HasPrefix(got, "SERVFAIL") {
			t.Errorf("the decision fails with %s", got)
		}
		query, _ = askFor(t, "corp.test AXFR")
		send(t, conn, framed(query))
		wantEnd(t, conn)
	}
	query, _ := askFor(t, "www.corp.test A")
	conn := dial(t, "tcp", addr)
	send(t, conn, framed(query))
	if got := describe(receiveFramed(t, conn), TCP); !strings.HasPrefix(got, "NOERROR") {
		t.Errorf("afterwards: %s", got)
	}
	if got := metric(t, registry, "clusterzone_dns_panics_total"); got != 4 {
		t.Errorf("%v panics are counted", got)
	}
}

// BenchmarkTransfer streams a zone of 10 000 names into nowhere.
func BenchmarkTransfer(b *testing.B) {
	w := worldOf(b, "zone corp.test")
	for i := range 10_000 {
		name := zones.Root.Child("test").Child("corp").Child(fmt.Sprintf("host%d", i))
		w.object.Claims = append(w.object.Claims, zones.Claim{Name: name, Type: zones.TypeA, Targets: []string{fmt.Sprintf("10.0.%d.%d", i/250, i%250)}})
	}
	r := (&Server{View: viewOf(w), Options: Options{AllowTransfer: []TransferRule{{Network: netip.MustParsePrefix("127.0.0.0/8")}}, Editions: w}}).newRun()
	query, err := axfr().Pack()
	if err != nil {
		b.Fatal(err)
	}
	peer := Peer{Addr: netip.MustParseAddrPort("127.0.0.1:40000"), Transport: TCP}
	b.ReportAllocs()
	for b.Loop() {
		c := &connection{run: r, net: nowhere{&sink{}}, peer: peer, worker: r.borrow()}
		_, outcome := c.worker.answer(nil, query, peer)
		if !c.stream(b.Context(), query, 0, outcome, time.Now()) {
			b.Fatal("the transfer fails")
		}
		c.flush()
	}
}

// nowhere is a connection that forgets all it takes.
type nowhere struct{ *sink }

func (nowhere) Write(p []byte) (int, error) { return len(p), nil }
