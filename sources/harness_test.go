package sources

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"sort"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/clusterzone/clusterzone/zones"
)

// parseFlags reads the flags of a test case. The command has a mapping of its
// own; this one knows the translations' flags only. "--unreadable=Kind" is the
// tests' own: objects of that kind can't be read. "--zone" serves reverse zones.
func parseFlags(lines []string) (o Options, unreadable []Kind, err error) {
	o = DefaultOptions()
	lists := map[string]*[]string{
		"source": &o.Sources, "annotation-prefix": &o.AnnotationPrefixes, "ingress-class": &o.IngressClasses,
		"fqdn-template": &o.FQDNTemplates, "fqdn-target-template": &o.FQDNTargetTemplates, "target-template": &o.TargetTemplates,
		"service-type-filter": &o.ServiceTypeFilter, "domain-filter": &o.DomainFilters, "exclude-domains": &o.ExcludeDomains,
		"managed-record-types": &o.ManagedRecordTypes, "exclude-record-types": &o.ExcludeRecordTypes,
		"target-net-filter": &o.TargetNetFilters, "exclude-target-net": &o.ExcludeTargetNets,
		"default-targets": &o.DefaultTargets, "nat64-networks": &o.NAT64Networks,
		"routegroup-class": &o.RouteGroupClasses, "namespace-domains": &o.NamespaceDomains,
	}
	texts := map[string]*string{
		"namespace": &o.Namespace, "annotation-filter": &o.AnnotationFilter, "label-filter": &o.LabelFilter,
		"compatibility": &o.Compatibility, "regex-domain-filter": &o.RegexDomainFilter,
		"regex-domain-exclusion": &o.RegexDomainExclusion, "provider": &o.Provider, "pod-source-domain": &o.PodSourceDomain,
		"gateway-name": &o.GatewayName, "gateway-namespace": &o.GatewayNamespace, "gateway-label-filter": &o.GatewayLabelFilter,
	}
	switches := map[string]*bool{
		"ignore-hostname-annotation": &o.IgnoreHostnameAnnotation, "ignore-ingress-rules-spec": &o.IgnoreIngressRulesSpec,
		"ignore-ingress-tls-spec": &o.IgnoreIngressTLSSpec, "combine-fqdn-annotation": &o.CombineFQDNAnnotation,
		"publish-internal-services": &o.PublishInternalServices, "publish-host-ip": &o.PublishHostIP,
		"always-publish-not-ready-addresses": &o.AlwaysPublishNotReadyAddresses, "exclude-unschedulable": &o.ExcludeUnschedulable,
		"expose-internal-ipv6": &o.ExposeInternalIPv6, "force-default-targets": &o.ForceDefaultTargets, "prefer-alias": &o.PreferAlias,
		"ignore-non-host-network-pods": &o.IgnoreNonHostNetworkPods, "create-ptr": &o.CreatePTR,
	}
	for _, line := range lines {
		if line == "" {
			continue
		}
		name, value, _ := strings.Cut(strings.TrimPrefix(line, "--"), "=")
		bare, negated := strings.CutPrefix(name, "no-")
		switch {
		case lists[name] != nil:
			*lists[name] = append(*lists[name], value)
		case texts[name] != nil:
			*texts[name] = value
		case switches[bare] != nil:
			*switches[bare] = !negated
		case name == "gateway-listener-sets": // ListenerSets are read without it
		case name == "min-ttl":
			if o.MinTTL, err = ParseDuration(value); err != nil {
				return o, nil, fmt.Errorf("--min-ttl=%s %w", value, err)
			}
		case name == "zone":
			zone, err := zones.ParseHost(value)
			if err != nil {
				return o, nil, err
			}
			o.ReverseZones = append(o.ReverseZones, zone)
		case name == "unreadable":
			unreadable = append(unreadable, Kind(value))
		default:
			return o, nil, fmt.Errorf("the tests know no flag --%s", name)
		}
	}
	return o, unreadable, nil
}

// A scene is the objects of a test case, and what can't be read.
type scene struct {
	world  *world
	owners []metav1.Object // those of any source, in file order
}

func readScene(t testing.TB, text []byte, unreadable []Kind) *scene {
	t.Helper()
	s := &scene{world: newWorld()}
	touched := make(ownerSet)
	for _, obj := range decodeAll(t, text) {
		info, ok := Info(KindOf(obj))
		if !ok {
			continue
		}
		if info.Namespaced && obj.GetNamespace() == "" {
			obj.SetNamespace("default")
		}
		if info.Source != "" {
			s.owners = append(s.owners, obj)
		}
		s.world.set(obj, touched)
	}
	for _, kind := range unreadable {
		s.world.setProblem(kind, errors.New("forbidden"), touched)
	}
	return s
}

// keys yields the keys of all objects of a kind, in no order.
func (w *world) keys(kind Kind) iter.Seq[objectKey] {
	return func(yield func(objectKey) bool) {
		s := w.shelves[kind]
		if s == nil {
			return
		}
		for namespace, objects := range s.in {
			for name := range objects {
				if !yield(objectKey{namespace, name}) {
					return
				}
			}
		}
		for namespace, objects := range s.packed {
			for name := range objects {
				if !yield(objectKey{namespace, name}) {
					return
				}
			}
		}
	}
}

// decodeAll reads the YAML documents of a test case.
func decodeAll(t testing.TB, text []byte) []metav1.Object {
	t.Helper()
	var objects []metav1.Object
	documents := yaml.NewYAMLToJSONDecoder(bytes.NewReader(text))
	decoder := serializer.NewCodecFactory(NewScheme()).UniversalDeserializer()
	for {
		var raw yamlDocument
		if err := documents.Decode(&raw); errors.Is(err, io.EOF) {
			return objects
		} else if err != nil {
			t.Fatal(err)
		}
		if len(raw) == 0 || string(raw) == "null" {
			continue
		}
		obj, _, err := decoder.Decode(raw, nil, nil)
		if err != nil {
			t.Fatalf("%s: %v", raw, err)
		}
		objects = append(objects, obj.(metav1.Object))
	}
}

// yamlDocument keeps a document's JSON form as it stands.
type yamlDocument []byte

func (d *yamlDocument) UnmarshalJSON(text []byte) error {
	*d = slices.Clone(text)
	return nil
}

// translate translates every object whose source is wanted: source by source,
// and those of one in file order.
func (s *scene) translate(tr *Translator) []zones.Object {
	var all []zones.Object
	for _, source := range sourceNames {
		for _, obj := range s.owners {
			if sourceOf(KindOf(obj)) == source && slices.Contains(tr.Sources(), source) {
				all = append(all, tr.Translate(obj, s.world.reader(obj.GetNamespace())))
			}
		}
	}
	return all
}

// recordLine prints a record set as "records -o endpoints" does.
func recordLine(name zones.Name, ttl zones.TTL, kind zones.Type, targets []string, options []zones.Option, set string) string {
	escape := strings.NewReplacer(`\`, `\\`, ",", `\,`, "\t", `\t`, "\n", `\n`)
	join := func(items []string) string {
		if len(items) == 0 {
			return "-"
		}
		escaped := make([]string, len(items))
		for i, item := range items {
			escaped[i] = escape.Replace(item)
		}
		sort.Strings(escaped)
		return strings.Join(escaped, ",")
	}
	pairs := make([]string, len(options))
	for i, o := range options {
		pairs[i] = o.Key + "=" + o.Value
	}
	if set == "" {
		set = "-"
	}
	return strings.Join([]string{
		escape.Replace(name.String()), fmt.Sprint(ttl.Seconds), kind.String(), join(targets), join(pairs), escape.Replace(set),
	}, "\t")
}
