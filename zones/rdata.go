package zones

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"

	"github.com/miekg/dns"
)

// A Type is a resource record type (RFC 1035 section 3.2.2). The zero value,
// TypeNone, marks claims that ask for a name without having records for it yet.
type Type uint16

// The types that this package treats specially, and those that sources make.
const (
	TypeNone  Type = 0
	TypeA     Type = Type(dns.TypeA)
	TypeNS    Type = Type(dns.TypeNS)
	TypeCNAME Type = Type(dns.TypeCNAME)
	TypeSOA   Type = Type(dns.TypeSOA)
	TypePTR   Type = Type(dns.TypePTR)
	TypeMX    Type = Type(dns.TypeMX)
	TypeTXT   Type = Type(dns.TypeTXT)
	TypeAAAA  Type = Type(dns.TypeAAAA)
	TypeSRV   Type = Type(dns.TypeSRV)
	TypeNAPTR Type = Type(dns.TypeNAPTR)
	TypeDNAME Type = Type(dns.TypeDNAME)
	TypeDS    Type = Type(dns.TypeDS)
	TypeHINFO Type = Type(dns.TypeHINFO)
	TypeSVCB  Type = Type(dns.TypeSVCB)
	TypeHTTPS Type = Type(dns.TypeHTTPS)
	TypeANY   Type = Type(dns.TypeANY)
)

// String returns the mnemonic, or TYPEnnn for types without one (RFC 3597).
func (t Type) String() string { return dns.Type(t).String() }

// ParseType reads a mnemonic in any case, or TYPEnnn.
func ParseType(text string) (Type, error) {
	upper := strings.ToUpper(text)
	if t, ok := dns.StringToType[upper]; ok && t != dns.TypeNone {
		return Type(t), nil
	}
	var n uint16
	if _, err := fmt.Sscanf(upper, "TYPE%d", &n); err == nil && n != 0 && upper == fmt.Sprintf("TYPE%d", n) {
		return Type(n), nil
	}
	return TypeNone, fmt.Errorf("%q is no record type", text)
}

// An Rdata is the data of one record in uncompressed wire form (RFC 1035
// section 3.2.1), without its length. It is comparable and never changes.
type Rdata string

// ParseRdata reads the presentation form of one record's data, as it stands in
// a master file or in a claim's target. Names in it are absolute, with or
// without a final dot. TXT data without quotation marks are one text, blanks
// and all.
func ParseRdata(t Type, text string) (Rdata, error) {
	switch t {
	case TypeA, TypeAAAA:
		addr, err := netip.ParseAddr(text)
		if err != nil || addr.Zone() != "" || addr.Is4() != (t == TypeA) {
			return "", fmt.Errorf("%q is no %s address", text, family(t))
		}
		return Rdata(addr.AsSlice()), nil
	case TypeCNAME, TypeNS, TypePTR, TypeDNAME:
		name, err := ParseName(text)
		if err != nil {
			return "", fmt.Errorf("%q is no name: %w", text, err)
		}
		return Rdata(name), nil
	}
	if t == TypeTXT && !strings.HasPrefix(text, `"`) {
		return textData(text)
	}
	return parseOther(t, text)
}

// textData makes one text of what stands without quotation marks, as external-dns
// writes it: blanks, semicolons and backslashes are part of it. The character
// strings that it is cut into hold 255 octets each (RFC 1035 section 3.3.14);
// readers join them (RFC 7208 section 3.3).
func textData(text string) (Rdata, error) {
	const most = 255
	if len(text)+len(text)/most+1 > 65535 {
		return "", errors.New("the text is longer than a TXT record can hold")
	}
	var data strings.Builder
	for {
		part := text[:min(len(text), most)]
		data.WriteByte(byte(len(part)))
		data.WriteString(part)
		if text = text[len(part):]; text == "" {
			return Rdata(data.String()), nil
		}
	}
}

func family(t Type) string {
	if t == TypeA {
		return "IPv4"
	}
	return "IPv6"
}

// parseOther leaves the rarer types to miekg/dns, which knows all of them.
func parseOther(t Type, text string) (Rdata, error) {
	rr, err := dns.NewRR(". 0 IN " + t.String() + " " + text)
	if err != nil || rr == nil {
		return "", fmt.Errorf("%q is no data of a %s record", text, t)
	}
	if Type(rr.Header().Rrtype) != t {
		return "", fmt.Errorf("%q is no data of a %s record", text, t)
	}
	buf := make([]byte, dns.Len(rr)+16)
	end, err := dns.PackRR(rr, buf, 0, nil, false)
	if err != nil {
		return "", fmt.Errorf("%q is no data of a %s record: %w", text, t, err)
	}
	// Owner "." (1), type, class, TTL, length (10), then the data.
	return Rdata(buf[11:end]), nil
}

// Text returns the presentation form of the data of a record of type t; names
// in it end in a dot.
func (r Rdata) Text(t Type) string {
	switch t {
	case TypeA, TypeAAAA:
		if addr, ok := netip.AddrFromSlice([]byte(r)); ok {
			return addr.String()
		}
	case TypeCNAME, TypeNS, TypePTR, TypeDNAME:
		return Name(r).FQDN()
	}
	rr, err := r.unpack(t)
	if _, unknown := rr.(*dns.RFC3597); err != nil || unknown {
		return strings.TrimSuffix(fmt.Sprintf("\\# %d %X", len(r), string(r)), " ") // RFC 3597 section 5
	}
	text := strings.TrimPrefix(rr.String(), rr.Header().String())
	if t == TypeSVCB || t == TypeHTTPS {
		// Keys that take no value stand alone, no-default-alpn above all (RFC 9460
		// section 7.1.1): ldns refuses an empty one.
		text = strings.ReplaceAll(text, `=""`, "")
	}
	return text
}

var errRdata = errors.New("malformed record data")

func (r Rdata) unpack(t Type) (dns.RR, error) {
	msg := make([]byte, 0, 11+len(r))
	msg = append(msg, 0, byte(t>>8), byte(t), 0, 1, 0, 0, 0, 0, byte(len(r)>>8), byte(len(r)))
	msg = append(msg, r...)
	rr, _, err := dns.UnpackRR(msg, 0)
	if err != nil || rr == nil {
		return nil, errRdata
	}
	return rr, nil
}

// Target returns the name that the data of an NS, CNAME, DNAME, PTR, MX, SRV, SVCB
// or HTTPS record points at, in canonical form, or the zero Name for other types.
func (r Rdata) Target(t Type) Name {
	skip := 0
	switch t {
	case TypeCNAME, TypeNS, TypePTR, TypeDNAME:
		return Name(r) // canonical since ParseRdata
	case TypeMX, TypeSVCB, TypeHTTPS:
		skip = 2
	case TypeSRV:
		skip = 6
	default:
		return ""
	}
	if len(r) <= skip {
		return ""
	}
	name, _, err := NameFromWire([]byte(r[skip:]))
	if err != nil {
		return ""
	}
	return name
}

// An RRSet is all records of one name and type (RFC 2181 section 5). It is
// frozen: nobody changes it or its Data after it was made.
type RRSet struct {
	Name Name
	Type Type
	TTL  uint32  // seconds
	Data []Rdata // without duplicates, in canonical order (RFC 4034 section 6.3)
}
