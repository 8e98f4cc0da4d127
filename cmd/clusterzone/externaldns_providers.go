package main

import "fmt"

// mirrorProviders are the providers that a mirror is made for.
func mirrorProviders() []string { return kindNames(cloudKinds()) }

// otherProviders are the other providers of external-dns.
func otherProviders() []string {
	return []string{
		"akamai", "aws-sd", "azure", "azure-dns", "azure-private-dns", "civo", "coredns", "digitalocean", "dnsimple", "exoscale", "gandi",
		"godaddy", "google", "linode", "ns1", "oci", "ovh", "pdns", "pihole", "plural", "rfc2136", "scaleway", "skydns", "transip", "webhook",
	}
}

// otherSources are the sources of external-dns that are not read, and what to
// do instead.
func otherSources() map[string]string {
	const instead = "publish the names by Ingresses, Gateway API routes or DNSEndpoints, or keep external-dns for it"
	not := func(what string) string { return what + " not read; " + instead }
	return map[string]string{
		"istio-gateway":        not("Istio's own Gateways are"),
		"istio-virtualservice": not("Istio's VirtualServices are"),
		"ambassador-host":      not("Ambassador's Hosts are"),
		"contour-httpproxy":    not("Contour's HTTPProxies are"),
		"gloo-proxy":           not("Gloo's Proxies are"),
		"traefik-proxy":        not("Traefik's IngressRoutes are"),
		"openshift-route":      not("OpenShift's Routes are"),
		"kong-tcpingress":      not("Kong's TCPIngresses are"),
		"f5-virtualserver":     not("F5's VirtualServers are"),
		"f5-transportserver":   not("F5's TransportServers are"),
		"unstructured":         not("objects of any kind are"),
		"connector":            "there is no source that asks another program; write DNSEndpoint objects instead",
		"fake":                 "there are no made-up objects; --manifests reads objects from files",
		"empty":                "a server without objects has nothing to serve; leave --source out for all that there are",
	}
}

func providerFlags() []externalFlag {
	var flags []externalFlag
	add := func(takes grammar, names ...string) {
		for _, name := range names {
			flags = append(flags, externalFlag{name: name, takes: takes, fate: honoured, why: "the same flag"})
		}
	}
	not := func(why string, takes grammar, names ...string) {
		for _, name := range names {
			flags = append(flags, externalFlag{name: name, takes: takes, fate: refused, why: why})
		}
	}
	add(oneText, "aws-zone-type")
	add(manyTexts, "aws-zone-tags", "aws-profile")
	add(oneText, "aws-assume-role", "aws-assume-role-external-id")
	add(aNumber, "aws-batch-change-size", "aws-batch-change-size-bytes", "aws-batch-change-size-values", "aws-api-retries")
	add(aSpan, "aws-batch-change-interval", "aws-zones-cache-duration")
	add(onOff, "aws-evaluate-target-health", "aws-prefer-cname", "aws-zone-match-parent")
	add(onOff, "cloudflare-proxied")
	add(aNumber, "cloudflare-dns-records-per-page")
	add(oneText, "cloudflare-record-comment")
	const hostnames = "custom hostnames are not managed; leave it out: those that there are stay as they are"
	not(hostnames, onOff, "cloudflare-custom-hostnames")
	not(hostnames, oneText, "cloudflare-custom-hostnames-min-tls-version", "cloudflare-custom-hostnames-certificate-authority")
	const regions = "regional services are not managed; leave it out: those that there are stay as they are"
	not(regions, onOff, "cloudflare-regional-services")
	not(regions, oneText, "cloudflare-region-key")
	add(oneText, "alibaba-cloud-config-file", "alibaba-cloud-zone-type")
	add(manyTexts, "inmemory-zone")
	return flags
}

func otherProviderFlags() []externalFlag {
	var flags []externalFlag
	add := func(why string, takes grammar, names ...string) {
		for _, name := range names {
			flags = append(flags, externalFlag{name: name, takes: takes, fate: refused, why: why})
		}
	}
	of := func(provider string) string {
		return fmt.Sprintf("there is no mirror to %s; leave it out, and keep external-dns for it", provider)
	}
	registry := "ownership stands in TXT records only; leave it out, and write --registry=txt"
	add(of("AWS Cloud Map"), onOff, "aws-sd-service-cleanup")
	add(of("AWS Cloud Map"), manyTexts, "aws-sd-create-tag")
	add(registry, oneText, "dynamodb-region", "dynamodb-table", "crd-registry-namespace")
	add(of("Azure"), oneText, "azure-config-file", "azure-resource-group", "azure-subscription-id", "azure-user-assigned-identity-client-id")
	add(of("Azure"), aSpan, "azure-zones-cache-duration")
	add(of("Azure"), aNumber, "azure-maxretries-count")
	add("clusterzone answers CoreDNS' queries itself; leave it out, and let CoreDNS forward the zone", oneText, "coredns-prefix")
	add("clusterzone answers CoreDNS' queries itself; leave it out, and let CoreDNS forward the zone", onOff, "coredns-strictly-owned")
	add(of("Exoscale"), oneText, "exoscale-apienv", "exoscale-apizone", "exoscale-apikey", "exoscale-apisecret")
	add(of("Exoscale"), aSpan, "exoscale-zones-cache-duration")
	add(of("GoDaddy"), oneText, "godaddy-api-key", "godaddy-api-secret")
	add(of("GoDaddy"), aNumber, "godaddy-api-ttl")
	add(of("GoDaddy"), onOff, "godaddy-api-ote")
	add(of("Google Cloud"), oneText, "google-project", "google-zone-visibility")
	add(of("Google Cloud"), aNumber, "google-batch-change-size")
	add(of("Google Cloud"), aSpan, "google-batch-change-interval")
	add(of("NS1"), oneText, "ns1-endpoint")
	add(of("NS1"), onOff, "ns1-ignoressl")
	add(of("NS1"), aNumber, "ns1-min-ttl")
	add(of("Oracle Cloud"), oneText, "oci-config-file", "oci-compartment-ocid", "oci-zone-scope")
	add(of("Oracle Cloud"), onOff, "oci-auth-instance-principal")
	add(of("Oracle Cloud"), aSpan, "oci-zones-cache-duration")
	add(of("OVH"), oneText, "ovh-endpoint")
	add(of("OVH"), aNumber, "ovh-api-rate-limit")
	add(of("OVH"), onOff, "ovh-enable-cname-relative")
	add(of("PowerDNS"), oneText, "pdns-server", "pdns-server-id", "pdns-api-key")
	add(of("PowerDNS"), onOff, "pdns-skip-tls-verify")
	add(of("Pi-hole"), oneText, "pihole-server", "pihole-password")
	add(of("Pi-hole"), onOff, "pihole-tls-skip-verify")
	const update = "servers that take dynamic updates"
	add(of(update), manyTexts, "rfc2136-host", "rfc2136-zone")
	add(of(update), aNumber, "rfc2136-port", "rfc2136-batch-change-size")
	add(of(update), oneText, "rfc2136-tsig-keyname", "rfc2136-tsig-secret", "rfc2136-tsig-secret-alg", "rfc2136-kerberos-username",
		"rfc2136-kerberos-password", "rfc2136-kerberos-realm", "rfc2136-load-balancing-strategy")
	add(of(update), onOff, "rfc2136-insecure", "rfc2136-axfr", "rfc2136-tsig-axfr", "rfc2136-gss-tsig", "rfc2136-use-tls", "rfc2136-skip-tls-verify")
	add(of(update), aSpan, "rfc2136-min-ttl")
	add("it is about providers that there is no mirror to; leave it out", oneText, "tls-ca", "tls-client-cert", "tls-client-cert-key")
	const webhook = "no webhook is called or served; leave it out, and keep external-dns for providers behind a webhook"
	add(webhook, oneText, "webhook-provider-url")
	add(webhook, aSpan, "webhook-provider-read-timeout", "webhook-provider-write-timeout", "webhook-provider-read-header-timeout", "webhook-provider-idle-timeout")
	add(webhook, aNumber, "webhook-provider-max-body-size")
	add(webhook, onOff, "webhook-server")
	return flags
}
