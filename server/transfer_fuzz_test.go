package server

import (
	"bytes"
	"encoding/binary"
	"net"
	"net/netip"
	"testing"
	"time"

	"github.com/miekg/dns"

	"github.com/clusterzone/clusterzone/zones"
)

// FuzzTransferRequest sends any octets to a server that has keys and lets the
// peer transfer: no panic; each reply within its limit; what is streamed are
// messages that can be read.
func FuzzTransferRequest(f *testing.F) {
	for _, query := range scriptQueries(f) {
		f.Add(query, true)
		f.Add(query, false)
	}
	w := worldOf(f, "zone corp.test\nwww.corp.test 60 A 192.0.2.10")
	key, err := NewTSIGKey("xfr.corp.test", "hmac-sha256", testSecret)
	if err != nil {
		f.Fatal(err)
	}
	all := []TransferRule{{Network: netip.MustParsePrefix("127.0.0.0/8")}, {Key: "xfr"}}
	r := (&Server{View: viewOf(w), Options: Options{Keys: NewTSIGKeys(key), AllowTransfer: all, Editions: w}}).newRun()
	f.Fuzz(func(t *testing.T, query []byte, tcp bool) {
		peer := Peer{Addr: netip.MustParseAddrPort("127.0.0.1:40000"), Time: 1_700_000_000}
		if tcp {
			peer.Transport = TCP
		}
		sink := &sink{}
		c := &connection{run: r, net: sink, peer: peer, worker: r.borrow()}
		reply, outcome := c.worker.answer(nil, query, peer)
		if c.worker.responder.transfer.edition == nil {
			if outcome.Dropped == Answered {
				checkReply(t, query, reply, outcome, peer.Transport)
			}
			return
		}
		if !tcp || len(reply) > 0 {
			t.Fatalf("a transfer over %s, %d octets before it", peer.Transport, len(reply))
		}
		if !c.stream(t.Context(), query, 0, outcome, time.Now()) {
			t.Fatal("the transfer fails")
		}
		rest, messages := sink.Bytes(), 0
		for ; len(rest) > 2; messages++ {
			size := 2 + int(binary.BigEndian.Uint16(rest))
			if size > len(rest) {
				t.Fatalf("message %d is cut short", messages)
			}
			if err := new(dns.Msg).Unpack(rest[2:size]); err != nil {
				t.Fatalf("message %d: %v", messages, err)
			}
			rest = rest[size:]
		}
		if messages == 0 || len(rest) > 0 {
			t.Fatalf("%d messages, and %d octets more", messages, len(rest))
		}
	})
}

// A sink is a connection that takes everything.
type sink struct{ bytes.Buffer }

func (*sink) Close() error                     { return nil }
func (*sink) LocalAddr() net.Addr              { return nil }
func (*sink) RemoteAddr() net.Addr             { return nil }
func (*sink) SetDeadline(time.Time) error      { return nil }
func (*sink) SetReadDeadline(time.Time) error  { return nil }
func (*sink) SetWriteDeadline(time.Time) error { return nil }

// FuzzNotifyReply reads any octets as the reply of a secondary: no panic, and
// nothing counts as signed that is not.
func FuzzNotifyReply(f *testing.F) {
	key, err := NewTSIGKey("xfr.corp.test", "hmac-sha256", testSecret)
	if err != nil {
		f.Fatal(err)
	}
	soa := &zones.RRSet{Name: "\x04corp\x04test\x00", Type: zones.TypeSOA, Data: []zones.Rdata{zones.Rdata("\x00\x00" + string(make([]byte, 20)))}}
	var out writer
	now := time.Unix(1_700_000_000, 0)
	message, mac := out.notify(7, soa, &key, now)
	f.Add(bytes.Clone(message))
	reply := bytes.Clone(message)
	reply[2] |= flagQR >> 8
	f.Add(reply)
	f.Fuzz(func(t *testing.T, msg []byte) {
		_, _, _, _ = readNotifyReply(msg)
		if signedReply(msg, &key, mac, now) {
			t.Fatal("a signature was made up")
		}
	})
}

// FuzzParseTSIGKeyFile reads any text: no panic, and no more time than it has
// octets.
func FuzzParseTSIGKeyFile(f *testing.F) {
	f.Add([]byte("# a\nkey \"xfr\" { algorithm hmac-sha256; secret \"" + testSecret + "\"; };\n/* b */ // c"))
	f.Fuzz(func(t *testing.T, text []byte) {
		keys, err := ParseTSIGKeyFile(text)
		if (err == nil) != (len(keys) > 0) {
			t.Fatalf("%d keys, %v", len(keys), err)
		}
	})
}
