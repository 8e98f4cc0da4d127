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
		{name: "interval", takes: aSpan, fate: settled, why: "each change is served at once: there is no loop"},
		{name: "min-event-sync-interval", takes: aSpan, fate: settled, why: "each change is served at once: there is no loop"},
		{name: "events", takes: onOff, fate: honoured, why: "each change is served at once with or without it; here it writes Kubernetes events on objects whose names can't be served"},
		{name: "listen-endpoint-events", takes: onOff, fate: settled, why: "EndpointSlices are always watched"},
		{name: "once", takes: onOff, fate: refused, why: "a server doesn't end; `clusterzone records` prints the records once"},
		{name: "dry-run", takes: onOff, fate: refused, why: "a server that answers nothing is of no use; `clusterzone records` prints what would be served"},
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
		{name: "resolve-service-load-balancer-hostname", takes: onOff, fate: refused, why: "names outside of the zones are not looked up yet; leave it out, and the load balancer's host name is served as a CNAME"},
	}...)
}

func mirrorFlags() []externalFlag {
	mirror := func(name string, takes grammar, why string, words ...string) externalFlag {
		return externalFlag{name: name, takes: takes, words: words, fate: mirrored, why: why}
	}
	return []externalFlag{
		mirror("provider", oneText, "says which cloud gets a copy: aws, cloudflare or alibabacloud; it also keeps that provider's options in `clusterzone records -o endpoints`"),
		mirror("policy", oneText, "says what may be changed in the cloud", "sync", "upsert-only", "create-only"),
		mirror("registry", oneText, "ownership stands in TXT records, or nowhere with `noop`; `aws-sd`, `crd` and `dynamodb` are refused", "txt", "noop"),
		mirror("txt-owner-id", oneText, "the owner's name in TXT records"),
		mirror("txt-prefix", oneText, "the names of TXT records"),
		mirror("txt-suffix", oneText, "the names of TXT records"),
		mirror("txt-wildcard-replacement", oneText, "the names of TXT records"),
		mirror("txt-encrypt-enabled", onOff, "encryption of TXT records"),
		mirror("txt-encrypt-aes-key", oneText, "encryption of TXT records; the key is never logged"),
		mirror("txt-cache-interval", aSpan, "how long TXT records are remembered"),
		mirror("migrate-from-txt-owner", oneText, "an owner whose records are taken over"),
		mirror("zone-name-filter", manyTexts, "which of the cloud's zones are written to"),
		mirror("zone-id-filter", manyTexts, "which of the cloud's zones are written to"),
		mirror("provider-cache-time", aSpan, "how long the cloud's records are remembered"),
		mirror("batch-change-size", aNumber, "how much is changed in the cloud at once"),
		mirror("batch-change-interval", aSpan, "the time between two changes in the cloud"),
		mirror("events-emit", manyTexts, "events on objects whose records the cloud took or refused; `--events` writes those about names that can't be served", "RecordReady", "RecordDeleted", "RecordError"),
	}
}
