package plugin

import (
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"time"

	"github.com/clusterzone/clusterzone/assembly"
	"github.com/clusterzone/clusterzone/server"
	"github.com/clusterzone/clusterzone/sources"
	"github.com/clusterzone/clusterzone/upstream/resolver"
	"github.com/clusterzone/clusterzone/zonefile"
)

// An option is one word that may begin a line of a block. Its name is that of the
// server's flag.
type option struct {
	least, most int // words behind it; most < 0 is any number
	repeats     bool
	usage       string // what stands behind it
	set         func(s *settings, args []string) error
}

// options are all there are. The map never changes.
var options = map[string]option{
	"manifests":  list("PATH...", func(s *settings) *[]string { return &s.base.Manifests }, noStandardInput),
	"kubeconfig": {1, 2, false, "FILE [CONTEXT]", setKubeconfig},
	"context":    text("NAME", func(s *settings) *string { return &s.base.Cluster.Context }),
	"server":     text("URL", func(s *settings) *string { return &s.base.Cluster.Server }),
	"kube-api-qps": {1, 1, false, "NUMBER", func(s *settings, args []string) error {
		n, err := number(args[0], 1, math.MaxInt32)
		s.base.Cluster.QPS = float32(n)
		return err
	}},
	"kube-api-burst": {1, 1, false, "NUMBER", func(s *settings, args []string) (err error) {
		s.base.Cluster.Burst, err = number(args[0], 1, math.MaxInt32)
		return err
	}},
	"request-timeout": span(func(s *settings) *time.Duration { return &s.base.RequestTimeout }),

	"source":               list("SOURCE...", source(func(o *sources.Options) *[]string { return &o.Sources })),
	"namespace":            text("NAME", sourceText(func(o *sources.Options) *string { return &o.Namespace })),
	"annotation-filter":    text("SELECTOR", sourceText(func(o *sources.Options) *string { return &o.AnnotationFilter })),
	"label-filter":         text("SELECTOR", sourceText(func(o *sources.Options) *string { return &o.LabelFilter })),
	"ingress-class":        list("NAME...", source(func(o *sources.Options) *[]string { return &o.IngressClasses })),
	"routegroup-class":     list("NAME...", source(func(o *sources.Options) *[]string { return &o.RouteGroupClasses })),
	"gateway-name":         text("NAME", sourceText(func(o *sources.Options) *string { return &o.GatewayName })),
	"gateway-namespace":    text("NAME", sourceText(func(o *sources.Options) *string { return &o.GatewayNamespace })),
	"gateway-label-filter": text("SELECTOR", sourceText(func(o *sources.Options) *string { return &o.GatewayLabelFilter })),
	"namespace-domains":    list("NAMESPACE=DOMAIN[,...]...", source(func(o *sources.Options) *[]string { return &o.NamespaceDomains })),
	"annotation-prefix":    list("PREFIX...", source(func(o *sources.Options) *[]string { return &o.AnnotationPrefixes })),
	"fqdn-template":        list("TEMPLATE...", source(func(o *sources.Options) *[]string { return &o.FQDNTemplates })),
	"fqdn-target-template": list("TEMPLATE...", source(func(o *sources.Options) *[]string { return &o.FQDNTargetTemplates })),

	"combine-fqdn-annotation":            yes(func(o *sources.Options) *bool { return &o.CombineFQDNAnnotation }),
	"ignore-hostname-annotation":         yes(func(o *sources.Options) *bool { return &o.IgnoreHostnameAnnotation }),
	"ignore-ingress-rules-spec":          yes(func(o *sources.Options) *bool { return &o.IgnoreIngressRulesSpec }),
	"ignore-ingress-tls-spec":            yes(func(o *sources.Options) *bool { return &o.IgnoreIngressTLSSpec }),
	"publish-internal-services":          yes(func(o *sources.Options) *bool { return &o.PublishInternalServices }),
	"publish-host-ip":                    yes(func(o *sources.Options) *bool { return &o.PublishHostIP }),
	"always-publish-not-ready-addresses": yes(func(o *sources.Options) *bool { return &o.AlwaysPublishNotReadyAddresses }),
	"ignore-non-host-network-pods":       yes(func(o *sources.Options) *bool { return &o.IgnoreNonHostNetworkPods }),
	"exclude-unschedulable":              yes(func(o *sources.Options) *bool { return &o.ExcludeUnschedulable }),
	"expose-internal-ipv6":               yes(func(o *sources.Options) *bool { return &o.ExposeInternalIPv6 }),
	"force-default-targets":              yes(func(o *sources.Options) *bool { return &o.ForceDefaultTargets }),
	"create-ptr":                         yes(func(o *sources.Options) *bool { return &o.CreatePTR }),

	"pod-source-domain":      text("DOMAIN", sourceText(func(o *sources.Options) *string { return &o.PodSourceDomain })),
	"service-type-filter":    list("TYPE...", source(func(o *sources.Options) *[]string { return &o.ServiceTypeFilter })),
	"compatibility":          text("PROGRAM", sourceText(func(o *sources.Options) *string { return &o.Compatibility })),
	"managed-record-types":   list("TYPE...", source(func(o *sources.Options) *[]string { return &o.ManagedRecordTypes })),
	"exclude-record-types":   list("TYPE...", source(func(o *sources.Options) *[]string { return &o.ExcludeRecordTypes })),
	"target-net-filter":      list("NETWORK...", source(func(o *sources.Options) *[]string { return &o.TargetNetFilters })),
	"exclude-target-net":     list("NETWORK...", source(func(o *sources.Options) *[]string { return &o.ExcludeTargetNets })),
	"default-targets":        list("TARGET...", source(func(o *sources.Options) *[]string { return &o.DefaultTargets })),
	"nat64-networks":         list("NETWORK...", source(func(o *sources.Options) *[]string { return &o.NAT64Networks })),
	"min-ttl":                span(func(s *settings) *time.Duration { return &s.base.Source.MinTTL }),
	"domain-filter":          list("DOMAIN...", source(func(o *sources.Options) *[]string { return &o.DomainFilters })),
	"exclude-domains":        list("DOMAIN...", source(func(o *sources.Options) *[]string { return &o.ExcludeDomains })),
	"regex-domain-filter":    text("EXPRESSION", sourceText(func(o *sources.Options) *string { return &o.RegexDomainFilter })),
	"regex-domain-exclusion": text("EXPRESSION", sourceText(func(o *sources.Options) *string { return &o.RegexDomainExclusion })),

	"zone-file":  {2, 2, true, "ORIGIN PATH", addZoneFile},
	"nameserver": {1, -1, true, "NAME [ADDRESS...]", addNameServer},
	"hostmaster": {1, 1, false, "MAILBOX", func(s *settings, args []string) (err error) {
		s.base.Hostmaster, err = assembly.ParseHostmaster(args[0])
		return err
	}},
	"ttl":          span(func(s *settings) *time.Duration { return &s.base.TTL }),
	"negative-ttl": span(func(s *settings) *time.Duration { return &s.base.NegativeTTL }),
	"conflict-policy": {1, 1, false, "namespace|first|merge", func(s *settings, args []string) (err error) {
		s.base.Policy, err = assembly.ParsePolicy(args[0])
		return err
	}},
	"flatten":        {0, 1, false, "[true|false]", func(s *settings, args []string) error { return set(&s.base.Flatten, args) }},
	"hold-addresses": span(func(s *settings) *time.Duration { return &s.base.Hold }),
	"state-file":     text("PATH", func(s *settings) *string { return &s.base.StateFile }),

	"ede":           {1, 1, false, "off|code|full", setEDE},
	"explain-from":  {1, -1, true, "NETWORK...", addExplainFrom},
	"resolver":      {1, -1, true, "ADDRESS[:PORT]...|none", addResolvers},
	"stale-targets": span(func(s *settings) *time.Duration { return &s.stale }),

	"fallthrough": {0, -1, false, "[ZONE...]", func(s *settings, args []string) error {
		s.fall.SetZonesFromArgs(args)
		return nil
	}},
}

func optionNames() []string { return slices.Sorted(maps.Keys(options)) }

func text(usage string, of func(*settings) *string) option {
	return option{1, 1, false, usage, func(s *settings, args []string) error {
		if args[0] == "" {
			return errors.New("is empty; leave it out")
		}
		*of(s) = args[0]
		return nil
	}}
}

func sourceText(of func(*sources.Options) *string) func(*settings) *string {
	return func(s *settings) *string { return of(&s.base.Source) }
}

func list(usage string, of func(*settings) *[]string, checks ...func(string) error) option {
	return option{1, -1, true, usage, func(s *settings, args []string) error {
		for _, arg := range args {
			for _, check := range checks {
				if err := check(arg); err != nil {
					return err
				}
			}
		}
		*of(s) = append(*of(s), args...)
		return nil
	}}
}

func source(of func(*sources.Options) *[]string) func(*settings) *[]string {
	return func(s *settings) *[]string { return of(&s.base.Source) }
}

func span(of func(*settings) *time.Duration) option {
	return option{1, 1, false, "TIME", func(s *settings, args []string) error {
		d, err := sources.ParseDuration(args[0])
		if err != nil || d < 0 || d > math.MaxInt32*time.Second {
			return errors.New("is no span of time; write one like 90s, 5m or a number of seconds")
		}
		*of(s) = d
		return nil
	}}
}

func yes(of func(*sources.Options) *bool) option {
	return option{0, 1, false, "[true|false]", func(s *settings, args []string) error { return set(of(&s.base.Source), args) }}
}

func set(p *bool, args []string) error {
	*p = true
	if len(args) == 0 {
		return nil
	}
	value, err := strconv.ParseBool(args[0])
	if err != nil {
		return errors.New("is neither true nor false; write one of them, or nothing for true")
	}
	*p = value
	return nil
}

func number(text string, low, high int) (int, error) {
	n, err := strconv.Atoi(text)
	if err != nil || n < low || n > high {
		return 0, fmt.Errorf("is no number from %d to %d", low, high)
	}
	return n, nil
}

func noStandardInput(path string) error {
	if path == "-" {
		return errors.New("standard input can't be read in CoreDNS; name a file or a folder")
	}
	return nil
}

func setKubeconfig(s *settings, args []string) error {
	s.base.Cluster.Kubeconfig = args[0]
	if len(args) > 1 {
		if line := s.lines["context"]; line > 0 {
			return fmt.Errorf("the context is named at line %d already; name it once", line)
		}
		s.base.Cluster.Context = args[1]
		s.lines["context"] = s.lines["kubeconfig"]
	}
	return nil
}

func addZoneFile(s *settings, args []string) error {
	origin, err := assembly.ParseFileZone(args[0])
	if err != nil {
		return fmt.Errorf("%s %w", args[0], err)
	}
	for _, file := range s.base.Files {
		if file.Origin == origin {
			return fmt.Errorf("%s has a file already; give each zone one, which can $INCLUDE others", origin)
		}
	}
	s.base.Files = append(s.base.Files, zonefile.File{Origin: origin, Path: args[1]})
	return nil
}

func addNameServer(s *settings, args []string) error {
	server, err := assembly.ParseNameServer(args[0], args[1:])
	if err != nil {
		return fmt.Errorf("%w; write it like nameserver ns1.corp.test 192.0.2.53 2001:db8::53", err)
	}
	s.base.NameServers = append(s.base.NameServers, server)
	return nil
}

func setEDE(s *settings, args []string) error {
	mode, ok := map[string]server.EDEMode{"off": server.EDEOff, "code": server.EDECode, "full": server.EDEFull}[args[0]]
	if !ok {
		return errors.New("is no mode; " + sources.Suggest(args[0], []string{"off", "code", "full"}))
	}
	s.answer.EDE = mode
	return nil
}

func addExplainFrom(s *settings, args []string) error {
	for _, arg := range args {
		prefix, err := netip.ParsePrefix(arg)
		if err != nil {
			return fmt.Errorf("%q is no network; write it like 10.0.0.0/8", arg)
		}
		s.answer.ExplainFrom = append(s.answer.ExplainFrom, prefix.Masked())
	}
	return nil
}

func addResolvers(s *settings, args []string) error {
	for _, arg := range args {
		if arg == "none" {
			s.noLookups = true
		} else {
			address, err := resolver.ParseServer(arg)
			if err != nil {
				return err
			}
			if slices.Contains(s.resolvers, address) {
				return fmt.Errorf("%s is given twice; give each resolver once", arg)
			}
			s.resolvers, s.named = append(s.resolvers, address), true
		}
		if s.noLookups && s.named {
			return errors.New("none excludes every other resolver; leave one of them out")
		}
	}
	return nil
}

// resolvConf is the file that names the system's resolvers.
const resolvConf = "/etc/resolv.conf"

// systemResolvers are the system's resolvers. Without any, lookups are off: that
// is no reason not to serve the rest.
func systemResolvers(log *slog.Logger) []netip.AddrPort {
	file, err := os.Open(resolvConf)
	if err == nil {
		defer file.Close()
		var servers []netip.AddrPort
		if servers, err = resolver.SystemServers(file); err == nil && len(servers) > 0 {
			return slices.Compact(servers)
		}
	}
	reason := "there is none in " + resolvConf
	if err != nil {
		reason = err.Error()
	}
	log.Warn("host names outside of the zones are not looked up: their CNAMEs are served without addresses; name a resolver with the option resolver", "reason", reason)
	return nil
}
