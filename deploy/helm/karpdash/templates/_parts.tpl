{{- define "karpdash.name" -}}
{{- .Release.Name | trunc 40 | trimSuffix "-" -}}
{{- end -}}

{{- define "karpdash.selector" -}}
app.kubernetes.io/name: karpdash
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "karpdash.labels" -}}
{{ include "karpdash.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | quote }}
{{- end -}}

{{- define "karpdash.image" -}}
{{- $repository := required "image.repository: build the Dockerfile and say where the image is" .Values.image.repository -}}
{{- if .Values.image.digest -}}
{{ printf "%s@%s" $repository .Values.image.digest }}
{{- else -}}
{{ printf "%s:%s" $repository (.Values.image.tag | default .Chart.AppVersion) }}
{{- end -}}
{{- end -}}

{{/* What every container of karpdash is told. Secrets come by reference; an optional one may lack its key. */}}
{{- define "karpdash.env" -}}
- name: KARPDASH_DATA_DIR
  value: /var/lib/karpdash
- name: KARPDASH_SECRET_KEY
  valueFrom: {secretKeyRef: {name: {{ required "secrets.keys: the Secret with secret-key and encryption-keys" .Values.secrets.keys | quote }}, key: secret-key}}
- name: KARPDASH_ENCRYPTION_KEYS
  valueFrom: {secretKeyRef: {name: {{ .Values.secrets.keys | quote }}, key: encryption-keys}}
- name: KARPDASH_AUDIT_SIGNING_KEY
  valueFrom: {secretKeyRef: {name: {{ .Values.secrets.keys | quote }}, key: audit-signing-key, optional: true}}
- name: KARPDASH_AUDIT_TOKEN
  valueFrom: {secretKeyRef: {name: {{ .Values.secrets.keys | quote }}, key: audit-token, optional: true}}
{{- include "karpdash.audit-chosen" . }}
{{- with .Values.audit.url }}
- name: KARPDASH_AUDIT_URL
  value: {{ . | quote }}
{{- end }}
{{- if .Values.audit.claim }}
- name: KARPDASH_AUDIT_FILE
  value: /var/lib/karpdash-audit/checkpoints.jsonl
{{- end }}
- name: KARPDASH_DATABASE_URL
  valueFrom: {secretKeyRef: {name: {{ required "secrets.database: the Secret with the url of PostgreSQL" .Values.secrets.database | quote }}, key: url}}
- name: KARPDASH_BROKER_URL
  valueFrom: {secretKeyRef: {name: {{ required "secrets.broker: the Secret with the url of Valkey or Redis" .Values.secrets.broker | quote }}, key: url}}
- name: KARPDASH_ALLOWED_HOSTS
  value: {{ join "," (required "hosts: the names by which the pages are reached" (.Values.hosts | default nil)) | quote }}
- name: KARPDASH_HTTPS
  value: "1"
- name: KARPDASH_BEHIND_PROXY
  value: "1"
- name: KARPDASH_PROBE_SLOTS
  value: {{ .Values.workers.probe.slots | quote }}
- name: KARPDASH_WORKER_SLOTS
  value: {{ .Values.workers.scan.slots | quote }}
- name: KARPDASH_ACTION_SLOTS
  value: {{ .Values.workers.action.slots | quote }}
{{- range $name, $value := .Values.settings }}
- name: {{ printf "KARPDASH_%s" (upper $name) }}
  value: {{ if kindIs "bool" $value }}{{ ternary "1" "0" $value | quote }}{{ else }}{{ toString $value | quote }}{{ end }}
{{- end }}
{{- with .Values.extraEnv }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{/* Nothing but the end of the rendering where nobody has said where checkpoints of the audit log go. */}}
{{- define "karpdash.audit-chosen" -}}
{{- if not (or .Values.audit.url .Values.audit.claim .Values.audit.none) -}}
{{- fail "audit.url or audit.claim: where checkpoints of the audit log go besides the database; or audit.none=true" -}}
{{- end -}}
{{- if and .Values.audit.none (or .Values.audit.url .Values.audit.claim) -}}
{{- fail "audit.none: it is true, yet audit.url or audit.claim is given" -}}
{{- end -}}
{{- end -}}

{{- define "karpdash.pod-security" -}}
runAsNonRoot: true
runAsUser: 10001
runAsGroup: 10001
fsGroup: 10001
seccompProfile: {type: RuntimeDefault}
{{- end -}}

{{- define "karpdash.container-security" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: {drop: [ALL]}
{{- end -}}

{{- define "karpdash.mounts" -}}
- {name: state, mountPath: /var/lib/karpdash}
- {name: tmp, mountPath: /tmp}
{{- with .Values.extraVolumeMounts }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- define "karpdash.volumes" -}}
- {name: state, emptyDir: {sizeLimit: 1Gi}}
- {name: tmp, emptyDir: {sizeLimit: 256Mi}}
{{- with .Values.extraVolumes }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{/* Labels and annotations of a pod. Takes top and part; the labels that select it are never replaced. */}}
{{- define "karpdash.pod-metadata" -}}
labels:
  {{- with omit .top.Values.podLabels "app.kubernetes.io/name" "app.kubernetes.io/instance" "app.kubernetes.io/component" }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
  {{- include "karpdash.selector" .top | nindent 2 }}
  app.kubernetes.io/component: {{ .part }}
{{- with .top.Values.podAnnotations }}
annotations: {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{/* Pods of one part on different nodes and in different zones, as far as there are such. Takes top and part. */}}
{{- define "karpdash.spread" -}}
{{- if .top.Values.spread }}
topologySpreadConstraints:
{{- range list "kubernetes.io/hostname" "topology.kubernetes.io/zone" }}
  - maxSkew: 1
    topologyKey: {{ . }}
    whenUnsatisfiable: ScheduleAnyway
    labelSelector:
      matchLabels: {{- include "karpdash.selector" $.top | nindent 8 }}
        app.kubernetes.io/component: {{ $.part }}
{{- end }}
{{- end }}
{{- end -}}

{{- define "karpdash.placement" -}}
{{- with .Values.image.pullSecrets }}
imagePullSecrets:
{{- range . }}
  - name: {{ . }}
{{- end }}
{{- end }}
{{- with .Values.nodeSelector }}
nodeSelector: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.tolerations }}
tolerations: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.affinity }}
affinity: {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{/* A process without pages: a worker of a lane, or the timetable. Takes top, part, replicas, resources. */}}
{{- define "karpdash.process" -}}
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ include "karpdash.name" .top }}-{{ .part }}
  labels: {{- include "karpdash.labels" .top | nindent 4 }}
    app.kubernetes.io/component: {{ .part }}
spec:
  replicas: {{ .replicas }}
  selector:
    matchLabels: {{- include "karpdash.selector" .top | nindent 6 }}
      app.kubernetes.io/component: {{ .part }}
  template:
    metadata: {{- include "karpdash.pod-metadata" (dict "top" .top "part" .part) | nindent 6 }}
    spec:
      serviceAccountName: {{ include "karpdash.name" .top }}
      automountServiceAccountToken: {{ or .top.Values.inCluster.scan .top.Values.inCluster.act }}
      enableServiceLinks: false
      terminationGracePeriodSeconds: 60
      securityContext: {{- include "karpdash.pod-security" .top | nindent 8 }}
      containers:
        - name: {{ .part }}
          image: {{ include "karpdash.image" .top | quote }}
          imagePullPolicy: {{ .top.Values.image.pullPolicy }}
          command: ["karpdash", "worker", {{ .part | quote }}]
          env: {{- include "karpdash.env" .top | nindent 12 }}
          {{- if ne .part "beat" }}
          lifecycle:
            preStop:
              exec:
                # A stop waits for a scan to its end, minutes maybe; this signal gives it back after ten seconds.
                command: ["sh", "-c", "kill -QUIT 1; sleep 45"]
          {{- end }}
          resources: {{- toYaml .resources | nindent 12 }}
          securityContext: {{- include "karpdash.container-security" .top | nindent 12 }}
          volumeMounts: {{- include "karpdash.mounts" .top | nindent 12 }}
            {{- if and .top.Values.audit.claim (eq .part "action") }}
            - {name: audit, mountPath: /var/lib/karpdash-audit}
            {{- end }}
      volumes: {{- include "karpdash.volumes" .top | nindent 8 }}
        {{- if and .top.Values.audit.claim (eq .part "action") }}
        - {name: audit, persistentVolumeClaim: {claimName: {{ .top.Values.audit.claim | quote }}}}
        {{- end }}
      {{- include "karpdash.placement" .top | nindent 6 }}
      {{- include "karpdash.spread" (dict "top" .top "part" .part) | nindent 6 }}
{{- end -}}

{{/* Asked as the proxy in front would ask: by a name that is allowed, over what was https. Takes top and path. */}}
{{- define "karpdash.probe" -}}
path: {{ .path }}
port: http
httpHeaders:
  - {name: Host, value: {{ first .top.Values.hosts | quote }}}
  - {name: X-Forwarded-Proto, value: https}
{{- end -}}
