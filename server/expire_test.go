package server

import (
	"slices"
	"testing"

	"github.com/miekg/dns"

	"github.com/clusterzone/clusterzone/zones"
)

// TestTransferTellsExpire: the first message has the timer that was asked for, and
// the content is as without (RFC 7314 section 3.2).
func TestTransferTellsExpire(t *testing.T) {
	t.Parallel()
	p := newPrimary(t)
	p.set(t, "www.corp.test", zones.TypeA, "192.0.2.1")
	p.commit()
	addr := start(t, &Server{View: &p.store, Options: p.options(t)})
	for _, ask := range []bool{true, false} {
		question := axfr()
		question.SetEdns0(4096, false)
		if ask {
			question.IsEdns0().Option = []dns.EDNS0{&dns.EDNS0_EXPIRE{Code: dns.EDNS0EXPIRE, Empty: true}}
		}
		conn := &dns.Conn{Conn: dial(t, "tcp", addr)}
		if err := conn.WriteMsg(question); err != nil {
			t.Fatal(err)
		}
		reply, err := conn.ReadMsg()
		if err != nil {
			t.Fatal(err)
		}
		whole(t, reply.Answer)
		var timers []uint32
		for _, option := range reply.IsEdns0().Option {
			if expire, ok := option.(*dns.EDNS0_EXPIRE); ok {
				timers = append(timers, expire.Expire)
			}
		}
		if soa := reply.Answer[0].(*dns.SOA); ask != slices.Equal(timers, []uint32{soa.Expire}) {
			t.Errorf("asked %t: the timers are %d, and the SOA says %d", ask, timers, soa.Expire)
		}
	}
}
