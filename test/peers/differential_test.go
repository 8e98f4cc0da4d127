package peers_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/miekg/dns"
)

// manyZones is how many generated zones the servers are compared on.
const manyZones = 300

// A panel is a set of servers that serve the same zones: ours and three peers.
type panel struct {
	addresses map[string]string // by server
	zones     []genZone
}

// ours and peersOfOurs are the servers of a panel.
const ours = "clusterzone"

var peersOfOurs = []string{"named", "nsd", "knotd"}

// startPanel writes the zones as files and starts the servers with them, each as
// one process.
func startPanel(t testing.TB, all []genZone) panel {
	t.Helper()
	tool(t, "named") // skip before anything is written
	dir := t.TempDir()
	var ownZones, namedZones, nsdZones, knotZones strings.Builder
	fmt.Fprintln(&ownZones, "zones:")
	fmt.Fprintln(&knotZones, "zone:")
	for i, z := range all {
		file := filepath.Join(dir, fmt.Sprintf("%d.zone", i))
		if err := os.WriteFile(file, []byte(z.text()), 0o600); err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&ownZones, "- {origin: %q, file: %q}\n", z.origin, file)
		fmt.Fprintf(&namedZones, "zone %q { type primary; file %q; };\n", z.origin, file)
		fmt.Fprintf(&nsdZones, "zone:\n  name: %q\n  zonefile: %q\n", z.origin, file)
		fmt.Fprintf(&knotZones, "  - domain: %q\n    file: %q\n", z.origin, file)
	}
	own := filepath.Join(dir, "clusterzone.yaml")
	if err := os.WriteFile(own, []byte(ownZones.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	p := panel{zones: all, addresses: map[string]string{ours: serve(t, "--config="+own, "--udp-size=4096").DNS}}
	started := []*peer{
		start(t, named, config{Rest: namedZones.String(), Options: `
  recursion no;
  notify no;
  zone-statistics none;
  minimal-responses no;
  minimal-any no;
  zero-no-soa-ttl no;
  check-integrity no;
  check-mx ignore;
  check-mx-cname ignore;
  check-srv-cname ignore;
  check-sibling no;
  check-wildcard no;
  check-spf ignore;
  check-dup-records ignore;
  max-udp-size 4096;`}),
		start(t, nsd, config{Rest: nsdZones.String(), Options: "  ipv4-edns-size: 4096"}),
		start(t, knotd, config{Rest: knotZones.String(), Options: "  udp-max-payload: 4096"}),
	}
	for i, server := range started {
		p.addresses[peersOfOurs[i]] = server.address
		for _, z := range all {
			server.await(t, z.origin, dns.TypeSOA, authoritative)
		}
	}
	return p
}

// text is the zone as a master file.
func (z genZone) text() string {
	var b strings.Builder
	for _, line := range z.lines {
		fmt.Fprintf(&b, "%s\t%d\tIN\t%s\t%s\n", line.owner, line.ttl, line.kind, line.data)
	}
	return b.String()
}

// A client asks all servers of a panel, one question after another. It is for one
// goroutine.
type client struct{ conns map[string]*dns.Conn }

func (p panel) client() (*client, error) {
	c := &client{map[string]*dns.Conn{}}
	for server, address := range p.addresses {
		conn, err := dns.Dial("udp", address)
		if err != nil {
			return nil, err
		}
		conn.UDPSize = 4096
		c.conns[server] = conn
	}
	return c, nil
}

// ask returns what each server answers.
func (p panel) ask(c *client, q question) (map[string]answer, error) {
	answers := map[string]answer{}
	for server, conn := range c.conns {
		m := query(q.name, q.kind)
		m.IsEdns0().SetUDPSize(4096)
		reply, _, err := new(dns.Client).ExchangeWithConn(m, conn)
		if err != nil || reply.Truncated {
			// A lost packet, too; TCP loses none.
			reply, _, err = (&dns.Client{Net: "tcp", Timeout: 20 * time.Second}).Exchange(m, p.addresses[server])
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", server, err)
		}
		answers[server] = answerOf(reply)
	}
	return answers, nil
}

// A verdict counts what a panel has said.
type verdict struct {
	mu        sync.Mutex
	questions int
	reasons   map[string]int
	failures  int
	shown     map[string]int
}

// TestAnswersEqualThosePeersAgreeOn compares the answers to all interesting
// questions about generated zones.
func TestAnswersEqualThosePeersAgreeOn(t *testing.T) {
	t.Parallel()
	p := startPanel(t, generateZones(manyZones, dataKinds))
	v := verdict{reasons: map[string]int{}, shown: map[string]int{}}
	work := make(chan genZone)
	var workers sync.WaitGroup
	for range 4 {
		c, err := p.client()
		if err != nil {
			t.Fatal(err)
		}
		workers.Go(func() {
			for z := range work {
				for _, q := range z.questions() {
					answers, err := p.ask(c, q)
					if err != nil {
						t.Errorf("%s %s: %v", q.name, dns.Type(q.kind), err)
						continue
					}
					v.judge(t, z, q, answers)
				}
			}
			for _, conn := range c.conns {
				if err := conn.Close(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for _, z := range p.zones {
		work <- z
	}
	close(work)
	workers.Wait()
	t.Logf("%d zones, %d questions, %d failures; where peers differ:", len(p.zones), v.questions, v.failures)
	for _, r := range rules {
		t.Logf("%6d %s", v.reasons[r.name], r.name)
		if v.reasons[r.name] == 0 {
			t.Errorf("no question needs the rule %q: the zones hold less than they should", r.name)
		}
	}
}

func (v *verdict) judge(t testing.TB, z genZone, q question, answers map[string]answer) {
	names, faults := judge(z, q, answers)
	v.mu.Lock()
	defer v.mu.Unlock()
	v.questions++
	for _, name := range names {
		v.reasons[name]++
	}
	if len(faults) == 0 {
		return
	}
	v.failures++
	kind := strings.Join(faults, ", ")
	if v.shown[kind]++; v.shown[kind] > 3 {
		t.Fail()
		return
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s: %s\n", q.name, dns.Type(q.kind), kind)
	for _, server := range append([]string{ours}, peersOfOurs...) {
		fmt.Fprintf(&b, "== %s: %s\n", server, answers[server])
	}
	t.Errorf("%s== zone %s\n%s", &b, z.origin, z.text())
}
