package plugin

import (
	"fmt"
	"net/netip"
	"regexp"
	"strings"
	"time"

	"github.com/coredns/caddy"
	"github.com/coredns/coredns/core/dnsserver"
	"github.com/coredns/coredns/plugin"
	"github.com/coredns/coredns/plugin/pkg/fall"

	"github.com/clusterzone/clusterzone/assembly"
	"github.com/clusterzone/clusterzone/server"
	"github.com/clusterzone/clusterzone/sources"
	"github.com/clusterzone/clusterzone/sources/cluster"
	"github.com/clusterzone/clusterzone/zones"
)

// settings are one block of a Corefile, read and checked.
type settings struct {
	base      assembly.Settings
	answer    server.Options
	fall      fall.F
	resolvers []netip.AddrPort
	stale     time.Duration

	file  string
	line  int            // of the block
	lines map[string]int // of each option that stands there
	// noLookups is set by "resolver none", named by any other resolver.
	noLookups, named bool
}

func defaults(file string) *settings {
	return &settings{
		base: assembly.Settings{
			TTL: 300 * time.Second, NegativeTTL: 5 * time.Second, Hold: 5 * time.Minute,
			RequestTimeout: 30 * time.Second, Source: sources.DefaultOptions(), Log: newLog(),
			Cluster: cluster.Connection{QPS: 50, Burst: 100, UserAgent: "clusterzone-coredns"},
		},
		stale: time.Hour,
		file:  file,
		lines: map[string]int{},
	}
}

// parse reads the block that the controller stands at. An error is one sentence
// behind its file and line.
func parse(c *caddy.Controller) (*settings, error) {
	var s *settings
	for c.Next() {
		if s != nil {
			return nil, s.errorAt(c.Line(), fmt.Sprintf("%s stands twice in one server block (first at line %d); name all zones behind one, or give each its own server block", Name, s.line))
		}
		s = defaults(c.File())
		s.line = c.Line()
		if err := s.zones(c.RemainingArgs(), c.ServerBlockKeys); err != nil {
			return nil, err
		}
		for c.NextBlock() {
			if err := s.option(c.Val(), c.Line(), c.RemainingArgs()); err != nil {
				return nil, err
			}
		}
	}
	return s, s.finish(dnsserver.GetConfig(c).ListenHosts)
}

// zones takes the zones behind the plugin's name, or else those of the server
// block.
func (s *settings) zones(args, keys []string) error {
	from := "name it like corp.test"
	var texts []string
	if len(args) == 0 {
		texts = plugin.OriginsFromArgsOrServerBlock(nil, keys)
		from = "name the zones behind " + Name + ", like " + Name + " corp.test"
	} else {
		for _, arg := range args {
			// A network, 10.0.0.0/8, stands for its reverse zones.
			if normal := plugin.Host(arg).NormalizeExact(); len(normal) > 0 {
				texts = append(texts, normal...)
			} else {
				texts = append(texts, arg)
			}
		}
	}
	for _, text := range texts {
		name, err := assembly.ParseFileZone(text)
		switch {
		case err != nil:
			return s.errorAt(s.line, fmt.Sprintf("%s %v", text, err))
		case name == zones.Root:
			return s.errorAt(s.line, "the zone . is that of the whole Internet, whose names would all be missing; "+from)
		}
		for _, known := range s.base.Zones {
			if known == name {
				return s.errorAt(s.line, fmt.Sprintf("the zone %s is given twice; give each zone once", name))
			}
		}
		s.base.Zones = append(s.base.Zones, name)
	}
	return nil
}

// option reads one line of the block.
func (s *settings) option(name string, line int, args []string) error {
	o, known := options[name]
	if !known {
		return s.errorAt(line, unknown(name))
	}
	if _, again := s.lines[name]; again && !o.repeats {
		return s.errorAt(line, fmt.Sprintf("%s stands here and at line %d; give it once", name, s.lines[name]))
	}
	s.lines[name] = line
	if len(args) < o.least || o.most >= 0 && len(args) > o.most {
		return s.errorAt(line, fmt.Sprintf("%s takes %s; write %s", name, count(o.least, o.most), strings.TrimSpace(name+" "+o.usage)))
	}
	if err := o.set(s, args); err != nil {
		return s.errorAt(line, fmt.Sprintf("%s %s: %v", name, strings.Join(args, " "), err))
	}
	return nil
}

func count(least, most int) string {
	switch {
	case most < 0 && least == 1:
		return "one word or more"
	case most == 0:
		return "nothing"
	case least == most && least == 1:
		return "one word"
	case least == most:
		return fmt.Sprintf("%d words", least)
	case most < 0:
		return fmt.Sprintf("%d words or more", least)
	}
	return fmt.Sprintf("%d to %d words", least, most)
}

// elsewhere are words of k8s_gateway's Corefile, and what they are here.
var elsewhere = map[string]string{
	"resources":       "write source ingress service and so on",
	"apex":            "write nameserver NAME for the SOA and NS records",
	"secondary":       "write a second nameserver NAME",
	"ingressClasses":  "write ingress-class NAME...",
	"gatewayClasses":  "write gateway-name NAME or gateway-label-filter SELECTOR",
	"namespaces":      "write namespace NAME",
	"resourceFilters": "write label-filter SELECTOR or annotation-filter SELECTOR",
}

// unknown says what to write in place of a word that is no option.
func unknown(name string) string {
	if mend := elsewhere[name]; mend != "" {
		return fmt.Sprintf("%s is an option of k8s_gateway; %s", name, mend)
	}
	if near := sources.Nearest(name, optionNames()); near != "" {
		return fmt.Sprintf("%s is no option; did you mean %s?", name, near)
	}
	return fmt.Sprintf("%s is no option; README.md of the plugin lists all that are", name)
}

// finish settles what depends on several lines.
func (s *settings) finish(listen []string) error {
	for _, other := range []string{"kubeconfig", "context", "server"} {
		if line := s.lines[other]; line > 0 && s.lines["manifests"] > 0 {
			return s.errorAt(line, other+" and manifests exclude each other: objects come from a cluster or from files")
		}
	}
	for _, file := range s.base.Files {
		if !contains(s.base.Zones, file.Origin) {
			return s.errorAt(s.lines["zone-file"], fmt.Sprintf("zone-file %s: %[1]s is none of the zones of this block; name it behind %s", file.Origin, Name))
		}
	}
	if len(s.base.NameServers) == 0 {
		s.base.Own = own(listen)
	}
	if !s.named && !s.noLookups {
		s.resolvers = systemResolvers(s.base.Log)
	}
	return nil
}

func contains(names []zones.Name, name zones.Name) bool {
	for _, known := range names {
		if known == name {
			return true
		}
	}
	return false
}

// own are the addresses of CoreDNS as others know it: those of the plugin bind,
// or the machine's.
func own(listen []string) []netip.Addr {
	var addrs []netip.Addr
	for _, host := range listen {
		if addr, err := netip.ParseAddr(host); err == nil && !addr.IsUnspecified() {
			addrs = append(addrs, addr.Unmap().WithZone(""))
		}
	}
	if len(addrs) == 0 {
		return assembly.MachineAddresses()
	}
	return addrs
}

// place is where a line stands, "Corefile:12".
func (s *settings) place(line int) string { return fmt.Sprintf("%s:%d", s.file, line) }

// errorAt is an error as CoreDNS' own plugins have them.
func (s *settings) errorAt(line int, text string) error {
	return fmt.Errorf("%s - Error during parsing: %s", s.place(line), text)
}

var flagPattern = regexp.MustCompile(`--([a-z][a-z0-9-]*)(=?)`)

// locate gives an error of the packages, which know flags, the line of the option
// and its spelling in a Corefile: "--source=ingres is ..." becomes "source ingres
// is ...".
func (s *settings) locate(err error) error {
	line, text := s.line, err.Error()
	if first := flagPattern.FindStringSubmatch(text); first != nil && s.lines[first[1]] > 0 {
		line = s.lines[first[1]]
	}
	text = flagPattern.ReplaceAllStringFunc(text, func(found string) string {
		return strings.Replace(strings.TrimPrefix(found, "--"), "=", " ", 1)
	})
	return s.errorAt(line, text)
}
