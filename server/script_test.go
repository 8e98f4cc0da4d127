package server

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"flag"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/miekg/dns"

	"github.com/clusterzone/clusterzone/zones"
)

// Run with -update after a deliberate change of replies, and read the diff.
var update = flag.Bool("update", false, "write what the scripts print into testdata")

// TestScripts asks what the files in testdata ask and compares the replies as
// text. A script is made of commands, one a line; a command that prints is
// followed by ---- and its output, up to an empty line.
//
//	zone ORIGIN            a zone, with ns1.ORIGIN at 192.0.2.53 and 2001:db8::53
//	NAME TTL TYPE DATA     a record in it (names are absolute; anywhere after zone)
//	skip NAME MESSAGE      an object asked for NAME and does not get it
//	waiting TEXT           the snapshot is not ready, and waits for TEXT
//	options WORDS          ede=off|code|full max=OCTETS explain=PREFIX,...|nobody
//	                       cookies=SECRET,... nsid=TEXT version=TEXT
//	                       allow=PREFIX,... idle=SPAN pass=ZONE pass-acme=ZONE
//	                       transfer=RULE,... keys=NAME:ALGORITHM:SECRET,...
//	passed ...             what another resolver says from here on: see passed
//	ask NAME TYPE WORDS    a query; words: tcp, tls, https, rd cd ad aa ra tc z (header bits),
//	                       edns, do, size=, version=, ednsz, option=CODE:HEX, class=, opcode=,
//	                       id=, time=UNIX, from=ADDRESS, serial= (of an IXFR),
//	                       key=NAME (signed, at Unix time 1700000000), secret=,
//	                       algorithm=, mac=OCTETS (cut to so many)
//	raw HEX... [tcp]       these octets
func TestScripts(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts in testdata: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			t.Parallel()
			runScript(t, file)
		})
	}
}

func runScript(t *testing.T, file string) {
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	s := &script{world: newWorld()}
	var got bytes.Buffer
	lines := bufio.NewScanner(bytes.NewReader(want))
	skipping := false
	for n := 1; lines.Scan(); n++ {
		line := lines.Text()
		switch {
		case skipping:
			skipping = line != ""
			continue
		case line == "----":
			skipping = true
			continue
		}
		if line != "" || !bytes.HasSuffix(got.Bytes(), []byte("\n\n")) {
			fmt.Fprintln(&got, line)
		}
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		output, err := s.do(line)
		if err != nil {
			t.Fatalf("%s:%d: %v", file, n, err)
		}
		if output != "" {
			fmt.Fprintf(&got, "----\n%s\n", output)
		}
	}
	text := append(bytes.TrimRight(got.Bytes(), "\n"), '\n')
	if *update {
		if err := os.WriteFile(file, text, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if !bytes.Equal(text, want) {
		t.Errorf("%s: %s", file, firstDifference(string(text), string(want)))
	}
}

func firstDifference(got, want string) string {
	gotLines, wantLines := strings.Split(got, "\n"), strings.Split(want, "\n")
	command := ""
	for i, line := range gotLines {
		if i >= len(wantLines) || line != wantLines[i] {
			rest := strings.Join(wantLines[min(i, len(wantLines)):], "\n")
			rest, _, _ = strings.Cut(rest, "\n\n")
			now, _, _ := strings.Cut(strings.Join(gotLines[i:], "\n"), "\n\n")
			return fmt.Sprintf("line %d, after %q\ngot:\n%s\nwant:\n%s", i+1, command, now, rest)
		}
		if strings.HasPrefix(line, "ask") || strings.HasPrefix(line, "raw") {
			command = line
		}
	}
	return "output is missing at the end"
}

type script struct {
	world     *world
	responder Responder
	passed    *zones.Passed
}

func (s *script) do(line string) (string, error) {
	fields := strings.Fields(line)
	switch fields[0] {
	case "options":
		return "", s.options(fields[1:])
	case "passed":
		return "", s.sayPassed(fields[1:])
	case "ask":
		query, peer, err := buildQuery(fields[1:])
		if err != nil {
			return "", err
		}
		return s.reply(query, peer), nil
	case "raw":
		peer := defaultPeer()
		if fields[len(fields)-1] == "tcp" {
			peer.Transport = TCP
			fields = fields[:len(fields)-1]
		}
		query, err := hex.DecodeString(strings.Join(fields[1:], ""))
		if err != nil {
			return "", err
		}
		return s.reply(query, peer), nil
	}
	return "", s.world.do(fields, line)
}

func (s *script) options(words []string) error {
	s.responder = Responder{}
	var rules []zones.PassRule
	for _, word := range words {
		key, value, _ := strings.Cut(word, "=")
		switch key {
		case "ede":
			s.responder.EDE = map[string]EDEMode{"off": EDEOff, "code": EDECode, "full": EDEFull}[value]
		case "max":
			s.responder.MaxUDP, _ = strconv.Atoi(value)
		case "explain":
			s.responder.ExplainFrom = []netip.Prefix{}
			for prefix := range strings.SplitSeq(value, ",") {
				if prefix != "nobody" {
					s.responder.ExplainFrom = append(s.responder.ExplainFrom, netip.MustParsePrefix(prefix))
				}
			}
		case "cookies":
			secrets, err := ParseCookieSecrets([]byte(strings.ReplaceAll(value, ",", "\n")))
			if err != nil {
				return err
			}
			s.responder.Cookies = NewCookies(secrets...)
		case "nsid":
			s.responder.NSID = value
		case "version":
			s.responder.Version = value
		case "allow":
			for prefix := range strings.SplitSeq(value, ",") {
				s.responder.AllowQuery = append(s.responder.AllowQuery, netip.MustParsePrefix(prefix))
			}
		case "transfer":
			for text := range strings.SplitSeq(value, ",") {
				rule, err := ParseTransferRule(text)
				if err != nil {
					return err
				}
				s.responder.AllowTransfer = append(s.responder.AllowTransfer, rule)
			}
			s.responder.Editions = s.world
		case "keys":
			var keys []TSIGKey
			for text := range strings.SplitSeq(value, ",") {
				parts := strings.Split(text, ":")
				key, err := NewTSIGKey(parts[0], parts[1], parts[2])
				if err != nil {
					return err
				}
				keys = append(keys, key)
			}
			s.responder.Keys = NewTSIGKeys(keys...)
		case "idle":
			s.responder.TCPIdle, _ = time.ParseDuration(value)
		case "pass", "pass-acme":
			zone, err := zones.ParseName(value)
			if err != nil {
				return err
			}
			rules = append(rules, zones.PassRule{Zone: zone, Challenges: key == "pass-acme"})
			s.responder.Passes, s.responder.PassMark = zones.NewPasses(rules), passMark
		default:
			return fmt.Errorf("no option %q", word)
		}
	}
	return nil
}

func (s *script) reply(query []byte, peer Peer) string {
	s.responder.turn = 0
	reply, outcome := s.responder.Respond(nil, query, s.world.snapshot(), peer)
	if s.responder.transfer.edition != nil {
		return fmt.Sprintf("streams: %s of serial %d in %d steps\n", outcome.Transfer, s.responder.transfer.edition.Serial(), len(s.responder.transfer.steps))
	}
	if outcome.Dropped != Answered {
		return "silence: " + outcome.Dropped.String() + "\n"
	}
	if asked := outcome.PassOn; asked != nil {
		text := describeAsked(asked)
		if s.passed == nil {
			return text
		}
		reply, _ = s.responder.Finish(nil, query, s.world.snapshot(), peer, asked, s.passed)
		return text + describe(reply, peer.Transport)
	}
	return describe(reply, peer.Transport)
}

// describe prints a reply as dig would, in fewer lines.
func describe(reply []byte, transport Transport) string {
	var msg dns.Msg
	if err := msg.Unpack(reply); err != nil {
		return fmt.Sprintf("unreadable (%v): %x", err, reply)
	}
	var b strings.Builder
	if msg.Rcode == dns.RcodeBadVers { // which the library calls by its TSIG name
		b.WriteString("BADVERS")
	} else {
		b.WriteString(dns.RcodeToString[msg.Rcode])
	}
	if msg.Opcode != dns.OpcodeQuery {
		fmt.Fprintf(&b, " opcode=%d", msg.Opcode)
	}
	bits := []struct {
		name string
		set  bool
	}{
		{"aa", msg.Authoritative}, {"tc", msg.Truncated}, {"rd", msg.RecursionDesired},
		{"ra", msg.RecursionAvailable}, {"z", msg.Zero}, {"ad", msg.AuthenticatedData}, {"cd", msg.CheckingDisabled},
	}
	for _, bit := range bits {
		if bit.set {
			b.WriteString(" " + bit.name)
		}
	}
	fmt.Fprintf(&b, ", %s %d octets\n", transport, len(reply))
	for _, q := range msg.Question {
		fmt.Fprintln(&b, oneLine(q.String()))
	}
	sections := []struct {
		name    string
		records []dns.RR
	}{{"answer", msg.Answer}, {"authority", msg.Ns}, {"additional", msg.Extra}}
	for _, section := range sections {
		for _, rr := range section.records {
			fmt.Fprintf(&b, "%s: %s\n", section.name, describeRecord(rr))
		}
	}
	return b.String()
}

func describeRecord(rr dns.RR) string {
	switch rr := rr.(type) {
	case *dns.OPT:
		text := fmt.Sprintf("OPT v%d %d", rr.Version(), rr.UDPSize())
		if rr.Do() {
			text += " do"
		}
		if z := rr.Hdr.Ttl & 0x7fff; z != 0 {
			text += fmt.Sprintf(" z=%#x", z)
		}
		for _, option := range rr.Option {
			switch option := option.(type) {
			case *dns.EDNS0_EDE:
				text += fmt.Sprintf(" EDE %d %q", option.InfoCode, option.ExtraText)
			case *dns.EDNS0_COOKIE:
				text += " COOKIE " + option.Cookie
			case *dns.EDNS0_NSID:
				name, _ := hex.DecodeString(option.Nsid)
				text += fmt.Sprintf(" NSID %q", name)
			case *dns.EDNS0_TCP_KEEPALIVE:
				text += fmt.Sprintf(" KEEPALIVE %d", option.Timeout)
			case *dns.EDNS0_EXPIRE:
				text += fmt.Sprintf(" EXPIRE %d", option.Expire)
			case *dns.EDNS0_PADDING:
				text += fmt.Sprintf(" PADDING %d", len(option.Padding))
			default:
				text += fmt.Sprintf(" option %d", option.Option())
			}
		}
		return text
	case *dns.TSIG:
		return fmt.Sprintf("TSIG %s %s time=%d fudge=%d mac=%q id=%d error=%d%s",
			rr.Hdr.Name, rr.Algorithm, rr.TimeSigned, rr.Fudge, rr.MAC, rr.OrigId, rr.Error, strings.TrimRight(" other="+rr.OtherData, "other= "))
	}
	return oneLine(rr.String())
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

func defaultPeer() Peer {
	return Peer{Addr: netip.MustParseAddrPort("127.0.0.1:40000"), Transport: UDP}
}

// buildQuery makes a query from the words of an ask command.
func buildQuery(words []string) ([]byte, Peer, error) {
	peer := defaultPeer()
	if len(words) < 2 {
		return nil, peer, fmt.Errorf("ask needs a name and a type")
	}
	qtype, err := zones.ParseType(words[1])
	if words[1] == "TYPE0" {
		qtype, err = 0, nil
	}
	if err != nil {
		return nil, peer, err
	}
	msg := &dns.Msg{}
	msg.Id = 1234
	msg.Question = []dns.Question{{Name: dns.Fqdn(words[0]), Qtype: uint16(qtype), Qclass: dns.ClassINET}}
	var opt *dns.OPT
	edns := func() *dns.OPT {
		if opt == nil {
			opt = &dns.OPT{Hdr: dns.RR_Header{Name: ".", Rrtype: dns.TypeOPT, Class: 1232}}
			msg.Extra = append(msg.Extra, opt)
		}
		return opt
	}
	key, secret, algorithm, mac := "", "c2VjcmV0", dns.HmacSHA256, -1
	for _, word := range words[2:] {
		name, value, _ := strings.Cut(word, "=")
		number, _ := strconv.Atoi(value)
		switch name {
		case "tcp":
			peer.Transport = TCP
		case "tls":
			peer.Transport = TLS
		case "https":
			peer.Transport = HTTPS
		case "rd":
			msg.RecursionDesired = true
		case "cd":
			msg.CheckingDisabled = true
		case "ad":
			msg.AuthenticatedData = true
		case "aa":
			msg.Authoritative = true
		case "ra":
			msg.RecursionAvailable = true
		case "tc":
			msg.Truncated = true
		case "z":
			msg.Zero = true
		case "edns":
			edns()
		case "do":
			edns().SetDo()
		case "size":
			edns().SetUDPSize(uint16(number))
		case "version":
			edns().SetVersion(uint8(number))
		case "ednsz":
			edns().SetZ(0x4321)
		case "option":
			code, data, _ := strings.Cut(value, ":")
			number, _ := strconv.Atoi(code)
			octets, err := hex.DecodeString(data)
			if err != nil {
				return nil, peer, err
			}
			edns().Option = append(edns().Option, &dns.EDNS0_LOCAL{Code: uint16(number), Data: octets})
		case "class":
			msg.Question[0].Qclass = uint16(number)
		case "opcode":
			msg.Opcode = number
		case "time":
			peer.Time = uint32(number)
		case "id":
			msg.Id = uint16(number)
		case "from":
			peer.Addr = netip.AddrPortFrom(netip.MustParseAddr(value), 40000)
		case "key":
			key = value
		case "secret":
			secret = value + "=" // the word was cut at the first one
		case "algorithm":
			algorithm = dns.Fqdn(value)
		case "mac":
			mac = number
		case "serial":
			soa := &dns.SOA{Hdr: dns.RR_Header{Name: msg.Question[0].Name, Rrtype: dns.TypeSOA, Class: dns.ClassINET}, Ns: ".", Mbox: ".", Serial: uint32(number)}
			msg.Ns = append(msg.Ns, soa)
		default:
			return nil, peer, fmt.Errorf("no word %q in ask", word)
		}
	}
	if key != "" {
		msg.SetTsig(dns.Fqdn(key), algorithm, 300, 1_700_000_000)
		wire, _, err := dns.TsigGenerate(msg, secret, "", false)
		if err == nil && mac >= 0 {
			wire = cutMAC(wire, mac)
		}
		return wire, peer, err
	}
	wire, err := msg.Pack()
	return wire, peer, err
}

// cutMAC shortens the MAC of a signed message.
func cutMAC(wire []byte, size int) []byte {
	record, _ := findTSIG(wire)
	short := wire[:record.start:record.start]
	binary.BigEndian.PutUint16(short[10:], binary.BigEndian.Uint16(short[10:])-1)
	record.mac = record.mac[:size]
	return record.append(short, 0)
}

// A world builds snapshots in tests from records in words.
type world struct {
	options zones.Options
	object  zones.Object
	waiting string
	built   *zones.Snapshot
	journal *zones.Journal
}

// Edition makes a world give secondaries what is in it.
func (w *world) Edition(origin zones.Name) *zones.Edition {
	w.snapshot()
	return w.journal.Edition(origin)
}

func newWorld() *world {
	return &world{object: zones.Object{Owner: zones.Owner{Source: "ingress", Namespace: "shop", Name: "web"}}}
}

// do reads the commands zone, skip, waiting, and records.
func (w *world) do(fields []string, line string) error {
	w.built = nil
	switch fields[0] {
	case "zone":
		origin, err := zones.ParseName(fields[1])
		if err != nil {
			return err
		}
		w.options.Origins = append(w.options.Origins, zones.Origin{
			Name: origin,
			NS: []zones.NameServer{{Name: origin.Child("ns1"), Addresses: []netip.Addr{
				netip.MustParseAddr("192.0.2.53"), netip.MustParseAddr("2001:db8::53"),
			}}},
			NegativeTTL: 5,
		})
		return nil
	case "skip":
		name, err := zones.ParseName(fields[1])
		if err != nil {
			return err
		}
		w.object.Claims = append(w.object.Claims, zones.Claim{Name: name})
		message := strings.TrimSpace(line[strings.Index(line, fields[1])+len(fields[1]):])
		message = strings.ReplaceAll(message, "...", strings.Repeat("ü", 200))
		w.object.Skipped = append(w.object.Skipped, zones.Skipped{
			Name: name, Reason: zones.ReasonNoAddress, Message: message,
		})
		return nil
	case "waiting":
		w.waiting = strings.TrimSpace(strings.TrimPrefix(line, "waiting"))
		return nil
	}
	return w.record(fields, line)
}

func (w *world) record(fields []string, line string) error {
	if len(fields) < 4 {
		return fmt.Errorf("no command: %s", line)
	}
	name, err := zones.ParseName(fields[0])
	if err != nil {
		return fmt.Errorf("%s: %w", fields[0], err)
	}
	ttl, err := strconv.ParseUint(fields[1], 10, 32)
	if err != nil {
		return err
	}
	typ, err := zones.ParseType(fields[2])
	if err != nil {
		return err
	}
	data := strings.Join(fields[3:], " ")
	for i := range w.object.Claims {
		if c := &w.object.Claims[i]; c.Name == name && c.Type == typ {
			c.Targets = append(c.Targets, data)
			return nil
		}
	}
	w.object.Claims = append(w.object.Claims, zones.Claim{
		Name: name, Type: typ, Targets: []string{data}, TTL: zones.TTL{Seconds: uint32(ttl), Set: true},
	})
	return nil
}

func (w *world) snapshot() *zones.Snapshot {
	if w.built == nil {
		table := zones.NewTable(w.options)
		table.Put(w.object)
		table.SetReady(w.waiting == "", w.waiting)
		commit := table.Commit(time.Unix(1_700_000_000, 0))
		w.built, w.journal = commit.Snapshot, zones.NewJournal(1000, time.Time{})
		w.journal.Note(commit, w.built)
	}
	return w.built
}

// worldOf builds a world from lines of a script.
func worldOf(tb testing.TB, lines string) *world {
	tb.Helper()
	w := newWorld()
	for line := range strings.SplitSeq(lines, "\n") {
		if fields := strings.Fields(line); len(fields) > 0 {
			if err := w.do(fields, line); err != nil {
				tb.Fatal(err)
			}
		}
	}
	return w
}
