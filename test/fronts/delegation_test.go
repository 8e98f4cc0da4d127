package fronts_test

import (
	"strings"
	"testing"

	"github.com/miekg/dns"
)

// The zones above, with the page's lines in them: root, test and 10.in-addr.arpa at
// one server.
const (
	soa      = "3600 IN SOA ns1.parent.test. hostmaster.parent.test. 1 3600 600 604800 60\n"
	rootZone = "$TTL 3600\n. " + soa + ". NS ns1.parent.test.\nns1.parent.test. A " + parentIP +
		"\ntest. NS ns1.parent.test.\n10.in-addr.arpa. NS ns1.parent.test.\n"
	testZone = "$TTL 3600\ntest. " + soa + "test. NS ns1.parent.test.\nns1.parent.test. A " + parentIP + `
lb-1.provider.test. A 198.51.100.1
lb-1.provider.test. AAAA 2001:db8:51::1
mx.provider.test. A 198.51.100.25
`
	reverseZone = "$TTL 3600\n10.in-addr.arpa. " + soa + "10.in-addr.arpa. NS ns1.parent.test.\n"
	hints       = ". 3600 NS ns1.parent.test.\nns1.parent.test. 3600 A " + parentIP + "\n"
)

// parent is a named that has the zones above, and delegates; recursion says whether
// it also resolves.
func parent(t *testing.T, recursion string) front {
	t.Helper()
	f := bind("parent", parentIP, `
    recursion `+recursion+`;
    allow-recursion { any; };
    dnssec-validation no;
`, `
zone "." { type primary; file "root.zone"; };
zone "test" { type primary; file "test.zone"; };
zone "10.in-addr.arpa" { type primary; file "10.zone"; };
`)
	f.files["root.zone"] = rootZone
	f.files["test.zone"] = testZone + block(t, "parent.zone")
	f.files["10.zone"] = reverseZone + block(t, "parent-reverse.zone")
	return f
}

// following are resolvers that know the root alone and follow delegations.
func following(t *testing.T) []front {
	t.Helper()
	n := bind("BIND", resolverIP, `
    recursion yes;
    allow-recursion { any; };
    dnssec-validation no;
    qname-minimization strict;
    empty-zones-enable no;
`, `zone "." { type hint; file "hints"; };`)
	n.files["hints"] = hints
	u := stern("Unbound", `
server:
    root-hints: "FOLDER/hints"
    local-zone: "10.in-addr.arpa" nodefault
`)
	u.files["hints"] = hints
	return []front{n, u}
}

// The parent zone's own server resolves the names of its child.
func TestDelegationOfAResolversOwnZone(t *testing.T) {
	if !apart(t, clusterzone, named) {
		return
	}
	startOutside(t)
	serve(t)
	f := parent(t, "yes")
	examine(t, f.ip, func(t *testing.T) {
		t.Helper()
		p := f.start(t)
		t.Cleanup(func() { complaints(t, p) })
		expectCut(t, f.ip)
	})
}

// Resolvers come from the root through the parent zone.
func TestDelegation(t *testing.T) {
	if !apart(t, clusterzone, named, unbound) {
		return
	}
	startOutside(t)
	serve(t)
	above := parent(t, "no").start(t)
	for _, f := range following(t) {
		t.Run(f.name, func(t *testing.T) {
			examine(t, f.ip, func(t *testing.T) {
				t.Helper()
				p := f.start(t)
				t.Cleanup(func() { complaints(t, p) })
				expectCut(t, f.ip)
			})
		})
	}
	complaints(t, above)
}

// expectCut expects that the resolver knows that there is no DS at the cut, which is
// the parent's to say, and the NS set, which is the child's.
func expectCut(t *testing.T, ip string) {
	t.Helper()
	for _, zone := range []string{"corp.test", "20.10.in-addr.arpa"} {
		reply, err := ask(ip, zone, dns.TypeDS)
		if err != nil {
			t.Error(err)
			continue
		}
		_, up, _ := strings.Cut(zone+".", ".")
		soa := len(reply.Ns) == 1 && reply.Ns[0].Header().Rrtype == dns.TypeSOA && strings.EqualFold(reply.Ns[0].Header().Name, up)
		if reply.Rcode != dns.RcodeSuccess || len(reply.Answer) > 0 || !soa {
			t.Errorf("DS of %s at %s should be NODATA by %s:\n%s", zone, ip, up, reply)
		}
		question{zone, dns.TypeNS, "NOERROR  NS ns1.corp.test."}.check(t, ip)
	}
}

// What a resolver wants of a delegated server (RFC 1034 section 4.2.2): the NS set
// of the cut, with authority and with the server's own addresses.
func TestTheCutsOwnAnswers(t *testing.T) {
	if !apart(t, clusterzone) {
		return
	}
	startOutside(t)
	serve(t)
	reply, err := ask(oursIP, "corp.test", dns.TypeNS)
	if err != nil {
		t.Fatal(err)
	}
	glue := len(reply.Extra) == 2 && data(reply.Extra[0]) == "A "+oursIP && strings.EqualFold(reply.Extra[0].Header().Name, "ns1.corp.test.")
	if !reply.Authoritative || len(reply.Answer) != 1 || !glue {
		t.Errorf("the NS set lacks authority or the server's address:\n%s", reply)
	}
	// A server that doesn't hold the parent answers for DS as for any other type.
	if reply, err = ask(oursIP, "corp.test", dns.TypeDS); err != nil {
		t.Fatal(err)
	}
	if !reply.Authoritative || reply.Rcode != dns.RcodeSuccess || len(reply.Answer) > 0 || !hasSOA(reply) {
		t.Errorf("DS of the zone should be NODATA:\n%s", reply)
	}
}
