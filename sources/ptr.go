package sources

import (
	"errors"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/clusterzone/clusterzone/zones"
)

// fromReverse says in words for explain where the name of a PTR record comes from.
const fromReverse = "address in reverse"

// A reverseChoice is what an object says about PTR records for its addresses.
type reverseChoice uint8

const (
	reverseDefault reverseChoice = iota // as the flags have it
	reverseWanted
	reverseUnwanted
)

// parseReverse reads the record-type annotation, or the property of that name:
// "ptr" in any case opts in, anything else opts out, the empty text too.
func parseReverse(text string) reverseChoice {
	if strings.EqualFold(text, zones.TypePTR.String()) {
		return reverseWanted
	}
	return reverseUnwanted
}

func (tr *Translator) compileReverse() error {
	if tr.options.CreatePTR && tr.recordTypes.judge(zones.TypePTR) != "" {
		return errors.New("--create-ptr makes PTR records, which --managed-record-types or --exclude-record-types leave out; manage PTR, or leave the flag out")
	}
	tr.reverseZones = slices.Clone(tr.options.ReverseZones)
	if len(tr.reverseZones) == 0 {
		for _, rule := range tr.domains.include {
			if isReverse(rule.zone) {
				tr.reverseZones = append(tr.reverseZones, rule.zone)
			}
		}
	}
	return nil
}

func isReverse(n zones.Name) bool {
	text := "." + n.String()
	return strings.HasSuffix(text, ".in-addr.arpa") || strings.HasSuffix(text, ".ip6.arpa")
}

// reverseName returns the name under which an address' PTR records stand: its
// octets below in-addr.arpa (RFC 1035 section 3.5), or its nibbles below
// ip6.arpa (RFC 3596 section 2.5).
func reverseName(addr netip.Addr) zones.Name {
	var text strings.Builder
	octets := addr.AsSlice()
	for _, octet := range slices.Backward(octets) {
		if addr.Is4() {
			text.WriteString(strconv.Itoa(int(octet)) + ".")
			continue
		}
		const digits = "0123456789abcdef"
		text.Write([]byte{digits[octet&15], '.', digits[octet>>4], '.'})
	}
	suffix := "ip6.arpa"
	if addr.Is4() {
		suffix = "in-addr.arpa"
	}
	name, err := zones.ParseHost(text.String() + suffix)
	if err != nil { // every valid address has one
		return ""
	}
	return name
}

// reverse asks for the PTR records of the addresses among targets, which are
// those of the name n. A PTR record that only a flag asks for, and that nobody
// would serve, is left out without a word.
func (s *settlement) reverse(n named, targets []target, p properties) {
	switch p.reverse {
	case reverseUnwanted:
		return
	case reverseDefault:
		if !s.tr.options.CreatePTR && len(s.tr.reverseZones) == 0 {
			return
		}
	}
	hasAddress := slices.ContainsFunc(targets, func(t target) bool { return t.addr.IsValid() })
	if p.reverse == reverseWanted && len(targets) > 0 && (!hasAddress || n.name.IsWildcard()) {
		why := "PTR records are made of addresses only, and the name has none"
		if hasAddress {
			why = "no PTR record points at a wildcard"
		}
		s.skip(n.name, zones.TypeNone, zones.ReasonIgnoredProperty, "the record-type "+p.word+" has no effect: "+why)
	}
	if n.name.IsWildcard() {
		return
	}
	for _, t := range targets {
		if !t.addr.IsValid() {
			continue
		}
		name := reverseName(t.addr)
		served := slices.ContainsFunc(s.tr.reverseZones, name.In)
		if !served && p.reverse != reverseWanted && (!s.tr.options.CreatePTR || len(s.tr.reverseZones) > 0) {
			continue
		}
		if why := s.tr.domains.judge(name); why != "" {
			if served || p.reverse == reverseWanted {
				s.skip(name, zones.TypePTR, zones.ReasonDomain, why)
			}
			continue
		}
		ptr := named{name: name, from: fromReverse, derived: p.reverse != reverseWanted}
		s.add(ptr, zones.TypePTR, n.name.String(), n.from, properties{ttl: p.ttl})
	}
}
