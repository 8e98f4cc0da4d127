package server

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/miekg/dns"

	"github.com/clusterzone/clusterzone/zones"
)

// TestOutsideTargets: the wire says CNAME and addresses, an extended error that
// they are stale, and SERVFAIL with the reason where there are none.
func TestOutsideTargets(t *testing.T) {
	t.Parallel()
	w := newWorld()
	for _, line := range []string{"zone corp.test", "www.corp.test 300 CNAME lb.example"} {
		if err := w.do(strings.Fields(line), line); err != nil {
			t.Fatal(err)
		}
	}
	lb, err := zones.ParseName("lb.example")
	if err != nil {
		t.Fatal(err)
	}
	set := &zones.RRSet{Name: lb, Type: zones.TypeA, TTL: 30, Data: []zones.Rdata{"\xc6\x33\x64\x01"}}
	for _, c := range []struct {
		family  zones.Family
		kind    uint16
		rcode   int
		answers int
		ede     int // -1 for none
		text    string
	}{
		{zones.Family{Known: true, Set: set}, dns.TypeA, dns.RcodeSuccess, 2, -1, ""},
		{zones.Family{Known: true, Set: set}, dns.TypeAAAA, dns.RcodeSuccess, 1, -1, ""},
		{zones.Family{Known: true, Set: set, Stale: true, Problem: "SERVFAIL"}, dns.TypeA, dns.RcodeSuccess, 2, edeStale, "last good ones"},
		{zones.Family{Problem: "it is gone"}, dns.TypeA, dns.RcodeServerFailure, 0, edeOther, "target lb.example of ingress shop/web can't be resolved: it is gone"},
		{zones.Family{Problem: "it is gone"}, dns.TypeTXT, dns.RcodeSuccess, 1, -1, ""},
	} {
		var store zones.Store
		store.Swap(w.snapshot())
		store.SwapTargets(zones.NewTargets().With([]*zones.Target{{Name: lb, A: c.family, AAAA: zones.Family{Known: true}}}, nil))
		query := new(dns.Msg).SetQuestion("www.corp.test.", c.kind).SetEdns0(1232, false)
		packed, err := query.Pack()
		if err != nil {
			t.Fatal(err)
		}
		packet, _ := Respond(nil, packed, store.Load(), Peer{Addr: netip.MustParseAddrPort("127.0.0.1:1000")})
		reply := new(dns.Msg)
		if err := reply.Unpack(packet); err != nil {
			t.Fatal(err)
		}
		ede, text := -1, ""
		for _, option := range reply.IsEdns0().Option {
			if e, ok := option.(*dns.EDNS0_EDE); ok {
				ede, text = int(e.InfoCode), e.ExtraText
			}
		}
		if reply.Rcode != c.rcode || len(reply.Answer) != c.answers || reply.Authoritative != (c.rcode == dns.RcodeSuccess) || ede != c.ede {
			t.Errorf("%+v: the reply is\n%s", c, reply)
		}
		if !strings.Contains(text, c.text) {
			t.Errorf("the extended error says %q, want %q", text, c.text)
		}
	}
}
