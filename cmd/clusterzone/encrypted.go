package main

import (
	"crypto/tls"
	"fmt"
	"log/slog"
	"net/netip"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/cobra"

	"github.com/clusterzone/clusterzone/server"
)

// encryptedSettings say where queries over TLS and HTTPS are answered, and from
// which networks PROXY headers come.
type encryptedSettings struct {
	listenTLS, listenHTTPS []string
	files                  certificateSettings
	proxyFrom              []string
}

func (s *encryptedSettings) add(cmd *cobra.Command) {
	f := flagsOf(cmd, groupServe)
	f.list(&s.listenTLS, "listen-tls", "`address` to answer on with DNS over TLS (RFC 7858), port 853 unless given; repeatable; needs --tls-cert-file and --tls-key-file")
	f.list(&s.listenHTTPS, "listen-https", "`address` to answer on with DNS over HTTPS (RFC 8484) at /dns-query, port 443 unless given; repeatable; needs --tls-cert-file and --tls-key-file")
	s.files.add(cmd)
	f.list(&s.proxyFrom, "proxy-protocol-from", "`network` of load balancers that send the client's address in a PROXY header (version 2), before each message over UDP and at the start of each connection; nothing without the header is answered there; repeatable")
}

// certificateSettings name the files of TLS.
type certificateSettings struct {
	cert, key, clientCA string
}

func (s *certificateSettings) add(cmd *cobra.Command) {
	f := flagsOf(cmd, groupServe)
	f.text(&s.cert, "tls-cert-file", "", "PEM `file` of the certificate for TLS and HTTPS, intermediate ones behind it; read anew when it changes")
	f.text(&s.key, "tls-key-file", "", "PEM `file` of the certificate's key; read anew when it changes")
	f.text(&s.clientCA, "tls-client-ca-file", "", "PEM `file` of authorities: clients over TLS and HTTPS must show a certificate of one of them; read anew when it changes (default: no certificate is asked for)")
}

// load reads the files; nil without any.
func (s *certificateSettings) load() (*certificates, error) {
	switch {
	case s.cert == "" && s.key == "" && s.clientCA == "":
		return nil, nil
	case s.cert == "" && s.key != "":
		return nil, fmt.Errorf("--tls-key-file=%s has no certificate; name its file with --tls-cert-file", s.key)
	case s.cert == "":
		return nil, fmt.Errorf("--tls-client-ca-file=%s has no use without a certificate; name one with --tls-cert-file and --tls-key-file", s.clientCA)
	case s.key == "":
		return nil, fmt.Errorf("--tls-cert-file=%s has no key; name its file with --tls-key-file", s.cert)
	}
	return newCertificates(*s)
}

// apply checks the settings and puts them into the server's options. It returns
// the certificates to follow, nil without any.
func (s *encryptedSettings) apply(dns *server.Server) (*certificates, error) {
	var err error
	if dns.ProxyFrom, err = networks("proxy-protocol-from", s.proxyFrom); err != nil {
		return nil, err
	}
	taken := dns.Listen
	for _, group := range []struct {
		flag  string
		texts []string
		parse func(string) (server.Listen, error)
		to    *[]server.Listen
	}{
		{"listen-tls", s.listenTLS, server.ParseListenTLS, &dns.ListenTLS},
		{"listen-https", s.listenHTTPS, server.ParseListenHTTPS, &dns.ListenHTTPS},
	} {
		for _, text := range group.texts {
			listen, err := group.parse(text)
			if err != nil {
				return nil, err
			}
			for _, other := range taken {
				if other == listen && listen.Port != 0 {
					return nil, fmt.Errorf("--%s %q is an address that is given already; give each address once", group.flag, text)
				}
			}
			taken = append(taken[:len(taken):len(taken)], listen)
			*group.to = append(*group.to, listen)
		}
		if len(group.texts) > 0 && s.files.cert == "" {
			return nil, fmt.Errorf("--%s=%s needs a certificate; name its files with --tls-cert-file and --tls-key-file", group.flag, group.texts[0])
		}
	}
	files, err := s.files.load()
	if err != nil || files == nil {
		return nil, err
	}
	if len(s.listenTLS)+len(s.listenHTTPS) == 0 {
		return nil, fmt.Errorf("--tls-cert-file=%s has no use without an address; give one with --listen-tls or --listen-https", s.files.cert)
	}
	dns.TLS = files.config()
	return files, nil
}

// equip puts the certificates into the metrics, logs what is odd about them and
// has the log name the addresses.
func (s *encryptedSettings) equip(log *slog.Logger, dns *server.Server, files *certificates, registry *prometheus.Registry) {
	dns.BoundEncrypted = func(tls, https []netip.AddrPort) {
		for _, addr := range tls {
			log.Info("answering over TLS", "address", addr.String())
		}
		for _, addr := range https {
			log.Info("answering over HTTPS", "address", addr.String(), "path", "/dns-query")
		}
	}
	if files == nil {
		return
	}
	registry.MustRegister(files)
	for _, finding := range files.findings() {
		log.Warn("certificate", "message", finding)
	}
}

// config is what handshakes are made with: always what the files said last.
func (c *certificates) config() *tls.Config {
	config := &tls.Config{
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
			return c.now.Load().pair, nil
		},
	}
	if c.settings.clientCA != "" {
		// Not ClientCAs, which a handshake can't change: VerifyConnection is also
		// called when a client comes back to an older session.
		config.ClientAuth = tls.RequireAnyClientCert
		config.VerifyConnection = c.verifyClient
	}
	return config
}
