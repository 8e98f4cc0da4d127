package script

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/miekg/dns"

	"github.com/clusterzone/clusterzone/server"
	"github.com/clusterzone/clusterzone/zones"
)

// A question is what a dig command asks: a query with EDNS and a payload of
// 1232 octets over UDP from the loopback address, unless options say otherwise.
type question struct {
	msg  dns.Msg
	opt  *dns.OPT // nil with +noedns
	peer server.Peer
}

// parseDig reads the words of a dig command and returns a question for each of
// its types. The options are dig's own:
//
//	+tcp +noedns +bufsize=N +edns=N +do +ednsopt=CODE[:TEXT] +ednsflags=N +rec
func parseDig(words []string) ([]*question, error) {
	peer := server.Peer{Addr: netip.MustParseAddrPort("127.0.0.1:40000")}
	if words[0] == "-b" {
		addr, err := netip.ParseAddr(words[1])
		if err != nil {
			return nil, err
		}
		peer.Addr = netip.AddrPortFrom(addr, 40000)
		words = words[2:]
	}
	if len(words) < 2 {
		return nil, errors.New("takes a name and a type")
	}
	var all []*question
	for text := range strings.SplitSeq(words[1], ",") {
		kind, err := zones.ParseType(text)
		if err != nil {
			return nil, err
		}
		q := &question{
			opt:  &dns.OPT{Hdr: dns.RR_Header{Name: ".", Rrtype: dns.TypeOPT, Class: server.DefaultMaxUDP}},
			peer: peer,
		}
		q.msg.Id = 4711
		q.msg.Question = []dns.Question{{Name: dns.Fqdn(words[0]), Qtype: uint16(kind), Qclass: dns.ClassINET}}
		for _, word := range words[2:] {
			if err := q.option(word); err != nil {
				return nil, err
			}
		}
		if q.opt != nil {
			q.msg.Extra = append(q.msg.Extra, q.opt)
		}
		all = append(all, q)
	}
	return all, nil
}

func (q *question) option(word string) error {
	name, value, _ := strings.Cut(word, "=")
	code, text, _ := strings.Cut(value, ":")
	number, err := strconv.ParseUint(code, 0, 16)
	if code == "" {
		err = nil
	}
	switch name {
	case "+tcp":
		q.peer.Transport = server.TCP
	case "+rec":
		q.msg.RecursionDesired = true
	case "+noedns":
		q.opt = nil
	case "+bufsize":
		q.opt.SetUDPSize(uint16(number))
	case "+edns":
		q.opt.SetVersion(uint8(number))
	case "+do":
		q.opt.SetDo()
	case "+ednsopt":
		q.opt.Option = append(q.opt.Option, &dns.EDNS0_LOCAL{Code: uint16(number), Data: []byte(text)})
	case "+ednsflags":
		q.opt.SetZ(uint16(number))
	default:
		return fmt.Errorf("no option %s", word)
	}
	return err
}

// dig asks each question and prints the replies. Where several types were
// asked for, neighbours with the same reply share it, under their types.
func (g *stage) dig(words []string) (string, error) {
	questions, err := parseDig(words)
	if err != nil {
		return "", err
	}
	var kinds, replies []string
	for _, q := range questions {
		reply, err := g.ask(q)
		if err != nil {
			return "", err
		}
		kind := dns.Type(q.msg.Question[0].Qtype).String()
		if n := len(replies); n > 0 && replies[n-1] == reply {
			kinds[n-1] += ", " + kind
			continue
		}
		kinds, replies = append(kinds, kind), append(replies, reply)
	}
	if len(questions) == 1 {
		return replies[0], nil
	}
	var b strings.Builder
	for i, reply := range replies {
		fmt.Fprintf(&b, "%s: %s", kinds[i], reply)
	}
	return b.String(), nil
}

// ask asks, checks what every reply must be, and describes it.
func (g *stage) ask(q *question) (string, error) {
	query, err := q.msg.Pack()
	if err != nil {
		return "", err
	}
	reply, err := g.answer(query, q.peer)
	if err != nil {
		return "", err
	}
	var r dns.Msg
	if err := r.Unpack(reply); err != nil {
		return "", err
	}
	if err := q.judge(&r, len(reply)); err != nil {
		return "", fmt.Errorf("%w\n%s", err, &r)
	}
	return describe(&r), nil
}

// judge says what is wrong with a reply whatever the answer should be.
func (q *question) judge(r *dns.Msg, size int) error {
	limit := dns.MaxMsgSize
	if q.peer.Transport == server.UDP {
		limit = dns.MinMsgSize
		if q.opt != nil {
			limit = min(max(limit, int(q.opt.UDPSize())), server.DefaultMaxUDP)
		}
	}
	opt := r.IsEdns0()
	switch {
	case r.Id != q.msg.Id || !r.Response:
		return errors.New("the reply is not one to this query")
	case !slices.Equal(r.Question, q.msg.Question):
		return errors.New("the question is not echoed as it was sent")
	case size > limit:
		return fmt.Errorf("the reply has %d octets, and %d are allowed", size, limit)
	case (opt == nil) != (q.opt == nil):
		return errors.New("the reply has an OPT record where the query has none, or the other way round")
	case opt != nil && (opt.Version() != 0 || opt.Z() != 0 || opt.Do() != q.opt.Do()):
		return errors.New("the reply's OPT has another version than 0, Z bits, or another DO bit than the query")
	case r.RecursionAvailable || r.RecursionDesired != q.msg.RecursionDesired || r.Zero || r.AuthenticatedData:
		return errors.New("the reply has header bits that it must not have")
	case !chained(r):
		return errors.New("a record of the answer is not the name's own, nor at the end of the CNAMEs before it")
	}
	return nil
}

// chained reports whether each record of the answer stands at the name asked
// for, or at the one that the CNAMEs before it lead to, and is of the type asked
// for.
func chained(r *dns.Msg) bool {
	at, kind := r.Question[0].Name, r.Question[0].Qtype
	for _, rr := range r.Answer {
		if !strings.EqualFold(rr.Header().Name, at) {
			return false
		}
		if alias, ok := rr.(*dns.CNAME); ok && kind != dns.TypeCNAME {
			at = alias.Target
		} else if rr.Header().Rrtype != kind && kind != dns.TypeANY {
			return false
		}
	}
	return true
}

// describe prints a reply: rcode and bits, the records of each section, and the
// extended error. The records of one set are sorted, since replies turn them
// further. Of an SOA in the authority section the TTL is what counts.
func describe(r *dns.Msg) string {
	var b strings.Builder
	rcode := server.Rcode(r.Rcode).String()
	b.WriteString(rcode)
	if r.Authoritative {
		b.WriteString(" aa")
	}
	if r.Truncated {
		b.WriteString(" tc")
	}
	b.WriteString("\n")
	for _, section := range []struct {
		name    string
		records []dns.RR
	}{{"answer", r.Answer}, {"authority", r.Ns}, {"additional", r.Extra}} {
		for _, set := range bySet(section.records) {
			for _, line := range describeSet(set, section.name) {
				fmt.Fprintf(&b, "%s: %s\n", section.name, line)
			}
		}
	}
	if opt := r.IsEdns0(); opt != nil {
		for _, option := range opt.Option {
			if ede, ok := option.(*dns.EDNS0_EDE); ok {
				fmt.Fprintf(&b, "EDE %s\n", strings.TrimSpace(fmt.Sprintf("%d: %s", ede.InfoCode, ede.ExtraText)))
				continue
			}
			fmt.Fprintf(&b, "option %d\n", option.Option())
		}
	}
	return b.String()
}

// bySet parts a section into its record sets, which stand together.
func bySet(records []dns.RR) [][]dns.RR {
	var sets [][]dns.RR
	for _, rr := range records {
		h := rr.Header()
		if h.Rrtype == dns.TypeOPT {
			continue
		}
		if n := len(sets); n > 0 && sets[n-1][0].Header().Name == h.Name && sets[n-1][0].Header().Rrtype == h.Rrtype {
			sets[n-1] = append(sets[n-1], rr)
			continue
		}
		sets = append(sets, []dns.RR{rr})
	}
	return sets
}

// manyRecords is the number from which a set is counted and not listed.
const manyRecords = 10

func describeSet(set []dns.RR, section string) []string {
	h := set[0].Header()
	kind := dns.TypeToString[h.Rrtype]
	switch {
	case h.Rrtype == dns.TypeSOA && section == "authority":
		return []string{fmt.Sprintf("%s %d SOA", h.Name, h.Ttl)}
	case len(set) >= manyRecords:
		return []string{fmt.Sprintf("%s %d %s, %d records", h.Name, h.Ttl, kind, len(set))}
	}
	var lines []string
	for _, rr := range set {
		h := rr.Header()
		data := strings.Join(strings.Fields(strings.TrimPrefix(rr.String(), h.String())), " ")
		lines = append(lines, fmt.Sprintf("%s %d %s %s", h.Name, h.Ttl, kind, data))
	}
	slices.Sort(lines)
	return lines
}
