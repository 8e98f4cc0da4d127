package main

import (
	"bytes"
	"context"
	"encoding/hex"
	"log/slog"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/clusterzone/clusterzone/server"
	"github.com/clusterzone/clusterzone/zones"
)

// TestClientFlags: what the flags say reaches the server.
func TestClientFlags(t *testing.T) {
	t.Parallel()
	d, _ := startable(t, "--zone=corp.test", "--source=ingress", "--allow-query=10.0.0.0/8,2001:db8::1/32", "--allow-query=192.0.2.7/32",
		"--rrl=20", "--rrl-exempt=10.1.0.0/16", "--nsid=dns-0", "--version-bind=clusterzone 1", "--tcp-idle-timeout=7s")
	o := d.dns.Options
	want := []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("2001:db8::/32"), netip.MustParsePrefix("192.0.2.7/32")}
	if len(o.AllowQuery) != 3 || o.AllowQuery[0] != want[0] || o.AllowQuery[1] != want[1] || o.AllowQuery[2] != want[2] {
		t.Errorf("--allow-query: %v", o.AllowQuery)
	}
	if o.NSID != "dns-0" || o.Version != "clusterzone 1" || o.TCPIdle != 7*time.Second || o.Cookies == nil {
		t.Errorf("options: %+v", o)
	}
	if limit := d.dns.RateLimit; limit.PerSecond != 20 || len(limit.Exempt) != 1 {
		t.Errorf("rate limit: %+v", limit)
	}
	d, _ = startable(t, "--zone=corp.test", "--source=ingress", "--cookies=off")
	if o := d.dns.Options; o.Cookies != nil || o.AllowQuery != nil || d.dns.RateLimit.PerSecond != 0 {
		t.Errorf("by default and without cookies: %+v", o)
	}
}

// TestTextsForClients: what is sent as it is must be short and printable.
func TestTextsForClients(t *testing.T) {
	t.Parallel()
	for text, good := range map[string]bool{"": true, "dns-0": true, "zürich 1": true, strings.Repeat("a", 128): true,
		strings.Repeat("a", 129): false, "a\a": false, "a\nb": false, "\xff": false} {
		if got, err := shortText("nsid", text, server.MaxNSID); (err == nil) != good || good && got != text {
			t.Errorf("%q: %q, %v", text, got, err)
		}
	}
}

// The secret, the client's cookie and the server's are those of RFC 9018,
// appendix A.1.
const (
	exampleSecret = "e5e973e5a6b2a43f48e7dc849e37bfcf"
	exampleCookie = "2464c4abcf10c957010000005cf79f111f8130c3eee29480"
)

// cookieOf asks with a client cookie and returns the COOKIE option of the reply.
func cookieOf(t *testing.T, cookies *server.Cookies) string {
	t.Helper()
	query, err := hex.DecodeString("000100000000000000000001" + "0000290400" + "00000000" + "000c" + "000a" + "0008" + exampleCookie[:16])
	if err != nil {
		t.Fatal(err)
	}
	r := server.Responder{Options: server.Options{Cookies: cookies}}
	reply, outcome := r.Respond(nil, query, &zones.Snapshot{}, server.Peer{Addr: netip.MustParseAddrPort("198.51.100.100:5353"), Time: 0x5cf79f11})
	if outcome.Rcode != server.NoError || len(reply) < 24 {
		t.Fatalf("%+v: %x", outcome, reply)
	}
	return hex.EncodeToString(reply[len(reply)-24:])
}

// TestCookieSecretFile: the file's first secret makes cookies; a change is taken
// over, and a fault in it is said once and changes nothing.
func TestCookieSecretFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "secrets")
	write := func(text string) {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(exampleSecret + "\n")
	d, _ := startable(t, "--zone=corp.test", "--source=ingress", "--cookie-secret-file="+path)
	cookies := d.dns.Options.Cookies
	if got := cookieOf(t, cookies); got != exampleCookie {
		t.Errorf("cookie %s, want %s", got, exampleCookie)
	}
	var out bytes.Buffer
	log := slog.New(slog.NewTextHandler(&out, nil))
	d.cookieFile.refresh(log)
	if out.Len() > 0 {
		t.Errorf("nothing has changed: %s", out.String())
	}
	write("00112233445566778899aabbccddeeff\n" + exampleSecret)
	d.cookieFile.refresh(log)
	changed := cookieOf(t, cookies)
	if changed == exampleCookie || strings.Count(out.String(), "secrets have changed") != 1 {
		t.Errorf("the new secret is not used; log: %s", out.String())
	}
	for _, fault := range []func(){func() { write("0011") }, func() { _ = os.Remove(path) }} {
		out.Reset()
		fault()
		d.cookieFile.refresh(log)
		d.cookieFile.refresh(log)
		if cookieOf(t, cookies) != changed || strings.Count(out.String(), "the cookies' secrets stay as they were") != 1 {
			t.Errorf("want the former secret, and the fault once: %s", out.String())
		}
	}
	out.Reset()
	write(exampleSecret)
	d.cookieFile.refresh(log)
	if cookieOf(t, cookies) != exampleCookie {
		t.Errorf("the mended file is not read: %s", out.String())
	}
}

// TestCookieSecretFileIsFollowed: the file is read every two seconds, of a clock
// that is the test's own, until the server stops.
func TestCookieSecretFileIsFollowed(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "secrets")
	synctest.Test(t, func(t *testing.T) {
		file := &cookieFile{path: path, cookies: server.NewCookies()}
		ctx, stop := context.WithCancel(t.Context())
		var out bytes.Buffer
		go file.follow(ctx, slog.New(slog.NewTextHandler(&out, nil)))
		time.Sleep(cookiePoll + 1) // of the bubble's clock
		synctest.Wait()
		if err := os.WriteFile(path, []byte(exampleSecret), 0o600); err != nil {
			t.Fatal(err)
		}
		time.Sleep(cookiePoll)
		synctest.Wait()
		if got := cookieOf(t, file.cookies); got != exampleCookie {
			t.Errorf("cookie %s after the file came, want %s; log: %s", got, exampleCookie, out.String())
		}
		stop()
	})
}
