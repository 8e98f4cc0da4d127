package zonefile

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/miekg/dns"

	"github.com/clusterzone/clusterzone/zones"
)

// noTTL marks records for which the file has stated no TTL yet. As a TTL it
// would be out of range (RFC 2181 section 8).
const noTTL = 1<<32 - 1

const maxTTL = 1<<31 - 1

// A place is where a record stands.
type place struct {
	file string
	line int
}

func (p place) String() string { return "file " + p.file + " line " + strconv.Itoa(p.line) }

func (p place) finding(format string, args ...any) Finding {
	return Finding{p.file, p.line, fmt.Sprintf(format, args...)}
}

// A content is what one zone file says.
type content struct {
	records  records
	static   *zones.Static
	findings []Finding
	odd      []oddity        // findings beside those, in no order
	seen     []string        // files read, or asked for
	sums     map[string]*sum // of those that were read
}

// An oddity is a finding with the place in the order of findings.
type oddity struct {
	Finding
	at ref
}

// A set is one record set with the place of its first record, and of the first
// that differs from that.
type set struct {
	zones.RRSet
	first         ref
	place, second place
}

// parse reads the zone file at path. The content names the files that were read
// even where there is an error, which is a Finding or the system's.
func parse(origin zones.Name, path string) (*content, error) {
	c := &content{seen: []string{filepath.Clean(path)}}
	text, err := os.ReadFile(path)
	if err != nil {
		return c, fmt.Errorf("the zone file %s of %s can't be read (%w); name an existing file", path, origin, cause(err))
	}
	root, err := os.OpenRoot(filepath.Dir(path))
	if err != nil {
		return c, fmt.Errorf("the folder of the zone file %s can't be read: %w", path, cause(err))
	}
	defer root.Close()
	return c, c.parse(root, origin, path, text)
}

// parse takes in a zone file's text; root is its folder.
func (c *content) parse(root *os.Root, origin zones.Name, path string, text []byte) error {
	c.records.begin(origin)
	r := &reading{folder: filepath.Dir(path), root: root, seen: c.seen, sums: map[string]*sum{}}
	err := c.read(r, origin, r.push(path, text))
	c.seen, c.sums = r.seen, r.sums
	if err != nil {
		return err
	}
	return c.compile(origin)
}

func (c *content) read(r *reading, origin zones.Name, in *input) error {
	parser := dns.NewZoneParser(in, origin.FQDN(), filepath.Base(in.file))
	parser.SetIncludeAllowed(true)
	parser.SetIncludeFS(r)
	parser.SetDefaultTTL(noTTL)
	minimum := uint32(noTTL)
	buf := make([]byte, 512)
	for {
		r.closed = nil
		rr, ok := parser.Next()
		if r.fault != nil {
			return r.fault
		}
		if !ok {
			break
		}
		at := place{r.top().file, r.top().start}
		if soa, is := rr.(*dns.SOA); is {
			minimum = soa.Minttl
		}
		if rr.Header().Ttl == noTTL {
			// As BIND does, where nothing before the SOA states one.
			if rr.Header().Ttl = minimum; minimum == noTTL {
				return at.finding("the record has no TTL, and nothing before states one; write $TTL at the top")
			}
		}
		if err := c.add(origin, rr, at, &buf); err != nil {
			return err
		}
	}
	if err := parser.Err(); err != nil {
		return r.parseError(err)
	}
	return nil
}

// parserWords take the place out of the parser's messages: it counts lines
// without what $GENERATE made.
var parserWords = regexp.MustCompile(`^(?:(.*?): )?dns: (.*): (".*") at line: \d+:\d+$`)

func (r *reading) parseError(err error) error {
	message, in := err.Error(), r.top()
	if match := parserWords.FindStringSubmatch(message); match != nil {
		message = strings.TrimSuffix(match[2], ", not this...")
		if message == "not a TTL" {
			message = "no TTL, class or type"
		}
		if match[3] != `""` && match[3] != `"\n"` {
			message += " at " + match[3]
		}
		// The parser closes an included file before it tells what is wrong in it.
		if r.closed != nil && r.closed.file == filepath.Join(r.folder, match[1]) {
			in = r.closed
		}
	}
	return in.finding("%s; mend the record (RFC 1035 section 5.1)", message)
}

// add takes in one record.
func (c *content) add(origin zones.Name, rr dns.RR, at place, buf *[]byte) error {
	header := rr.Header()
	kind := zones.Type(header.Rrtype)
	switch {
	case header.Name == "":
		return at.finding("the record has no name, and none stands before it in this file; write one, or @ for %s", origin)
	case header.Class != dns.ClassINET:
		return at.finding("class %s is not served; write IN, or no class", dns.Class(header.Class))
	case header.Ttl > maxTTL:
		return at.finding("TTL %d is out of range; write a number up to %d", header.Ttl, maxTTL)
	case kind == zones.TypeNone || kind == zones.Type(dns.TypeOPT) || kind >= 128 && kind <= 255:
		return at.finding("%s is no type of records in a zone (RFC 6895 section 3.1); take the record out", kind)
	}
	if need := dns.Len(rr) + 64; need > len(*buf) {
		*buf = make([]byte, 2*need)
	}
	end, err := dns.PackRR(rr, *buf, 0, nil, false)
	if err != nil {
		return at.finding("the data of the %s record make no sense (%s); mend the record", kind, strings.TrimPrefix(err.Error(), "dns: "))
	}
	name, n, err := zones.NameFromWire((*buf)[:end])
	if err != nil {
		return at.finding("the name of the record is none (%s); mend it", err)
	}
	data := (*buf)[n+10 : end]
	if _, known := dns.TypeToRR[header.Rrtype]; len(data) == 0 && known && header.Rrtype != dns.TypeAPL && header.Rrtype != dns.TypeNULL {
		return at.finding("the %s record has no data; write them after the type", kind)
	}
	if !name.In(origin) {
		c.odd = append(c.odd, oddity{at: c.records.end(), Finding: at.finding("%s lies outside the zone %s, so that the record is left out; write a name without final dot for one inside", name, origin)})
		return nil
	}
	lowerNames(kind, data)
	c.records.add(name, kind, header.Ttl, data, at)
	return nil
}

// lowerNames brings the names in the data of the old types into canonical form
// (RFC 4034 section 6.2), so that records that differ in case only are one. Length
// octets lie below the letters, so that they stay.
func lowerNames(kind zones.Type, data []byte) {
	switch uint16(kind) {
	case dns.TypeNS, dns.TypeCNAME, dns.TypePTR, dns.TypeDNAME, dns.TypeMB, dns.TypeMG, dns.TypeMR, dns.TypeMD, dns.TypeMF, dns.TypeMINFO, dns.TypeRP:
	case dns.TypeMX, dns.TypeAFSDB, dns.TypeRT, dns.TypeKX, dns.TypePX:
		data = data[2:]
	case dns.TypeSRV:
		data = data[6:]
	case dns.TypeSOA:
		data = data[:len(data)-20]
	default:
		return
	}
	for i, c := range data {
		if 'A' <= c && c <= 'Z' {
			data[i] = c + 'a' - 'A'
		}
	}
}
