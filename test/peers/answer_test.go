package peers_test

import (
	"fmt"
	"slices"
	"strings"

	"github.com/miekg/dns"
)

// An answer is what of a reply is compared.
type answer struct {
	rcode                         string
	aa                            bool
	answer, authority, additional set
}

// A set is a section: each record once, as text, in order of the text.
type set []string

func answerOf(r *dns.Msg) answer {
	a := answer{
		rcode: dns.RcodeToString[r.Rcode], aa: r.Authoritative,
		answer: setOf(r.Answer), authority: setOf(r.Ns), additional: setOf(r.Extra),
	}
	// NSD says which servers the zone has, beside a positive answer, and others don't: all
	// may (RFC 1034 section 4.3.2 has it, and step 6 no more than allows additional data).
	if len(a.answer) > 0 && a.aa {
		a.authority = slices.DeleteFunc(a.authority, func(record string) bool { return strings.Contains(record, " NS ") })
	}
	return a
}

func setOf(records []dns.RR) set {
	var s set
	for _, rr := range records {
		if rr.Header().Rrtype != dns.TypeOPT {
			s = append(s, record(rr))
		}
	}
	slices.Sort(s)
	return slices.Compact(s)
}

// caseCounts are types whose data holds text: there upper and lower case differ.
var caseCounts = []uint16{dns.TypeTXT, dns.TypeSPF, dns.TypeHINFO, dns.TypeCAA, dns.TypeURI, dns.TypeX25, dns.TypeISDN}

// record is a record as text, with names in lower case: which case a server keeps
// is its own affair (RFC 4343).
func record(rr dns.RR) string {
	h := rr.Header()
	data := strings.TrimPrefix(rr.String(), h.String())
	owner := strings.ReplaceAll(strings.ToLower(h.Name), `\ `, `\032`)
	if !slices.Contains(caseCounts, h.Rrtype) { // base64 and NAPTR's words, too: they differ in more than case
		data = strings.ReplaceAll(strings.ToLower(data), `\ `, `\032`)
	}
	return fmt.Sprintf("%s %d %s %s", owner, h.Ttl, dns.Type(h.Rrtype), data)
}

// core is what servers must agree on: all but the additional section.
func (a answer) core() string {
	return fmt.Sprintf("%s aa=%t\nanswer:%s\nauthority:%s", a.rcode, a.aa, a.answer, a.authority)
}

func (a answer) String() string {
	return fmt.Sprintf("%s\nadditional:%s", a.core(), a.additional)
}

func (s set) String() string {
	var b strings.Builder
	for _, record := range s {
		b.WriteString("\n\t" + record)
	}
	return b.String()
}

// within says whether all records of s are in t.
func (s set) within(t set) bool {
	return !slices.ContainsFunc(s, func(record string) bool { return !slices.Contains(t, record) })
}

// has says whether s has a record of the type.
func (s set) has(kind string) bool {
	return slices.ContainsFunc(s, func(record string) bool { return strings.Fields(record)[2] == kind })
}
