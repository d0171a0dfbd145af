"""Packed charts of our own making, named karpenter as the real one, and a release of it that a real helm installs."""

import io
import tarfile
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
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
            - {name: FROM_SECRET, value: {{ (.Values.podAnnotations).password | default "none" | quote }}}
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


def install(
    helm: Helm,
    server: ApiServer,
    chart: bytes,
    values: dict[str, Any] | None = None,
    *,
    release: str = RELEASE,
    namespace: str = NAMESPACE,
) -> None:
    """The first revision of the release, by a real helm with the administrator's rights."""
    file = Path(helm.folder, "first.tgz")
    file.write_bytes(chart)
    words = ("install", release, str(file), "--namespace", namespace, "--create-namespace")
    helm.run(*words, values=values or {}, kubeconfig=server.kubeconfig(server.admin_token))


def play_controllers(server: ApiServer, *, leader: bool = True, namespace: str = NAMESPACE) -> None:
    """What Deployment, kubelet and leader do: pods of the newest template, ready, and one of them holds the Lease."""
    home = f"/api/v1/namespaces/{namespace}"
    path = f"/apis/apps/v1/namespaces/{namespace}/deployments/karpenter"
    made = server.admin.get(path)
    spec = made["spec"]["template"]["spec"]
    image, count = spec["containers"][0]["image"], made["spec"]["replicas"]
    status = {"observedGeneration": made["metadata"]["generation"]}
    status |= dict.fromkeys(("replicas", "updatedReplicas", "availableReplicas", "readyReplicas"), count)
    server.admin.patch(f"{path}/status", {"status": status})
    for old in server.admin.items(f"{home}/pods"):
        if old["spec"]["containers"][0]["image"] != image:
            server.admin.request("DELETE", f"{home}/pods/{old['metadata']['name']}", gracePeriodSeconds=0)
    tag = image.rpartition(":")[2].replace(".", "-")
    names = [f"karpenter-{tag}-{number}" for number in range(count)]
    for name in names:
        if server.admin.request("GET", f"{home}/pods/{name}").status == 404:
            pod = {"name": name, "namespace": namespace, "labels": made["spec"]["template"]["metadata"]["labels"]}
            plain = {"containers": [{"name": "controller", "image": image}], "automountServiceAccountToken": False}
            server.admin.create({"apiVersion": "v1", "kind": "Pod", "metadata": pod, "spec": plain})
        ready = {"conditions": [{"type": "Ready", "status": "True"}], "phase": "Running"}
        server.admin.patch(f"{home}/pods/{name}/status", {"status": ready})
    _hold(server, f"{names[0]}_7c1" if leader else "somebody-else_1", namespace=namespace)


def _hold(server: ApiServer, holder: str, *, namespace: str) -> None:
    lease = f"/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases/karpenter-leader-election"
    if server.admin.request("GET", lease).status == 404:
        metadata = {"name": "karpenter-leader-election", "namespace": namespace}
        server.admin.create({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": metadata, "spec": {}})
    server.admin.patch(lease, {"spec": {"holderIdentity": holder}})


def finish_hooks(server: ApiServer) -> None:
    """What the Job's controller does: every Job is complete."""
    for job in server.admin.items(f"/apis/batch/v1/namespaces/{NAMESPACE}/jobs"):
        if not job.get("status", {}).get("succeeded"):
            done = {"succeeded": 1, "conditions": [{"type": "Complete", "status": "True"}]}
            path = f"/apis/batch/v1/namespaces/{NAMESPACE}/jobs/{job['metadata']['name']}/status"
            server.admin.patch(path, {"status": done})


@contextmanager
def played_beside(play: Callable[[], object]) -> Iterator[None]:
    """Plays a part of the cluster's controllers again and again beside what the block does."""
    over = threading.Event()

    def again() -> None:
        while not over.wait(0.2):
            play()

    thread = threading.Thread(target=again)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
