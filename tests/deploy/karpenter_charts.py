"""Charts karpenter and karpenter-crd of our own making: the values, defaults and variables that matter of each release.

Written after deployment.yaml, values.yaml and _helpers.tpl of charts/karpenter in aws/karpenter-provider-aws at each of
these tags, and not after karpdash's tables, which they are here to prove wrong.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

Tree = dict[str, Any]
REPOSITORY = "public.ecr.aws/karpenter/controller"
ALPHA, BRIDGE, BETA, FIRST_V1, NO_WEBHOOK = (0, 31), (0, 32), (0, 37), (1, 0), (1, 1)

HELPERS = """\
{{- define "fullname" -}}
{{- if .Values.fullnameOverride -}}{{ .Values.fullnameOverride }}
{{- else -}}{{- $name := default .Chart.Name .Values.nameOverride -}}
{{- if contains $name .Release.Name -}}{{ .Release.Name }}{{- else -}}{{ .Release.Name }}-{{ $name }}{{- end -}}
{{- end -}}
{{- end -}}
{{- define "image" -}}
{{- with .Values.controller.image -}}
{{ .repository }}:{{ default (printf "v%s" $.Chart.AppVersion) .tag }}{{ with .digest }}@{{ . }}{{ end }}
{{- end -}}
{{- end -}}
"""
DEPLOYMENT = """\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ include "fullname" . }}
  namespace: {{ .Release.Namespace }}
  labels:
    helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
    app.kubernetes.io/name: {{ default .Chart.Name .Values.nameOverride }}
    app.kubernetes.io/instance: {{ .Release.Name }}
    app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
    app.kubernetes.io/managed-by: {{ .Release.Service }}
spec:
  replicas: {{ .Values.replicas }}
  selector: {matchLabels: {app.kubernetes.io/instance: {{ .Release.Name }}}}
  template:
    metadata: {labels: {app.kubernetes.io/instance: {{ .Release.Name }}}}
    spec:
      serviceAccountName: {{ default (include "fullname" .) .Values.serviceAccount.name }}
      {{- with .Values.priorityClassName }}
      priorityClassName: {{ . | quote }}
      {{- end }}
      dnsPolicy: {{ .Values.dnsPolicy }}
      nodeSelector: {{ toYaml .Values.nodeSelector | nindent 8 }}
      topologySpreadConstraints:
        - maxSkew: 1
          topologyKey: topology.kubernetes.io/zone
          whenUnsatisfiable: {{ (index .Values.topologySpreadConstraints 0).whenUnsatisfiable }}
          labelSelector: {matchLabels: {app.kubernetes.io/instance: {{ .Release.Name }}}}
      containers:
        - name: controller
          image: {{ include "image" . }}
          ports: [{name: http-metrics, containerPort: {{ .Values.controller.metrics.port }}}]
          env:
            - {name: KARPENTER_SERVICE, value: {{ include "fullname" . }}}
            %s
            {{- with .Values.controller.env }}
            {{- toYaml . | nindent 12 }}
            {{- end }}
"""
SERVICE = """\
apiVersion: v1
kind: Service
metadata:
  name: {{ include "fullname" . }}
  namespace: {{ .Release.Namespace }}
  labels: {app.kubernetes.io/name: karpenter}
spec:
  selector: {app.kubernetes.io/instance: {{ .Release.Name }}}
  ports: [{name: http-metrics, port: 8000}, {name: https-webhook, port: 8443}]
"""
SETTINGS = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: karpenter-global-settings, namespace: {{ .Release.Namespace }}}
data:
  {{- range $name, $value := .Values.settings.aws }}
  aws.{{ $name }}: {{ $value | quote }}
  {{- end }}
  featureGates.driftEnabled: {{ .Values.settings.featureGates.driftEnabled | quote }}
"""
CRD = """\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: nodepools.karpenter.sh, labels: {of: {{ .Chart.Version | quote }}}}
spec:
  group: karpenter.sh
  names: {kind: NodePool, listKind: NodePoolList, plural: nodepools, singular: nodepool}
  scope: Cluster
  {{- with .Values.webhook }}
  conversion:
    {{- if .enabled }}
    strategy: Webhook
    webhook:
      conversionReviewVersions: [v1beta1, v1]
      clientConfig:
        service:
          name: {{ .serviceName }}
          namespace: {{ .serviceNamespace | default $.Release.Namespace }}
          port: {{ .port }}
          path: /conversion/karpenter.sh
    {{- else }}
    strategy: None
    {{- end }}
  {{- end }}
  versions:
    - name: v1beta1
      served: true
      storage: true
      schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
"""
RENAMED = (
    ("CLUSTER_NAME", "clusterName", "clusterName"),
    ("CLUSTER_ENDPOINT", "clusterEndpoint", "clusterEndpoint"),
    ("ISOLATED_VPC", "isolatedVPC", "isolatedVPC"),
    ("VM_MEMORY_OVERHEAD_PERCENT", "vmMemoryOverheadPercent", "vmMemoryOverheadPercent"),
    ("INTERRUPTION_QUEUE", "interruptionQueueName", "interruptionQueue"),
    ("RESERVED_ENIS", "reservedENIs", "reservedENIs"),
)
"""Variable, value below settings.aws, value below settings."""
ROLES = (
    ("ASSUME_ROLE_ARN", "assumeRoleARN", "assumeRoleARN"),
    ("ASSUME_ROLE_DURATION", "assumeRoleDuration", "assumeRoleDuration"),
)
"""The same, up to 0.37."""


def order_of(version: str) -> tuple[int, int]:
    major, minor, _ = version.split(".")
    return int(major), int(minor)


def tag_of(version: str) -> str:
    """As images and charts spell it."""
    return f"v{version}" if order_of(version) < (0, 35) else version


def digest_of(version: str) -> str:
    return "sha256:" + version.replace(".", "").ljust(64, "0")


def image_of(version: str) -> str:
    """What runs where nobody gives values of the image."""
    return f"{REPOSITORY}:{tag_of(version)}@{digest_of(version)}"


def write_charts(folder: Path, *versions: str) -> None:
    """Both charts of each version, in folder/VERSION-AS-SPELLED/CHART."""
    for version in versions:
        main, crds = folder / tag_of(version) / "karpenter", folder / tag_of(version) / "karpenter-crd"
        _write(main, version, values=_defaults(version), templates=dict(_templates(version)))
        _write(crds, version, values=_crd_defaults(version), templates={"nodepools.yaml": CRD})


def _write(chart: Path, version: str, *, values: Tree, templates: dict[str, str]) -> None:
    (chart / "templates").mkdir(parents=True)
    about = {"apiVersion": "v2", "name": chart.name, "version": version, "appVersion": version}
    (chart / "Chart.yaml").write_text(yaml.safe_dump(about))
    (chart / "values.yaml").write_text(yaml.safe_dump(values))
    for name, text in templates.items():
        (chart / "templates" / name).write_text(text)


def _templates(version: str) -> Iterator[tuple[str, str]]:
    yield "_helpers.tpl", HELPERS
    lines = "\n".join(_variables(order_of(version)))
    yield "deployment.yaml", DEPLOYMENT.replace("            %s\n", f"{lines}\n" if lines else "")
    yield "service.yaml", SERVICE
    if order_of(version) <= BRIDGE:
        yield "configmap.yaml", SETTINGS


def _variables(order: tuple[int, int]) -> Iterator[str]:
    if order <= ALPHA:
        return
    for name, old, new in (*RENAMED, *(ROLES if order <= BETA else ())):
        if name == "CLUSTER_NAME" and order >= (1, 5):
            given = '{{ required "settings.clusterName!" .Values.settings.clusterName | quote }}'
            yield f"            - {{name: CLUSTER_NAME, value: {given}}}"
            continue
        given = (
            f"(or .Values.settings.aws.{old} .Values.settings.{new})" if order == BRIDGE else f".Values.settings.{new}"
        )
        yield _with(given, name)
    yield _with(".Values.logLevel", "LOG_LEVEL")
    gates = {
        "Drift": ("drift", BRIDGE, BETA),
        "SpotToSpotConsolidation": ("spotToSpotConsolidation", (0, 34), (9, 9)),
        "NodeRepair": ("nodeRepair", NO_WEBHOOK, (9, 9)),
        "ReservedCapacity": ("reservedCapacity", (1, 3), (9, 9)),
        "StaticCapacity": ("staticCapacity", (1, 8), (9, 9)),
    }
    told = ",".join(_gate(name, key, order) for name, (key, first, last) in gates.items() if first <= order <= last)
    yield f'            - {{name: FEATURE_GATES, value: "{told}"}}'
    if order <= FIRST_V1:
        yield "            - {name: DISABLE_WEBHOOK, value: {{ not .Values.webhook.enabled | quote }}}"


def _gate(name: str, key: str, order: tuple[int, int]) -> str:
    gates = ".Values.settings.featureGates"
    return (
        f"{name}={{{{ or {gates}.driftEnabled {gates}.drift }}}}"
        if (name, order) == ("Drift", BRIDGE)
        else (f"{name}={{{{ {gates}.{key} }}}}")
    )


def _with(given: str, name: str) -> str:
    line = f"            - {{name: {name}, value: {{{{ . | quote }}}}}}"
    return f"            {{{{- with {given} }}}}\n{line}\n            {{{{- end }}}}"


def _defaults(version: str) -> Tree:
    order = order_of(version)
    image = {"repository": REPOSITORY, "tag": tag_of(version), "digest": digest_of(version)}
    spread = "ScheduleAnyway" if order < FIRST_V1 else "DoNotSchedule"
    return {
        "replicas": 2,
        "serviceAccount": {"name": ""},
        "priorityClassName": "system-cluster-critical",
        "dnsPolicy": "Default" if order < (0, 34) else "ClusterFirst",
        "nodeSelector": {"kubernetes.io/os": "linux"},
        "topologySpreadConstraints": [{"whenUnsatisfiable": spread}],
        "controller": {"image": image, "env": [], "metrics": {"port": 8000 if order < FIRST_V1 else 8080}},
        "logLevel": "debug" if order < (0, 33) else "info",
        "settings": _settings(order),
        **({"webhook": {"enabled": True, "port": 8443}} if order <= FIRST_V1 else {}),
    }


def _settings(order: tuple[int, int]) -> Tree:
    old = {"clusterName": "", "interruptionQueueName": "", "assumeRoleARN": "", "vmMemoryOverheadPercent": 0.075}
    if order <= ALPHA:
        return {"aws": old, "featureGates": {"driftEnabled": False}}
    gates: Tree = {"drift": order > BRIDGE} if order <= BETA else {}
    gates |= {"spotToSpotConsolidation": False} if order >= (0, 34) else {}
    gates |= {"nodeRepair": False} if order >= NO_WEBHOOK else {}
    gates |= {"reservedCapacity": order >= (1, 6)} if order >= (1, 3) else {}
    gates |= {"staticCapacity": False} if order >= (1, 8) else {}
    new: Tree = {"clusterName": "", "interruptionQueue": "", "vmMemoryOverheadPercent": 0.075, "featureGates": gates}
    return new | ({"aws": {}} if order == BRIDGE else {}) | ({"assumeRoleARN": ""} if order <= BETA else {})


def _crd_defaults(version: str) -> Tree:
    order = order_of(version)
    if not (BETA <= order <= FIRST_V1):
        return {}
    return {"webhook": {"enabled": True, "serviceName": "karpenter", "serviceNamespace": "", "port": 8443}}
