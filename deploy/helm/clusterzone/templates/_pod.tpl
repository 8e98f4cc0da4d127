{{/* The Pod, the same for a DaemonSet and a Deployment. */}}
{{- define "clusterzone.pod" -}}
{{- $hostNetwork := include "clusterzone.hostNetwork" . }}
{{- $dot := and .Values.tls.secretName .Values.tls.dot }}
{{- $doh := and .Values.tls.secretName .Values.tls.doh }}
metadata:
  labels:
    {{- include "clusterzone.selector" . | nindent 4 }}
    {{- with .Values.podLabels }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  annotations:
    checksum/config: {{ include "clusterzone.config" . | sha256sum }}
    {{- with .Values.podAnnotations }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
spec:
  serviceAccountName: {{ include "clusterzone.account" . }}
  {{- with .Values.imagePullSecrets }}
  imagePullSecrets:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  priorityClassName: {{ default (eq .Values.mode "daemonset" | ternary "system-node-critical" "system-cluster-critical") .Values.priorityClassName }}
  terminationGracePeriodSeconds: {{ .Values.terminationGracePeriodSeconds }}
  enableServiceLinks: false
  {{- if $hostNetwork }}
  hostNetwork: true
  {{- end }}
  dnsPolicy: {{ .Values.dnsPolicy }}
  {{- with .Values.dnsConfig }}
  dnsConfig:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  securityContext:
    runAsNonRoot: true
    runAsUser: 65532
    runAsGroup: 65532
    fsGroup: 65532
    seccompProfile:
      type: RuntimeDefault
  containers:
    - name: clusterzone
      image: {{ include "clusterzone.image" . }}
      imagePullPolicy: {{ .Values.image.pullPolicy }}
      args:
        - serve
        - --config=/etc/clusterzone/config.yaml
        {{- if $hostNetwork }}
        - --listen=[$(HOST_IP)]:53
        - --metrics-address=[$(HOST_IP)]:{{ .Values.metrics.port }}
        - --reuse-port
        {{- else }}
        - --listen=:53
        - --metrics-address=:{{ .Values.metrics.port }}
        {{- end }}
        {{- if $dot }}
        - --listen-tls={{ if $hostNetwork }}[$(HOST_IP)]{{ end }}:853
        {{- end }}
        {{- if $doh }}
        - --listen-https={{ if $hostNetwork }}[$(HOST_IP)]{{ end }}:443
        {{- end }}
      env:
        - name: CLUSTERZONE_NSID
          valueFrom:
            fieldRef:
              fieldPath: metadata.name
        {{- if $hostNetwork }}
        - name: HOST_IP
          valueFrom:
            fieldRef:
              fieldPath: status.hostIP
        - name: CLUSTERZONE_HEALTH_SOCKET
          value: /run/clusterzone/health
        {{- end }}
        {{- with .Values.env }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
      {{- with .Values.envFrom }}
      envFrom:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- if $hostNetwork }}
      # No ports are named: they would be the node's, and the scheduler puts no two Pods
      # with one of them on a node. For a moment an update has two. So a probe of the
      # node's address could ask the other Pod; the socket is this Pod's own.
      livenessProbe:
        exec:
          command: [/clusterzone, probe, --live]
        periodSeconds: 20
        timeoutSeconds: 10
        failureThreshold: 3
      readinessProbe:
        exec:
          command: [/clusterzone, probe]
        periodSeconds: 5
        timeoutSeconds: 5
      {{- else }}
      ports:
        - {name: dns-udp, containerPort: 53, protocol: UDP{{ include "clusterzone.hostPort" (list . 53) }}}
        - {name: dns-tcp, containerPort: 53, protocol: TCP{{ include "clusterzone.hostPort" (list . 53) }}}
        {{- if $dot }}
        - {name: dns-tls, containerPort: 853, protocol: TCP{{ include "clusterzone.hostPort" (list . 853) }}}
        {{- end }}
        {{- if $doh }}
        - {name: dns-https, containerPort: 443, protocol: TCP{{ include "clusterzone.hostPort" (list . 443) }}}
        {{- end }}
        - {name: metrics, containerPort: {{ .Values.metrics.port }}, protocol: TCP}
      livenessProbe:
        httpGet:
          path: /healthz
          port: metrics
        periodSeconds: 10
        timeoutSeconds: 5
        failureThreshold: 6
      readinessProbe:
        httpGet:
          path: /readyz
          port: metrics
        periodSeconds: 2
        timeoutSeconds: 2
      {{- end }}
      securityContext:
        allowPrivilegeEscalation: false
        readOnlyRootFilesystem: true
        capabilities:
          drop: [ALL]
          add: [NET_BIND_SERVICE]
      {{- with .Values.resources }}
      resources:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      volumeMounts:
        - name: config
          mountPath: /etc/clusterzone
          readOnly: true
        {{- if .Values.stateFile }}
        - name: state
          mountPath: /var/lib/clusterzone
        {{- end }}
        {{- if $hostNetwork }}
        - name: run
          mountPath: /run/clusterzone
        {{- end }}
        {{- if .Values.cookieSecret.name }}
        - name: cookies
          mountPath: /etc/clusterzone-cookies
          readOnly: true
        {{- end }}
        {{- if .Values.tls.secretName }}
        - name: tls
          mountPath: /etc/clusterzone-tls
          readOnly: true
        {{- end }}
        {{- with .Values.extraVolumeMounts }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
  volumes:
    - name: config
      configMap:
        name: {{ include "clusterzone.fullname" . }}
    {{- if .Values.stateFile }}
    - name: state
      emptyDir: {}
    {{- end }}
    {{- if $hostNetwork }}
    - name: run
      emptyDir: {medium: Memory}
    {{- end }}
    {{- if .Values.cookieSecret.name }}
    - name: cookies
      secret:
        secretName: {{ .Values.cookieSecret.name }}
    {{- end }}
    {{- if .Values.tls.secretName }}
    - name: tls
      secret:
        secretName: {{ .Values.tls.secretName }}
    {{- end }}
    {{- with .Values.extraVolumes }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  {{- with .Values.nodeSelector }}
  nodeSelector:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.affinity }}
  affinity:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- if .Values.tolerations }}
  tolerations:
    {{- toYaml .Values.tolerations | nindent 4 }}
  {{- else if eq .Values.mode "daemonset" }}
  tolerations:
    - operator: Exists
  {{- end }}
  {{- if eq .Values.mode "deployment" }}
  topologySpreadConstraints:
    {{- if .Values.deployment.topologySpreadConstraints }}
    {{- toYaml .Values.deployment.topologySpreadConstraints | nindent 4 }}
    {{- else }}
    {{- range list "kubernetes.io/hostname" "topology.kubernetes.io/zone" }}
    - topologyKey: {{ . }}
      maxSkew: 1
      whenUnsatisfiable: ScheduleAnyway
      labelSelector:
        matchLabels:
          {{- include "clusterzone.selector" $ | nindent 10 }}
    {{- end }}
    {{- end }}
  {{- end }}
{{- end }}

{{/* ", hostPort: N" where the node's port is taken. */}}
{{- define "clusterzone.hostPort" -}}
{{- if include "clusterzone.hostPorts" (index . 0) }}, hostPort: {{ index . 1 }}{{ end }}
{{- end }}

{{/* How the port of a Pod is named: by its number where the Pod names none. */}}
{{- define "clusterzone.port" -}}
{{- if include "clusterzone.hostNetwork" (index . 0) }}{{ index . 2 }}{{ else }}{{ index . 1 }}{{ end }}
{{- end }}
