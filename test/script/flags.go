package script

import (
	"fmt"
	"log/slog"
	"net/netip"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/clusterzone/clusterzone/server"
	"github.com/clusterzone/clusterzone/sources"
	"github.com/clusterzone/clusterzone/zones"
)

// flags are what a story sets before it starts: a part of the command's flags
// under the same names.
type flags struct {
	origins     []zones.Name
	source      sources.Options
	answer      server.Options
	policy      zones.Policy
	ttl         time.Duration
	negativeTTL time.Duration
	hold        time.Duration
}

func defaultFlags() flags {
	return flags{source: sources.DefaultOptions(), ttl: 300 * time.Second, negativeTTL: 5 * time.Second, hold: 5 * time.Minute}
}

func (f *flags) addZones(words []string) error {
	for _, word := range words {
		origin, err := zones.ParseHost(word)
		if err != nil {
			return err
		}
		f.origins = append(f.origins, origin)
	}
	return nil
}

// set reads one flag: --name, --no-name or --name=value.
func (f *flags) set(text string) error {
	name, value, _ := strings.Cut(strings.TrimPrefix(text, "--"), "=")
	if list := f.lists()[name]; list != nil {
		*list = append(*list, value)
		return nil
	}
	if text := f.texts()[name]; text != nil {
		*text = value
		return nil
	}
	if yes := f.switches()[strings.TrimPrefix(name, "no-")]; yes != nil {
		*yes = !strings.HasPrefix(name, "no-")
		return nil
	}
	if duration := f.durations()[name]; duration != nil {
		var err error
		*duration, err = sources.ParseDuration(value)
		return err
	}
	return f.setAnswer(name, value)
}

func (f *flags) lists() map[string]*[]string {
	o := &f.source
	return map[string]*[]string{
		"source": &o.Sources, "annotation-prefix": &o.AnnotationPrefixes, "ingress-class": &o.IngressClasses,
		"fqdn-template": &o.FQDNTemplates, "fqdn-target-template": &o.FQDNTargetTemplates, "service-type-filter": &o.ServiceTypeFilter,
		"domain-filter": &o.DomainFilters, "exclude-domains": &o.ExcludeDomains, "managed-record-types": &o.ManagedRecordTypes,
		"exclude-record-types": &o.ExcludeRecordTypes, "target-net-filter": &o.TargetNetFilters, "exclude-target-net": &o.ExcludeTargetNets,
		"default-targets": &o.DefaultTargets, "nat64-networks": &o.NAT64Networks,
		"routegroup-class": &o.RouteGroupClasses, "namespace-domains": &o.NamespaceDomains,
	}
}

func (f *flags) texts() map[string]*string {
	o := &f.source
	return map[string]*string{
		"namespace": &o.Namespace, "annotation-filter": &o.AnnotationFilter, "label-filter": &o.LabelFilter, "compatibility": &o.Compatibility,
		"regex-domain-filter": &o.RegexDomainFilter, "regex-domain-exclusion": &o.RegexDomainExclusion,
		"gateway-name": &o.GatewayName, "gateway-namespace": &o.GatewayNamespace, "gateway-label-filter": &o.GatewayLabelFilter,
		"pod-source-domain": &o.PodSourceDomain, "provider": &o.Provider,
	}
}

func (f *flags) switches() map[string]*bool {
	o := &f.source
	return map[string]*bool{
		"combine-fqdn-annotation": &o.CombineFQDNAnnotation, "ignore-hostname-annotation": &o.IgnoreHostnameAnnotation,
		"ignore-ingress-rules-spec": &o.IgnoreIngressRulesSpec, "ignore-ingress-tls-spec": &o.IgnoreIngressTLSSpec,
		"publish-internal-services": &o.PublishInternalServices, "publish-host-ip": &o.PublishHostIP,
		"always-publish-not-ready-addresses": &o.AlwaysPublishNotReadyAddresses, "exclude-unschedulable": &o.ExcludeUnschedulable,
		"expose-internal-ipv6": &o.ExposeInternalIPv6, "force-default-targets": &o.ForceDefaultTargets, "prefer-alias": &o.PreferAlias,
		"create-ptr": &o.CreatePTR, "ignore-non-host-network-pods": &o.IgnoreNonHostNetworkPods,
	}
}

func (f *flags) durations() map[string]*time.Duration {
	return map[string]*time.Duration{"ttl": &f.ttl, "negative-ttl": &f.negativeTTL, "min-ttl": &f.source.MinTTL, "hold-addresses": &f.hold}
}

func (f *flags) setAnswer(name, value string) error {
	var ok bool
	switch name {
	case "conflict-policy":
		f.policy, ok = map[string]zones.Policy{"namespace": zones.PolicyNamespace, "first": zones.PolicyFirst, "merge": zones.PolicyMerge}[value]
	case "ede":
		f.answer.EDE, ok = map[string]server.EDEMode{"full": server.EDEFull, "code": server.EDECode, "off": server.EDEOff}[value]
	case "explain-from":
		network, err := netip.ParsePrefix(value)
		f.answer.ExplainFrom, ok = append(f.answer.ExplainFrom, network), err == nil
	case "udp-size":
		octets, err := strconv.Atoi(value)
		f.answer.MaxUDP, ok = octets, err == nil
	default:
		return fmt.Errorf("the scripts know no flag --%s", name)
	}
	if !ok {
		return fmt.Errorf("--%s has no value %q", name, value)
	}
	return nil
}

// build assembles the pipeline as the command does.
func (f *flags) build(program Program) (*stage, error) {
	for _, origin := range f.origins {
		if isReverse(origin) {
			f.source.ReverseZones = append(f.source.ReverseZones, origin)
		}
	}
	translator, err := sources.New(f.source)
	if err != nil {
		return nil, err
	}
	names := f.origins
	if len(names) == 0 {
		names = translator.ZonesFromFilters()
	}
	options := zones.Options{Sources: translator.Sources(), Policy: f.policy, DefaultTTL: uint32(f.ttl / time.Second)}
	for _, name := range names {
		options.Origins = append(options.Origins, zones.Origin{
			Name:        name,
			NS:          []zones.NameServer{{Name: name.Child("ns1"), Addresses: []netip.Addr{netip.MustParseAddr("192.0.2.53")}}},
			TTL:         uint32(f.ttl / time.Second),
			NegativeTTL: uint32(f.negativeTTL / time.Second),
		})
	}
	g := &stage{
		now:     time.Date(2026, 1, 2, 3, 4, 0, 0, time.UTC),
		store:   &zones.Store{},
		kinds:   sources.Kinds(translator.Needs()),
		objects: map[objectID]metav1.Object{},
		broken:  map[sources.Kind]bool{},
	}
	g.feed, err = sources.NewFeed(sources.FeedOptions{
		Table:      zones.NewTable(options),
		Store:      g.store,
		Translator: translator,
		Needs:      translator.Needs(),
		From:       "the API server",
		Log:        slog.New(slog.DiscardHandler),
		Now:        func() time.Time { return g.now },

		HoldAddresses: f.hold,
	})
	g.answer = program(f.answer, g.store)
	g.now = g.now.Add(time.Second) // a serial moves at most once a second
	return g, err
}

// isReverse reports whether a zone holds the names of addresses.
func isReverse(origin zones.Name) bool {
	text := origin.String()
	return strings.HasSuffix(text, ".in-addr.arpa") || strings.HasSuffix(text, ".ip6.arpa")
}
