package main

import (
	"context"
	"encoding/json"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// encryptedServer runs the program with addresses for every transport until the
// test ends, and returns their ports by what the log says of them, and the
// certificate's file.
func encryptedServer(t *testing.T, flags ...string) (ports map[string]string, cert string) {
	t.Helper()
	folder := t.TempDir()
	s := newPair(t, 1, farAway).write(t, folder)
	zone := filepath.Join(folder, "corp.test.zone")
	if err := os.WriteFile(zone, []byte("www 60 A 192.0.2.10\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	log := make(lines, 1000)
	ended := make(chan int, 1)
	go func() {
		ended <- run(ctx, append([]string{"serve", "--zone-file=corp.test=" + zone, "--listen=127.0.0.1:0", "--listen-tls=127.0.0.1:0", "--listen-https=127.0.0.1:0",
			"--tls-cert-file=" + s.cert, "--tls-key-file=" + s.key, "--metrics-address=", "--admin-address=", "--resolver=none", "--log-format=json"}, flags...),
			stdio{strings.NewReader(""), log, log})
	}()
	t.Cleanup(func() {
		stop()
		if status := <-ended; status != 0 {
			t.Errorf("serve ends with %d", status)
		}
	})
	ports = map[string]string{}
	for ports["answering"] == "" {
		var said struct{ Msg, Address string }
		select {
		case line := <-log:
			if err := json.Unmarshal([]byte(line), &said); err != nil {
				t.Fatalf("%s: %v", line, err)
			}
		case <-time.After(20 * time.Second):
			t.Fatal("the program doesn't answer")
		}
		if _, port, err := net.SplitHostPort(said.Address); err == nil {
			ports[said.Msg] = port
		}
	}
	return ports, s.cert
}

// tool runs a client of another maker; the test is skipped where it is missing.
func tool(t *testing.T, name string, flags ...string) string {
	t.Helper()
	if _, err := exec.LookPath(name); err != nil {
		t.Skipf("%s is not installed (the Debian packages knot-dnsutils and bind9-dnsutils have kdig and dig)", name)
	}
	flags = append(flags, "@127.0.0.1", "www.corp.test", "A")
	out, err := exec.CommandContext(t.Context(), name, flags...).CombinedOutput()
	if err != nil {
		t.Errorf("%s %s: %v", name, strings.Join(flags, " "), err)
	}
	return string(out)
}

// TestClientsOverTLS: the program's addresses over TLS and HTTPS answer the tools
// of Knot DNS and of BIND, which check the certificate.
func TestClientsOverTLS(t *testing.T) {
	t.Parallel()
	ports, cert := encryptedServer(t)
	for name, flags := range map[string]string{
		"kdig over TLS":         "+padding",
		"kdig over HTTPS":       "+https +padding",
		"kdig over HTTPS, GET":  "+https-get",
		"dig over TLS":          "+tls +padding=128",
		"dig over HTTPS":        "+https",
		"dig over HTTPS by GET": "+https-get",
	} {
		t.Run(name, func(t *testing.T) {
			port := ports["answering over TLS"]
			if strings.Contains(flags, "https") {
				port = ports["answering over HTTPS"]
			}
			program, _, _ := strings.Cut(name, " ")
			out := tool(t, program, append(strings.Fields(flags), "-p", port, "+tls-ca="+cert, "+tls-hostname=dns.corp.test")...)
			if !strings.Contains(out, "192.0.2.10") || strings.Contains(flags, "padding") && !strings.Contains(out, "468") {
				t.Errorf("no answer, or it is not padded:\n%s", out)
			}
		})
	}
}

// TestClientsBehindProxy: Knot's client sends PROXY headers like a balancer. Who
// stands in them may ask or not. Over TLS it sends them inside, which no balancer
// does that passes connections on.
func TestClientsBehindProxy(t *testing.T) {
	t.Parallel()
	ports, _ := encryptedServer(t, "--proxy-protocol-from=127.0.0.0/8", "--allow-query=203.0.113.0/24,2001:db8::/32")
	for name, flags := range map[string]string{"over UDP": "", "over TCP": "+tcp"} {
		for header, want := range map[string]string{
			"+proxy=203.0.113.9#4711-192.0.2.53#53":     "status: NOERROR",
			"+proxy=2001:db8::9#4711-2001:db8::53#53":   "status: NOERROR",
			"+proxy=198.51.100.9#4711-198.51.100.53#53": "status: REFUSED",
		} {
			t.Run(name+" "+want, func(t *testing.T) {
				if out := tool(t, "kdig", append(strings.Fields(flags), "-p", ports["answering"], header)...); !strings.Contains(out, want) {
					t.Errorf("want %s:\n%s", want, out)
				}
			})
		}
	}
}
