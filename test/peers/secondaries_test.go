package peers_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/miekg/dns"

	"github.com/clusterzone/clusterzone/test/daemon"
)

const (
	// secondaryHosts is how many objects there are; each round changes some.
	secondaryHosts  = 300
	secondaryRounds = 20
	secondaryEach   = 50
	transferSecret  = "c2VjcmV0cyB0aGF0IHNlY29uZGFyaWVzIHNoYXJlIQ=="
)

// staticZone has what transfers must carry beside addresses: delegations with glue
// and what they hide, DNAME, wildcards, long sets, types without compression.
const staticZone = `$TTL 300
@ NS ns1
@ NS ns.outside.invalid.
ns1 A 192.0.2.53
@ MX 10 mail
mail A 192.0.2.25
* TXT "wild"
deep.empty.nodes A 192.0.2.9
child NS ns.child
ns.child A 192.0.2.54
hidden.child TXT "below a cut"
child DS 12345 13 2 49FD46E6C4B45C55D4AC69CBD3CD34AC1AFE51DEF5ED60AB1E8B8F5B3A5C4E8D
old DNAME new
_http._tcp SRV 0 0 80 host1
svc HTTPS 1 . alpn=h2
caa CAA 0 issue "ca.invalid"
strange TYPE65400 \# 4 0A000001
$GENERATE 1-200 many A 198.51.100.$
text TXT ( "a long text that comes in several parts" "and more" )
`

// A transferred is a secondary under test.
type transferred struct {
	kind    kind
	address string
	config  func(primary string) config
}

// secondariesOf are the three peers as secondaries with a key each.
func secondariesOf(t *testing.T, algorithm string) []*transferred {
	t.Helper()
	all := []*transferred{{kind: named}, {kind: nsd}, {kind: knotd}}
	dir := t.TempDir() // knotd's, which else is the system's
	for _, s := range all {
		s.address = freeAddress(t)
	}
	all[0].config = func(primary string) config {
		return config{Address: all[0].address, Options: "  recursion no;\n  notify no;\n  allow-transfer { 127.0.0.1; };\n  max-records-per-type 0;", Rest: fmt.Sprintf(`
key "named.key" { algorithm %s; secret "%s"; };
zone "corp.test" {
  type secondary; file "corp.test";
  primaries { %s port %s key "named.key"; };
};`, algorithm, transferSecret, hostOf(primary), portOf(primary))}
	}
	all[1].config = func(primary string) config {
		return config{Address: all[1].address, Rest: fmt.Sprintf(`
key:
  name: nsd.key
  algorithm: %s
  secret: "%s"
zone:
  name: corp.test
  zonefile: corp.test.zone
  allow-notify: 127.0.0.1 nsd.key
  request-xfr: %s@%s nsd.key
  provide-xfr: 127.0.0.1 NOKEY`, algorithm, transferSecret, hostOf(primary), portOf(primary))}
	}
	all[2].config = func(primary string) config {
		return config{Address: all[2].address, Rest: fmt.Sprintf(`
key:
  - id: knotd.key
    algorithm: %s
    secret: "%s"
remote:
  - id: primary
    address: %s@%s
    key: knotd.key
acl:
  - id: notify
    address: 127.0.0.1
    key: knotd.key
    action: notify
  - id: transfer
    address: 127.0.0.1
    action: transfer
zone:
  - domain: corp.test
    storage: %s
    master: primary
    acl: [notify, transfer]`, algorithm, transferSecret, hostOf(primary), portOf(primary), dir)}
	}
	return all
}

// hosts writes the objects of a round.
func hosts(t *testing.T, file string, round int) {
	t.Helper()
	var text strings.Builder
	for i := range secondaryHosts {
		changes := 0 // how often this one has changed by now
		for r := 1; r <= round; r++ {
			if (i-r*secondaryEach+secondaryHosts*secondaryRounds)%secondaryHosts < secondaryEach {
				changes++
			}
		}
		if changes%3 == 2 {
			continue // gone for a while
		}
		fmt.Fprintf(&text, `apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: host%d, namespace: shop}
spec: {rules: [{host: host%d.corp.test}]}
status: {loadBalancer: {ingress: [{ip: 10.0.%d.%d}]}}
---
`, i, i, changes, i%250)
	}
	// Renamed, so that no half of it is read.
	if err := os.WriteFile(file+".new", []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(file+".new", file); err != nil {
		t.Fatal(err)
	}
}

// TestSecondariesFollow: NSD, Knot and BIND transfer a zone with a key each,
// follow 1000 changes of objects by IXFR, and end equal to what "clusterzone
// records" prints; then the primary starts anew, and they go on with it.
func TestSecondariesFollow(t *testing.T) {
	t.Parallel()
	tool(t, "named")
	for _, algorithm := range []string{"hmac-sha256", "hmac-sha512"} {
		t.Run(algorithm, func(t *testing.T) {
			t.Parallel()
			followChanges(t, algorithm)
		})
	}
}

func followChanges(t *testing.T, algorithm string) {
	dir := t.TempDir()
	manifests, zone := filepath.Join(dir, "hosts.yaml"), filepath.Join(dir, "corp.zone")
	if err := os.WriteFile(zone, []byte(staticZone), 0o600); err != nil {
		t.Fatal(err)
	}
	hosts(t, manifests, 0)
	objects := []string{"--zone-file=corp.test=" + zone, "--manifests=" + manifests, "--zone=corp.test"}
	secondaries := secondariesOf(t, algorithm)
	primary := freeAddress(t)
	flags := append([]string{"--listen=" + primary, "--state-file=" + filepath.Join(dir, "state")}, objects...)
	for _, s := range secondaries {
		key := s.kind.name + ".key"
		file := filepath.Join(dir, key)
		text := fmt.Sprintf("key \"%s\" {\n\talgorithm %s;\n\tsecret \"%s\";\n};\n", key, algorithm, transferSecret)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		flags = append(flags, "--tsig-key-file="+file, "--allow-transfer=key:"+key+"@127.0.0.1/32", "--notify=key:"+key+"@"+s.address)
	}
	server := serve(t, flags...)
	for _, s := range secondaries {
		start(t, s.kind, s.config(primary))
	}
	caughtUp(t, primary, secondaries)

	for round := 1; round <= secondaryRounds; round++ {
		before := serialAt(t, primary)
		hosts(t, manifests, round)
		daemon.Await(t, func() error {
			if serial, err := serialOf(primary); err != nil || serial == before {
				return fmt.Errorf("the serial of round %d stays %d: %v", round, before, err)
			}
			return nil
		})
	}
	caughtUp(t, primary, secondaries)
	want := recordsOf(t, objects)
	for _, s := range secondaries {
		compareZone(t, s, want)
	}
	all := transfersOf(t, server.Log())
	for _, s := range secondaries {
		key := s.kind.name + ".key"
		t.Logf("%s: %v", s.kind.name, all[key])
		// NSD takes the whole zone again where two transfers came during one reload of
		// its own, as on a busy machine: "update failed, restarting transfer".
		if all[key]["axfr"] > 2 || all[key]["ixfr"] < secondaryRounds/4 {
			t.Errorf("%s doesn't follow by IXFR", s.kind.name)
		}
	}
	awaitMetric(t, server, `clusterzone_notifies_total{result="acknowledged"}`, 3*secondaryRounds/4)
	if got := metricOf(t, server, `clusterzone_transfers_total{kind="ixfr",result="failed"}`); got > 0 {
		t.Errorf("%v transfers have failed", got)
	}

	// A new process knows no old editions: the whole zone, with a later serial.
	last := serialAt(t, primary)
	server.Stop(t)
	hosts(t, manifests, 1)
	serve(t, flags...)
	if serial := serialAt(t, primary); serial <= last {
		t.Errorf("the serial goes from %d to %d", last, serial)
	}
	caughtUp(t, primary, secondaries)
	want = recordsOf(t, objects)
	for _, s := range secondaries {
		compareZone(t, s, want)
	}
}

// caughtUp waits until the secondaries have the serial of the primary, and it
// stays.
func caughtUp(t *testing.T, primary string, secondaries []*transferred) {
	t.Helper()
	daemon.Await(t, func() error {
		serial, err := serialOf(primary)
		if err != nil {
			return err
		}
		for _, s := range secondaries {
			has, err := serialOf(s.address)
			if err != nil || has != serial {
				return fmt.Errorf("%s has %d of %d: %v", s.kind.name, has, serial, err)
			}
		}
		if again, err := serialOf(primary); err != nil || again != serial {
			return fmt.Errorf("the primary has moved to %d: %v", again, err)
		}
		return nil
	})
}

func serialOf(address string) (uint32, error) {
	reply, err := exchange(address, query("corp.test.", dns.TypeSOA))
	if err != nil {
		return 0, err
	}
	if len(reply.Answer) != 1 || reply.Rcode != dns.RcodeSuccess {
		return 0, errors.New("no SOA: " + dns.RcodeToString[reply.Rcode])
	}
	return reply.Answer[0].(*dns.SOA).Serial, nil
}

// serialAt is serialOf a server that is up and has read its objects.
func serialAt(t *testing.T, address string) (serial uint32) {
	t.Helper()
	daemon.Await(t, func() (err error) {
		serial, err = serialOf(address)
		return err
	})
	return serial
}

// recordsOf is what "clusterzone records" prints, without the SOA, whose serial
// is another process's.
func recordsOf(t *testing.T, objects []string) set {
	t.Helper()
	stdout, stderr, status := daemon.Run(t, program(t), append([]string{"records", "--output=zone"}, objects...)...)
	if status != 0 {
		t.Fatalf("records: status %d: %s", status, stderr)
	}
	var records []dns.RR
	parser := dns.NewZoneParser(strings.NewReader(stdout), "", "")
	for rr, ok := parser.Next(); ok; rr, ok = parser.Next() {
		if rr.Header().Rrtype != dns.TypeSOA {
			records = append(records, rr)
		}
	}
	if err := parser.Err(); err != nil {
		t.Fatal(err)
	}
	return setOf(records)
}

// compareZone transfers the zone from a secondary until it is name by name what
// is wanted: the last change may be on its way.
func compareZone(t *testing.T, s *transferred, want set) {
	t.Helper()
	if len(want) < secondaryHosts/2 {
		t.Fatalf("there are %d records only", len(want))
	}
	daemon.Await(t, func() error {
		got, err := zoneAt(s.address)
		if err != nil {
			return fmt.Errorf("%s: %w", s.kind.name, err)
		}
		for _, record := range want {
			if !slices.Contains(got, record) {
				return fmt.Errorf("%s has %d records and lacks %s", s.kind.name, len(got), record)
			}
		}
		for _, record := range got {
			if !slices.Contains(want, record) {
				return fmt.Errorf("%s has %s, which is not served", s.kind.name, record)
			}
		}
		return nil
	})
}

// zoneAt transfers the zone, without its SOA.
func zoneAt(address string) (set, error) {
	envelopes, err := new(dns.Transfer).In(new(dns.Msg).SetAxfr("corp.test."), address)
	if err != nil {
		return nil, err
	}
	var records []dns.RR
	for envelope := range envelopes {
		if envelope.Error != nil {
			return nil, envelope.Error
		}
		for _, rr := range envelope.RR {
			if rr.Header().Rrtype != dns.TypeSOA {
				records = append(records, rr)
			}
		}
	}
	return setOf(records), nil
}

// transfersOf counts the transfers in the log of a server, by key and kind.
func transfersOf(t *testing.T, log string) map[string]map[string]int {
	t.Helper()
	counts := map[string]map[string]int{}
	for line := range strings.Lines(log) {
		var entry struct{ Msg, Key, Kind string }
		if json.Unmarshal([]byte(line), &entry) != nil || entry.Msg != "a zone was transferred" {
			continue
		}
		if counts[entry.Key] == nil {
			counts[entry.Key] = map[string]int{}
		}
		counts[entry.Key][entry.Kind]++
	}
	return counts
}

// metricOf is the value of one series of a server's metrics.
func metricOf(t *testing.T, server *daemon.Server, series string) (value float64) {
	t.Helper()
	reply, err := (&http.Client{Timeout: 10 * time.Second}).Get("http://" + server.Metrics + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer reply.Body.Close()
	body, err := io.ReadAll(reply.Body)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(body)) {
		if text, is := strings.CutPrefix(line, series+" "); is {
			if _, err := fmt.Sscan(text, &value); err != nil {
				t.Fatal(err)
			}
			return value
		}
	}
	t.Fatalf("there is no metric %s in\n%s", series, body)
	return 0
}

func awaitMetric(t *testing.T, server *daemon.Server, series string, least float64) {
	t.Helper()
	daemon.Await(t, func() error {
		if got := metricOf(t, server, series); got < least {
			return fmt.Errorf("%s is %v, want %v", series, got, least)
		}
		return nil
	})
}

// TestTransferTools: dig and kdig transfer with a key and verify each message,
// and show what is wrong: key, secret, address, zone.
func TestTransferTools(t *testing.T) {
	t.Parallel()
	tool(t, "named")
	dir := t.TempDir()
	zone := filepath.Join(dir, "corp.zone")
	if err := os.WriteFile(zone, []byte(staticZone+"$GENERATE 1-5000 host$ A 10.0.0.1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	server := serve(t, "--zone-file=corp.test="+zone, "--tsig-key=hmac-sha384:xfr:"+transferSecret, "--tsig-key=hmac-sha256:far:"+transferSecret,
		"--allow-transfer=key:xfr", "--allow-transfer=key:far@192.0.2.0/24")
	at := []string{"@" + hostOf(server.DNS), "-p", portOf(server.DNS)}
	good := "hmac-sha384:xfr:" + transferSecret
	// A serial of the second in which a process has started isn't given out: one
	// that ran before may have had it.
	daemon.Await(t, func() error {
		out, err := exec.Command(tool(t, "dig"), append(slices.Clone(at), "axfr", "corp.test", "-y", good)...).CombinedOutput()
		if err == nil && !strings.Contains(string(out), "XFR size") {
			err = fmt.Errorf("no transfer yet: %s", ends(string(out)))
		}
		return err
	})
	for _, test := range []struct {
		tool  string
		args  []string
		wants []string
		wrong bool
	}{
		{"dig", []string{"axfr", "corp.test", "-y", good}, []string{"XFR size: 52", "host5000.corp.test.", "hidden.child.corp.test.", "NOERROR"}, false},
		{"dig", []string{"ixfr=1", "corp.test", "-y", good}, []string{"XFR size: 52", "NOERROR"}, false},
		{"dig", []string{"+norec", "+tcp", "soa", "corp.test", "-y", good}, []string{"status: NOERROR", "hmac-sha384."}, false},
		{"dig", []string{"+norec", "soa", "corp.test", "-y", good}, []string{"status: NOERROR", "hmac-sha384."}, false},
		{"kdig", []string{"axfr", "corp.test", "-y", good}, []string{"Received", "host5000.corp.test."}, false},
		{"kdig", []string{"ixfr=1", "corp.test", "-y", good}, []string{"Received", "host5000.corp.test."}, false},
		{"dig", []string{"axfr", "corp.test"}, []string{"Transfer failed"}, true},
		{"dig", []string{"axfr", "corp.test", "-y", "hmac-sha384:xfr:" + strings.Replace(transferSecret, "c", "d", 1)}, []string{"BADSIG", "Transfer failed"}, true},
		{"dig", []string{"axfr", "corp.test", "-y", "hmac-sha384:nobody:" + transferSecret}, []string{"BADKEY", "Transfer failed"}, true},
		{"dig", []string{"axfr", "corp.test", "-y", "hmac-sha256:far:" + transferSecret}, []string{"Transfer failed"}, true},
		{"kdig", []string{"axfr", "corp.test"}, []string{"REFUSED"}, true},
		{"kdig", []string{"axfr", "other.test"}, []string{"NOTAUTH"}, true},
		{"kdig", []string{"+notcp", "ixfr=1", "corp.test"}, []string{"REFUSED"}, true},
	} {
		// Both tools say by text alone what has gone wrong.
		out, err := exec.Command(tool(t, test.tool), append(slices.Clone(at), test.args...)...).CombinedOutput()
		text := string(out)
		t.Logf("%s %s: %v, %d octets", test.tool, strings.Join(test.args, " "), err, len(out))
		for _, want := range test.wants {
			if !strings.Contains(text, want) {
				t.Errorf("%s %v lacks %q:\n%s", test.tool, test.args, want, ends(text))
			}
		}
		if bad := strings.Contains(text, "WARNING") || strings.Contains(text, "Couldn't verify") || strings.Contains(text, "failed"); bad && !test.wrong {
			t.Errorf("%s %v complains:\n%s", test.tool, test.args, ends(text))
		}
	}
}

// ends are the first and last lines of a text.
func ends(text string) string {
	lines := strings.Split(text, "\n")
	if len(lines) <= 40 {
		return text
	}
	return strings.Join(slices.Concat(lines[:20], []string{"..."}, lines[len(lines)-20:]), "\n")
}

// TestWrongSecret: a secondary with another secret gets nothing, and the reply
// says why.
func TestWrongSecret(t *testing.T) {
	t.Parallel()
	tool(t, "named")
	zone := filepath.Join(t.TempDir(), "corp.zone")
	if err := os.WriteFile(zone, []byte(staticZone), 0o600); err != nil {
		t.Fatal(err)
	}
	server := serve(t, "--zone-file=corp.test="+zone, "--tsig-key=hmac-sha256:xfr:"+transferSecret, "--allow-transfer=key:xfr")
	serialAt(t, server.DNS)
	secondary := start(t, named, config{Options: "  recursion no;", Rest: fmt.Sprintf(`
key "xfr" { algorithm hmac-sha256; secret "%s"; };
zone "corp.test" { type secondary; file "corp.test"; primaries { %s port %s key "xfr"; }; };`,
		strings.Replace(transferSecret, "c", "d", 1), hostOf(server.DNS), portOf(server.DNS))})
	daemon.Await(t, func() error {
		if !strings.Contains(secondary.Log(), "tsig indicates error") {
			return errors.New("named doesn't say what is wrong")
		}
		return nil
	})
	if reply := secondary.ask(t, "corp.test.", dns.TypeSOA); reply.Rcode != dns.RcodeServerFailure {
		t.Errorf("the secondary answers\n%s", reply)
	}
	for _, one := range []struct {
		zone  string
		kind  uint16
		rcode int
	}{
		{"corp.test.", dns.TypeAXFR, dns.RcodeRefused}, {"corp.test.", dns.TypeIXFR, dns.RcodeRefused}, {"other.test.", dns.TypeAXFR, dns.RcodeNotAuth},
	} {
		q := query(one.zone, one.kind)
		if one.kind == dns.TypeIXFR {
			q.SetIxfr(one.zone, 1, ".", ".")
		}
		reply, _, err := (&dns.Client{Net: "tcp", Timeout: daemon.Patience}).Exchange(q, server.DNS)
		if err != nil || reply.Rcode != one.rcode {
			t.Errorf("%s %s: %v\n%v", one.zone, dns.Type(one.kind), err, reply)
		}
	}
}
