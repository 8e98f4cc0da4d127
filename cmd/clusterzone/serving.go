package main

import (
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"strconv"

	"github.com/clusterzone/clusterzone/dnstap"
	"github.com/clusterzone/clusterzone/server"
	"github.com/clusterzone/clusterzone/sources"
)

// servingParts are what the flags of a server ask for, beside zones and objects.
type servingParts struct {
	dns          *server.Server
	cookieFile   *cookieFile   // nil without --cookie-secret-file
	certificates *certificates // nil without --tls-cert-file
	allowed      *transferParts
	tap          *dnstap.Sender // nil without --dnstap
	ours         ownListen
	resolvers    []netip.AddrPort
}

// parse checks the flags and reads the files that they name; it starts nothing.
func (s *serveSettings) parse(log *slog.Logger) (*servingParts, error) {
	if len(s.listen) == 0 {
		s.listen = []string{":53"}
	}
	var p servingParts
	var err error
	if p.dns, err = s.dnsServer(); err != nil {
		return nil, err
	}
	if p.cookieFile, err = s.clients.apply(p.dns); err != nil {
		return nil, err
	}
	if p.certificates, err = s.encrypted.apply(p.dns); err != nil {
		return nil, err
	}
	if p.allowed, err = s.transfers.parse(); err != nil {
		return nil, err
	}
	if p.tap, err = newTap(log, s.dnstap, p.dns.Options.NSID); err != nil {
		return nil, err
	}
	for _, web := range [][2]string{{"metrics-address", s.metricsAddress}, {"admin-address", s.adminAddress}} {
		if err := checkWebAddress(web[0], web[1]); err != nil {
			return nil, err
		}
	}
	if err := checkSocketPath(s.healthSocket); err != nil {
		return nil, err
	}
	p.ours = newOwnListen(p.dns.Listen)
	if p.resolvers, err = s.targets.servers(log, p.ours); err != nil {
		return nil, err
	}
	return &p, nil
}

// dnsServer turns the flags into the server's options.
func (s *serveSettings) dnsServer() (*server.Server, error) {
	dns := &server.Server{ReusePort: s.reusePort, TCP: server.TCPOptions{
		MaxConnections: s.tcpConnections,
		MaxPerClient:   s.tcpPerClient,
		IdleTimeout:    s.tcpIdle,
	}}
	for _, limit := range []struct {
		name       string
		value, low int
		high       int
	}{
		{"udp-size", s.maxUDP, 512, 4096},
		{"tcp-connections", s.tcpConnections, 1, 1 << 20},
		{"tcp-connections-per-client", s.tcpPerClient, 1, 1 << 20},
	} {
		if limit.value < limit.low || limit.value > limit.high {
			return nil, fmt.Errorf("--%s=%d is out of range; write a number from %d to %d", limit.name, limit.value, limit.low, limit.high)
		}
	}
	for i, text := range s.listen {
		listen, err := server.ParseListen(text)
		if err != nil {
			return nil, err
		}
		for _, other := range dns.Listen {
			if other == listen && listen.Port != 0 {
				return nil, fmt.Errorf("--listen %q is given twice; give each address once", text)
			}
		}
		s.listen[i] = listen.String()
		dns.Listen = append(dns.Listen, listen)
	}
	mode, ok := map[string]server.EDEMode{"off": server.EDEOff, "code": server.EDECode, "full": server.EDEFull}[s.ede]
	if !ok {
		return nil, fmt.Errorf("--ede=%s is no mode; %s", s.ede, sources.Suggest(s.ede, []string{"off", "code", "full"}))
	}
	dns.Options = server.Options{MaxUDP: s.maxUDP, EDE: mode, TCPIdle: s.tcpIdle}
	var err error
	if dns.Options.ExplainFrom, err = networks("explain-from", s.explainFrom); err != nil {
		return nil, err
	}
	return dns, nil
}

// checkWebAddress refuses what can't be listened on, whatever the machine; an empty
// address is none.
func checkWebAddress(flag, address string) error {
	if address == "" {
		return nil
	}
	_, port, err := net.SplitHostPort(address)
	if err == nil {
		_, err = strconv.ParseUint(port, 10, 16)
	}
	if err != nil {
		return fmt.Errorf("--%s=%s is no address with a port; write it like 127.0.0.1:7979, or :7979 for a port alone, or leave it empty for none", flag, address)
	}
	return nil
}
