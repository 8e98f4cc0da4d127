package peers_test

import (
	"maps"
	"slices"
	"strings"

	"github.com/miekg/dns"
)

// A question is asked of every server.
type question struct {
	name string
	kind uint16
}

// generalTypes are asked at every name that a zone has.
var generalTypes = []uint16{
	dns.TypeA, dns.TypeAAAA, dns.TypeNS, dns.TypeSOA, dns.TypeCNAME, dns.TypeDS, dns.TypeDNAME, dns.TypeTXT, dns.TypeHTTPS, dns.TypeANY, 65281,
}

// questions are those whose answers could differ: every owner and the names around
// it, for types that are there and that are not.
func (z genZone) questions() []question {
	present := map[string][]uint16{} // by name, of those that records are at
	around := map[string]bool{}
	for _, line := range z.lines {
		owner := strings.ToLower(line.owner)
		present[owner] = append(present[owner], typeOf(line.kind))
		for name := owner; strings.HasSuffix(name, strings.ToLower(z.origin)); name = parentOf(name) {
			for _, label := range []string{"", "*.", "nx.", "a.b."} {
				around[label+name] = true
			}
		}
		for _, word := range strings.Fields(line.data) { // the names that data leads to
			if word = strings.ToLower(word); strings.HasSuffix(word, "."+strings.ToLower(z.origin)) {
				around[word] = true
			}
		}
	}
	var all []question
	n := 0
	for _, name := range slices.Sorted(maps.Keys(around)) {
		if _, ok := dns.IsDomainName(name); !ok || len(name) > 250 {
			continue
		}
		kinds := append(slices.Clone(generalTypes), present[name]...)
		if len(present[name]) == 0 { // absent, an empty non-terminal, a wildcard's or hidden
			n++
			kinds = []uint16{dns.TypeA, dns.TypeDS, generalTypes[n%len(generalTypes)], typeOf(z.lines[n%len(z.lines)].kind)}
		}
		slices.Sort(kinds)
		for _, kind := range slices.Compact(kinds) {
			all = append(all, question{name, kind})
		}
	}
	return all
}

// parentOf is the name without its first label; a dot may be escaped.
func parentOf(name string) string {
	if next, end := dns.NextLabel(name, 0); !end {
		return name[next:]
	}
	return "."
}

func typeOf(kind string) uint16 {
	if code, ok := dns.StringToType[kind]; ok {
		return code
	}
	var code uint16
	for _, digit := range strings.TrimPrefix(kind, "TYPE") {
		code = code*10 + uint16(digit-'0')
	}
	return code
}
