package main

import (
	"context"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/miekg/dns"

	"github.com/clusterzone/clusterzone/sources"
	"github.com/clusterzone/clusterzone/zones"
)

// TestServePassesOn: with the flags alone, a name that nothing claims is asked of
// another resolver, explain names it, and dnstap messages that nobody
// reads are counted.
func TestServePassesOn(t *testing.T) {
	t.Parallel()
	packets, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	upstream := &dns.Server{PacketConn: packets, Handler: dns.HandlerFunc(func(w dns.ResponseWriter, query *dns.Msg) {
		reply := new(dns.Msg).SetReply(query)
		reply.Authoritative, reply.AuthenticatedData, reply.RecursionAvailable = true, true, true
		reply.Answer = []dns.RR{&dns.A{Hdr: dns.RR_Header{Name: query.Question[0].Name, Rrtype: dns.TypeA, Class: dns.ClassINET, Ttl: 60}, A: net.IPv4(198, 51, 100, 7)}}
		_ = w.WriteMsg(reply)
	})}
	upstreamEnded := make(chan error, 1)
	go func() { upstreamEnded <- upstream.ActivateAndServe() }()
	resolver := packets.LocalAddr().String()
	socket := filepath.Join(t.TempDir(), "tap")
	d, _ := startable(t, "--zone=corp.test", "--source=ingress", "--listen=127.0.0.1:0", "--resolver="+resolver, "--fallthrough=corp.test", "--dnstap=unix:"+socket)
	d.pipeline.feed.Synced(sources.KindIngress, nil)
	d.pipeline.feed.Apply()

	bound := make(chan []netip.AddrPort, 1)
	d.dns.Bound = func(addrs []netip.AddrPort) { bound <- addrs }
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 2)
	go func() { ended <- d.dns.Serve(ctx) }()
	query := new(dns.Msg).SetQuestion("Elsewhere.corp.test.", dns.TypeA)
	client := &dns.Client{Timeout: 20 * time.Second}
	reply, _, err := client.Exchange(query, (<-bound)[0].String())
	if err != nil {
		t.Fatal(err)
	}
	if len(reply.Answer) != 1 || reply.Authoritative || reply.AuthenticatedData || reply.RecursionAvailable || !reply.RecursionDesired || reply.Question[0].Name != "Elsewhere.corp.test." {
		t.Errorf("the reply is %v", reply)
	}
	var text strings.Builder
	writeExplanation(&text, &d.pipeline.explain(name(t, "elsewhere.corp.test"), zones.TypeNone).Explanation)
	if want := "elsewhere.corp.test: passed on\n  nothing here claims elsewhere.corp.test: queries are passed on to " + resolver; !strings.HasPrefix(text.String(), want) {
		t.Errorf("explain says %s", text.String())
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	// Nobody has read: what the server has told the sender is dropped when it ends.
	if err := d.tap.Run(ctx); err != nil {
		t.Error(err)
	}
	for metric, want := range map[string]float64{"clusterzone_dns_passed_on_total": 1, "clusterzone_dnstap_dropped_total": 2, "clusterzone_dnstap_messages_total": 0} {
		if got := counted(t, d, metric); got != want {
			t.Errorf("%s is %v, want %v", metric, got, want)
		}
	}
	if err := upstream.Shutdown(); err != nil {
		t.Error(err)
	}
	if err := <-upstreamEnded; err != nil {
		t.Error(err)
	}
}

// counted sums the counters of a name.
func counted(t *testing.T, d *daemon, name string) (sum float64) {
	t.Helper()
	families, err := d.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		if family.GetName() == name {
			for _, metric := range family.GetMetric() {
				sum += metric.GetCounter().GetValue()
			}
		}
	}
	return sum
}

// TestFallthroughInConfig: lists in the file, and challenges apart from the other
// names.
func TestFallthroughInConfig(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "config.yaml")
	text := "zone: [corp.test, 10.in-addr.arpa]\nsource: [ingress]\nfallthrough: [\"corp.test=10.0.0.2,10.0.0.3\", 10.in-addr.arpa]\nfallthrough-acme: corp.test=10.0.0.4\nresolver: 10.0.0.5:5353\ndnstap: tcp:192.0.2.7:6000\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	d, _ := startable(t, "--config="+file)
	d.pipeline.feed.Synced(sources.KindIngress, nil)
	d.pipeline.feed.Apply()
	for question, want := range map[string]string{
		"a.corp.test": "10.0.0.2:53, 10.0.0.3:53", "_acme-challenge.a.corp.test": "10.0.0.4:53", "7.10.in-addr.arpa": "10.0.0.5:5353",
	} {
		asked, err := zones.ParseName(question)
		if err != nil {
			t.Fatal(err)
		}
		a := zones.Answer{}
		d.pipeline.store.Load().Lookup(asked, zones.TypeA, &a)
		if rule, _ := d.dns.Options.Passes.Match(&a, asked); rule == nil || rule.String() != want {
			t.Errorf("%s (%s) goes to %v, want %s", question, a.Kind, rule, want)
		}
	}
	if d.dns.Passer == nil || d.dns.Tap == nil || len(d.dns.Options.PassMark) != zones.PassMarkSize {
		t.Error("the server passes nothing on, or has no tap")
	}
}
