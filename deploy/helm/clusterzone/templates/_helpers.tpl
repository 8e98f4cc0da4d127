{{- define "clusterzone.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" }}
{{- end }}

{{- define "clusterzone.fullname" -}}
{{- if .Values.fullnameOverride }}
{{- .Values.fullnameOverride | trunc 63 | trimSuffix "-" }}
{{- else if contains (include "clusterzone.name" .) .Release.Name }}
{{- .Release.Name | trunc 63 | trimSuffix "-" }}
{{- else }}
{{- printf "%s-%s" .Release.Name (include "clusterzone.name" .) | trunc 63 | trimSuffix "-" }}
{{- end }}
{{- end }}

{{- define "clusterzone.selector" -}}
app.kubernetes.io/name: {{ include "clusterzone.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "clusterzone.labels" -}}
{{ include "clusterzone.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- with .Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- define "clusterzone.account" -}}
{{- if .Values.serviceAccount.create }}
{{- default (include "clusterzone.fullname" .) .Values.serviceAccount.name }}
{{- else }}
{{- default "default" .Values.serviceAccount.name }}
{{- end }}
{{- end }}

{{- define "clusterzone.image" -}}
{{- if .Values.image.digest }}
{{- printf "%s@%s" .Values.image.repository .Values.image.digest }}
{{- else }}
{{- printf "%s:%s" .Values.image.repository (default .Chart.AppVersion .Values.image.tag) }}
{{- end }}
{{- end }}

{{/* "true" where the node's port leads to one Pod. */}}
{{- define "clusterzone.hostPorts" -}}
{{- if and (eq .Values.mode "daemonset") (eq .Values.daemonset.network "hostPort") }}true{{ end }}
{{- end }}

{{- define "clusterzone.hostNetwork" -}}
{{- if and (eq .Values.mode "daemonset") (eq .Values.daemonset.network "hostNetwork") }}true{{ end }}
{{- end }}

{{/* What values can't mean together, where the schema has no clear words for it. */}}
{{- define "clusterzone.check" -}}
{{- if not .Values.zones }}
{{- fail "zones is empty: name at least one zone to serve, like --set zones={corp.example}" }}
{{- end }}
{{- $own := dict "zone" "zones" "source" "sources" "nameserver" "nameservers" "mirrors" "mirrors" "listen" "daemonset.network" "listen-tls" "tls.dot" "listen-https" "tls.doh" "tls-cert-file" "tls.secretName" "tls-key-file" "tls.secretName" "metrics-address" "metrics.port" "reuse-port" "daemonset.network" "health-socket" "daemonset.network" "state-file" "stateFile" "cookie-secret-file" "cookieSecret.name" "config" "config itself" }}
{{- range $key, $value := .Values.config }}
{{- if hasKey $own $key }}
{{- fail (printf "config.%s can't be set: the chart sets it from %s" $key (get $own $key)) }}
{{- end }}
{{- end }}
{{- if and (eq .Values.mode "daemonset") (ne .Values.daemonset.network "hostPort") }}
{{- $surge := .Values.daemonset.maxSurge | toString | trimSuffix "%" }}{{ $without := .Values.daemonset.maxUnavailable | toString | trimSuffix "%" }}
{{- if eq (eq $surge "0") (eq $without "0") }}
{{- fail "one of daemonset.maxSurge and daemonset.maxUnavailable must be 0, and not both: either new Pods come before old ones go, or old ones go first" }}
{{- end }}
{{- end }}
{{- if and .Values.coredns.enabled (not .Values.service.clusterIP) }}
{{- fail "coredns.enabled needs service.clusterIP: CoreDNS forwards to a fixed address" }}
{{- end }}
{{- if and (ne .Values.service.type "LoadBalancer") (or .Values.service.loadBalancerClass .Values.service.loadBalancerSourceRanges) }}
{{- fail "service.loadBalancerClass and service.loadBalancerSourceRanges need service.type=LoadBalancer" }}
{{- end }}
{{- if and (eq .Values.service.type "ClusterIP") .Values.service.externalTrafficPolicy }}
{{- fail "service.externalTrafficPolicy needs service.type=LoadBalancer or NodePort" }}
{{- end }}
{{- if .Values.requireKinds }}
{{- $missing := include "clusterzone.missing" . }}
{{- if $missing }}
{{- fail (printf "%s: install its definitions, take the source out, or set requireKinds=false" ($missing | trim | replace "\n" "; ")) }}
{{- end }}
{{- end }}
{{- end }}

{{/* The group, resource and kind that each source of a CustomResourceDefinition reads. */}}
{{- define "clusterzone.custom" -}}
gateway-httproute: [gateway.networking.k8s.io, httproutes, HTTPRoute, v1 v1beta1 v1alpha2]
gateway-grpcroute: [gateway.networking.k8s.io, grpcroutes, GRPCRoute, v1 v1alpha2]
gateway-tlsroute: [gateway.networking.k8s.io, tlsroutes, TLSRoute, v1 v1alpha3 v1alpha2]
gateway-tcproute: [gateway.networking.k8s.io, tcproutes, TCPRoute, v1 v1alpha2]
gateway-udproute: [gateway.networking.k8s.io, udproutes, UDPRoute, v1 v1alpha2]
skipper-routegroup: [zalando.org, routegroups, RouteGroup, v1]
crd: [externaldns.k8s.io, dnsendpoints, DNSEndpoint, v1alpha1]
{{- end }}

{{/* A line for each source whose kind the cluster doesn't have. */}}
{{- define "clusterzone.missing" -}}
{{- $root := . }}
{{- $custom := include "clusterzone.custom" . | fromYaml }}
{{- range $source := .Values.sources }}
{{- with get $custom $source }}
{{- $group := index . 0 }}{{ $kind := index . 2 }}{{ $there := false }}
{{- range splitList " " (index . 3) }}
{{- if $root.Capabilities.APIVersions.Has (printf "%s/%s/%s" $group . $kind) }}{{ $there = true }}{{ end }}
{{- end }}
{{- if not $there }}
source {{ $source }} needs the kind {{ $kind }} of {{ $group }}, which the cluster does not have
{{- end }}
{{- end }}
{{- end }}
{{- end }}

{{/* The config file. */}}
{{- define "clusterzone.config" -}}
{{- $config := deepCopy .Values.config }}
{{- $_ := set $config "zone" .Values.zones }}
{{- $_ := set $config "source" .Values.sources }}
{{- if .Values.nameservers }}
{{- $_ := set $config "nameserver" .Values.nameservers }}
{{- else if .Values.service.clusterIP }}
{{- $_ := set $config "nameserver" (list (printf "ns1.%s=%s" (first .Values.zones | trimSuffix ".") .Values.service.clusterIP)) }}
{{- end }}
{{- if .Values.mirrors }}
{{- $_ := set $config "mirrors" .Values.mirrors }}
{{- end }}
{{- if .Values.stateFile }}
{{- $_ := set $config "state-file" "/var/lib/clusterzone/state" }}
{{- end }}
{{- if .Values.cookieSecret.name }}
{{- $_ := set $config "cookie-secret-file" (printf "/etc/clusterzone-cookies/%s" .Values.cookieSecret.key) }}
{{- end }}
{{- if .Values.tls.secretName }}
{{- $_ := set $config "tls-cert-file" "/etc/clusterzone-tls/tls.crt" }}
{{- $_ := set $config "tls-key-file" "/etc/clusterzone-tls/tls.key" }}
{{- end }}
{{- toYaml $config }}
{{- end }}
