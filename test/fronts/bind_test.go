package fronts_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/miekg/dns"

	"github.com/clusterzone/clusterzone/test/daemon"
)

// bind is a named with these options and statements.
func bind(name, ip, options, text string) front {
	return front{name: name, ip: ip, prog: named, args: []string{"-g", "-n", "1", "-c", "FILE"}, first: "named.conf", files: map[string]string{
		"named.conf": `
options {
    directory "FOLDER";
    pid-file none;
    session-keyfile "FOLDER/session.key";
    listen-on { ` + ip + `; };
    listen-on-v6 { none; };
    allow-query { any; };
` + options + `
};
controls { };
` + text,
	}}
}

// forwarding is a resolver that validates, and asks the outside for the rest.
// provider.test, a name of this test alone, is excepted as the zones are.
func forwarding(t *testing.T, name, options, text string) front {
	t.Helper()
	return bind(name, resolverIP, strings.Replace(options, "{", `{ "provider.test";`, 1)+`
    recursion yes;
    allow-recursion { any; };
    dnssec-validation auto;
    qname-minimization strict;
    forwarders { `+outsideIP+`; };
`, text)
}

func TestBIND(t *testing.T) {
	if !apart(t, clusterzone, named) {
		return
	}
	o := startOutside(t)
	serve(t)
	options := block(t, "named-options.conf")
	forward := block(t, "named-forward.conf")
	for _, f := range []front{
		forwarding(t, "static stub", options, block(t, "named-static-stub.conf")),
		forwarding(t, "forward", options, forward),
		forwarding(t, "another port", options, strings.ReplaceAll(forward, oursIP, oursIP+" port 5353")),
	} {
		t.Run(f.name, func(t *testing.T) {
			examine(t, f.ip, func(t *testing.T) {
				t.Helper()
				p := f.start(t)
				t.Cleanup(func() { complaints(t, p) })
			})
		})
	}
	o.leaks(t)
}

// Each line that the page calls needed is needed.
func TestBINDNeedsTheLines(t *testing.T) {
	if !apart(t, clusterzone, named) {
		return
	}
	startOutside(t)
	serve(t)
	options := block(t, "named-options.conf")
	stub := block(t, "named-static-stub.conf")
	for name, missed := range map[string]struct {
		front front
		name  string
		kind  uint16
		want  int
	}{
		"validate-except": {
			forwarding(t, "stub", strings.Replace(options, ` "corp.test";`, "", 1), stub), "shop.corp.test", dns.TypeA, dns.RcodeServerFailure,
		},
		"forwarders": {
			forwarding(t, "stub", options, without(t, stub, "    forwarders { };")), "shop.corp.test", dns.TypeA, dns.RcodeNameError,
		},
	} {
		t.Run(name, func(t *testing.T) {
			missed.front.start(t)
			expectRcode(t, missed.front.ip, missed.name, missed.kind, missed.want)
		})
	}
}

// grumble is what named logs of servers that it holds for broken.
var grumble = regexp.MustCompile(`(?i)non-improving referral|lame server|format error|FORMERR|unexpected RCODE|broken trust|timed out resolving`)

// complaints fails the test where named has complained of the zones' server.
func complaints(t *testing.T, p *daemon.Process) {
	t.Helper()
	for line := range strings.Lines(p.Log()) {
		if grumble.MatchString(line) && strings.Contains(line, oursIP) {
			t.Errorf("named complains: %s", line)
		}
	}
}
