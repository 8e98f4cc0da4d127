package resolver

import (
	"net/netip"
	"strings"
	"testing"
)

func TestParseServer(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"10.0.0.2":             "10.0.0.2:53",
		"10.0.0.2:5353":        "10.0.0.2:5353",
		"2001:db8::2":          "[2001:db8::2]:53",
		"[2001:db8::2]":        "[2001:db8::2]:53",
		"[2001:db8::2]:5353":   "[2001:db8::2]:5353",
		"::ffff:10.0.0.2":      "10.0.0.2:53",
		"":                     "",
		"dns.example":          "",
		"10.0.0.2:0":           "",
		"10.0.0.2:port":        "",
		"[10.0.0.2":            "",
		"tcp://10.0.0.2":       "",
		"10.0.0.2:53:53":       "",
		"2001:db8::2]":         "",
		"10.0.0.2:70000":       "",
		"fe80::1%eth0":         "[fe80::1%eth0]:53",
		"[fe80::1%eth0]:5353":  "[fe80::1%eth0]:5353",
		" 10.0.0.2":            "",
		"10.0.0.0/8":           "",
		"[::ffff:10.0.0.2]:54": "10.0.0.2:54",
	} {
		server, err := ParseServer(text)
		switch {
		case want == "" && err == nil:
			t.Errorf("%q is read as %s", text, server)
		case want != "" && (err != nil || server.String() != want):
			t.Errorf("%q is read as %s, %v; want %s", text, server, err, want)
		}
	}
}

func TestSystemServers(t *testing.T) {
	t.Parallel()
	servers, err := SystemServers(strings.NewReader("# comment\nsearch corp.test\nnameserver 10.96.0.10\nnameserver\t2001:db8::1 # second\nnameserver nonsense\nnameserver\noptions ndots:5\n"))
	if err != nil || len(servers) != 2 || servers[0].String() != "10.96.0.10:53" || servers[1].String() != "[2001:db8::1]:53" {
		t.Errorf("%v, %v", servers, err)
	}
}

// A server must never ask itself: the question would come back to it as one of
// its own names, or as a loop.
func TestReaches(t *testing.T) {
	t.Parallel()
	local := []netip.Addr{netip.MustParseAddr("10.1.2.3"), netip.MustParseAddr("fe80::1%eth0")}
	for _, c := range []struct {
		server, listen string
		want           bool
	}{
		{"10.1.2.3:53", "10.1.2.3:53", true},
		{"10.1.2.3:53", "0.0.0.0:53", true},
		{"10.1.2.3:53", "[::]:53", true},
		{"10.1.2.3:53", ":53", true},
		{"127.0.0.53:53", ":53", true},
		{"[::1]:53", "[::]:53", true},
		{"[fe80::1%eth0]:53", ":53", true},
		{"0.0.0.0:53", ":53", true},
		{"10.1.2.3:5353", ":53", false},
		{"10.96.0.10:53", ":53", false},
		{"127.0.0.53:53", "127.0.0.1:53", false},
		{"127.0.0.1:53", "10.1.2.3:53", false},
		{"[::1]:53", "0.0.0.0:53", false},
		{"127.0.0.1:53", "127.0.0.1:0", false},
	} {
		var listen netip.AddrPort
		if port, all := strings.CutPrefix(c.listen, ":"); all {
			listen = netip.AddrPortFrom(netip.Addr{}, netip.MustParseAddrPort("0.0.0.0:"+port).Port())
		} else {
			listen = netip.MustParseAddrPort(c.listen)
		}
		if got := Reaches(netip.MustParseAddrPort(c.server), listen, local); got != c.want {
			t.Errorf("%s reaches the socket %s: %t, want %t", c.server, c.listen, got, c.want)
		}
	}
}
