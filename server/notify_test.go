package server

import (
	"bytes"
	"context"
	"encoding/base64"
	"log/slog"
	"net"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/miekg/dns"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/clusterzone/clusterzone/zones"
)

func newLog(out *lockedBuffer) *slog.Logger { return slog.New(slog.NewTextHandler(out, nil)) }

// A secondary gets NOTIFY messages on a socket, and replies as a test says.
type secondary struct {
	conn net.PacketConn
	from net.Addr
}

func newSecondary(t *testing.T) *secondary {
	t.Helper()
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(wait)); err != nil {
		t.Fatal(err)
	}
	return &secondary{conn: conn}
}

func (s *secondary) addr() netip.AddrPort { return s.conn.LocalAddr().(*net.UDPAddr).AddrPort() }

func (s *secondary) receive(t *testing.T) (*dns.Msg, []byte) {
	t.Helper()
	buf := make([]byte, maxMessage)
	n, from, err := s.conn.ReadFrom(buf)
	if err != nil {
		t.Fatalf("no NOTIFY comes: %v", err)
	}
	s.from = from
	message := new(dns.Msg)
	if err := message.Unpack(buf[:n]); err != nil {
		t.Fatal(err)
	}
	return message, buf[:n]
}

func (s *secondary) reply(t *testing.T, message *dns.Msg, rcode int, mac string) {
	t.Helper()
	reply := new(dns.Msg).SetRcode(message, rcode)
	wire, err := reply.Pack()
	if mac != "" {
		reply.SetTsig(testKey, dns.HmacSHA256, 300, time.Now().Unix())
		wire, _, err = dns.TsigGenerate(reply, testSecret, mac, false)
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.conn.WriteTo(wire, s.from); err != nil {
		t.Fatal(err)
	}
}

// notifying runs a Notifier for a zone to the secondary.
func notifying(t *testing.T, p *primary, s *secondary, keys *TSIGKeys, retry time.Duration) (n *Notifier, registry *prometheus.Registry, log *lockedBuffer) {
	t.Helper()
	registry, log = prometheus.NewRegistry(), &lockedBuffer{}
	target := NotifyTarget{Addr: s.addr()}
	if keys != nil {
		target.Key = testName(t, testKey)
	}
	n = NewNotifier(NotifierOptions{
		Targets: []NotifyTarget{target}, Keys: keys, Editions: p.journal, Metrics: NewMetrics(registry), Log: newLog(log),
	})
	n.retry, n.gap = retry, time.Millisecond
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- n.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return n, registry, log
}

// counted waits until so many messages had the result.
func counted(t *testing.T, registry *prometheus.Registry, result string, want float64) {
	t.Helper()
	deadline := time.Now().Add(wait)
	for {
		families, err := registry.Gather()
		if err != nil {
			t.Fatal(err)
		}
		got := 0.0
		for _, family := range families {
			if family.GetName() != "clusterzone_notifies_total" {
				continue
			}
			for _, m := range family.GetMetric() {
				if m.GetLabel()[0].GetValue() == result {
					got = m.GetCounter().GetValue()
				}
			}
		}
		if got == want {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s: %v, want %v", result, got, want)
		}
	}
}

// TestNotify: each new serial is told, with its SOA, until it is acknowledged.
func TestNotify(t *testing.T) {
	t.Parallel()
	p, s := newPrimary(t), newSecondary(t)
	n, registry, _ := notifying(t, p, s, nil, 100*time.Millisecond)
	var last *dns.Msg
	for range 3 {
		p.set(t, "www.corp.test", zones.TypeA, "192.0.2."+string(rune('1'+p.now.Second()%9)))
		serial := p.commit()
		n.Changed([]zones.Name{testName(t, "corp.test")})
		first := last
		for first == nil || last != nil && first.Id == last.Id { // its retries may be on their way
			first, _ = s.receive(t)
		}
		last = first
		if first.Opcode != dns.OpcodeNotify || first.Response || !first.Authoritative || first.Question[0] != (dns.Question{Name: "corp.test.", Qtype: dns.TypeSOA, Qclass: dns.ClassINET}) {
			t.Fatalf("the message is %v", first)
		}
		if soa := first.Answer[0].(*dns.SOA); soa.Serial != serial {
			t.Errorf("it tells of %d, want %d", soa.Serial, serial)
		}
		again, _ := s.receive(t) // unanswered, it comes again
		if again.Id != first.Id {
			t.Errorf("the second attempt has another id")
		}
		s.reply(t, again, dns.RcodeSuccess, "")
		counted(t, registry, notifyAcknowledged, float64(serial-1_700_000_000+1))
	}
}

// TestNotifyGivesUp: after the last attempt, and at once when the secondary says
// no; the log says so once, and that it is over.
func TestNotifyGivesUp(t *testing.T) {
	t.Parallel()
	p, s := newPrimary(t), newSecondary(t)
	p.commit()
	n, registry, log := notifying(t, p, s, nil, 100*time.Millisecond)
	corp := []zones.Name{testName(t, "corp.test")}
	n.Changed(corp)
	counted(t, registry, notifyFailed, 1)
	counted(t, registry, notifySent, notifyTries)
	n.Changed(corp)
	for range notifyTries {
		s.receive(t)
	}
	message, _ := s.receive(t)
	s.reply(t, message, dns.RcodeRefused, "")
	counted(t, registry, notifyRefused, 1)
	if count := strings.Count(log.String(), "doesn't take NOTIFY"); count != 1 {
		t.Errorf("said %d times: %s", count, log.String())
	}
	n.Changed(corp)
	second := message.Id
	for message.Id == second { // its retries may be on their way
		message, _ = s.receive(t)
	}
	s.reply(t, message, dns.RcodeSuccess, "")
	counted(t, registry, notifyAcknowledged, 1)
	deadline := time.Now().Add(wait)
	for !strings.Contains(log.String(), "takes NOTIFY again") {
		if time.Now().After(deadline) {
			t.Fatalf("the log says %s", log.String())
		}
	}
}

// TestSignedNotify: with a key, the message is signed, and only a signed reply
// counts.
func TestSignedNotify(t *testing.T) {
	t.Parallel()
	p, s := newPrimary(t), newSecondary(t)
	p.commit()
	keys := p.options(t).Keys
	n, registry, _ := notifying(t, p, s, keys, 200*time.Millisecond)
	n.Changed([]zones.Name{testName(t, "corp.test")})
	message, wire := s.receive(t)
	if err := dns.TsigVerify(bytes.Clone(wire), testSecret, "", false); err != nil {
		t.Fatalf("the signature is no good: %v", err)
	}
	s.reply(t, message, dns.RcodeSuccess, "")
	s.reply(t, message, dns.RcodeSuccess, strings.Repeat("00", 32))
	message, wire = s.receive(t) // as if neither had come
	if err := dns.TsigVerify(bytes.Clone(wire), testSecret, "", false); err != nil {
		t.Fatal(err)
	}
	s.reply(t, message, dns.RcodeSuccess, message.IsTsig().MAC)
	counted(t, registry, notifyAcknowledged, 1)

	// The key's secret is changed.
	other := base64.StdEncoding.EncodeToString([]byte("another secret of 16 octets"))
	changed, err := NewTSIGKey(testKey, "hmac-sha256", other)
	if err != nil {
		t.Fatal(err)
	}
	keys.Set([]TSIGKey{changed})
	n.Changed([]zones.Name{testName(t, "corp.test")})
	message, wire = s.receive(t)
	if err := dns.TsigVerify(bytes.Clone(wire), other, "", false); err != nil {
		t.Errorf("the message isn't signed with the changed key: %v", err)
	}
	s.reply(t, message, dns.RcodeSuccess, message.IsTsig().MAC) // signed with the former one
	_, wire = s.receive(t)
	if err := dns.TsigVerify(bytes.Clone(wire), other, "", false); err != nil {
		t.Errorf("a reply with the former key counts: %v", err)
	}
}

// TestNotifyChooses: a target of one zone hears of that alone, and one of no
// reachable address harms nobody.
func TestNotifyChooses(t *testing.T) {
	t.Parallel()
	n := NewNotifier(NotifierOptions{Targets: []NotifyTarget{
		{Addr: netip.MustParseAddrPort("192.0.2.1:53"), Zone: testName(t, "corp.test")},
		{Addr: netip.MustParseAddrPort("192.0.2.2:53")},
	}})
	n.Changed([]zones.Name{testName(t, "corp.test"), testName(t, "other.test")})
	if one, all := len(n.targets[0].news), len(n.targets[1].news); one != 1 || all != 2 {
		t.Errorf("news of %d and %d zones", one, all)
	}
}

func TestParseNotifyTarget(t *testing.T) {
	t.Parallel()
	key, err := NewTSIGKey("xfr", "hmac-sha256", testSecret)
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		"192.0.2.1":                          "192.0.2.1:53",
		"192.0.2.1:5353":                     "192.0.2.1:5353",
		"2001:db8::1":                        "[2001:db8::1]:53",
		"[2001:db8::1]:54":                   "[2001:db8::1]:54",
		"key:xfr@192.0.2.1":                  "xfr 192.0.2.1:53",
		"corp.test=key:xfr@192.0.2.1:5353":   "corp.test xfr 192.0.2.1:5353",
		"corp.test=[2001:db8::1]":            "corp.test [2001:db8::1]:53",
		"ns2.corp.test":                      "no IP address",
		"192.0.2.1:0":                        "no IP address",
		"key:other@192.0.2.1":                "there is no key other",
		"key:xfr":                            "names no address",
		"a..b=192.0.2.1":                     "no name of a zone",
		"":                                   "no IP address",
		"key:a..b@192.0.2.1":                 "no name of a key",
		"corp.test=key:xfr@192.0.2.1:565656": "no IP address",
	} {
		target, err := ParseNotifyTarget(text, []TSIGKey{key})
		if err != nil {
			if !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "--notify") {
				t.Errorf("%q: %v", text, err)
			}
			continue
		}
		var parts []string
		if target.Zone != "" {
			parts = append(parts, target.Zone.String())
		}
		if target.Key != "" {
			parts = append(parts, target.Key.String())
		}
		if got := strings.Join(append(parts, target.Addr.String()), " "); got != want {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
	}
}
