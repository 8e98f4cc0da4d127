package peers_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// dataKinds are the types that a generated name may have beside others. Addresses and
// text stand more often, since most questions are about them.
var dataKinds = append(slices.DeleteFunc(slices.Sorted(maps.Keys(rdata)), func(kind string) bool { return slices.Contains(unknownToKnot, kind) }), "A", "A", "A", "A", "A", "AAAA", "AAAA", "TXT", "MX", "SRV", "HTTPS")

// unknownToKnot are types that knotd refuses a zone for; they are read, not asked for.
var unknownToKnot = []string{"X25", "ISDN", "PX"}

// rdata makes record data of each type that named, nsd and (but for unknownToKnot) knotd know, and of
// two that nobody does (RFC 3597).
var rdata = map[string]func(g *generator) string{
	"A":    (*generator).a,
	"AAAA": (*generator).aaaa,
	"MX":   func(g *generator) string { return fmt.Sprintf("%d %s", g.IntN(100), g.target()) },
	"SRV": func(g *generator) string {
		return fmt.Sprintf("%d %d %d %s", g.IntN(10), g.IntN(10), g.IntN(1<<16), g.target())
	},
	"TXT": func(g *generator) string {
		return pick(g.Rand, `"plain"`, `"two" "strings"`, `""`, `"semi;colon and \"quotes\""`, `"\000\001\200\255"`, "bare", `"`+strings.Repeat("t", 255)+`"`, `"Case STAYS"`)
	},
	"PTR":   (*generator).target,
	"HINFO": func(g *generator) string { return pick(g.Rand, `"PC" "Linux"`, `PC Linux`, `"" "a b"`) },
	"RP":    func(g *generator) string { return g.target() + " " + g.target() },
	"AFSDB": func(g *generator) string { return "1 " + g.target() },
	"X25":   func(*generator) string { return `"311061700956"` },
	"ISDN":  func(*generator) string { return `"150862028003217" "004"` },
	"RT":    func(g *generator) string { return "2 " + g.target() },
	"KX":    func(g *generator) string { return "10 " + g.target() },
	"PX":    func(g *generator) string { return "10 " + g.target() + " " + g.target() },
	"MINFO": func(g *generator) string { return g.target() + " " + g.target() },
	"LOC":   func(*generator) string { return "52 22 23.000 N 4 53 32.000 E -2.00m 1m 10000m 10m" },
	"NAPTR": func(g *generator) string { return `100 10 "S" "SIP+D2U" "" ` + g.target() },
	"CERT":  func(*generator) string { return "PGP 12 0 AAECAwQFBgcICQ==" },
	"APL":   func(*generator) string { return "1:192.0.2.0/24 !1:192.0.2.64/28 2:2001:db8::/32" },
	"DHCID": func(*generator) string { return "AAIBY2/AuCccgoJbsaxcQc9TUapptP69lOjxfNuVAA2kjEA=" },
	"SSHFP": func(*generator) string { return "1 1 " + strings.Repeat("ab12", 10) },
	"TLSA":  func(*generator) string { return "3 1 1 " + strings.Repeat("cd34", 16) },
	"SMIMEA": func(*generator) string {
		return "3 1 1 " + strings.Repeat("ef56", 16)
	},
	"OPENPGPKEY": func(*generator) string { return "AAECAwQFBgcICQ==" },
	"IPSECKEY":   func(g *generator) string { return "10 3 2 " + g.target() + " AQNRU3mG7TVTO2BkR47usntb102uFJtu" },
	"SPF":        func(*generator) string { return `"v=spf1 -all"` },
	"NID":        func(*generator) string { return "10 0014:4fff:ff20:ee64" },
	"L32":        func(*generator) string { return "10 10.1.2.0" },
	"L64":        func(*generator) string { return "10 2001:0db8:1140:1000" },
	"LP":         func(g *generator) string { return "10 " + g.target() },
	"EUI48":      func(*generator) string { return "00-00-5e-00-53-2a" },
	"EUI64":      func(*generator) string { return "00-00-5e-ef-10-00-00-2a" },
	"URI":        func(*generator) string { return `10 1 "https://www.example.com/Path"` },
	"CAA": func(g *generator) string {
		return pick(g.Rand, `0 issue "ca.example.net; policy=ev"`, `128 iodef "mailto:a@b.example"`)
	},
	"CSYNC": func(*generator) string { return "66 3 A NS AAAA" },
	"HTTPS": func(g *generator) string {
		return pick(g.Rand, "0 "+g.target(), "1 .", "1 . alpn=h2,h3 port=8443", "2 "+g.target()+" ipv4hint=192.0.2.7,192.0.2.8", `1 . mandatory=alpn alpn="h2" key65333="ab\001c"`)
	},
	"SVCB": func(g *generator) string {
		return pick(g.Rand, "0 "+g.target(), "1 . port=53 ipv6hint=2001:db8::7", "3 "+g.target()+" alpn=dot no-default-alpn")
	},
	"TYPE65280": func(*generator) string { return `\# 4 0A00FF01` },
	"TYPE731":   func(*generator) string { return `\# 0` },
}
