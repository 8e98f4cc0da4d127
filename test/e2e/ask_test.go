package e2e_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/miekg/dns"
)

// ask asks the program for name and type over network ("udp" or "tcp") and
// describes the reply: rcode and AA; the records of each section, a set sorted,
// since replies turn it; the extended error. Of an SOA in the authority section
// the TTL is what counts.
func (p *process) ask(network, name, kind string) (string, error) {
	query := new(dns.Msg)
	query.SetQuestion(dns.Fqdn(name), dns.StringToType[kind])
	query.SetEdns0(1232, false)
	client := dns.Client{Net: network, Timeout: 5 * time.Second}
	reply, _, err := client.Exchange(query, p.dns)
	if err != nil {
		return "", err
	}
	if !slices.Equal(reply.Question, query.Question) {
		return "", fmt.Errorf("the question is not echoed: %v", reply.Question)
	}
	return describe(reply), nil
}

func describe(r *dns.Msg) string {
	var b strings.Builder
	b.WriteString(dns.RcodeToString[r.Rcode])
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
		for _, line := range describeSection(section.name, section.records) {
			fmt.Fprintf(&b, "%s: %s\n", section.name, line)
		}
	}
	if opt := r.IsEdns0(); opt != nil {
		for _, option := range opt.Option {
			if ede, ok := option.(*dns.EDNS0_EDE); ok {
				fmt.Fprintf(&b, "EDE %s\n", strings.TrimSpace(fmt.Sprintf("%d: %s", ede.InfoCode, ede.ExtraText)))
			}
		}
	}
	return b.String()
}

// describeSection keeps the order of record sets, and sorts within them.
func describeSection(name string, records []dns.RR) []string {
	var lines []string
	start := 0
	for i, rr := range records {
		h := rr.Header()
		if h.Rrtype == dns.TypeOPT {
			continue
		}
		data := strings.Join(strings.Fields(strings.TrimPrefix(rr.String(), h.String())), " ")
		if h.Rrtype == dns.TypeSOA && name == "authority" {
			data = ""
		}
		if i > 0 && (records[i-1].Header().Name != h.Name || records[i-1].Header().Rrtype != h.Rrtype) {
			start = len(lines)
		}
		lines = append(lines, strings.TrimSpace(fmt.Sprintf("%s %d %s %s", h.Name, h.Ttl, dns.TypeToString[h.Rrtype], data)))
		slices.Sort(lines[start:])
	}
	return lines
}

// await asks until the answer is want, over UDP; then TCP must say the same.
func (p *process) await(t testing.TB, name, kind, want string) {
	t.Helper()
	want = strings.TrimRight(want, "\n") + "\n"
	await(t, func() error {
		got, err := p.ask("udp", name, kind)
		if err == nil && got != want {
			err = fmt.Errorf("%s %s:\n%swant\n%s", name, kind, got, want)
		}
		return err
	})
	got, err := p.ask("tcp", name, kind)
	if err != nil {
		t.Fatalf("%s %s over TCP: %v", name, kind, err)
	}
	if got != want {
		t.Fatalf("%s %s over TCP:\n%swant\n%s", name, kind, got, want)
	}
}

// expect asks once, over UDP and TCP.
func (p *process) expect(t testing.TB, name, kind, want string) {
	t.Helper()
	want = strings.TrimRight(want, "\n") + "\n"
	for _, network := range []string{"udp", "tcp"} {
		got, err := p.ask(network, name, kind)
		if err != nil {
			t.Fatalf("%s %s over %s: %v", name, kind, network, err)
		}
		if got != want {
			t.Errorf("%s %s over %s:\n%swant\n%s", name, kind, network, got, want)
		}
	}
}

// The answers that Go tests expect most.
const (
	missing  = "NXDOMAIN aa\nauthority: corp.test. 5 SOA"
	notReady = "SERVFAIL\nEDE 14: " + waiting
	waiting  = "waiting for Ingress, Service, EndpointSlice, Pod, Node, HTTPRoute, Gateway, ListenerSet, Namespace, " +
		"GRPCRoute, TLSRoute, TCPRoute, UDPRoute, RouteGroup, DNSEndpoint from the API server"
)

// address is the answer with one address record.
func address(name, kind, data string) string {
	return fmt.Sprintf("NOERROR aa\nanswer: %s 300 %s %s", dns.Fqdn(name), kind, data)
}

// serial returns the zone's serial.
func (p *process) serial(t testing.TB) uint32 {
	t.Helper()
	query := new(dns.Msg)
	query.SetQuestion("corp.test.", dns.TypeSOA)
	reply, _, err := (&dns.Client{Timeout: 5 * time.Second}).Exchange(query, p.dns)
	if err != nil || len(reply.Answer) != 1 {
		t.Fatalf("no SOA: %v\n%v", err, reply)
	}
	return reply.Answer[0].(*dns.SOA).Serial
}
