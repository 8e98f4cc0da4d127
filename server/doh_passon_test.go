package server

import (
	"bytes"
	"net/netip"
	"strings"
	"testing"
)

// Over TLS and HTTPS too, names are passed on to other resolvers, and the tap is
// told: of the client in a PROXY header, and of the query behind it.
func TestEncryptedPassOnAndTap(t *testing.T) {
	t.Parallel()
	tap := &tapped{more: make(chan struct{}, 100)}
	at := startEncrypted(t, &Server{
		Options: passOptions(t), Passer: &fakePasser{}, Tap: tap,
		ProxyFrom: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")},
	})
	header := proxyFrom("203.0.113.9:4711", 1)
	for _, words := range []string{"www.corp.test A", "other.corp.test A option=12:", "fault.corp.test A edns"} {
		query, _ := askFor(t, words)
		for transport, ask := range map[Transport]func() []byte{
			UDP: func() []byte {
				conn := dial(t, "udp", at.plain)
				send(t, conn, append(bytes.Clone(header), query...))
				return receive(t, conn)
			},
			TLS: func() []byte {
				conn := dial(t, "tcp", at.tls)
				send(t, conn, header)
				secured := at.secure(t, conn)
				send(t, secured, framed(query))
				return receiveFramed(t, secured)
			},
			HTTPS: func() []byte { return at.post(t, header, query) },
		} {
			reply := ask()
			<-tap.more
			tap.mu.Lock()
			s := tap.seen[len(tap.seen)-1]
			tap.mu.Unlock()
			server := map[Transport]netip.AddrPort{UDP: at.plain, TLS: at.tls, HTTPS: at.https}[transport]
			if !bytes.Equal(s.Query, query) || !bytes.Equal(s.Reply, reply) || s.Transport != transport || s.Client.String() != "203.0.113.9:4711" || s.Server != server {
				t.Errorf("%s over %s: told of %+v", words, transport, s)
			}
			want := map[string]string{"www": "192.0.2.10", "other": "30 IN A 198.51.100.7", "fault": "SERVFAIL"}[strings.Split(words, ".")[0]]
			if text := describe(reply, transport); !strings.Contains(text, want) || strings.Contains(words, "12:") && transport.Encrypted() != (len(reply)%paddingBlock == 0) {
				t.Errorf("%s over %s: %s, want %s", words, transport, text, want)
			}
		}
	}
}
