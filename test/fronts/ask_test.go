package fronts_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/miekg/dns"
)

// patience is how long a client waits for one reply, and tries how often it asks:
// resolv.conf(5).
const (
	patience = 5 * time.Second
	tries    = 2
)

// ask asks the server at ip, over TCP where the reply over UDP is truncated. The
// letters of the name are in random case, which must come back as it was sent.
func ask(ip, name string, kind uint16) (*dns.Msg, error) { return askOver("udp", ip, name, kind) }

func askOver(network, ip, name string, kind uint16) (*dns.Msg, error) {
	query := new(dns.Msg).SetQuestion(mixed(dns.Fqdn(name)), kind)
	query.SetEdns0(1232, false)
	var reply *dns.Msg
	var err error
	for range tries {
		reply, _, err = (&dns.Client{Net: network, Timeout: patience}).Exchange(query, net.JoinHostPort(ip, "53"))
		if timeout := net.Error(nil); !errors.As(err, &timeout) || !timeout.Timeout() {
			break
		}
	}
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s %s at %s: %w", name, dns.TypeToString[kind], ip, err)
	case len(reply.Question) != 1 || reply.Question[0] != query.Question[0]:
		return nil, fmt.Errorf("%s answers %v to the question %v", ip, reply.Question, query.Question[0])
	case reply.Truncated && network == "udp":
		return askOver("tcp", ip, name, kind)
	}
	return reply, nil
}

// mixed returns the name in random case (draft-vixie-dnsext-dns0x20).
func mixed(name string) string {
	letters := []byte(name)
	for i, c := range letters {
		if c|0x20 >= 'a' && c|0x20 <= 'z' && rand.IntN(2) == 0 {
			letters[i] ^= 0x20
		}
	}
	return string(letters)
}

// describe returns the rcode and the records from the question to the end of its
// chain, as questions.txt has them. Records that don't belong there are an error.
func describe(reply *dns.Msg) (string, error) {
	var parts []string
	rest := slices.Clone(reply.Answer)
	name, kind := reply.Question[0].Name, reply.Question[0].Qtype
	for {
		var here []string
		next := ""
		rest = slices.DeleteFunc(rest, func(rr dns.RR) bool {
			if !strings.EqualFold(rr.Header().Name, name) || rr.Header().Rrtype != kind && rr.Header().Rrtype != dns.TypeCNAME {
				return false
			}
			if cname, is := rr.(*dns.CNAME); is && kind != dns.TypeCNAME {
				next = cname.Target
			}
			here = append(here, data(rr))
			return true
		})
		slices.Sort(here)
		if len(here) > 9 {
			here = []string{fmt.Sprintf("%s x%d", dns.TypeToString[kind], len(here))}
		}
		parts = append(parts, here...)
		if name = next; next == "" {
			break
		}
	}
	if len(rest) > 0 {
		return "", fmt.Errorf("records that lie on no way from the question:\n%s", reply)
	}
	return strings.TrimSpace(fmt.Sprintf("%-8s %s", dns.RcodeToString[reply.Rcode], strings.Join(parts, "; "))), nil
}

// data is the type and the data of a record, without what differs from run to run.
func data(rr dns.RR) string {
	if soa, is := rr.(*dns.SOA); is {
		return "SOA " + strings.ToLower(soa.Ns+" "+soa.Mbox) // the serial is of now
	}
	text := strings.TrimPrefix(rr.String(), rr.Header().String())
	if rr.Header().Rrtype != dns.TypeTXT {
		text = strings.ToLower(text)
	}
	return dns.TypeToString[rr.Header().Rrtype] + " " + text
}

// A question is a line of questions.txt.
type question struct {
	name string
	kind uint16
	want string
}

func (q question) String() string { return q.name + " " + dns.TypeToString[q.kind] }

func questions(t *testing.T) []question {
	t.Helper()
	text, err := os.ReadFile("testdata/questions.txt")
	if err != nil {
		t.Fatal(err)
	}
	var all []question
	for n, line := range strings.Split(string(text), "\n") {
		if line = strings.TrimSpace(line); line == "" || line[0] == '#' {
			continue
		}
		fields := strings.Fields(line)
		if len(fields) < 3 || dns.StringToType[fields[1]] == 0 {
			t.Fatalf("questions.txt:%d: write NAME TYPE RCODE RECORDS: %s", n+1, line)
		}
		want := fmt.Sprintf("%-8s %s", fields[2], strings.Join(fields[3:], " "))
		all = append(all, question{fields[0], dns.StringToType[fields[1]], strings.TrimSpace(want)})
	}
	return all
}

// negativeTTL is what the server says by default (--negative-ttl).
const negativeTTL = 5

// check asks the server at ip and compares.
func (q question) check(t *testing.T, ip string) {
	t.Helper()
	reply, err := ask(ip, q.name, q.kind)
	if err != nil {
		t.Error(err)
		return
	}
	got, err := describe(reply)
	if err != nil {
		t.Errorf("%s at %s: %v", q, ip, err)
		return
	}
	if got != q.want {
		t.Errorf("%s at %s:\n got %s\nwant %s\n%s", q, ip, got, q.want, reply)
	}
	if len(reply.Answer) == 0 && !hasSOA(reply) {
		t.Errorf("%s at %s: a negative answer needs an SOA of %d seconds at most:\n%s", q, ip, negativeTTL, reply)
	}
}

// hasSOA reports whether the authority section lets a resolver remember the
// absence, for as long as it may.
func hasSOA(reply *dns.Msg) bool {
	for _, rr := range reply.Ns {
		if soa, is := rr.(*dns.SOA); is {
			return min(soa.Hdr.Ttl, soa.Minttl) <= negativeTTL
		}
	}
	return false
}

// expectRcode asks and compares the rcode alone.
func expectRcode(t *testing.T, ip, name string, kind uint16, want int) {
	t.Helper()
	reply, err := ask(ip, name, kind)
	if err != nil {
		t.Error(err)
	} else if reply.Rcode != want {
		t.Errorf("%s %s at %s is %s, want %s:\n%s", name, dns.TypeToString[kind], ip, dns.RcodeToString[reply.Rcode], dns.RcodeToString[want], reply)
	}
}

// An order is one in which a resolver that knows nothing is asked everything: what
// it learns first may lead it astray later.
type order struct {
	name    string
	arrange func([]question)
}

var orders = []order{
	{"in order", func([]question) {}},
	{"backwards", slices.Reverse[[]question]},
	{"shuffled", func(all []question) {
		rand.New(rand.NewPCG(4, 20)).Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	}},
}

// examine starts a resolver, cold, for each order, and asks it everything; and all
// once more, warm.
func examine(t *testing.T, ip string, start func(t *testing.T)) {
	t.Helper()
	for _, order := range orders {
		t.Run(order.name, func(t *testing.T) {
			start(t)
			all := questions(t)
			order.arrange(all)
			for range 2 {
				for _, q := range all {
					q.check(t, ip)
				}
			}
		})
	}
}
