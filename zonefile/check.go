package zonefile

import (
	"iter"
	"slices"

	"github.com/miekg/dns"

	"github.com/clusterzone/clusterzone/zones"
)

// compile makes the records the zone's static ones. It refuses what a zone can't
// hold, and finds what is odd. The records are gone afterwards.
func (c *content) compile(origin zones.Name) error {
	c.records.sort()
	k := &checker{content: c, origin: origin, dnames: map[zones.Name]place{}}
	c.static = zones.NewStatic(origin, k.sets())
	if k.fault != nil {
		return k.fault
	}
	// What is odd by what stands elsewhere.
	for _, s := range k.servers {
		k.checkServers(s)
	}
	slices.SortStableFunc(c.odd, func(a, b oddity) int { return a.at.compare(b.at) })
	slices.SortStableFunc(k.odd, func(a, b oddity) int { return a.at.compare(b.at) })
	for _, one := range slices.Concat(c.odd, k.odd) {
		c.findings = append(c.findings, one.Finding)
	}
	c.odd = nil
	return nil
}

// A checker looks at the sets of a zone file.
type checker struct {
	*content
	origin  zones.Name
	servers []*set               // those of NS
	dnames  map[zones.Name]place // of what has come so far, which is all above a name
	odd     []oddity             // what is odd by what stands elsewhere
	fault   error                // of the set that comes first in the file, of those with one
	at      ref                  // its first record
}

// refuse notes what is wrong with a set.
func (k *checker) refuse(s *set, err error) {
	if k.fault == nil || s.first.compare(k.at) < 0 {
		k.fault, k.at = err, s.first
	}
}

// sets yields the sets for the zone, and checks them on the way. Behind the last
// it gives the records up.
func (k *checker) sets() iter.Seq[zones.StaticSet] {
	return func(yield func(zones.StaticSet) bool) {
		for sets, odd := range k.records.names() {
			for _, at := range odd {
				one := k.records.at(at)
				if kind := one.kind(); kind != zones.Type(dns.TypeRRSIG) {
					k.content.odd = append(k.content.odd, oddity{at: at, Finding: k.records.place(one).finding("the %s records of %s have several TTLs, of which the lowest is served (RFC 2181 section 5.2); give them one", kind, k.records.name(one))})
				}
			}
			for _, s := range sets {
				if err := k.checkSet(s, sets); err != nil {
					k.refuse(s, err)
				}
				if err := k.checkAbove(s); err != nil {
					k.refuse(s, err)
				}
				switch s.Type {
				case zones.TypeNS:
					k.servers = append(k.servers, s)
				case zones.TypeDNAME:
					k.dnames[s.Name] = s.place
				}
			}
			for _, s := range sets {
				slices.Sort(s.Data)
				s.Data = slices.Clip(slices.Compact(s.Data))
				if !yield(zones.StaticSet{RRSet: &s.RRSet, From: s.place.String()}) {
					return
				}
			}
		}
		k.records = records{}
	}
}

// checkAbove refuses a set below a DNAME.
func (k *checker) checkAbove(s *set) error {
	if len(k.dnames) == 0 || s.Name == k.origin {
		return nil
	}
	for above := s.Name.Parent(); above.In(k.origin); above = above.Parent() {
		if dname, is := k.dnames[above]; is {
			return s.place.finding("%s lies below the DNAME %s (line %d), which redirects all below it (RFC 6672 section 2.4); take one of them out", s.Name, above, dname.line)
		}
		if above == zones.Root {
			break
		}
	}
	return nil
}

// checkSet checks one record set against those beside it.
func (k *checker) checkSet(s *set, beside []*set) error {
	origin := k.origin
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
func (k *checker) checkServers(s *set) {
	odd := func(format string, args ...any) {
		k.odd = append(k.odd, oddity{s.place.finding(format, args...), s.first})
	}
	for _, data := range s.Data {
		server := data.Target(zones.TypeNS)
		switch {
		case k.static.Has(server, zones.TypeCNAME):
			odd("the name server %s of %s is a CNAME (RFC 2181 section 10.3); name the host itself", server, s.Name)
		case k.static.Has(server, zones.TypeA) || k.static.Has(server, zones.TypeAAAA):
		case server.In(s.Name) && s.Name != k.origin:
			odd("%s is delegated to %s, which lies below it and has no address in the file (glue); add its A or AAAA records", s.Name, server)
		case server.In(k.origin) && s.Name == k.origin:
			odd("the name server %s of %s has no address in the file; add its A or AAAA records", server, s.Name)
		}
	}
}
