package peers_test

import (
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/miekg/dns"
)

// A probe is one line of testdata/probes.txt.
//
// Words of a query: a TYPE and a name, in which ZONE, NAME (with an address) and
// BIG (whose TXT records are longer than 1232 octets) stand for names; header (no
// question); aa, ad, cd, ra, rd, tc, z (header bits); opcode=, class=, edns[=VERSION],
// do, ednsz (an undefined EDNS flag), size=, option=CODE:HEX; tsig (signed with a key
// that nobody has); tcp. Or raw=ID.FLAGS.COUNTS and octets in hex, with QUESTION (for
// the SOA), OPT and LABEL63; or octets=HEX.
//
// Expectations: rc=A|B; op=A|B, an rcode in place of it being enough; +BIT and -BIT;
// soa, nosoa (in the answer), nsoa (in the authority section); an=N, an>N; opt, noopt,
// v0, do, nodo, mbz0 (no undefined flag), noecho (no option as it was sent);
// size<=N, size>N; ttl<=N (of the negative answer's SOA); empty; badkey; silence (is as
// good), only-silence; unlike=PEER,... (fail it, and that is known).
type probe struct {
	name          string
	query, expect []string
}

const (
	probeZone = "corp.test."
	probeName = "www.corp.test."
	probeBig  = "big.corp.test."
)

func readProbes(t testing.TB) []probe {
	t.Helper()
	text, err := os.ReadFile("testdata/probes.txt")
	if err != nil {
		t.Fatal(err)
	}
	var all []probe
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "#") || strings.TrimSpace(line) == "" {
			continue
		}
		name, rest, ok := strings.Cut(line, ": ")
		query, expect, ok2 := strings.Cut(rest, " => ")
		if !ok || !ok2 {
			t.Fatalf("probes.txt: %q is no probe", line)
		}
		all = append(all, probe{name, strings.Fields(query), strings.Fields(expect)})
	}
	return all
}

// probeFile writes the zone that is probed.
func probeFile(t testing.TB) string {
	t.Helper()
	var b strings.Builder
	b.WriteString("$TTL 300\n@ SOA ns1 hostmaster 1 3600 600 86400 60\n@ NS ns1\nns1 A 192.0.2.53\nwww A 192.0.2.1\n")
	for i := range 20 {
		fmt.Fprintf(&b, "big TXT \"%d %s\"\n", i, strings.Repeat("x", 80))
	}
	file := filepath.Join(t.TempDir(), "zone")
	write(t, file, b.String())
	return file
}

// TestProbes puts all probes to the program.
func TestProbes(t *testing.T) {
	t.Parallel()
	address := serve(t, "--zone-file=corp.test="+probeFile(t)).DNS
	for _, p := range readProbes(t) {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			if err := p.run(address); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestProbesOfPeers puts the probes to the peers: what they all fail would be the
// probes' fault.
func TestProbesOfPeers(t *testing.T) {
	t.Parallel()
	tool(t, named.name)
	file := probeFile(t)
	for name, p := range map[string]*peer{
		"named": start(t, named, config{
			Options: "  recursion no;\n  allow-transfer { none; };\n  minimal-any yes;\n  max-udp-size 1232;",
			Rest:    `zone "corp.test" { type primary; file "` + file + `"; };`,
		}),
		"nsd":   start(t, nsd, config{Options: "  ipv4-edns-size: 1232", Rest: "zone:\n  name: corp.test\n  zonefile: " + file}),
		"knotd": start(t, knotd, config{Options: "  udp-max-payload: 1232", Rest: "zone:\n  - domain: corp.test\n    file: " + file}),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p.await(t, probeZone, dns.TypeSOA, authoritative)
			probes := readProbes(t)
			inParallel(len(probes), func(i int) {
				probe := probes[i]
				known := slices.ContainsFunc(probe.expect, func(word string) bool {
					peers, ok := strings.CutPrefix(word, "unlike=")
					return ok && slices.Contains(strings.Split(peers, ","), name)
				})
				switch err := probe.run(p.address); {
				case err != nil && !known:
					t.Errorf("%s: %v", probe.name, err)
				case err == nil && known:
					t.Errorf("%s: passes, and is marked as known to fail", probe.name)
				}
			})
		})
	}
}

// run puts the probe to the server and judges the reply.
func (p probe) run(address string) error {
	message, network, err := p.message()
	if err != nil {
		return err
	}
	maySilent := slices.Contains(p.expect, "silence") || slices.Contains(p.expect, "only-silence")
	reply, err := send(network, address, message, !maySilent)
	switch {
	case maySilent && errors.Is(err, os.ErrDeadlineExceeded):
		return nil
	case err != nil:
		return err
	case slices.Contains(p.expect, "only-silence"):
		return fmt.Errorf("a reply, where none must be: %x", reply)
	}
	r := new(dns.Msg)
	if err := r.Unpack(reply); err != nil {
		return fmt.Errorf("the reply is no message: %w (%x)", err, reply)
	}
	if len(message) > 1 && (reply[0] != message[0] || reply[1] != message[1] || reply[2]&0x80 == 0) {
		return fmt.Errorf("no response to the query %x: %x", message[:2], reply[:4])
	}
	// The question comes back octet by octet, case included (0x20).
	if len(r.Question) == 1 && !strings.Contains(string(message), string(reply[12:12+len(firstName(r))])) {
		return fmt.Errorf("the question was changed: %s", r.Question[0].String())
	}
	var wrong []string
	for _, word := range p.expect {
		if fault := judgeWord(word, r, message, len(reply)); fault != "" {
			wrong = append(wrong, fault)
		}
	}
	if len(wrong) > 0 {
		return fmt.Errorf("%s\n%s", strings.Join(wrong, ", "), r)
	}
	return nil
}

// firstName is the name of the first question in wire form.
func firstName(r *dns.Msg) []byte {
	buf := make([]byte, 300)
	end, err := dns.PackDomainName(r.Question[0].Name, buf, 0, nil, false)
	if err != nil {
		return nil
	}
	return buf[:end]
}

// send sends octets, and returns those of the reply. Silence is told from slowness by
// waiting: half a second where silence is as good, else several with the octets sent
// anew, as the machine may be busy.
func send(network, address string, message []byte, patient bool) ([]byte, error) {
	conn, err := net.Dial(network, address)
	if err != nil {
		return nil, err
	}
	defer func() { _ = conn.Close() }()
	for wait := time.Second / 2; ; wait *= 3 {
		if err := conn.SetDeadline(time.Now().Add(wait)); err != nil {
			return nil, err
		}
		c := &dns.Conn{Conn: conn, UDPSize: 65535}
		if _, err := c.Write(message); err != nil {
			return nil, err
		}
		buf := make([]byte, 65535)
		n, err := c.Read(buf)
		if err == nil || !errors.Is(err, os.ErrDeadlineExceeded) || !patient || wait > 10*time.Second {
			return buf[:max(n, 0)], err
		}
	}
}

// message makes the octets of the query.
func (p probe) message() (message []byte, network string, err error) {
	network = "udp"
	if after, ok := strings.CutPrefix(p.query[0], "octets="); ok {
		message, err = hex.DecodeString(after)
		return message, network, err
	}
	if after, ok := strings.CutPrefix(p.query[0], "raw="); ok {
		message, err = rawMessage(strings.Split(after, "."), p.query[1:])
		return message, network, err
	}
	m := new(dns.Msg)
	m.Id = 4242
	words := p.query
	if words[0] != "header" {
		name := strings.NewReplacer("ZONE", probeZone, "NAME", probeName, "BIG", probeBig).Replace(words[1])
		m.Question = []dns.Question{{Name: name, Qtype: typeOf(words[0]), Qclass: dns.ClassINET}}
		words = words[1:]
	}
	var opt *dns.OPT
	for _, word := range words[1:] {
		key, value, _ := strings.Cut(word, "=")
		number, _ := strconv.Atoi(value)
		switch key {
		case "aa":
			m.Authoritative = true
		case "ad":
			m.AuthenticatedData = true
		case "cd":
			m.CheckingDisabled = true
		case "ra":
			m.RecursionAvailable = true
		case "rd":
			m.RecursionDesired = true
		case "tc":
			m.Truncated = true
		case "z":
			m.Zero = true
		case "opcode":
			m.Opcode = number
		case "class":
			m.Question[0].Qclass = uint16(number)
		case "edns":
			opt = &dns.OPT{Hdr: dns.RR_Header{Name: ".", Rrtype: dns.TypeOPT, Class: 4096}}
			opt.SetVersion(uint8(number))
			m.Extra = append(m.Extra, opt)
		case "do":
			opt.SetDo()
		case "ednsz":
			opt.Hdr.Ttl |= 0x80
		case "size":
			opt.Hdr.Class = uint16(number)
		case "option":
			code, data, _ := strings.Cut(value, ":")
			number, _ = strconv.Atoi(code)
			octets, err := hex.DecodeString(data)
			if err != nil {
				return nil, "", err
			}
			opt.Option = append(opt.Option, &dns.EDNS0_LOCAL{Code: uint16(number), Data: octets})
		case "tsig":
			m.SetTsig("nokey.", dns.HmacSHA256, 300, time.Now().Unix())
		case "tcp":
			network = "tcp"
		default:
			return nil, "", fmt.Errorf("no word of queries: %s", word)
		}
	}
	if m.IsTsig() != nil {
		message, _, err = dns.TsigGenerate(m, "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=", "", false)
		return message, network, err
	}
	message, err = m.Pack()
	return message, network, err
}

func rawMessage(header, parts []string) ([]byte, error) {
	var message []byte
	for i, text := range header {
		base := 10
		if i == 1 {
			base = 16 // flags
		}
		n, err := strconv.ParseUint(text, base, 16)
		if err != nil {
			return nil, err
		}
		message = append(message, byte(n>>8), byte(n))
	}
	for _, part := range parts {
		octets, err := hex.DecodeString(strings.NewReplacer("QUESTION", "04636f727004746573740000060001",
			"OPT", "00002904d0000000000000", "LABEL63", "3f"+strings.Repeat("61", 63)).Replace(part))
		if err != nil {
			return nil, err
		}
		message = append(message, octets...)
	}
	return message, nil
}
