package main

// same makes entries of flags that ours of the same name honour.
func same(names ...string) []externalFlag {
	var flags []externalFlag
	for _, name := range names {
		flags = append(flags, externalFlag{name: name, fate: honoured, why: "the same flag"})
	}
	return flags
}

func connectionFlags() []externalFlag {
	return append(same("server", "kubeconfig", "request-timeout", "kube-api-qps", "kube-api-burst"), []externalFlag{
		{name: "kube-api-request-timeout", takes: aSpan, fate: honoured, why: "the newer name of `--request-timeout`, and wins over it"},
		{name: "log-level", fate: honoured, why: "the same flag; `panic` and `fatal` mean `error`, and `trace` means `debug`"},
		{name: "log-format", fate: honoured, why: "the same flag"},
		{name: "metrics-address", fate: honoured, why: "the same flag: `/metrics` and `/healthz` are there; the metrics have names of their own"},
		{name: "interval", takes: aSpan, fate: honoured, why: "the same flag, for the mirror: the time between two complete comparisons with the cloud; each change is served at once, and pushed within seconds"},
		{name: "min-event-sync-interval", takes: aSpan, fate: honoured, why: "the same flag, for the mirror: the least time between two pushes"},
		{name: "events", takes: onOff, fate: honoured, why: "each change is served at once with or without it; here it writes Kubernetes events on objects whose names can't be served"},
		{name: "listen-endpoint-events", takes: onOff, fate: settled, why: "EndpointSlices are always watched"},
		{name: "once", takes: onOff, fate: refused, why: "a server doesn't end; `clusterzone records` prints the records once, `clusterzone plan` what would be written to the cloud"},
		{name: "dry-run", takes: onOff, fate: honoured, why: "the same flag, for the mirror: queries are answered, and nothing is written to the cloud; without `--provider` it is refused"},
		{name: "version", takes: onOff, fate: refused, why: "`clusterzone version` prints it"},
	}...)
}

func objectFlags() []externalFlag {
	return append(same("source", "namespace", "label-filter", "annotation-filter", "ingress-class", "service-type-filter",
		"gateway-name", "gateway-namespace", "gateway-label-filter", "ignore-non-host-network-pods", "exclude-unschedulable"), []externalFlag{
		{name: "annotation-prefix", fate: honoured, why: "the same flag, repeatable; without it both prefixes are read, the new one first"},
		{name: "enable-legacy-annotation-prefix", takes: onOff, fate: settled, why: "`external-dns.alpha.kubernetes.io/` is read anyway; beside `--annotation-prefix` it is added to those prefixes"},
		{name: "gateway-listener-sets", takes: onOff, fate: settled, why: "ListenerSets are always read where the cluster has the kind"},
		{name: "skipper-routegroup-groupversion", words: []string{"zalando.org/v1"}, fate: settled, why: "RouteGroups are read as zalando.org/v1, and no other version is"},
		{name: "crd-source-apiversion", words: []string{"externaldns.k8s.io/v1alpha1"}, fate: settled, why: "DNSEndpoints are read as externaldns.k8s.io/v1alpha1, and no other version is"},
		{name: "crd-source-kind", words: []string{"DNSEndpoint"}, fate: settled, why: "the kind that is read is DNSEndpoint, and no other"},
		{name: "gloo-namespace", takes: manyTexts, fate: refused, why: "Gloo's proxies are not read; leave it out"},
		{name: "openshift-router-name", fate: refused, why: "OpenShift's routes are not read; leave it out"},
		{name: "traefik-enable-legacy", takes: onOff, fate: refused, why: "Traefik's own kinds are not read; leave it out, and let Traefik take Ingresses or Gateway API routes"},
		{name: "traefik-disable-new", takes: onOff, fate: refused, why: "Traefik's own kinds are not read; leave it out, and let Traefik take Ingresses or Gateway API routes"},
		{name: "connector-source-server", fate: refused, why: "there is no source that asks another program; write DNSEndpoint objects instead"},
		{name: "unstructured-resource", takes: manyTexts, fate: refused, why: "objects of any kind are not read; write DNSEndpoint objects instead"},
	}...)
}

func nameFlags() []externalFlag {
	return append(same("domain-filter", "exclude-domains", "regex-domain-filter", "regex-domain-exclusion",
		"fqdn-template", "fqdn-target-template", "combine-fqdn-annotation", "ignore-hostname-annotation", "ignore-ingress-rules-spec",
		"ignore-ingress-tls-spec", "compatibility", "publish-internal-services", "publish-host-ip", "always-publish-not-ready-addresses",
		"expose-internal-ipv6", "pod-source-domain", "default-targets", "force-default-targets", "target-net-filter", "exclude-target-net",
		"exclude-record-types", "nat64-networks", "create-ptr", "prefer-alias"), []externalFlag{
		{name: "managed-record-types", fate: honoured, why: "the same flag; without it every type is served, and not only A, AAAA and CNAME"},
		{name: "min-ttl", fate: honoured, why: "the same flag; an annotation that says 0 means 0"},
		{name: "target-template", takes: manyTexts, fate: refused, why: "no source that clusterzone has reads it; use `--fqdn-target-template`, or leave it out"},
		{name: "resolve-service-load-balancer-hostname", takes: onOff, fate: refused, why: "external-dns writes the addresses of the moment; `--flatten` serves a target's addresses in place of every CNAME and keeps them fresh, and without it both are answered"},
	}...)
}

func mirrorFlags() []externalFlag {
	flag := func(name string, takes grammar, fate fate, why string, words ...string) externalFlag {
		return externalFlag{name: name, takes: takes, words: words, fate: fate, why: why}
	}
	return []externalFlag{
		flag("provider", oneText, honoured, "the same flag: which cloud gets a copy; it also keeps that provider's options in `clusterzone records -o endpoints`"),
		flag("policy", oneText, honoured, "the same flag; without it nothing is deleted (`upsert-only`)", "sync", "upsert-only", "create-only"),
		flag("registry", oneText, honoured, "the same flag: ownership stands in TXT records, or nowhere with `noop`; `aws-sd`, `crd` and `dynamodb` are refused", "txt", "noop"),
		flag("txt-owner-id", oneText, honoured, "the same flag; `--policy=sync` needs another one than `default`"),
		flag("txt-prefix", oneText, honoured, "the same flag"),
		flag("txt-suffix", oneText, honoured, "the same flag"),
		flag("txt-wildcard-replacement", oneText, honoured, "the same flag"),
		flag("txt-encrypt-enabled", onOff, honoured, "the same flag"),
		flag("txt-encrypt-aes-key", oneText, honoured, "the same flag; the key is never logged, and refused without `--txt-encrypt-enabled`"),
		flag("txt-cache-interval", aSpan, settled, "ownership is read with the zone once an interval, and remembered until then"),
		flag("migrate-from-txt-owner", oneText, honoured, "the same flag: records of that owner that are asked for here become this owner's; none is deleted for it"),
		flag("zone-name-filter", manyTexts, honoured, "the same flag"),
		flag("zone-id-filter", manyTexts, honoured, "the same flag"),
		flag("provider-cache-time", aSpan, settled, "a zone is read once an interval, and remembered until then"),
		flag("batch-change-size", aNumber, honoured, "the same flag; more than the cloud takes is refused"),
		flag("batch-change-interval", aSpan, honoured, "the same flag; the cloud's own least pause is kept"),
		flag("events-emit", manyTexts, honoured, "the same flag; `--events` writes those about names that can't be served or mirrored", "RecordReady", "RecordDeleted", "RecordError"),
	}
}
