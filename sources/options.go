package sources

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/clusterzone/clusterzone/zones"
)

// Options say what translations depend on. The fields are named after the
// external-dns flags that set them. Lists of domains, networks, types, classes,
// targets and sources may hold comma lists, which New splits; templates and
// the selectors are taken as they stand.
type Options struct {
	// Sources are the sources wanted, in the order in which they win contests
	// (--source). Empty means every source but node and pod, each where its
	// kind is there.
	Sources []string

	Namespace          string   // --namespace: objects of this namespace only
	AnnotationPrefixes []string // --annotation-prefix, first wins; empty means both of external-dns
	AnnotationFilter   string   // --annotation-filter, a selector
	LabelFilter        string   // --label-filter, a selector
	IngressClasses     []string // --ingress-class; one empty string wants the empty class annotation

	// RouteGroupClasses are the values of the annotation zalando.org/routegroup.class
	// that are wanted (--routegroup-class). A RouteGroup without class belongs to
	// every class, as Skipper has it.
	RouteGroupClasses []string

	// Routes count through these Gateways only, ListenerSets through those that
	// they are attached to.
	GatewayName        string // --gateway-name, in any namespace
	GatewayNamespace   string // --gateway-namespace
	GatewayLabelFilter string // --gateway-label-filter, a selector

	IgnoreHostnameAnnotation bool
	IgnoreIngressRulesSpec   bool
	IgnoreIngressTLSSpec     bool

	FQDNTemplates         []string // --fqdn-template: text/template giving names
	FQDNTargetTemplates   []string // --fqdn-target-template: text/template giving host:target
	TargetTemplates       []string // --target-template: refused, neither source here reads it
	CombineFQDNAnnotation bool     // template names beside the object's own, not instead
	PublishInternalServices,
	PublishHostIP,
	AlwaysPublishNotReadyAddresses,
	// ExcludeUnschedulable leaves cordoned Nodes out of NodePort Services. The
	// flag's default is true: DefaultOptions sets it.
	ExcludeUnschedulable,
	ExposeInternalIPv6 bool
	ServiceTypeFilter []string // --service-type-filter; an empty string turns the filter off
	Compatibility     string   // --compatibility: mate, molecule or kops-dns-controller

	PodSourceDomain          string // --pod-source-domain: every Pod is named after itself below it
	IgnoreNonHostNetworkPods bool   // no names of annotations and of PodSourceDomain for Pods off the host's network

	// CreatePTR makes a PTR record beside each address record (--create-ptr). The
	// record-type annotation opts in ("ptr") or out (anything else) by itself.
	CreatePTR bool
	// ReverseZones are the served zones below in-addr.arpa and ip6.arpa: addresses
	// in them have PTR records without CreatePTR, and CreatePTR makes none for
	// others. Empty means those that DomainFilters name.
	ReverseZones []zones.Name
	// NamespaceDomains say NAMESPACE=DOMAIN[,DOMAIN...] (--namespace-domains): the
	// objects of a namespace that is listed may have names in these domains only.
	NamespaceDomains []string

	DomainFilters        []string // --domain-filter; a leading dot leaves the domain itself out
	ExcludeDomains       []string // --exclude-domains
	RegexDomainFilter    string
	RegexDomainExclusion string
	ManagedRecordTypes   []string // --managed-record-types; empty means every type
	ExcludeRecordTypes   []string // --exclude-record-types
	TargetNetFilters     []string // --target-net-filter, in CIDR form
	ExcludeTargetNets    []string // --exclude-target-net, in CIDR form

	DefaultTargets      []string
	ForceDefaultTargets bool
	// MinTTL is the TTL of claims whose object sets none; zero means unset.
	// Fractions of a second are cut off.
	MinTTL        time.Duration
	NAT64Networks []string // --nat64-networks, IPv6 networks of 96 bits
	PreferAlias   bool     // alias=true on every CNAME that has no alias option
	// Provider keeps the options named after it ("aws" keeps "aws/weight"); several
	// have commas between.
	// Empty keeps only options without a slash in their name.
	Provider string
}

// DefaultOptions returns the options of a command line without flags.
func DefaultOptions() Options { return Options{ExcludeUnschedulable: true} }

// A Translator turns objects into what they claim, by the rules that Options
// choose. It never changes after New: any number of goroutines may use it.
type Translator struct {
	options      Options
	sources      []string
	prefixes     []string
	annotations  selector
	labels       labels.Selector
	gateways     labels.Selector // of --gateway-label-filter
	classes      []string
	serviceTypes []corev1.ServiceType
	domains      domainFilter
	recordTypes  typeFilter
	nets         netFilter
	fqdn         nameTemplates
	fqdnTarget   nameTemplates
	standIn      standIn
	minTTL       zones.TTL

	routeGroupClasses []string
	podDomain         zones.Name // "" where Pods are not named after themselves
	reverseZones      []zones.Name
	namespaceDomains  map[string]*namespaceDomains

	settlements sync.Pool // of *settlement, empty ones to be used again
}

// New validates and compiles o. Its error is one sentence that names the flag,
// the value and the mend.
func New(o Options) (*Translator, error) {
	tr := &Translator{options: o}
	steps := []func() error{
		tr.compileSources, tr.compilePrefixes, tr.compileSelectors, tr.compileClasses, tr.compileServices,
		tr.compileTemplates, tr.compileFilters, tr.compileStandIn, tr.compileReverse, tr.compileNamespaceDomains, tr.compilePods,
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return nil, err
		}
	}
	return tr, nil
}

// Sources returns the wanted sources in the order in which they win contests.
// The caller must not modify the slice.
func (tr *Translator) Sources() []string { return tr.sources }

// ZonesFromFilters returns the domains that --domain-filter names, in canonical
// order: the zones to serve where no --zone is given. A leading dot is cut, so
// the zone's own name is the domain even where the filter leaves it out.
func (tr *Translator) ZonesFromFilters() []zones.Name {
	var origins []zones.Name
	for _, rule := range tr.domains.include {
		origins = append(origins, rule.zone)
	}
	slices.SortFunc(origins, zones.Name.Compare)
	return slices.Compact(origins)
}

// Covers reports whether the filters of domains let a name be published.
func (tr *Translator) Covers(name zones.Name) bool { return tr.domains.judge(name) == "" }

// sourceNames are all sources, in the order in which they win contests by
// default.
var sourceNames = []string{
	SourceIngress, SourceService,
	SourceHTTPRoute, SourceGRPCRoute, SourceTLSRoute, SourceTCPRoute, SourceUDPRoute,
	SourceRouteGroup, SourceCRD, SourceNode, SourcePod,
}

// defaultSources are the sources without --source. Nodes and Pods are many, and
// seldom meant to have names.
var defaultSources = slices.DeleteFunc(slices.Clone(sourceNames), func(source string) bool {
	return source == SourceNode || source == SourcePod
})

func (tr *Translator) compileSources() error {
	for _, source := range splitCommas(tr.options.Sources) {
		if !slices.Contains(sourceNames, source) {
			return fmt.Errorf("--source=%s is no source; %s", source, suggest(source, sourceNames, sourceNames))
		}
		if !slices.Contains(tr.sources, source) {
			tr.sources = append(tr.sources, source)
		}
	}
	if len(tr.sources) == 0 {
		tr.sources = defaultSources
	}
	return nil
}

func (tr *Translator) compilePrefixes() error {
	for _, prefix := range splitCommas(tr.options.AnnotationPrefixes) {
		if !strings.HasSuffix(prefix, "/") || prefix == "/" {
			return fmt.Errorf("--annotation-prefix=%s must end in a slash; write %s/", prefix, strings.TrimSuffix(prefix, "/"))
		}
		if !slices.Contains(tr.prefixes, prefix) {
			tr.prefixes = append(tr.prefixes, prefix)
		}
	}
	if len(tr.prefixes) == 0 {
		tr.prefixes = []string{prefixCurrent, prefixAlpha}
	}
	return nil
}

func (tr *Translator) compileSelectors() error {
	var err error
	if tr.annotations, err = parseSelector(tr.options.AnnotationFilter); err != nil {
		return fmt.Errorf("--annotation-filter=%s is no selector: %w", tr.options.AnnotationFilter, err)
	}
	if tr.labels, err = labels.Parse(tr.options.LabelFilter); err != nil {
		return fmt.Errorf("--label-filter=%s is no label selector: %w", tr.options.LabelFilter, err)
	}
	if tr.gateways, err = labels.Parse(tr.options.GatewayLabelFilter); err != nil {
		return fmt.Errorf("--gateway-label-filter=%s is no label selector: %w", tr.options.GatewayLabelFilter, err)
	}
	return nil
}

func (tr *Translator) compileClasses() error {
	tr.classes = splitClasses(tr.options.IngressClasses)
	tr.routeGroupClasses = splitClasses(tr.options.RouteGroupClasses)
	if len(tr.classes) > 0 && tr.annotations.names(classAnnotation) {
		return fmt.Errorf("--ingress-class and the annotation %s in --annotation-filter exclude each other; leave one of the two out",
			classAnnotation)
	}
	return nil
}

// splitClasses keeps empty items: the empty class is one that may be wanted.
func splitClasses(values []string) []string {
	var classes []string
	for _, value := range values {
		for class := range strings.SplitSeq(value, ",") {
			classes = append(classes, strings.TrimSpace(class))
		}
	}
	return classes
}

func (tr *Translator) compileServices() error {
	known := []string{"ClusterIP", "NodePort", "LoadBalancer", "ExternalName"}
	if !slices.Contains(tr.options.ServiceTypeFilter, "") {
		for _, value := range splitCommas(tr.options.ServiceTypeFilter) {
			if !slices.Contains(known, value) {
				return fmt.Errorf("--service-type-filter=%s is no Service type; %s", value, suggest(value, known, known))
			}
			tr.serviceTypes = append(tr.serviceTypes, corev1.ServiceType(value))
		}
	}
	schemes := []string{compatMate, compatMolecule, compatKops}
	if c := tr.options.Compatibility; c != "" && !slices.Contains(schemes, c) {
		return fmt.Errorf("--compatibility=%s is no annotation scheme; %s", c, suggest(c, schemes, schemes))
	}
	return nil
}

func (tr *Translator) compileTemplates() error {
	o := &tr.options
	if len(splitBlank(o.TargetTemplates)) > 0 {
		return fmt.Errorf("--target-template=%s has no effect on the sources here; leave it out, or use --fqdn-target-template",
			o.TargetTemplates[0])
	}
	var err error
	if tr.fqdn, err = parseTemplates("--fqdn-template", o.FQDNTemplates); err != nil {
		return err
	}
	if tr.fqdnTarget, err = parseTemplates("--fqdn-target-template", o.FQDNTargetTemplates); err != nil {
		return err
	}
	if tr.fqdnTarget != nil && !slices.ContainsFunc(tr.sources, func(source string) bool {
		return source == SourceService || source == SourceNode || source == SourcePod
	}) {
		return fmt.Errorf("--fqdn-target-template=%s has no effect without --source=service, node or pod; add such a source or leave the template out",
			o.FQDNTargetTemplates[0])
	}
	if o.IgnoreHostnameAnnotation && tr.fqdn == nil && tr.fqdnTarget == nil {
		return fmt.Errorf("--ignore-hostname-annotation needs --fqdn-template, since Services would have no names without it; give a template, or leave the flag out")
	}
	return nil
}

func (tr *Translator) compileFilters() error {
	var err error
	o := &tr.options
	if tr.domains, err = parseDomainFilter(o); err != nil {
		return err
	}
	if tr.recordTypes, err = parseTypeFilter(o); err != nil {
		return err
	}
	tr.nets, err = parseNetFilter(o)
	return err
}

// splitCommas splits each value at its commas, and drops blanks around the
// items and empty items.
func splitCommas(values []string) []string {
	var items []string
	for _, value := range values {
		for item := range strings.SplitSeq(value, ",") {
			if item = strings.TrimSpace(item); item != "" {
				items = append(items, item)
			}
		}
	}
	return items
}

// splitBlank drops values that hold nothing but white space.
func splitBlank(values []string) []string {
	return slices.DeleteFunc(slices.Clone(values), func(s string) bool { return strings.TrimSpace(s) == "" })
}
