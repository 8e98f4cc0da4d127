package main

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/clusterzone/clusterzone/assembly"
	"github.com/clusterzone/clusterzone/zones"
)

// build makes the zones of --zone, or of the domain filters where there is
// none.
func (s *zoneSettings) build(fromFilters []zones.Name, listen []string) ([]zones.Origin, error) {
	names, err := s.names()
	if err != nil {
		return nil, err
	}
	if len(s.zones) == 0 {
		names = fromFilters
	}
	files, err := s.files()
	if err != nil {
		return nil, err
	}
	names = withFiles(names, files)
	servers, err := s.servers()
	if err != nil {
		return nil, err
	}
	var hostmaster zones.Name
	if s.hostmaster != "" {
		if hostmaster, err = assembly.ParseHostmaster(s.hostmaster); err != nil {
			return nil, fmt.Errorf("--hostmaster=%s %w", s.hostmaster, err)
		}
	}
	var own []netip.Addr
	if len(servers) == 0 {
		own = ownAddresses(listen)
	}
	var origins []zones.Origin
	for _, name := range names {
		origin := zones.Origin{
			Name:        name,
			NS:          servers,
			Hostmaster:  hostmaster,
			TTL:         uint32(s.ttl / time.Second),
			NegativeTTL: uint32(s.negativeTTL / time.Second),
		}
		if len(servers) == 0 {
			origin.NS = []zones.NameServer{{Name: name.Child("ns1"), Addresses: own}}
		}
		origins = append(origins, origin)
	}
	return origins, nil
}

func (s *zoneSettings) names() ([]zones.Name, error) {
	var names []zones.Name
	for _, text := range s.zones {
		name, err := assembly.ParseZone(text)
		switch {
		case err != nil:
			return nil, fmt.Errorf("--zone=%s %w", text, err)
		case slices.Contains(names, name):
			return nil, fmt.Errorf("--zone=%s is given twice; give each zone once", text)
		}
		names = append(names, name)
	}
	return names, nil
}

// reverse returns the zones of --zone and --zone-file that hold the names of
// addresses.
func (s *zoneSettings) reverse() ([]zones.Name, error) {
	names, err := s.names()
	if err != nil {
		return nil, err
	}
	files, err := s.files()
	if err != nil {
		return nil, err
	}
	names = withFiles(names, files)
	return assembly.Reverse(names), nil
}

// servers reads --nameserver name[=address,...].
func (s *zoneSettings) servers() ([]zones.NameServer, error) {
	var servers []zones.NameServer
	for _, text := range s.nameservers {
		host, list, _ := strings.Cut(text, "=")
		addresses := slices.DeleteFunc(strings.Split(strings.ReplaceAll(list, " ", ""), ","), func(item string) bool { return item == "" })
		server, err := assembly.ParseNameServer(host, addresses)
		if err != nil {
			return nil, fmt.Errorf("--nameserver=%s: %w; write name=192.0.2.53,2001:db8::53", text, err)
		}
		servers = append(servers, server)
	}
	return servers, nil
}

// ownAddresses are those under which this server can be asked: the addresses
// listened on, and for a wildcard those of the machine.
func ownAddresses(listen []string) []netip.Addr {
	var own []netip.Addr
	for _, text := range listen {
		host, _, err := net.SplitHostPort(text)
		if err != nil {
			continue // refused with a better word where it is listened on
		}
		addr, err := netip.ParseAddr(host)
		if err == nil && !addr.IsUnspecified() {
			own = append(own, addr.Unmap().WithZone(""))
			continue
		}
		own = append(own, assembly.MachineAddresses()...)
	}
	slices.SortFunc(own, netip.Addr.Compare)
	return slices.Compact(own)
}

var errNoZone = errors.New("no zone to serve: name the domain with --zone, like --zone corp.test, or its file with --zone-file")
