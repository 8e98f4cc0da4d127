package zonefile

import (
	"github.com/miekg/dns"

	"github.com/clusterzone/clusterzone/zones"
)

// check refuses what a zone can't hold, and finds what is odd.
func (c *content) check(origin zones.Name) error {
	types := make(map[zones.Name][]*set)
	aliased := false
	for _, s := range c.sets {
		types[s.Name] = append(types[s.Name], s)
		aliased = aliased || s.Type == zones.TypeDNAME
	}
	for _, s := range c.sets {
		if err := c.checkSet(origin, s, types[s.Name]); err != nil {
			return err
		}
		if aliased && s.Name != origin {
			for above := s.Name.Parent(); above.In(origin); above = above.Parent() {
				if dname := c.byKey[setKey{above, zones.TypeDNAME}]; dname != nil {
					return s.place.finding("%s lies below the DNAME %s (line %d), which redirects all below it (RFC 6672 section 2.4); take one of them out", s.Name, above, dname.place.line)
				}
				if above == zones.Root {
					break
				}
			}
		}
		if s.Type == zones.TypeNS {
			c.checkServers(origin, s)
		}
	}
	return nil
}

// checkSet checks one record set against those beside it.
func (c *content) checkSet(origin zones.Name, s *set, beside []*set) error {
	if several := s.second.file != ""; several {
		switch s.Type {
		case zones.TypeSOA:
			return s.second.finding("%s has a second SOA (the first stands in line %d); take one of them out", s.Name, s.place.line)
		case zones.TypeCNAME, zones.TypeDNAME:
			return s.second.finding("%s has a second %s (the first stands in line %d), and a name can have one only; take one of them out", s.Name, s.Type, s.place.line)
		}
	}
	switch {
	case s.Type == zones.TypeSOA && s.Name != origin:
		return s.place.finding("an SOA stands at %s, and the zone is %s; take it out, or serve %s from a file of its own", s.Name, origin, s.Name)
	case s.Type == zones.TypeCNAME && s.Name == origin:
		return s.place.finding("a CNAME can't stand at the zone's apex %s, beside SOA and NS (RFC 1034 section 3.6.2); give addresses", s.Name)
	}
	for _, other := range beside {
		switch {
		case s.Type == zones.TypeCNAME && other != s && !besideAlias(other.Type):
			return s.later(other).finding("%s has a CNAME beside %s records (lines %d and %d), and a CNAME stands alone (RFC 1034 section 3.6.2); take one of them out", s.Name, other.Type, s.place.line, other.place.line)
		case s.Type == zones.TypeDNAME && other.Type == zones.TypeNS && s.Name != origin:
			return s.later(other).finding("%s has a DNAME beside NS records (lines %d and %d), which only an apex can (RFC 6672 section 2.3); take one of them out", s.Name, s.place.line, other.place.line)
		}
	}
	return nil
}

// later returns the place of that of two sets which stands further down.
func (s *set) later(other *set) place {
	if s.place.file == other.place.file && other.place.line < s.place.line {
		return s.place
	}
	return other.place
}

// besideAlias reports whether records of the type may stand beside a CNAME: the
// signatures and denials of DNSSEC (RFC 4034, RFC 2181 section 10.1).
func besideAlias(kind zones.Type) bool {
	switch uint16(kind) {
	case dns.TypeRRSIG, dns.TypeNSEC, dns.TypeKEY, dns.TypeSIG, dns.TypeNXT:
		return true
	}
	return false
}

// checkServers finds name servers in the zone that nobody can reach: a cut needs
// their addresses as glue (RFC 1034 section 4.2.1).
func (c *content) checkServers(origin zones.Name, s *set) {
	for _, data := range s.Data {
		server := data.Target(zones.TypeNS)
		switch {
		case c.byKey[setKey{server, zones.TypeCNAME}] != nil:
			c.findings = append(c.findings, s.place.finding("the name server %s of %s is a CNAME (RFC 2181 section 10.3); name the host itself", server, s.Name))
		case c.byKey[setKey{server, zones.TypeA}] != nil || c.byKey[setKey{server, zones.TypeAAAA}] != nil:
		case server.In(s.Name) && s.Name != origin:
			c.findings = append(c.findings, s.place.finding("%s is delegated to %s, which lies below it and has no address in the file (glue); add its A or AAAA records", s.Name, server))
		case server.In(origin) && s.Name == origin:
			c.findings = append(c.findings, s.place.finding("the name server %s of %s has no address in the file; add its A or AAAA records", server, s.Name))
		}
	}
}
