"""Packed charts of our own making, named karpenter as the real one, and a release of it that a real helm installs."""

import io
import tarfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.deploy.helm import Helm
from tests.servers.apiserver import ApiServer

NAMESPACE, RELEASE = "karpenter", "karpenter"
DEPLOYMENT = """\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: karpenter
  labels: {app.kubernetes.io/name: karpenter, app.kubernetes.io/instance: {{ .Release.Name }}}
spec:
  replicas: {{ .Values.replicas }}
  selector: {matchLabels: {app.kubernetes.io/name: karpenter}}
  template:
    metadata: {labels: {app.kubernetes.io/name: karpenter}}
    spec:
      serviceAccountName: karpenter
      containers:
        - name: controller
          image: public.ecr.aws/karpenter/controller:{{ .Values.controller.image.tag | default .Chart.AppVersion }}
          env:
            - {name: CLUSTER_NAME, value: {{ .Values.settings.clusterName | quote }}}
            - {name: FROM_SECRET, value: {{ .Values.hidden | default "none" | quote }}}
            {{- if .Values.noLeader }}
            - {name: DISABLE_LEADER_ELECTION, value: "true"}
            {{- end }}
"""
ACCOUNT = """\
apiVersion: v1
kind: ServiceAccount
metadata: {name: karpenter}
"""
ROLE = """\
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: karpenter-core}
rules:
  - apiGroups: [""]
    resources: [nodes, pods]
    verbs: [get, list, watch{{ .Values.moreVerbs | default "" }}]
"""
OLD_ONLY = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: karpenter-global-settings}
data: {clusterName: {{ .Values.settings.clusterName | quote }}}
"""
HOOK = """\
apiVersion: batch/v1
kind: Job
metadata:
  name: karpenter-post-upgrade-hook
  annotations: {helm.sh/hook: "post-upgrade", helm.sh/hook-delete-policy: "before-hook-creation,hook-succeeded"}
spec:
  template:
    spec:
      restartPolicy: Never
      containers: [{name: hook, image: example.org/kubectl}]
"""
VALUES = 'replicas: 2\nsettings: {clusterName: test}\ncontroller: {image: {tag: ""}}\n'
BASE = {"deployment.yaml": DEPLOYMENT, "account.yaml": ACCOUNT, "role.yaml": ROLE}


def packed(version: str, templates: Mapping[str, str] = BASE, *, name: str = "karpenter") -> bytes:
    """The chart of that version as `helm package` writes it."""
    files = {"Chart.yaml": f"apiVersion: v2\nname: {name}\nversion: {version}\nappVersion: {version}\n"}
    files |= {"values.yaml": VALUES} | {f"templates/{key}": text for key, text in templates.items()}
    body = io.BytesIO()
    with tarfile.open(fileobj=body, mode="w:gz") as archive:
        for path, text in files.items():
            head = tarfile.TarInfo(f"{name}/{path}")
            head.size = len(text.encode())
            archive.addfile(head, io.BytesIO(text.encode()))
    return body.getvalue()


def install(helm: Helm, server: ApiServer, chart: bytes, values: dict[str, Any] | None = None) -> None:
    """The first revision of the release, by a real helm with the administrator's rights."""
    file = Path(helm.folder, "first.tgz")
    file.write_bytes(chart)
    words = ("install", RELEASE, str(file), "--namespace", NAMESPACE, "--create-namespace")
    helm.run(*words, values=values or {}, kubeconfig=server.kubeconfig(server.admin_token))
