package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/clusterzone/clusterzone/filewatch"
)

// certificates are the files of TLS as they said something last that can be
// used. Handshakes and metrics read them while one goroutine follows the files.
type certificates struct {
	followedFiles
	settings certificateSettings
	now      atomic.Pointer[certificateState]
	broken   atomic.Bool // the files can't be used as they are now

	log   *slog.Logger // of follow, as are those below
	texts [][]byte     // of the files, as they were read last
	said  string       // the error logged last

	expiry, unreadable *prometheus.Desc
}

// A certificateState is what the files say at one time. It doesn't change.
type certificateState struct {
	pair    *tls.Certificate
	clients *x509.CertPool // nil without --tls-client-ca-file
}

// newCertificates reads the files. An error is one sentence that names a flag.
func newCertificates(settings certificateSettings) (*certificates, error) {
	c := &certificates{
		settings: settings,
		expiry: prometheus.NewDesc("clusterzone_tls_certificate_expiry_timestamp_seconds",
			"When the certificate for TLS and HTTPS expires, or one behind it, in Unix time.", nil, nil),
		unreadable: prometheus.NewDesc("clusterzone_tls_certificate_unreadable",
			"1 when the files of TLS can't be used now, so that the certificate stays as it was.", nil, nil),
	}
	texts, err := c.read()
	if err != nil {
		return nil, err
	}
	state, err := parseCertificates(settings, texts)
	if err != nil {
		return nil, err
	}
	for _, flag := range settings.flags() {
		c.followedFiles = append(c.followedFiles, flag[1])
	}
	c.texts = texts
	c.now.Store(state)
	return c, nil
}

// flags are the files with their flags: certificate, key, and the clients'
// authorities where they are asked for.
func (s *certificateSettings) flags() [][2]string {
	all := [][2]string{{"tls-cert-file", s.cert}, {"tls-key-file", s.key}}
	if s.clientCA != "" {
		all = append(all, [2]string{"tls-client-ca-file", s.clientCA})
	}
	return all
}

// read returns the texts of the files, in the order of flags.
func (c *certificates) read() (texts [][]byte, err error) {
	for _, flag := range c.settings.flags() {
		text, err := os.ReadFile(flag[1])
		if err != nil {
			return nil, fmt.Errorf("--%s=%s can't be read (%w); name a PEM file", flag[0], flag[1], pathError(err))
		}
		texts = append(texts, text)
	}
	return texts, nil
}

// parseCertificates reads the texts of the files, in the order of flags.
func parseCertificates(s certificateSettings, texts [][]byte) (*certificateState, error) {
	chain, err := parsePEM(texts[0])
	if err != nil {
		return nil, fmt.Errorf("--tls-cert-file=%s %w", s.cert, err)
	}
	pair, err := tls.X509KeyPair(texts[0], texts[1])
	switch {
	case err != nil && strings.Contains(err.Error(), "does not match"):
		return nil, fmt.Errorf("--tls-key-file=%s is not the key of the certificate in %s; name the files of one pair", s.key, s.cert)
	case err != nil:
		return nil, fmt.Errorf("--tls-key-file=%s holds no key that can be used (%s); name a PEM file with the certificate's unencrypted key", s.key, strings.TrimPrefix(err.Error(), "tls: "))
	}
	pair.Leaf = chain[0]
	state := &certificateState{pair: &pair}
	if s.clientCA == "" {
		return state, nil
	}
	authorities, err := parsePEM(texts[2])
	if err != nil {
		return nil, fmt.Errorf("--tls-client-ca-file=%s %w", s.clientCA, err)
	}
	state.clients = x509.NewCertPool()
	for _, authority := range authorities {
		state.clients.AddCert(authority)
	}
	return state, nil
}

// parsePEM reads the certificates in text, at least one.
func parsePEM(text []byte) (all []*x509.Certificate, err error) {
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		if block.Type != "CERTIFICATE" {
			continue
		}
		certificate, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, fmt.Errorf("holds a certificate that can't be read (%s); make it anew", strings.TrimPrefix(err.Error(), "x509: "))
		}
		all = append(all, certificate)
	}
	if len(all) == 0 {
		return nil, errors.New("holds no certificate; name a PEM file with one")
	}
	return all, nil
}

// verifyClient checks the certificate that a client has shown.
func (c *certificates) verifyClient(state tls.ConnectionState) error {
	if len(state.PeerCertificates) == 0 {
		return errors.New("the client has shown no certificate")
	}
	options := x509.VerifyOptions{
		Roots:         c.now.Load().clients,
		Intermediates: x509.NewCertPool(),
		KeyUsages:     []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}
	for _, other := range state.PeerCertificates[1:] {
		options.Intermediates.AddCert(other)
	}
	_, err := state.PeerCertificates[0].Verify(options)
	return err
}

// expires is when the first certificate of the chain expires.
func (s *certificateState) expires() time.Time {
	end := s.pair.Leaf.NotAfter
	for _, octets := range s.pair.Certificate[1:] {
		if other, err := x509.ParseCertificate(octets); err == nil && other.NotAfter.Before(end) {
			end = other.NotAfter
		}
	}
	return end
}

// findings are what is odd about the certificate, a sentence each.
func (c *certificates) findings() []string {
	at, state := time.Now(), c.now.Load()
	if end := state.expires(); end.Before(at) {
		return []string{fmt.Sprintf("--tls-cert-file=%s: the certificate has expired on %s; clients will refuse it", c.settings.cert, end.UTC().Format(time.DateOnly))}
	}
	if begin := state.pair.Leaf.NotBefore; begin.After(at) {
		return []string{fmt.Sprintf("--tls-cert-file=%s: the certificate is not valid before %s; clients will refuse it", c.settings.cert, begin.UTC().Format(time.RFC3339))}
	}
	return nil
}

// Describe implements prometheus.Collector.
func (c *certificates) Describe(ch chan<- *prometheus.Desc) {
	ch <- c.expiry
	ch <- c.unreadable
}

// Collect implements prometheus.Collector.
func (c *certificates) Collect(ch chan<- prometheus.Metric) {
	ch <- prometheus.MustNewConstMetric(c.expiry, prometheus.GaugeValue, float64(c.now.Load().expires().Unix()))
	ch <- prometheus.MustNewConstMetric(c.unreadable, prometheus.GaugeValue, number(c.broken.Load()))
}

// follow takes over what changes in the files until ctx is done.
func (c *certificates) follow(ctx context.Context, log *slog.Logger) {
	c.log = log
	filewatch.Run(ctx, log, "the files of TLS", c)
}

// Refresh implements filewatch.Reader: it takes over the files where they have
// changed. A fault is logged once and changes nothing.
func (c *certificates) Refresh() {
	texts, err := c.read()
	var state *certificateState
	if err == nil {
		if slices.EqualFunc(texts, c.texts, bytes.Equal) {
			if c.said != "" {
				c.log.Info("the files of TLS are again as they were")
			}
			c.said = ""
			c.broken.Store(false)
			return
		}
		state, err = parseCertificates(c.settings, texts)
	}
	if err != nil {
		if err.Error() != c.said {
			c.log.Error("the certificate for TLS and HTTPS stays as it was", "err", err)
		}
		c.said = err.Error()
		c.broken.Store(true)
		return
	}
	c.texts, c.said = texts, ""
	c.now.Store(state)
	c.broken.Store(false)
	c.log.Info("the certificate for TLS and HTTPS has changed", "file", c.settings.cert, "expires", state.expires().UTC().Format(time.RFC3339))
	for _, finding := range c.findings() {
		c.log.Warn("certificate", "message", finding)
	}
}
