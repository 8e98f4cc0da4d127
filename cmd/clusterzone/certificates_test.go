package main

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/big"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
)

// A pair is a certificate with its key, as files have them.
type pair struct{ cert, key []byte }

// newPair makes a self-signed certificate that expires at end.
func newPair(t *testing.T, serial int64, end time.Time) pair {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(serial), Subject: pkix.Name{CommonName: "dns.corp.test"}, DNSNames: []string{"dns.corp.test"}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Unix(0, 0), NotAfter: end,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	octets, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return pair{pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: octets}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})}
}

// write puts the pair into a folder, as a Secret of type kubernetes.io/tls has it.
func (p pair) write(t *testing.T, folder string) certificateSettings {
	t.Helper()
	s := certificateSettings{cert: filepath.Join(folder, "tls.crt"), key: filepath.Join(folder, "tls.key")}
	if err := errors.Join(os.WriteFile(s.cert, p.cert, 0o600), os.WriteFile(s.key, p.key, 0o600)); err != nil {
		t.Fatal(err)
	}
	return s
}

// served is the serial of the certificate that a handshake gets.
func served(t *testing.T, c *certificates) string {
	t.Helper()
	certificate, err := c.config().GetCertificate(nil)
	if err != nil {
		t.Fatal(err)
	}
	return certificate.Leaf.SerialNumber.String()
}

var farAway = time.Date(2124, 1, 1, 0, 0, 0, 0, time.UTC)

// TestEncryptedFlags: what the flags say reaches the server.
func TestEncryptedFlags(t *testing.T) {
	t.Parallel()
	s := newPair(t, 1, farAway).write(t, t.TempDir())
	d, logged := startable(t, "--zone=corp.test", "--source=ingress", "--listen=127.0.0.1:0", "--listen-tls=127.0.0.1", "--listen-tls=[::1]:8853",
		"--listen-https=127.0.0.1", "--tls-cert-file="+s.cert, "--tls-key-file="+s.key, "--proxy-protocol-from=10.0.0.0/8,192.0.2.1/32")
	if got := fmt.Sprint(d.dns.ListenTLS, d.dns.ListenHTTPS, d.dns.ProxyFrom); got != "[127.0.0.1:853 [::1]:8853] [127.0.0.1:443] [10.0.0.0/8 192.0.2.1/32]" {
		t.Error(got)
	}
	if d.dns.TLS == nil || d.certificates == nil || strings.Contains(logged, "expired") {
		t.Errorf("no certificate, or a finding: %s", logged)
	}
	var out bytes.Buffer
	d.serving.encrypted.equip(slog.New(slog.NewTextHandler(&out, nil)), d.dns, nil, nil)
	d.dns.BoundEncrypted([]netip.AddrPort{netip.MustParseAddrPort("127.0.0.1:853")}, []netip.AddrPort{netip.MustParseAddrPort("127.0.0.1:443")})
	if !strings.Contains(out.String(), `msg="answering over TLS" address=127.0.0.1:853`) || !strings.Contains(out.String(), `msg="answering over HTTPS" address=127.0.0.1:443 path=/dns-query`) {
		t.Errorf("logged: %s", out.String())
	}
	d, _ = startable(t, "--zone=corp.test", "--source=ingress")
	if d.dns.TLS != nil || d.certificates != nil || d.dns.ListenTLS != nil || d.dns.ListenHTTPS != nil || d.dns.ProxyFrom != nil {
		t.Error("TLS is on by default")
	}
}

// TestCertificateFaults: each stops the start with one sentence; later it is said
// once, counted, and changes nothing.
func TestCertificateFaults(t *testing.T) {
	t.Parallel()
	good, other := newPair(t, 1, farAway), newPair(t, 2, farAway)
	garbage := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: []byte("x")})
	for want, bad := range map[string]pair{
		"tls.crt holds no certificate; name a PEM file with one":                                {nil, good.key},
		"tls.crt holds a certificate that can't be read (malformed certificate); make it anew":  {garbage, good.key},
		"tls.key holds no key that can be used (failed to find any PEM data in key input)":      {good.cert, nil},
		"tls.key is not the key of the certificate in ":                                         {good.cert, other.key},
		"tls.key holds no key that can be used (found a certificate rather than a key in the P": {good.cert, good.cert},
	} {
		folder := t.TempDir()
		if _, err := newCertificates(bad.write(t, folder)); err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), "--tls-") {
			t.Errorf("got %v, want %q", err, want)
		}
		c, err := newCertificates(good.write(t, folder))
		if err != nil {
			t.Fatal(err)
		}
		registry := prometheus.NewRegistry()
		registry.MustRegister(c)
		var out bytes.Buffer
		c.log = slog.New(slog.NewTextHandler(&out, nil))
		bad.write(t, folder)
		c.Refresh()
		c.Refresh()
		if served(t, c) != "1" || strings.Count(out.String(), "the certificate for TLS and HTTPS stays as it was") != 1 {
			t.Errorf("want the former certificate, and the fault once: %s", out.String())
		}
		expect(t, registry, 1)
		good.write(t, folder)
		c.Refresh()
		if !strings.Contains(out.String(), "again as they were") {
			t.Errorf("the end of the fault is not said: %s", out.String())
		}
		expect(t, registry, 0)
		other.write(t, folder)
		c.Refresh()
		if served(t, c) != "2" || !strings.Contains(out.String(), "the certificate for TLS and HTTPS has changed") {
			t.Errorf("the new certificate is not served: %s", out.String())
		}
		if problems, err := testutil.GatherAndLint(registry); err != nil || len(problems) > 0 {
			t.Errorf("metric names: %v %v", problems, err)
		}
	}
}

// expect compares the metrics of a certificate that expires farAway.
func expect(t *testing.T, registry *prometheus.Registry, unreadable int) {
	t.Helper()
	want := fmt.Sprintf(`
# HELP clusterzone_tls_certificate_expiry_timestamp_seconds When the certificate for TLS and HTTPS expires, or one behind it, in Unix time.
# TYPE clusterzone_tls_certificate_expiry_timestamp_seconds gauge
clusterzone_tls_certificate_expiry_timestamp_seconds %d
# HELP clusterzone_tls_certificate_unreadable 1 when the files of TLS can't be used now, so that the certificate stays as it was.
# TYPE clusterzone_tls_certificate_unreadable gauge
clusterzone_tls_certificate_unreadable %d
`, farAway.Unix(), unreadable)
	if err := testutil.GatherAndCompare(registry, strings.NewReader(want)); err != nil {
		t.Error(err)
	}
}

// TestCertificateFindings: one that clients refuse is served and said; of a
// chain, the first to expire counts.
func TestCertificateFindings(t *testing.T) {
	t.Parallel()
	past := time.Date(2020, 1, 2, 0, 0, 0, 0, time.UTC)
	good, old := newPair(t, 1, farAway), newPair(t, 2, past)
	for want, one := range map[string]pair{
		"the certificate has expired on 2020-01-02; clients will refuse it": old,
		"the certificate has expired on 2020-01-02; clients will refuse":    {append(bytes.Clone(good.cert), old.cert...), good.key},
	} {
		c, err := newCertificates(one.write(t, t.TempDir()))
		if err != nil {
			t.Fatal(err)
		}
		if got := c.findings(); len(got) != 1 || !strings.Contains(got[0], want) {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	var out, errs bytes.Buffer
	s := old.write(t, t.TempDir())
	objects := filepath.Join(t.TempDir(), "objects.yaml")
	if err := os.WriteFile(objects, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	status := run(t.Context(), []string{"check", "--zone=corp.test", "--manifests=" + objects, "--listen-tls=:853", "--tls-cert-file=" + s.cert, "--tls-key-file=" + s.key}, stdio{strings.NewReader(""), &out, &errs})
	if status != 1 || !strings.Contains(out.String(), "has expired") {
		t.Errorf("check ends with %d: %s%s", status, out.String(), errs.String())
	}
}

// lines is a log that a test can wait for.
type lines chan string

func (l lines) Write(p []byte) (int, error) {
	l <- string(p)
	return len(p), nil
}

// TestCertificateIsFollowed: a mounted Secret changes by a link that is renamed.
func TestCertificateIsFollowed(t *testing.T) {
	t.Parallel()
	mount := t.TempDir()
	put := func(version string, p pair) {
		t.Helper()
		folder := filepath.Join(mount, version)
		if err := os.Mkdir(folder, 0o700); err != nil {
			t.Fatal(err)
		}
		p.write(t, folder)
		if err := errors.Join(os.Symlink(version, filepath.Join(mount, "..next")), os.Rename(filepath.Join(mount, "..next"), filepath.Join(mount, "..data"))); err != nil {
			t.Fatal(err)
		}
	}
	put("..v1", newPair(t, 1, farAway))
	s := certificateSettings{cert: filepath.Join(mount, "tls.crt"), key: filepath.Join(mount, "tls.key")}
	if err := errors.Join(os.Symlink("..data/tls.crt", s.cert), os.Symlink("..data/tls.key", s.key)); err != nil {
		t.Fatal(err)
	}
	c, err := newCertificates(s)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	log := make(lines, 100)
	go func() {
		defer close(ended)
		c.follow(ctx, slog.New(slog.NewTextHandler(log, nil)))
	}()
	for serial := int64(2); serial < 4; serial++ {
		put(fmt.Sprintf("..v%d", serial), newPair(t, serial, farAway))
		select {
		case line := <-log:
			if got := served(t, c); got != fmt.Sprint(serial) || !strings.Contains(line, "has changed") {
				t.Errorf("certificate %s, want %d: %s", got, serial, line)
			}
		case <-time.After(20 * time.Second):
			t.Fatal("the new certificate is not read")
		}
	}
	stop()
	<-ended
}

// TestClientCertificates: with --tls-client-ca-file, clients must show one of its
// authorities'; the file may change.
func TestClientCertificates(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	s := newPair(t, 1, farAway).write(t, folder)
	friend, stranger := newPair(t, 2, farAway), newPair(t, 3, farAway)
	s.clientCA = filepath.Join(folder, "ca.crt")
	authority := func(text []byte) {
		if err := os.WriteFile(s.clientCA, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	authority(nil)
	if _, err := newCertificates(s); err == nil || !strings.HasSuffix(err.Error(), "ca.crt holds no certificate; name a PEM file with one") {
		t.Errorf("an empty file: %v", err)
	}
	authority(friend.cert)
	c, err := newCertificates(s)
	if err != nil {
		t.Fatal(err)
	}
	c.log = slog.New(slog.DiscardHandler)
	config := c.config()
	sessions := map[*pair]tls.ClientSessionCache{ // each client has its own
		nil: nil, &friend: tls.NewLRUClientSessionCache(1), &stranger: tls.NewLRUClientSessionCache(1),
	}
	admitted := func(p *pair) bool {
		t.Helper()
		client := &tls.Config{InsecureSkipVerify: true, ClientSessionCache: sessions[p], ServerName: "dns.corp.test"}
		if p != nil {
			certificate, err := tls.X509KeyPair(p.cert, p.key)
			if err != nil {
				t.Fatal(err)
			}
			client.Certificates = []tls.Certificate{certificate}
		}
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer listener.Close()
		done := make(chan error, 1)
		go func() {
			conn, err := listener.Accept()
			if err == nil {
				defer conn.Close()
				_, err = tls.Server(conn, config).Write([]byte("x")) // with the handshake
			}
			done <- err
		}()
		conn, err := net.Dial("tcp", listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if err := conn.SetDeadline(time.Now().Add(20 * time.Second)); err != nil {
			t.Fatal(err)
		}
		_, readErr := io.ReadFull(tls.Client(conn, client), make([]byte, 1))
		serverErr := <-done
		if (readErr == nil) != (serverErr == nil) {
			t.Errorf("the client has %v, the server %v", readErr, serverErr)
		}
		return serverErr == nil
	}
	if !admitted(&friend) || admitted(&stranger) || admitted(nil) {
		t.Error("who has a certificate of the authority, and no other, is admitted")
	}
	if !admitted(&friend) { // also with the session of before
		t.Error("the friend is refused the second time")
	}
	authority(stranger.cert)
	c.Refresh()
	if admitted(&friend) || !admitted(&stranger) {
		t.Error("the new authority is not followed")
	}
}
