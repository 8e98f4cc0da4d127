package server

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/miekg/dns"
)

// FuzzRespond sends any bytes: no panic; a reply to all that is no reply itself
// and has a header; with the id, QR set, within its limit, and readable.
func FuzzRespond(f *testing.F) {
	for _, query := range scriptQueries(f) {
		f.Add(query, false)
		f.Add(query, true)
	}
	f.Add([]byte{}, false)
	snap := sizes(f).snapshot()
	var used Responder
	full := worker{run: &run{limiter: newLimiter(RateLimit{PerSecond: 1})}}
	full.responder = Responder{Options: hotOptions(f), limiter: full.limiter}
	f.Fuzz(func(t *testing.T, query []byte, tcp bool) {
		peer := Peer{Addr: netip.MustParseAddrPort("127.0.0.1:40000"), Time: 0x5cf79f11}
		if tcp {
			peer.Transport = TCP
		}
		before := bytes.Clone(query)
		reply, outcome := Respond(nil, query, snap, peer)
		if !bytes.Equal(query, before) {
			t.Fatalf("the query was changed from %x to %x", before, query)
		}
		used.turn = 0
		if again, _ := used.Respond(nil, query, snap, peer); !bytes.Equal(again, reply) {
			t.Fatalf("a used Responder answers otherwise: %x, fresh: %x", again, reply)
		}
		optional, with := full.responder.Respond(nil, query, snap, peer)
		if with.Dropped != outcome.Dropped {
			t.Fatalf("with every option: %v, without: %v", with.Dropped, outcome.Dropped)
		}
		silent := len(query) < headerSize || query[2]&0x80 != 0
		if silent != (len(reply) == 0) || silent != (outcome.Dropped != Answered) {
			t.Fatalf("silence is %v, want %v (%v)", len(reply) == 0, silent, outcome.Dropped)
		}
		if silent {
			return
		}
		checkReply(t, query, reply, outcome, peer.Transport)
		checkReply(t, query, optional, with, peer.Transport)
		peer.Transport = TLS
		padded, with := full.responder.Respond(nil, query, snap, peer)
		checkReply(t, query, padded, with, TLS)
		if m := &full.responder.msg; m.padding && m.edns && !m.malformed && m.version == 0 && m.tsigOwner == 0 && m.opcode() == opcodeQuery &&
			with.Rcode != FormErr && len(padded)%paddingBlock != 0 && len(padded) != maxMessage {
			t.Fatalf("padding was asked for, and the reply has %d octets", len(padded))
		}
		peer.Transport = UDP
		if !tcp {
			optional, with = full.responder.short(nil, query, peer, with)
			checkReply(t, query, optional, with, UDP)
			if len(optional) > len(query)+optSize+4+cookieSize {
				t.Fatalf("the short reply to %d octets has %d: of use to who forges addresses", len(query), len(optional))
			}
		}
	})
}

func checkReply(t *testing.T, query, reply []byte, outcome Outcome, transport Transport) {
	t.Helper()
	limit := maxMessage
	if transport == UDP {
		limit = DefaultMaxUDP
	}
	if len(reply) > limit || len(reply) != outcome.Size {
		t.Fatalf("%d octets, outcome says %d, limit %d", len(reply), outcome.Size, limit)
	}
	if !bytes.Equal(query[:2], reply[:2]) {
		t.Fatalf("id %x, want %x", reply[:2], query[:2])
	}
	flags := binary.BigEndian.Uint16(reply[2:])
	asked := binary.BigEndian.Uint16(query[2:])
	if flags&flagQR == 0 || flags&maskOpcode != asked&maskOpcode {
		t.Fatalf("flags %04x for a query of flags %04x", flags, asked)
	}
	if flags&0x00e0 != 0 { // RA, Z, AD
		t.Fatalf("RA, Z or AD is set: flags %04x", flags)
	}
	var msg dns.Msg
	if err := msg.Unpack(reply); err != nil {
		t.Fatalf("the reply can't be read: %v\n%x", err, reply)
	}
	if len(msg.Question) == 1 {
		end := questionEnd(t, reply)
		if !bytes.Equal(reply[headerSize:end], query[headerSize:end]) {
			t.Fatalf("the question came back as %x, not %x", reply[headerSize:end], query[headerSize:end])
		}
	}
}

func questionEnd(t *testing.T, msg []byte) int {
	end, ok := skipName(msg, headerSize)
	if !ok || end+4 > len(msg) {
		t.Fatalf("no question in %x", msg)
	}
	return end + 4
}

// scriptQueries are the queries of the scripts in testdata.
func scriptQueries(tb testing.TB) (queries [][]byte) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil {
		tb.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			tb.Fatal(err)
		}
		for line := range strings.SplitSeq(string(text), "\n") {
			fields := strings.Fields(line)
			if len(fields) == 0 {
				continue
			}
			switch fields[0] {
			case "ask":
				query, _, err := buildQuery(fields[1:])
				if err != nil {
					tb.Fatal(err)
				}
				queries = append(queries, query)
			case "raw":
				query, err := hex.DecodeString(strings.Join(fields[1:], ""))
				if err != nil {
					tb.Fatal(err)
				}
				queries = append(queries, query)
			}
		}
	}
	return queries
}

// FuzzParseCookieSecrets: any text gives secrets or a sentence that begins with
// a line's number, and what was read reads the same again.
func FuzzParseCookieSecrets(f *testing.F) {
	for _, text := range []string{"", "# a\n\ne5e973e5a6b2a43f48e7dc849e37bfcf\r\n", "E5e973e5a6b2a43f48e7dc849e37bfc", "\x00"} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		secrets, err := ParseCookieSecrets(text)
		if err != nil {
			if line, _, found := strings.Cut(err.Error(), ": "); !found || strings.Trim(line, "0123456789") != "" {
				t.Fatalf("%q: %v", text, err)
			}
			return
		}
		var again []byte
		for _, secret := range secrets {
			again = append(hex.AppendEncode(again, secret[:]), '\n')
		}
		if twice, err := ParseCookieSecrets(again); err != nil || !slices.Equal(twice, secrets) {
			t.Fatalf("%q gives %x, which gives %x, %v", text, secrets, twice, err)
		}
	})
}
