{{- define "karpdash-agent.name" -}}
{{- .Release.Name | trunc 40 | trimSuffix "-" -}}
{{- end -}}

{{- define "karpdash-agent.selector" -}}
app.kubernetes.io/name: karpdash-agent
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "karpdash-agent.labels" -}}
{{ include "karpdash-agent.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | quote }}
{{- end -}}

{{- define "karpdash-agent.image" -}}
{{- $repository := required "image.repository: the image of karpdash, of the same release as the server" .Values.image.repository -}}
{{- if .Values.image.digest -}}
{{ printf "%s@%s" $repository .Values.image.digest }}
{{- else -}}
{{ printf "%s:%s" $repository (.Values.image.tag | default .Chart.AppVersion) }}
{{- end -}}
{{- end -}}

{{/* The port of a URL such as https://host:8443/path; 443 or 80 without one. */}}
{{- define "karpdash-agent.port" -}}
{{- $parts := urlParse . -}}
{{- $port := regexFind ":[0-9]+$" $parts.host | trimPrefix ":" -}}
{{- $port | default (eq $parts.scheme "https" | ternary "443" "80") -}}
{{- end -}}

{{/* Every port that the agent dials but that of DNS, each once. */}}
{{- define "karpdash-agent.ports" -}}
{{- $ports := list -}}
{{- range .Values.networkPolicy.ports }}{{ $ports = append $ports (toString .) }}{{ end -}}
{{- $ports = append $ports (include "karpdash-agent.port" .Values.server) -}}
{{- with .Values.proxy.url }}{{ $ports = append $ports (include "karpdash-agent.port" .) }}{{ end -}}
{{- with .Values.proxy.port }}{{ $ports = append $ports (toString .) }}{{ end -}}
{{- uniq $ports | toYaml -}}
{{- end -}}
