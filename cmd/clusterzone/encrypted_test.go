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

// TestClientsOverTLS: the program's addresses over TLS and HTTPS answer the tools
// of Knot DNS and of BIND, which check the certificate.
func TestClientsOverTLS(t *testing.T) {
	t.Parallel()
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
		ended <- run(ctx, []string{"serve", "--zone-file=corp.test=" + zone, "--listen=127.0.0.1:0", "--listen-tls=127.0.0.1:0", "--listen-https=127.0.0.1:0",
			"--tls-cert-file=" + s.cert, "--tls-key-file=" + s.key, "--metrics-address=", "--admin-address=", "--resolver=none", "--log-format=json"},
			stdio{strings.NewReader(""), log, log})
	}()
	t.Cleanup(func() {
		stop()
		if status := <-ended; status != 0 {
			t.Errorf("serve ends with %d", status)
		}
	})
	ports := map[string]string{}
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
	overTLS, overHTTPS := ports["answering over TLS"], ports["answering over HTTPS"]
	for _, command := range []string{
		"kdig -p " + overTLS + " +tls-ca=" + s.cert + " +tls-hostname=dns.corp.test +padding",
		"kdig -p " + overTLS + " +tls-ca=" + s.cert + " +tls-hostname=dns.corp.test",
		"kdig -p " + overHTTPS + " +https +tls-ca=" + s.cert + " +tls-hostname=dns.corp.test +padding",
		"kdig -p " + overHTTPS + " +https-get +tls-ca=" + s.cert + " +tls-hostname=dns.corp.test",
		"dig -p " + overTLS + " +tls +tls-ca=" + s.cert + " +tls-hostname=dns.corp.test +padding=128",
		"dig -p " + overHTTPS + " +https +tls-ca=" + s.cert + " +tls-hostname=dns.corp.test",
		"dig -p " + overHTTPS + " +https-get +tls-ca=" + s.cert + " +tls-hostname=dns.corp.test",
	} {
		words := strings.Fields(command)
		t.Run(words[0], func(t *testing.T) {
			if _, err := exec.LookPath(words[0]); err != nil {
				t.Skipf("%s is not installed (packages knot-dnsutils and bind9-dnsutils have it)", words[0])
			}
			out, err := exec.CommandContext(t.Context(), words[0], append(words[1:], "@127.0.0.1", "www.corp.test", "A")...).CombinedOutput()
			if err != nil || !strings.Contains(string(out), "192.0.2.10") {
				t.Errorf("%s: %v\n%s", command, err, out)
			}
			if padded := strings.Contains(command, "padding"); padded && !strings.Contains(string(out), "468") {
				t.Errorf("%s: the reply is not padded:\n%s", command, out)
			}
		})
	}
}
