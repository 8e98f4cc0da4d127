package assembly

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"

	"github.com/clusterzone/clusterzone/sources"
	"github.com/clusterzone/clusterzone/zones"
)

// ParseZone reads the name of a zone: a domain, or "." for the root. The error
// goes on from the text: "is no domain: ...; write it like corp.test".
func ParseZone(text string) (zones.Name, error) {
	name, err := zones.ParseHost(text)
	if text == "." {
		name, err = zones.Root, nil
	}
	switch {
	case err != nil:
		return "", fmt.Errorf("is no domain: %w; write it like corp.test", err)
	case name.IsWildcard():
		return "", fmt.Errorf("is a wildcard; name the domain itself: %s", name.Parent())
	case name.Child("hostmaster") == "":
		return "", errors.New("is too long: no name below it would fit")
	}
	return name, nil
}

// ParseFileZone reads the name of a zone that has a file. Labels may be such as
// no host has: 0/25.2.0.192.in-addr.arpa (RFC 2317). The error is that of
// ParseZone.
func ParseFileZone(text string) (zones.Name, error) {
	name, err := ParseZone(text)
	if err == nil {
		return name, nil
	}
	if plain, plainErr := zones.ParseName(text); plainErr == nil && !plain.IsWildcard() && plain.Child("hostmaster") != "" {
		return plain, nil
	}
	return "", err
}

// ParseNameServer reads the name of a name server and its addresses. The error
// names what of both is wrong; how to write them, the caller adds.
func ParseNameServer(host string, addresses []string) (zones.NameServer, error) {
	name, err := zones.ParseHost(host)
	if err != nil {
		return zones.NameServer{}, fmt.Errorf("%s is no host name: %w", host, err)
	}
	server := zones.NameServer{Name: name}
	for _, text := range addresses {
		addr, err := netip.ParseAddr(text)
		if err != nil || addr.Zone() != "" {
			return zones.NameServer{}, fmt.Errorf("%q is no IP address", text)
		}
		server.Addresses = append(server.Addresses, addr.Unmap())
	}
	return server, nil
}

// ParseHostmaster reads the mailbox of a zone's SOA, with a dot or an @ after
// its first label. The error goes on from the text.
func ParseHostmaster(text string) (zones.Name, error) {
	name, err := zones.ParseName(strings.Replace(text, "@", ".", 1))
	if err != nil {
		return "", fmt.Errorf("is no mailbox name (%w); write it like hostmaster.corp.test", err)
	}
	return name, nil
}

// ParsePolicy reads who gets a name that several objects claim. The error goes
// on from the text.
func ParsePolicy(text string) (zones.Policy, error) {
	switch text {
	case "namespace":
		return zones.PolicyNamespace, nil
	case "first":
		return zones.PolicyFirst, nil
	case "merge":
		return zones.PolicyMerge, nil
	}
	return 0, fmt.Errorf("is no policy; %s", sources.Suggest(text, []string{"namespace", "first", "merge"}))
}

// Reverse returns those of the zones that hold the names of addresses.
func Reverse(names []zones.Name) []zones.Name {
	arpa := zones.Root.Child("arpa")
	return slices.DeleteFunc(slices.Clone(names), func(name zones.Name) bool {
		return !name.In(arpa.Child("in-addr")) && !name.In(arpa.Child("ip6"))
	})
}

// MachineAddresses are the addresses under which others can ask this machine:
// the global ones of its interfaces, or where there are none those of the
// loopback. None where the system doesn't tell.
func MachineAddresses() []netip.Addr {
	all, err := net.InterfaceAddrs()
	if err != nil {
		return nil // an NS record stands without addresses then
	}
	var global, loopback []netip.Addr
	for _, a := range all {
		prefix, err := netip.ParsePrefix(a.String())
		if err != nil {
			continue
		}
		switch addr := prefix.Addr(); {
		case addr.IsLoopback():
			loopback = append(loopback, addr)
		case addr.IsGlobalUnicast():
			global = append(global, addr)
		}
	}
	if len(global) == 0 {
		return loopback
	}
	return global
}
