{{- define "gleaner.name" -}}
{{- if contains "gleaner" .Release.Name }}{{ .Release.Name }}{{ else }}{{ .Release.Name }}-gleaner{{ end }}
{{- end }}

{{- define "gleaner.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end }}

{{/* Arguments: dict "root" $ "part" "hook" */}}
{{- define "gleaner.selector" -}}
app.kubernetes.io/name: gleaner
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .part }}
{{- end }}

{{- define "gleaner.metadata" -}}
name: {{ include "gleaner.name" .root }}-{{ .part }}
namespace: {{ .root.Release.Namespace }}
labels:
  {{- include "gleaner.selector" . | nindent 2 }}
  app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
  app.kubernetes.io/managed-by: {{ .root.Release.Service }}
{{- end }}

{{- define "gleaner.podMetadata" -}}
labels:
  {{- include "gleaner.selector" . | nindent 2 }}
annotations:
  # A changed configuration restarts the pods.
  checksum/config: {{ include "gleaner.config" .root | sha256sum }}
{{- end }}

{{- define "gleaner.config" -}}
{{- $servers := dig "nats" "servers" (list) .Values.config }}
{{- if and (not $servers) .Values.nats.enabled }}
{{- $servers = list (printf "nats://%s.%s.svc:4222" .Values.nats.fullnameOverride .Release.Namespace) }}
{{- end }}
{{- if not $servers }}{{ fail "set config.nats.servers, or nats.enabled=true" }}{{ end }}
{{- toYaml (mergeOverwrite (deepCopy .Values.config) (dict "nats" (dict "servers" $servers))) }}
{{- end }}

{{/* Keys of NATS. Arguments as above, and "role" */}}
{{- define "gleaner.natsEnv" -}}
{{- if .root.Values.natsSecret }}
- name: GLEANER_NATS_NKEYSEEDFILE
  value: /run/gleaner/nats/seed.nk
- name: GLEANER_NATS_CAFILE
  value: /run/gleaner/nats/ca.pem
- name: GLEANER_NATS_INBOXPREFIX
  value: _INBOX_gleaner_{{ .role }}
# The files belong to root, and the pod's group may read them: here that is no reason to refuse them.
- name: CREDENTIALS_DIRECTORY
  value: /run/gleaner/nats
{{- end }}
{{- end }}

{{- define "gleaner.mounts" -}}
- name: config
  mountPath: /etc/gleaner
  readOnly: true
- name: tmp
  mountPath: /tmp
{{- if .root.Values.natsSecret }}
- name: nats
  mountPath: /run/gleaner/nats
  readOnly: true
{{- end }}
{{- end }}

{{- define "gleaner.volumes" -}}
- name: config
  configMap:
    name: {{ include "gleaner.name" .root }}
- name: tmp
  emptyDir: {}
{{- if .root.Values.natsSecret }}
# Only the seed of this part.
- name: nats
  secret:
    secretName: {{ .root.Values.natsSecret }}
    defaultMode: 0440
    items:
      - key: ca.pem
        path: ca.pem
      - key: {{ .role }}.nk
        path: seed.nk
{{- end }}
{{- end }}

{{/* livenessProbe replaces systemd's watchdog. Arguments: dict "port" 9781 "host" "127.0.0.1" */}}
{{- define "gleaner.probes" -}}
livenessProbe:
  httpGet:
    path: /livez
    port: {{ .port }}
    {{- with .host }}
    host: {{ . }}
    {{- end }}
  periodSeconds: 10
  timeoutSeconds: 5
  failureThreshold: 3
  initialDelaySeconds: 30
readinessProbe:
  httpGet:
    path: /readyz
    port: {{ .port }}
    {{- with .host }}
    host: {{ . }}
    {{- end }}
  periodSeconds: 10
  timeoutSeconds: 5
{{- end }}
