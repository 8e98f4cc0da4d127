package fronts_test

import (
	"strings"
	"testing"

	"github.com/miekg/dns"
)

// rootAnchor makes a resolver validate: the key of 2017 of the root zone, which
// nobody answers for here, so that a name is bogus unless the page's lines except it.
const rootAnchor = `. IN DS 20326 8 2 E06D44B80B8F1D39A95C0B0D7C65D08458E880409BBC683457104237C7F8EC8D`

// stern is an Unbound that is as strict as it gets, with this text added. The
// lines of private are for the names of this test alone: test, which Unbound answers
// itself as RFC 6761 has it, and provider.test.
func stern(name, text string) front {
	const private = `
    local-zone: "test" nodefault
    domain-insecure: "provider.test"
`
	return front{name: name, ip: resolverIP, prog: unbound, args: []string{"-d", "-d", "-p", "-c", "FILE"}, first: "unbound.conf", files: map[string]string{
		"unbound.conf": `
server:
    interface: ` + resolverIP + `
    access-control: 10.0.0.0/8 allow
    do-ip6: no
    username: ""
    chroot: ""
    directory: "FOLDER"
    pidfile: ""
    use-syslog: no
    logfile: ""
    log-time-ascii: yes
    verbosity: 1
    num-threads: 1
    do-not-query-localhost: no
    qname-minimisation: yes
    qname-minimisation-strict: yes
    harden-below-nxdomain: yes
    harden-referral-path: yes
    harden-glue: yes
    use-caps-for-id: yes
    aggressive-nsec: yes
    module-config: "validator iterator"
` + private + `
remote-control:
    control-enable: no
` + text,
	}}
}

// outward sends the rest of the names to the outside.
const outward = `
server:
    trust-anchor: "` + rootAnchor + `"
forward-zone:
    name: "."
    forward-addr: ` + outsideIP + "\n"

func TestUnbound(t *testing.T) {
	if !apart(t, clusterzone, unbound) {
		return
	}
	o := startOutside(t)
	serve(t)
	stub, forward := block(t, "unbound-stub.conf"), block(t, "unbound-forward.conf")
	for _, f := range []front{
		stern("stub", stub+outward),
		stern("forward", forward+outward),
		stern("another port", strings.ReplaceAll(stub, oursIP, oursIP+"@5353")+outward),
	} {
		t.Run(f.name, func(t *testing.T) {
			examine(t, f.ip, func(t *testing.T) { t.Helper(); f.start(t) })
		})
	}
	o.leaks(t)
}

// Each line that the page calls needed is needed.
func TestUnboundNeedsTheLines(t *testing.T) {
	if !apart(t, clusterzone, unbound) {
		return
	}
	startOutside(t)
	serve(t)
	stub := block(t, "unbound-stub.conf")
	for _, missed := range []struct {
		line, name string
		kind       uint16
		want       int
	}{
		{`    domain-insecure: "corp.test"`, "shop.corp.test", dns.TypeA, dns.RcodeServerFailure},
		{`    domain-insecure: "20.10.in-addr.arpa"`, "12.0.20.10.in-addr.arpa", dns.TypePTR, dns.RcodeServerFailure},
		{`    local-zone: "10.in-addr.arpa" nodefault`, "12.0.20.10.in-addr.arpa", dns.TypePTR, dns.RcodeNameError},
	} {
		t.Run(missed.line, func(t *testing.T) {
			f := stern("stub", without(t, stub, missed.line)+outward)
			f.start(t)
			expectRcode(t, f.ip, missed.name, missed.kind, missed.want)
		})
	}
}
