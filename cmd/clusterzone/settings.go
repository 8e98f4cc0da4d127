package main

import (
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/clusterzone/clusterzone/sources"
)

// Flags are grouped by subject in --help.
const (
	groupOrigin      = "Where objects come from"
	groupSources     = "Which objects, and what becomes of them"
	groupZones       = "Zones"
	groupServe       = "Serving"
	groupAnswers     = "Answers"
	groupClients     = "Clients"
	groupSecondaries = "Secondaries"
	groupMirror      = "Copies in a cloud's DNS"
	groupCloud       = "Copies in a cloud's DNS: flags of one provider"
	groupOps         = "Operation"
	groupOutput      = "Output"
	groupGeneral     = "General"
)

// group is the annotation under which a flag keeps its group.
const group = "clusterzone-group"

// A flags adds flags of one group to a command's set.
type flags struct {
	set   *pflag.FlagSet
	group string
}

func flagsOf(cmd *cobra.Command, group string) flags { return flags{cmd.Flags(), group} }

func (f flags) done(name string) {
	// The flag was defined just before: this can't fail.
	_ = f.set.SetAnnotation(name, group, []string{f.group})
}

func (f flags) text(p *string, name, value, usage string) {
	f.set.StringVar(p, name, value, usage)
	f.done(name)
}

func (f flags) list(p *[]string, name, usage string) {
	f.set.StringArrayVar(p, name, nil, usage)
	f.done(name)
}

func (f flags) number(p *int, name string, value int, usage string) {
	f.set.IntVar(p, name, value, usage)
	f.done(name)
}

func (f flags) duration(p *time.Duration, name string, value time.Duration, usage string) {
	*p = value
	f.set.Var((*seconds)(p), name, usage)
	f.done(name)
}

// yes adds a switch, and as external-dns has it, --no-NAME as its opposite.
func (f flags) yes(p *bool, name string, value bool, usage string) {
	f.set.BoolVar(p, name, value, usage)
	f.done(name)
	no := f.set.VarPF((*opposite)(p), "no-"+name, "", "the opposite of --"+name)
	no.NoOptDefVal = "true"
	no.Hidden = true
	f.done("no-" + name)
}

// originSettings say where objects come from.
type originSettings struct {
	manifests  []string
	kubeconfig string
	context    string
	server     string
	qps, burst int
	timeout    time.Duration
}

func (s *originSettings) add(cmd *cobra.Command) {
	f := flagsOf(cmd, groupOrigin)
	f.list(&s.manifests, "manifests", "read objects from this `path` instead of a cluster: a YAML or JSON file, a folder of them, or - for standard input; repeatable")
	f.text(&s.kubeconfig, "kubeconfig", "", "kubeconfig `file` of the cluster (default: the Pod's service account, else $KUBECONFIG, else ~/.kube/config)")
	f.text(&s.context, "context", "", "`name` of the context in the kubeconfig")
	f.text(&s.server, "server", "", "`URL` of the API server, in place of the kubeconfig's")
	f.number(&s.qps, "kube-api-qps", 50, "`number` of requests a second to the API server at most")
	f.number(&s.burst, "kube-api-burst", 100, "`number` of requests at once to the API server at most")
	f.duration(&s.timeout, "request-timeout", 30*time.Second, "time that one request to the API server may take; watches excepted")
}

// sourceSettings fill the options of the translations.
func addSourceFlags(cmd *cobra.Command, o *sources.Options) {
	*o = sources.DefaultOptions()
	f := flagsOf(cmd, groupSources)
	f.list(&o.Sources, "source", "a `source` of names: ingress, service, gateway-httproute, gateway-grpcroute, gateway-tlsroute, gateway-tcproute, gateway-udproute, skipper-routegroup, crd (DNSEndpoint), node, pod; repeatable, the order decides contests between objects of one age (default: all that the cluster has the kind of, but node and pod)")
	f.text(&o.Namespace, "namespace", "", "publish objects of this `namespace` only (default: all)")
	f.text(&o.AnnotationFilter, "annotation-filter", "", "publish objects whose annotations match this label `selector` only")
	f.text(&o.LabelFilter, "label-filter", "", "publish objects whose labels match this `selector` only")
	f.list(&o.IngressClasses, "ingress-class", "publish Ingresses of this `class` only; repeatable (default: all)")
	f.list(&o.RouteGroupClasses, "routegroup-class", "publish RouteGroups of this `class` and of none only; repeatable (default: all)")
	f.text(&o.GatewayName, "gateway-name", "", "publish routes through Gateways of this `name` only (default: all)")
	f.text(&o.GatewayNamespace, "gateway-namespace", "", "publish routes through Gateways of this `namespace` only (default: all)")
	f.text(&o.GatewayLabelFilter, "gateway-label-filter", "", "publish routes through Gateways whose labels match this `selector` only")
	f.list(&o.NamespaceDomains, "namespace-domains", "`NAMESPACE=DOMAIN[,...]`: objects of the namespace may have names in these domains only; repeatable (default: any)")
	f.list(&o.AnnotationPrefixes, "annotation-prefix", "`prefix` of the annotations to read, first wins; repeatable (default: external-dns.kubernetes.io/, external-dns.alpha.kubernetes.io/)")
	f.list(&o.FQDNTemplates, "fqdn-template", "Go `template` for the names of objects that name none; repeatable")
	f.list(&o.FQDNTargetTemplates, "fqdn-target-template", "Go `template` for host:target pairs of Services, Nodes and Pods; repeatable")
	f.yes(&o.CombineFQDNAnnotation, "combine-fqdn-annotation", false, "use the template's names beside the object's own, not in their place")
	f.yes(&o.IgnoreHostnameAnnotation, "ignore-hostname-annotation", false, "take no names from hostname annotations; needs --fqdn-template")
	f.yes(&o.IgnoreIngressRulesSpec, "ignore-ingress-rules-spec", false, "take no names from spec.rules of Ingresses")
	f.yes(&o.IgnoreIngressTLSSpec, "ignore-ingress-tls-spec", false, "take no names from spec.tls of Ingresses")
	f.yes(&o.PublishInternalServices, "publish-internal-services", false, "publish the cluster IPs of ClusterIP Services under their hostname")
	f.yes(&o.PublishHostIP, "publish-host-ip", false, "publish the host IPs of the Pods behind headless Services")
	f.yes(&o.AlwaysPublishNotReadyAddresses, "always-publish-not-ready-addresses", false, "publish endpoints of headless Services that are not ready, too")
	f.text(&o.PodSourceDomain, "pod-source-domain", "", "publish every Pod under its own name in this `domain`; needs --source=pod")
	f.yes(&o.IgnoreNonHostNetworkPods, "ignore-non-host-network-pods", false, "publish Pods on their host's network only")
	f.yes(&o.ExcludeUnschedulable, "exclude-unschedulable", true, "leave cordoned Nodes out of NodePort Services and of --source=node")
	f.yes(&o.ExposeInternalIPv6, "expose-internal-ipv6", false, "publish internal IPv6 addresses of Nodes as if they were external")
	f.list(&o.ServiceTypeFilter, "service-type-filter", "publish Services of this `type` only: ClusterIP, NodePort, LoadBalancer, ExternalName; repeatable")
	f.text(&o.Compatibility, "compatibility", "", "also read the annotations of an older `program`: mate, molecule or kops-dns-controller")
	f.list(&o.ManagedRecordTypes, "managed-record-types", "serve this record `type` only; repeatable (default: all)")
	f.list(&o.ExcludeRecordTypes, "exclude-record-types", "do not serve this record `type`; repeatable")
	f.list(&o.TargetNetFilters, "target-net-filter", "publish targets inside this `network` only; repeatable")
	f.list(&o.ExcludeTargetNets, "exclude-target-net", "do not publish targets inside this `network`; repeatable")
	f.list(&o.DefaultTargets, "default-targets", "`target` for names that have none; repeatable")
	f.yes(&o.ForceDefaultTargets, "force-default-targets", false, "use the default targets in place of every address and alias")
	f.list(&o.NAT64Networks, "nat64-networks", "IPv6 `network` of 96 bits whose addresses also give A records; repeatable")
	f.duration(&o.MinTTL, "min-ttl", 0, "TTL of records whose objects set none (a default, not a floor), as external-dns has it; it shows in records -o endpoints")
	f.yes(&o.CreatePTR, "create-ptr", false, "make a PTR record of each address; addresses in a served reverse zone (--zone 10.in-addr.arpa) have one without the flag")
	f.yes(&o.PreferAlias, "prefer-alias", false, "carry alias=true on every CNAME: mirrors read it, and addresses are served in its place, as with --flatten")
	f.list(&o.DomainFilters, "domain-filter", "publish names in this `domain` only (.domain: below it only); repeatable; the domains are the zones where no --zone is given")
	f.list(&o.ExcludeDomains, "exclude-domains", "do not publish names in this `domain`; repeatable")
	f.text(&o.RegexDomainFilter, "regex-domain-filter", "", "publish names that match this regular `expression` only")
	f.text(&o.RegexDomainExclusion, "regex-domain-exclusion", "", "do not publish names that match this regular `expression`")
}

// zoneSettings say which zones there are and how they are built.
type zoneSettings struct {
	zones       []string
	zoneFiles   []string
	nameservers []string
	hostmaster  string
	ttl         time.Duration
	negativeTTL time.Duration
	policy      string
	flatten     bool
	passes      passSettings
}

func (s *zoneSettings) add(cmd *cobra.Command) {
	f := flagsOf(cmd, groupZones)
	f.list(&s.zones, "zone", "serve this `domain` as a zone; repeatable (default: the --domain-filter domains)")
	f.list(&s.zoneFiles, "zone-file", "`ORIGIN=PATH`: serve the domain as a zone with the records of this master file (RFC 1035), which win over those of objects; read anew when it changes; repeatable; in the config file also zones: [{origin: ORIGIN, file: PATH}]")
	f.list(&s.nameservers, "nameserver", "`name[=address,...]` of a server for the zones' NS records, the first also for the SOA; repeatable (default: ns1.ZONE with this server's addresses; give it where several replicas serve)")
	f.text(&s.hostmaster, "hostmaster", "", "`mailbox` name for the zones' SOA (default: hostmaster.ZONE)")
	f.duration(&s.ttl, "ttl", 300*time.Second, "TTL of records for which neither object nor --min-ttl sets one")
	f.duration(&s.negativeTTL, "negative-ttl", 5*time.Second, "how long a resolver may remember that a name is missing")
	f.text(&s.policy, "conflict-policy", "namespace", "who gets a name that several objects claim: `policy` namespace (the oldest object, with the others of its namespace), first (the oldest object alone) or merge (all)")
	f.yes(&s.flatten, "flatten", false, "serve the addresses of a CNAME's target in place of every CNAME that an object asks for (a zone file's stand); at the top of a zone, at a name server's name and for objects with the annotation alias=true it is always so")
	s.passes.add(cmd)
}

// serveSettings are the rest of what serve needs.
type serveSettings struct {
	listen         []string
	reusePort      bool
	metricsAddress string
	adminAddress   string
	healthSocket   string
	stateFile      string
	hold           time.Duration
	events         bool
	crdStatus      bool
	ede            string
	explainFrom    []string
	maxUDP         int
	tcpIdle        time.Duration
	tcpConnections int
	tcpPerClient   int
	shutdownDelay  time.Duration
	clients        clientSettings
	encrypted      encryptedSettings
	targets        targetSettings
	dnstap         string
	transfers      transferSettings
	mirrors        mirrorsSettings
}

func (s *serveSettings) add(cmd *cobra.Command) {
	f := flagsOf(cmd, groupServe)
	f.list(&s.listen, "listen", "`address` to answer on, UDP and TCP; repeatable (default: :53)")
	f.yes(&s.reusePort, "reuse-port", false, "share the addresses of --listen, --listen-tls and --listen-https with other processes that have this flag too, of the same user (SO_REUSEPORT, Linux): a new one takes part as soon as it can answer, and the old one can go without a lost query over UDP; --metrics-address and --admin-address are the new one's when the old one has gone; otherwise an address that is taken is an error")
	s.encrypted.add(cmd)
	f.text(&s.metricsAddress, "metrics-address", ":7979", "`address` of /metrics, /healthz and /readyz; empty for none")
	f.text(&s.adminAddress, "admin-address", "127.0.0.1:7980", "`address` of the admin API, which \"clusterzone explain\" asks; it names objects; empty for none")
	addHealthSocket(f, &s.healthSocket)
	f.text(&s.stateFile, "state-file", "", "keep what is served in this `file`, and serve from it after a restart until the cluster can be read")
	f.duration(&s.hold, "hold-addresses", 5*time.Minute, "how long the last good addresses stay when an object's status loses them; an object that is deleted loses its records at once; 0 holds none")
	f.duration(&s.shutdownDelay, "shutdown-delay", 5*time.Second, "how long to answer on after SIGTERM while readiness fails")
	f.number(&s.tcpConnections, "tcp-connections", 1000, "`number` of connections over TCP, TLS and HTTPS at most")
	f.number(&s.tcpPerClient, "tcp-connections-per-client", 200, "`number` of connections over TCP, TLS and HTTPS at most from one address")
	f.duration(&s.tcpIdle, "tcp-idle-timeout", 10*time.Second, "how long an idle connection over TCP, TLS or HTTPS stays open")

	f = flagsOf(cmd, groupAnswers)
	f.number(&s.maxUDP, "udp-size", 1232, "`number` of octets in a UDP answer at most; longer ones are truncated, and whole over TCP")
	f.text(&s.ede, "ede", "full", "extended errors (RFC 8914) in answers: `mode` off, code, or full with the reason why a name is missing")
	f.list(&s.explainFrom, "explain-from", "`network` whose clients get reasons in extended errors; repeatable (default: loopback and private ranges)")
	s.clients.add(cmd)
	s.targets.add(cmd)
	s.transfers.add(cmd)
	s.mirrors.add(cmd, true)

	f = flagsOf(cmd, groupOps)
	f.text(&s.dnstap, "dnstap", "", "write every query and reply as dnstap messages to the reader at this `socket`, unix:PATH or tcp:HOST:PORT; dropped and counted where it is slow or not there (default: none)")
	f.yes(&s.events, "events", false, "write Kubernetes events on objects whose names can't be served and whose author can mend it")
	f.yes(&s.crdStatus, "crd-status", false, "write status.observedGeneration of DNSEndpoints, as external-dns does")
}

// generalSettings are those of every command.
type generalSettings struct {
	config    string
	logLevel  string
	logFormat string
}

func (s *generalSettings) add(cmd *cobra.Command) {
	f := flagsOf(cmd, groupGeneral)
	addConfigFile(f, &s.config)
	f.text(&s.logLevel, "log-level", "info", "`level` of messages to log: debug, info, warn or error")
	f.text(&s.logFormat, "log-format", "text", "`format` of log messages: text or json")
}

func addConfigFile(f flags, path *string) {
	f.text(path, "config", "", "YAML `file` that sets flags by name; flags and environment win over it")
}
