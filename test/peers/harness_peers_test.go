package peers_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/miekg/dns"
)

// Every peer starts, loads a zone and answers for it, and does so again after a
// restart; clusterzone stands behind the resolver among them.
func TestPeersStart(t *testing.T) {
	t.Parallel()
	tool(t, "named")
	file := filepath.Join(t.TempDir(), "zone")
	zone := "$ORIGIN corp.test.\n@ 60 SOA ns1 hostmaster 1 60 60 600 5\n@ 60 NS ns1\nns1 60 A 192.0.2.53\nwww 60 A 192.0.2.1\n"
	if err := os.WriteFile(file, []byte(zone), 0o600); err != nil {
		t.Fatal(err)
	}
	ours := serve(t, "--zone-file=corp.test="+file)
	for _, one := range []struct {
		kind
		config
	}{
		{named, config{Rest: `zone "corp.test" { type primary; file "` + file + `"; };`}},
		{nsd, config{Rest: "zone:\n  name: corp.test\n  zonefile: " + file}},
		{knotd, config{Rest: "zone:\n  - domain: corp.test\n    file: " + file}},
		{unbound, config{Rest: "stub-zone:\n  name: corp.test\n  stub-addr: " + hostOf(ours.DNS) + "@" + portOf(ours.DNS)}},
	} {
		t.Run(one.kind.name, func(t *testing.T) {
			t.Parallel()
			p := start(t, one.kind, one.config)
			right := authoritative
			if one.kind.recurses {
				right = succeeded
			}
			p.await(t, "www.corp.test.", dns.TypeA, right)
			p = p.restart(t)
			p.await(t, "www.corp.test.", dns.TypeA, right)
			if reply := p.ask(t, "www.corp.test.", dns.TypeA); len(reply.Answer) != 1 || reply.Authoritative == one.kind.recurses {
				t.Errorf("want one address, and AA from authorities alone:\n%s", reply)
			}
		})
	}
}
