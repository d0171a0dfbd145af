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
{{- include "karpdash.secret-env" . }}
{{- include "karpdash.audit-chosen" . }}
{{- with .Values.audit.url }}
- name: KARPDASH_AUDIT_URL
  value: {{ . | quote }}
{{- end }}
{{- if .Values.audit.claim }}
- name: KARPDASH_AUDIT_FILE
  value: /var/lib/karpdash-audit/checkpoints.jsonl
{{- end }}
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
  value: {{ if include "karpdash.acts" . }}{{ .Values.workers.action.slots | quote }}{{ else }}"0"{{ end }}
{{- if not (or (include "karpdash.acts" .) (hasKey .Values.settings "stop_all_actions")) }}
- name: KARPDASH_STOP_ALL_ACTIONS
  value: "1"
{{- end }}
{{- range $name, $value := .Values.settings }}
- name: {{ printf "KARPDASH_%s" (upper $name) }}
  value: {{ if kindIs "bool" $value }}{{ ternary "1" "0" $value | quote }}{{ else }}{{ toString $value | quote }}{{ end }}
{{- end }}
{{- with .Values.extraEnv }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{/* Not empty if this installation may change clusters at all. */}}
{{- define "karpdash.acts" -}}
{{- if .Values.workers.action.replicas }}yes{{ end -}}
{{- end -}}

{{/* Each secret setting as name of the variable, Secret, key, and whether the Secret may lack the key. */}}
{{- define "karpdash.secret-settings" -}}
{{- $keys := required "secrets.keys: the Secret with secret-key and encryption-keys" .Values.secrets.keys -}}
- {name: KARPDASH_SECRET_KEY, secret: {{ $keys | quote }}, key: secret-key}
- {name: KARPDASH_ENCRYPTION_KEYS, secret: {{ $keys | quote }}, key: encryption-keys}
- {name: KARPDASH_AUDIT_SIGNING_KEY, secret: {{ $keys | quote }}, key: audit-signing-key, optional: true}
- {name: KARPDASH_AUDIT_TOKEN, secret: {{ $keys | quote }}, key: audit-token, optional: true}
- {name: KARPDASH_DATABASE_URL, secret: {{ required "secrets.database: the Secret with the url of PostgreSQL" .Values.secrets.database | quote }}, key: url}
- {name: KARPDASH_BROKER_URL, secret: {{ required "secrets.broker: the Secret with the url of Valkey or Redis" .Values.secrets.broker | quote }}, key: url}
{{- end -}}

{{/* Those settings by reference, or as paths of files. */}}
{{- define "karpdash.secret-env" -}}
{{- range include "karpdash.secret-settings" . | fromYamlArray }}
{{- if not $.Values.secrets.asFiles }}
- name: {{ .name }}
  valueFrom: {secretKeyRef: {name: {{ .secret | quote }}, key: {{ .key }}{{ if .optional }}, optional: true{{ end }}}}
{{- else if or (not .optional) (has .key $.Values.secrets.optional) }}
- name: {{ .name }}_FILE
  value: /var/run/karpdash/{{ .name }}
{{- end }}
{{- end }}
{{- end -}}

{{/* The volume with those files. */}}
{{- define "karpdash.secret-files" -}}
name: secrets
projected:
  defaultMode: 0440
  sources:
{{- range include "karpdash.secret-settings" . | fromYamlArray }}
{{- if or (not .optional) (has .key $.Values.secrets.optional) }}
    - secret: {name: {{ .secret | quote }}, items: [{key: {{ .key }}, path: {{ .name }}}]}
{{- end }}
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
{{- if .Values.secrets.asFiles }}
- {name: secrets, mountPath: /var/run/karpdash, readOnly: true}
{{- end }}
{{- with .Values.extraVolumeMounts }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- define "karpdash.volumes" -}}
- {name: state, emptyDir: {sizeLimit: 1Gi}}
- {name: tmp, emptyDir: {sizeLimit: 256Mi}}
{{- if .Values.secrets.asFiles }}
- {{- include "karpdash.secret-files" . | nindent 2 }}
{{- end }}
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
{{- with .Values.priorityClassName }}
priorityClassName: {{ . }}
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

{{/* A process without pages: a worker of a queue, or the timetable. Takes top, part, replicas, resources. */}}
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
            - name: KARPDASH_ALIVE_FILE
              value: /dev/shm/karpdash-alive
          # Its main loop touches that file; one that hangs does not. Without the broker it waits, and is left alone.
          startupProbe:
            exec: {{- include "karpdash.alive" . | nindent 14 }}
            periodSeconds: 5
            timeoutSeconds: 10
            failureThreshold: 36
          livenessProbe:
            exec: {{- include "karpdash.alive" . | nindent 14 }}
            periodSeconds: 20
            timeoutSeconds: 10
            failureThreshold: 3
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
            {{- if and .top.Values.audit.claim (has .part (list "action" "upkeep")) }}
            - {name: audit, mountPath: /var/lib/karpdash-audit}
            {{- end }}
      volumes: {{- include "karpdash.volumes" .top | nindent 8 }}
        {{- if and .top.Values.audit.claim (has .part (list "action" "upkeep")) }}
        - {name: audit, persistentVolumeClaim: {claimName: {{ .top.Values.audit.claim | quote }}}}
        {{- end }}
      {{- include "karpdash.placement" .top | nindent 6 }}
      {{- include "karpdash.spread" (dict "top" .top "part" .part) | nindent 6 }}
{{- end -}}

{{- define "karpdash.alive" -}}
command: [python, -m, karpdash.alive, /dev/shm/karpdash-alive, --broker]
{{- end -}}

{{/* Asked as the proxy in front would ask: by a name that is allowed, over what was https. Takes top and path. */}}
{{- define "karpdash.probe" -}}
path: {{ .path }}
port: http
httpHeaders:
  - {name: Host, value: {{ first .top.Values.hosts | quote }}}
  - {name: X-Forwarded-Proto, value: https}
{{- end -}}
