package sources

import (
	"fmt"
	"math"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/clusterzone/clusterzone/zones"
)

const (
	fromEndpointName    = "spec.endpoints[].dnsName"
	fromEndpointTargets = "spec.endpoints[].targets[]"
)

// dnsEndpoint returns what a DNSEndpoint claims: the records of its endpoints as
// they stand there. Each endpoint, and each target, stands or falls by itself.
// Of the annotations only the opt-outs count.
func (tr *Translator) dnsEndpoint(e *DNSEndpoint) zones.Object {
	if e == nil {
		return zones.Object{}
	}
	d := tr.newDraft(SourceCRD, &e.ObjectMeta)
	d.word = "property"
	if r := tr.refuses(&e.ObjectMeta); r.why != "" {
		scratch := tr.newDraft(SourceCRD, &e.ObjectMeta)
		var names []named
		for _, record := range e.Spec.Endpoints {
			if record != nil {
				names = append(names, scratch.parseNames([]string{record.DNSName}, fromEndpointName)...)
			}
		}
		return d.refused(r, names)
	}
	d.noteOddKeys()
	d.noteUnread("DNSEndpoint, whose endpoints say it themselves", keyHostname, keyTarget, keyTTL, keyAlias, keyRecordType, keySetIdentifier)
	for _, record := range e.Spec.Endpoints {
		if record != nil {
			d.publishRecord(record)
		}
	}
	if len(d.wishes) == 0 && len(d.skipped) == 0 {
		d.skip("", zones.TypeNone, zones.ReasonNoHostname, "spec.endpoints is empty; list a dnsName and its targets there")
	}
	return d.settle()
}

// publishRecord asks for one endpoint.
func (d *draft) publishRecord(record *DNSEndpointRecord) {
	names := d.parseNames([]string{record.DNSName}, fromEndpointName)
	if len(names) == 0 {
		if record.DNSName == "" {
			d.skip("", zones.TypeNone, zones.ReasonInvalidName, "an endpoint has no dnsName; write a name like shop.example.com")
		}
		return
	}
	name := names[0].name
	kind, problem := recordType(record.RecordType)
	if problem != "" {
		d.skip(name, zones.TypeNone, zones.ReasonInvalidType, problem)
		return
	}
	own := properties{
		ttl:           d.recordTTL(name, kind, record.RecordTTL),
		setIdentifier: record.SetIdentifier,
		word:          d.word,
	}
	d.readRecordProperties(record.ProviderSpecific, &own)
	d.wish(names, readRecordTargets(kind, record.Targets), wish{
		reason: zones.ReasonInvalidTarget, why: "the endpoint has no targets; list them in " + fromEndpointTargets,
		kind: kind, fillable: true, own: &own,
	})
}

// recordType reads an endpoint's recordType in any case. TypeNone means that
// each target decides by its form. Types that describe the zone itself, or stand
// in queries and messages only (RFC 6895 section 3.1), are nobody's to ask for.
func recordType(text string) (t zones.Type, problem string) {
	if text == "" {
		return zones.TypeNone, ""
	}
	t, err := zones.ParseType(strings.TrimSpace(text))
	if err != nil {
		known := []string{"A", "AAAA", "CNAME", "TXT", "SRV", "MX", "NS", "PTR", "NAPTR", "DNAME", "TLSA", "CAA", "SVCB", "HTTPS", "SSHFP"}
		return t, fmt.Sprintf("recordType %s is no record type; %s", quote(text), suggest(text, known, known))
	}
	const typeOPT, typeRRSIG, typeNSEC, typeNSEC3, typeNSEC3PARAM, firstMeta, lastMeta = 41, 46, 47, 50, 51, 128, 255
	switch {
	case t == zones.TypeSOA:
		return t, "the SOA record is the zone's own; leave it out"
	case t == typeRRSIG, t == typeNSEC, t == typeNSEC3, t == typeNSEC3PARAM:
		return t, fmt.Sprintf("%s records belong to signed zones, which are not served; leave them out", t)
	case t == typeOPT, firstMeta <= t && t <= lastMeta:
		return t, fmt.Sprintf("recordType %s stands in queries and messages only, never in a zone", t)
	}
	return t, ""
}

// recordTTL reads an endpoint's TTL: 0 is unset, as is what is out of range.
func (d *draft) recordTTL(name zones.Name, kind zones.Type, seconds int64) zones.TTL {
	if seconds < 0 || seconds > math.MaxInt32 {
		d.skip(name, kind, zones.ReasonInvalidTTL, fmt.Sprintf("recordTTL %d %v", seconds, errTTLRange))
		return zones.TTL{}
	}
	return zones.TTL{Seconds: uint32(seconds), Set: seconds > 0}
}

// readRecordProperties reads providerSpecific. Options named after a provider
// are kept for the chosen one only, in the spelling of older annotations too. Of
// two values the first counts.
func (d *draft) readRecordProperties(list []DNSEndpointProperty, own *properties) {
	for _, property := range list {
		key := property.Name
		for _, prefix := range append([]string{prefixCurrent, prefixAlpha}, d.tr.prefixes...) {
			if rest, ok := strings.CutPrefix(key, prefix); ok && optionName(rest) != "" {
				key = optionName(rest)
			}
		}
		switch {
		case key == "", strings.Contains(key, "/") && !d.tr.keepsOptionsOf(key):
			continue
		case key == keyRecordType && d.tr.recordTypes.judge(zones.TypePTR) == "":
			if own.reverse == reverseDefault {
				own.reverse = parseReverse(property.Value)
			}
			continue
		case slices.ContainsFunc(own.options, func(o zones.Option) bool { return o.Key == key }):
			continue
		}
		own.options = append(own.options, zones.Option{Key: key, Value: property.Value})
	}
	slices.SortFunc(own.options, func(a, b zones.Option) int { return strings.Compare(a.Key, b.Key) })
}

// readRecordTargets reads the targets of an endpoint of type kind, so that each
// one left can be served.
func readRecordTargets(kind zones.Type, texts []string) targetList {
	list := targetList{from: fromEndpointTargets}
	for _, text := range texts {
		t, problem := parseRecordTarget(kind, text)
		if problem != "" {
			list.problems = append(list.problems, fmt.Sprintf("the target %s %s", quote(text), problem))
			continue
		}
		list.targets = append(list.targets, t)
	}
	list.tidy()
	return list
}

// parseRecordTarget reads one target. The problem follows the quoted text.
func parseRecordTarget(kind zones.Type, text string) (t target, problem string) {
	switch kind {
	case zones.TypeNone, zones.TypeA, zones.TypeAAAA:
		if t, problem = parseTarget(text); problem == "" && kind != zones.TypeNone && t.kind != kind {
			problem = fmt.Sprintf("can't stand in a record of type %s; write an address of that type, or set recordType to %s", kind, t.kind)
		}
		return t, problem
	case zones.TypeCNAME, zones.TypeNS, zones.TypePTR, zones.TypeDNAME:
		t = target{kind: kind}
		t.text, problem = parseHostTarget(text)
	case zones.TypeMX:
		t = target{kind: kind}
		t.text, problem = parseMX(text)
	default:
		t = target{kind: kind, text: text}
		// A line break would end the record where data is read from its text.
		if kind != zones.TypeTXT && strings.ContainsAny(text, "\r\n\x00") {
			problem = fmt.Sprintf("is no data of a %s record: it holds a line break", kind)
		}
	}
	if problem != "" {
		return t, problem
	}
	if _, err := zones.ParseRdata(kind, t.text); err != nil {
		return t, fmt.Sprintf("is no data of a %s record; write it as in a zone file", kind)
	}
	return t, ""
}

// parseHostTarget reads a name that a record points at.
func parseHostTarget(text string) (host, problem string) {
	text = strings.TrimSuffix(text, ".")
	if _, err := netip.ParseAddr(text); err == nil || mistypedAddress(text) != "" {
		return "", "is no host name but looks like an address; write a name like lb.example.com"
	}
	name, err := zones.ParseHost(text)
	if err != nil {
		return "", fmt.Sprintf("is no host name: %v; write a name like lb.example.com", err)
	}
	return name.String(), ""
}

// parseMX reads a preference and a host (RFC 1035 section 3.3.9). The host "."
// says that the name takes no mail (RFC 7505).
func parseMX(text string) (data, problem string) {
	fields := strings.Fields(text)
	if len(fields) != 2 {
		return "", "is no preference and host; write it as 10 mail.example.com"
	}
	preference, err := strconv.ParseUint(fields[0], 10, 16)
	if err != nil {
		return "", "has no preference from 0 to 65535; write it as 10 mail.example.com"
	}
	host := fields[1]
	if host != "." {
		if host, problem = parseHostTarget(host); problem != "" {
			return "", "has a host that " + problem
		}
	}
	return strconv.FormatUint(preference, 10) + " " + host, ""
}
