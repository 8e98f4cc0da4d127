package peers_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// defaultTTL is what $TTL says in styled files.
const defaultTTL = 300

// A stylist writes a zone as people do: relative names, omitted fields, units,
// comments, several lines, escapes, included and generated records.
type stylist struct {
	*rand.Rand
	zone   genZone
	origin string // as $ORIGIN said last
	b      strings.Builder
}

// styled writes the zone into dir, and returns the file that includes the rest.
func styled(t testing.TB, dir string, seed uint64, z genZone) string {
	t.Helper()
	s := &stylist{Rand: rand.New(rand.NewPCG(seed, 3597)), zone: z, origin: z.origin}
	fmt.Fprintf(&s.b, "; a zone\n$TTL %s\n", pick(s.Rand, "300", "5m", "5M", "0h5m"))
	half := len(z.lines)
	if s.IntN(3) == 0 {
		half = 1 + s.IntN(len(z.lines))
	}
	s.records(z.lines[:half])
	part := fmt.Sprintf("part%d.inc", seed)
	if half < len(z.lines) {
		fmt.Fprintf(&s.b, "$INCLUDE %s %s\n", part, z.origin)
	}
	if s.IntN(3) == 0 && z.lines[1].kind != "DNAME" {
		s.origin = z.origin
		fmt.Fprintf(&s.b, "$ORIGIN %s\n$GENERATE 1-5/2 gen-$ A 192.0.2.$\n$GENERATE 10-12 gen-${-9,3,d} CNAME gen-${0,2,x}.%s\n", z.origin, z.origin)
	}
	file := filepath.Join(dir, fmt.Sprintf("%d.zone", seed))
	text := s.b.String()
	if s.IntN(4) == 0 {
		text = strings.ReplaceAll(text, "\n", "\r\n")
	}
	write(t, file, text)
	s.b.Reset()
	s.origin = z.origin
	s.records(z.lines[half:])
	write(t, filepath.Join(dir, part), s.b.String())
	return file
}

func write(t testing.TB, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func (s *stylist) records(lines []genLine) {
	last := ""
	for _, line := range lines {
		switch s.IntN(12) {
		case 0:
			s.b.WriteString(pick(s.Rand, "\n", "   ; nothing\n", "\t\n"))
		case 1:
			s.origin = pick(s.Rand, s.zone.origin, "test.", "ns1."+s.zone.origin)
			fmt.Fprintf(&s.b, "$ORIGIN %s\n", s.origin)
		}
		owner := s.relative(line.owner)
		if line.owner == last && s.IntN(2) == 0 {
			owner = ""
		}
		last = line.owner
		ttl, class := fmt.Sprint(line.ttl), pick(s.Rand, "IN", "in", "")
		if line.ttl == defaultTTL && s.IntN(2) == 0 {
			ttl = ""
		}
		if line.ttl == 86400 {
			ttl = pick(s.Rand, "1d", "24H", "23h60m")
		}
		first, second := ttl, class
		if s.IntN(3) == 0 {
			first, second = class, ttl
		}
		fmt.Fprintf(&s.b, "%s%s%s %s %s %s%s\n", owner, pick(s.Rand, " ", "\t", "   "), first, second,
			pick(s.Rand, line.kind, strings.ToLower(line.kind)), s.data(line), pick(s.Rand, "", " ", " ; comment \"(", ""))
	}
}

// relative shortens a name that lies in the origin, and escapes a letter.
func (s *stylist) relative(name string) string {
	if name == s.origin && s.IntN(2) == 0 {
		return "@"
	}
	if short, ok := strings.CutSuffix(name, "."+s.origin); ok && s.IntN(2) == 0 && !strings.HasSuffix(short, `\`) {
		name = short
	}
	if strings.HasPrefix(name, "www.") && s.IntN(3) == 0 {
		name = pick(s.Rand, `\119ww`, `w\ww`) + name[3:]
	}
	return name
}

// data writes the data over several lines, with relative names, or as octets.
func (s *stylist) data(line genLine) string {
	data := line.data
	switch line.kind {
	case "A":
		var a, b, c, d int
		if _, err := fmt.Sscanf(data, "%d.%d.%d.%d", &a, &b, &c, &d); err == nil && s.IntN(4) == 0 {
			return fmt.Sprintf(`\# 4 %02x%02X (%02x%02x)`, a, b, c, d)
		}
	case "NS", "CNAME", "PTR", "DNAME":
		return s.relative(data)
	case "SOA":
		fields := strings.Fields(data)
		return fmt.Sprintf("%s %s (\n\t%s ; serial\n\t1h 10m ; refresh, retry\n 1d\n%s )", s.relative(fields[0]), fields[1], fields[2], fields[6])
	}
	if before, after, ok := strings.Cut(data, " "); ok && s.IntN(3) == 0 && !strings.HasPrefix(data, `"`) {
		return before + " (" + pick(s.Rand, "\n", " ; (\n\t") + after + "\n)"
	}
	return data
}
