package main

import (
	"crypto/rand"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/clusterzone/clusterzone/server"
	"github.com/clusterzone/clusterzone/upstream/forward"
	"github.com/clusterzone/clusterzone/upstream/resolver"
	"github.com/clusterzone/clusterzone/zones"
)

// maxPassServers bounds the resolvers of one zone: all of them are asked within
// forward.Timeout.
const maxPassServers = 4

// passSettings say which names another resolver is asked for.
type passSettings struct {
	names, challenges []string
}

func (s *passSettings) add(cmd *cobra.Command) {
	f := flagsOf(cmd, groupZones)
	f.list(&s.names, "fallthrough", "`ZONE[=ADDR]`: ask the resolver at this address[:port], or several with commas between, for names of the zone that nothing here claims, and pass its answers on; repeatable (default of the address: --resolver)")
	f.list(&s.challenges, "fallthrough-acme", "`ZONE[=ADDR]`: the same for names with a label _acme-challenge alone, wherever no record here stands at them; repeatable")
}

// A passWorld is what a running server knows of where names may be passed on to.
type passWorld struct {
	resolvers []netip.AddrPort // those of --resolver
	ours      ownListen
}

// build reads the flags for the zones given. Without a world, as where names are
// only explained, rules may have no servers.
func (s *passSettings) build(origins []zones.Origin, world *passWorld) (*zones.Passes, error) {
	var rules []zones.PassRule
	for _, flag := range []struct {
		name       string
		values     []string
		challenges bool
	}{{"fallthrough", s.names, false}, {"fallthrough-acme", s.challenges, true}} {
		seen := map[zones.Name]bool{}
		for _, value := range flag.values {
			rule, err := readPass(value, origins, world)
			if err == nil && seen[rule.Zone] {
				err = fmt.Errorf("%s is given twice; give each zone once, with its resolvers after one another", rule.Zone)
			}
			if err != nil {
				return nil, fmt.Errorf("--%s=%s: %w", flag.name, value, err)
			}
			seen[rule.Zone] = true
			rule.Challenges = flag.challenges
			rules = append(rules, rule)
		}
	}
	return zones.NewPasses(rules), nil
}

// readPass reads ZONE[=ADDR[,...]].
func readPass(value string, origins []zones.Origin, world *passWorld) (rule zones.PassRule, err error) {
	zone, list, named := strings.Cut(value, "=")
	if rule.Zone, err = zones.ParseName(zone); err != nil {
		return rule, fmt.Errorf("%q is no domain: %w; write it like corp.test=10.0.0.2", zone, err)
	}
	if !slices.ContainsFunc(origins, func(o zones.Origin) bool { return o.Name == rule.Zone }) {
		return rule, fmt.Errorf("%s is none of the zones that are served; name one of them, or serve it with --zone", rule.Zone)
	}
	if !named {
		if world == nil {
			return rule, nil
		}
		rule.Servers = world.resolvers
		if len(rule.Servers) > maxPassServers {
			rule.Servers = rule.Servers[:maxPassServers]
		}
		if len(rule.Servers) == 0 {
			return rule, fmt.Errorf("there is no resolver to ask, since --resolver gives none; write %s=ADDRESS", rule.Zone)
		}
		return rule, nil
	}
	for text := range strings.SplitSeq(list, ",") {
		text = strings.TrimSpace(text)
		address, err := resolver.ParseServer(text)
		if err != nil {
			return rule, err
		}
		if world != nil {
			if own, is := world.ours(address); is {
				return rule, fmt.Errorf("%s is this server itself, which answers on --listen=%s; name another resolver, or another port", text, own)
			}
		}
		if slices.Contains(rule.Servers, address) {
			return rule, fmt.Errorf("%s is given twice; give each resolver once", text)
		}
		rule.Servers = append(rule.Servers, address)
	}
	if len(rule.Servers) > maxPassServers {
		return rule, fmt.Errorf("there are %d resolvers; give %d at most, since all of them are asked within %s", len(rule.Servers), maxPassServers, forward.Timeout)
	}
	return rule, nil
}

// passOn lets the DNS server pass names on, where there are any to be.
func passOn(dns *server.Server, passes *zones.Passes) error {
	if passes == nil {
		return nil
	}
	mark := make([]byte, zones.PassMarkSize)
	_, _ = rand.Read(mark) // never fails
	forwarder, err := forward.New(string(mark))
	if err != nil {
		return err
	}
	dns.Options.Passes, dns.Options.PassMark, dns.Passer = passes, string(mark), forwarder
	return nil
}
