package fronts_test

import (
	"net"
	"net/netip"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/miekg/dns"

	"github.com/clusterzone/clusterzone/test/daemon"
)

// What getaddrinfo says in place of addresses.
const (
	noName = "EAI_NONAME" // there is none, or it has no addresses
	again  = "EAI_AGAIN"  // nobody knows now
	failed = "EAI_FAIL"
)

// A libc is what C libraries do with the replies to a name's A and AAAA questions:
// it returns addresses, or a word. A reply is nil where none came in time.
type libc struct {
	name  string
	prog  program
	tcp   bool // whether it asks over TCP where a reply is truncated
	weigh func(replies []*dns.Msg) (addresses []string, word string)
}

var libcs = []libc{
	{"glibc", glibc, true, weighGlibc},
	{"musl", musl, false, weighMusl}, // 1.2.3; TCP came with 1.2.4
}

// weighGlibc takes what one of the replies gives (gaih_getanswer of glibc): its
// addresses at the end of the CNAMEs from the question, which it asks no further.
func weighGlibc(replies []*dns.Msg) (addresses []string, word string) {
	word = noName
	for _, reply := range replies {
		if reply == nil || reply.Rcode == dns.RcodeServerFailure {
			word = again
			continue
		}
		name := reply.Question[0].Name
		for _, rr := range reply.Answer {
			if !strings.EqualFold(rr.Header().Name, name) {
				continue
			}
			if cname, is := rr.(*dns.CNAME); is {
				name = cname.Target
			} else if text := addressOf(rr); text != "" {
				addresses = append(addresses, text)
			}
		}
	}
	if len(addresses) > 0 {
		word = ""
	}
	return addresses, word
}

// weighMusl lets one bad reply spoil both (name_from_dns of musl).
func weighMusl(replies []*dns.Msg) (addresses []string, word string) {
	for _, reply := range replies {
		switch {
		case reply == nil || reply.Rcode == dns.RcodeServerFailure:
			return nil, again
		case reply.Rcode == dns.RcodeNameError:
			return nil, noName
		case reply.Rcode != dns.RcodeSuccess:
			return nil, failed
		}
	}
	for _, reply := range replies {
		for _, rr := range reply.Answer {
			if text := addressOf(rr); text != "" {
				addresses = append(addresses, text)
			}
		}
	}
	if len(addresses) == 0 {
		word = noName
	}
	return addresses, word
}

func addressOf(rr dns.RR) string {
	switch rr := rr.(type) {
	case *dns.A:
		return rr.A.String()
	case *dns.AAAA:
		return rr.AAAA.String()
	}
	return ""
}

// lookUp does what the library does for a name, with the settings of
// testdata/resolv.conf; it returns addresses in canonical order, or a word.
func (l libc) lookUp(t *testing.T, name string) string {
	t.Helper()
	servers, err := dns.ClientConfigFromFile("testdata/resolv.conf")
	if err != nil {
		t.Fatal(err)
	}
	word := noName
	for _, candidate := range servers.NameList(name) {
		replies := make([]*dns.Msg, 2)
		var both sync.WaitGroup
		for i, kind := range []uint16{dns.TypeA, dns.TypeAAAA} {
			both.Go(func() { replies[i] = l.ask(servers.Servers[0], candidate, kind) })
		}
		both.Wait()
		addresses, why := l.weigh(replies)
		if why == "" {
			return canonical(addresses)
		}
		if word = why; word != noName {
			break
		}
	}
	return word
}

// ask asks without EDNS, as these libraries do.
func (l libc) ask(ip, name string, kind uint16) *dns.Msg {
	query := new(dns.Msg).SetQuestion(name, kind)
	for range tries {
		reply, _, err := (&dns.Client{Timeout: patience}).Exchange(query, net.JoinHostPort(ip, "53"))
		if err == nil && reply.Truncated && l.tcp {
			reply, _, err = (&dns.Client{Net: "tcp", Timeout: patience}).Exchange(query, net.JoinHostPort(ip, "53"))
		}
		if err == nil && reply.Rcode != dns.RcodeServerFailure {
			return reply
		}
	}
	return nil
}

// canonical sorts addresses.
func canonical(addresses []string) string {
	slices.SortFunc(addresses, func(a, b string) int { return netip.MustParseAddr(a).Compare(netip.MustParseAddr(b)) })
	return strings.Join(addresses, " ")
}

// getaddrinfo is the real library's word, through /etc/resolv.conf.
func (l libc) getaddrinfo(t *testing.T, name string) string {
	t.Helper()
	out, errs, status := daemon.Run(t, l.prog.path(), name)
	if status != 0 || errs != "" {
		t.Fatalf("%s %s ends with %d:\n%s", l.name, name, status, errs)
	}
	if out = strings.TrimSpace(out); strings.HasPrefix(out, "EAI_") {
		return out
	}
	return canonical(strings.Fields(out))
}

// expect compares what the library says, and what its algorithm does.
func (l libc) expect(t *testing.T, name, want string) {
	t.Helper()
	if got := l.lookUp(t, name); got != want {
		t.Errorf("%s' algorithm finds %s for %s, want %s", l.name, got, name, want)
	}
	if got := l.getaddrinfo(t, name); got != want {
		t.Errorf("getaddrinfo of %s finds %s for %s, want %s", l.name, got, name, want)
	}
}

// What Pods ask, whose C libraries take one reply and ask no further, through
// CoreDNS and a search list.
func TestStubResolvers(t *testing.T) {
	if !apart(t, clusterzone, coredns, glibc, musl) {
		return
	}
	startOutside(t)
	serve(t)
	clusterDNS(t).start(t)
	mounted, err := os.ReadFile("/etc/resolv.conf")
	if err != nil || !strings.Contains(string(mounted), corednsIP) {
		t.Fatalf("/etc/resolv.conf is not the test's own, but %q, %v", mounted, err)
	}
	const both = "198.51.100.1 2001:db8:51::1"
	for _, l := range libcs {
		t.Run(l.name, func(t *testing.T) {
			for _, pair := range [][2]string{
				{"shop.corp.test", "10.20.0.10 2001:db8::10"},
				{"legacy.corp.test", "10.20.0.11"},
				{"api.v1.pay.corp.test", "10.20.0.12"},
				{"b.one.wild.corp.test", "10.20.0.13"},
				{"elb.corp.test", both},
				{"x.y.apps.corp.test", both},
				{"corp.test", both},
				{"mail.corp.test", "198.51.100.25"},
				{"www.corp.test", "10.20.0.10 2001:db8::10"},
				{"broken.corp.test", noName},
				{"absent.corp.test", noName},
				{"pending.wild.corp.test", noName},
			} {
				l.expect(t, pair[0], pair[1])
			}
			// Many addresses are truncated for who asks without EDNS. Who doesn't ask
			// over TCP must have some at least.
			for _, found := range []string{l.lookUp(t, "big.corp.test"), l.getaddrinfo(t, "big.corp.test")} {
				if count := strings.Count(found, "10.20.1."); count < 20 || l.tcp && count != 80 {
					t.Errorf("%s has %d of the 80 addresses: %s", l.name, count, found)
				}
			}
		})
	}
}
