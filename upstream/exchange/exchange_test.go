package exchange

import (
	"context"
	"net"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/miekg/dns"
)

// A packet that gets lost is sent again, with the same id.
func TestAskSendsAgain(t *testing.T) {
	t.Parallel()
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	query := new(dns.Msg).SetQuestion("b.corp.test.", dns.TypeA)
	go func() {
		buf := make([]byte, 512)
		for range 2 { // the first one is lost
			n, from, err := conn.ReadFrom(buf)
			var got dns.Msg
			if err != nil || got.Unpack(buf[:n]) != nil || got.Id != query.Id {
				return
			}
			if wire, err := new(dns.Msg).SetRcode(&got, dns.RcodeNameError).Pack(); err == nil {
				defer func() { _, _ = conn.WriteTo(wire, from) }()
			}
		}
	}()
	reply, err := Ask(t.Context(), netip.MustParseAddrPort(conn.LocalAddr().String()), query, 5*time.Millisecond)
	if err != nil || reply.Rcode != dns.RcodeNameError {
		t.Errorf("%v, %v", reply, err)
	}
}

// A question ends with its context, and the error says in words for how long the
// server was waited for.
func TestAskEnds(t *testing.T) {
	t.Parallel()
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		_, _, _ = conn.ReadFrom(make([]byte, 512))
		cancel()
	}()
	_, err = Ask(ctx, netip.MustParseAddrPort(conn.LocalAddr().String()), new(dns.Msg).SetQuestion("b.corp.test.", dns.TypeA), time.Second)
	if err == nil || !strings.Contains(Cause(ctx, err, 3*time.Second).Error(), "does not answer within 3s") {
		t.Errorf("the question ends with %v", err)
	}
}
