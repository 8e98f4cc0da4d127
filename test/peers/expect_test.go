package peers_test

import (
	"bytes"
	"slices"
	"strconv"
	"strings"

	"github.com/miekg/dns"
)

// judgeWord says what of a reply is not as one word of a probe expects, or "".
func judgeWord(word string, r *dns.Msg, query []byte, size int) string {
	opt := r.IsEdns0()
	soa := slices.ContainsFunc(r.Answer, func(rr dns.RR) bool { return rr.Header().Rrtype == dns.TypeSOA })
	for _, limit := range []struct {
		name  string
		value int
	}{{"an", len(r.Answer)}, {"size", size}, {"ttl", negativeTTL(r)}} {
		rest, ok := strings.CutPrefix(word, limit.name)
		operator := strings.TrimRight(rest, "0123456789")
		number, err := strconv.Atoi(strings.TrimPrefix(rest, operator))
		if !ok || err != nil {
			continue
		}
		if good := map[string]bool{"=": limit.value == number, ">": limit.value > number, "<=": limit.value <= number}; !good[operator] {
			return word + ": is " + strconv.Itoa(limit.value)
		}
		return ""
	}
	good := false
	switch key, value, _ := strings.Cut(word, "="); {
	case key == "rc":
		good = slices.Contains(strings.Split(value, "|"), rcode(r))
	case key == "op":
		good = slices.Contains(strings.Split(value, "|"), strconv.Itoa(r.Opcode)) || slices.Contains(strings.Split(value, "|"), rcode(r))
	case word[0] == '+', word[0] == '-':
		good = bits(r)[word[1:]] == (word[0] == '+')
	case key == "soa":
		good = soa
	case key == "nosoa":
		good = !soa
	case key == "nsoa":
		good = negativeTTL(r) >= 0
	case key == "empty":
		good = len(r.Answer)+len(r.Ns) == 0
	case key == "noopt":
		good = opt == nil
	case key == "badkey":
		tsig := r.IsTsig()
		good = tsig != nil && tsig.Error == dns.RcodeBadKey
	case key == "silence", key == "unlike":
		good = true
	case opt == nil:
	case key == "opt":
		good = true
	case key == "v0":
		good = opt.Version() == 0
	case key == "do":
		good = opt.Do()
	case key == "nodo":
		good = !opt.Do()
	case key == "mbz0":
		good = opt.Hdr.Ttl&0x7fff == 0
	case key == "noecho":
		good = !echoes(r, query)
	}
	if good {
		return ""
	}
	return "not " + word
}

// rcode is the reply's, where OPT is there with its upper bits.
func rcode(r *dns.Msg) string {
	if r.Rcode == dns.RcodeBadVers {
		return "BADVERS" // and not the TSIG error of the same number
	}
	return dns.RcodeToString[r.Rcode]
}

func bits(r *dns.Msg) map[string]bool {
	return map[string]bool{
		"aa": r.Authoritative, "tc": r.Truncated, "rd": r.RecursionDesired, "ra": r.RecursionAvailable,
		"z": r.Zero, "ad": r.AuthenticatedData, "cd": r.CheckingDisabled,
	}
}

// negativeTTL is the TTL of the SOA in the authority section, or -1.
func negativeTTL(r *dns.Msg) int {
	for _, rr := range r.Ns {
		if rr.Header().Rrtype == dns.TypeSOA {
			return int(rr.Header().Ttl)
		}
	}
	return -1
}

// echoes says whether the reply has an option just as the query had it.
func echoes(r *dns.Msg, query []byte) bool {
	q := new(dns.Msg)
	if q.Unpack(query) != nil || q.IsEdns0() == nil {
		return false
	}
	return slices.ContainsFunc(r.IsEdns0().Option, func(option dns.EDNS0) bool {
		return slices.ContainsFunc(q.IsEdns0().Option, func(sent dns.EDNS0) bool {
			return bytes.Equal(wire(option), wire(sent))
		})
	})
}

// wire is one option in wire form, with its code.
func wire(option dns.EDNS0) []byte {
	buf := make([]byte, 4096)
	end, err := dns.PackRR(&dns.OPT{Hdr: dns.RR_Header{Name: ".", Rrtype: dns.TypeOPT}, Option: []dns.EDNS0{option}}, buf, 0, nil, false)
	if err != nil {
		return nil
	}
	return buf[11:end]
}
