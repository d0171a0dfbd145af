"""Builders of an installed Karpenter: CRDs, Deployment, pods, Service, service account, Helm records, webhooks."""

import base64
import gzip
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from migrations_app.karpenter import crds as crd_sets
from migrations_app.karpenter import kinds, labels
from migrations_app.karpenter.crds import Crd, marks_of, sketched
from migrations_app.karpenter.releases import crd_set, find
from migrations_app.karpenter.versions import minor_order, release
from migrations_app.manifests import JsonMap
from migrations_app.samples.kubernetes_objects import doc, meta, pods_of, template, workload
from migrations_app.samples.rbac import cluster_roles

CONTAINER = "controller"
HELM_LABEL = {labels.APP_MANAGED_BY: "Helm"}
CONVERTED = (kinds.NODE_POOL.crd_name, kinds.NODE_CLAIM.crd_name, kinds.EC2_NODE_CLASS.crd_name)


def helm_marks(chart: str, namespace: str) -> dict[str, str]:
    return {labels.HELM_RELEASE_NAME: chart, labels.HELM_RELEASE_NAMESPACE: namespace}


@dataclass(frozen=True, slots=True, kw_only=True)
class Install:
    """What is installed and how. `env` are variables of the controller, `values` the user's Helm values."""

    cluster: str
    version: str
    namespace: str = "kube-system"
    values: JsonMap = field(default_factory=dict)
    env: Mapping[str, str] = field(default_factory=dict)
    role: str = "arn:aws:iam::111122223333:role/KarpenterController"
    helm: bool = True
    revision: int = 7
    annotations: Mapping[str, str] = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)
    replicas: int = 2

    @property
    def chart_version(self) -> str:
        return _prefix(self.version) + self.version

    @property
    def marks(self) -> dict[str, str]:
        own = {
            labels.APP_NAME: "karpenter",
            labels.APP_INSTANCE: "karpenter",
            labels.APP_VERSION: self.version,
            labels.HELM_CHART: f"karpenter-{self.chart_version}",
        }
        return own | HELM_LABEL | dict(self.labels)

    @property
    def notes(self) -> dict[str, str]:
        return (helm_marks("karpenter", self.namespace) if self.helm else {}) | dict(self.annotations)


def _prefix(version: str) -> str:
    row = find(release(version))
    return row.tag_prefix if row else ""


def controller(install: Install, nodes: Sequence[str]) -> list[JsonMap]:
    """The Deployment, its pods, its Service with endpoints, its service account and its permissions."""
    image = f"public.ecr.aws/karpenter/controller:{install.chart_version}@sha256:" + "9f" * 32
    spec: JsonMap = {
        "serviceAccountName": "karpenter",
        "priorityClassName": "system-cluster-critical",
        "affinity": _away_from_its_own_nodes(install.version),
        "containers": [{"name": CONTAINER, "image": image, "env": _env(install.env)}],
    }
    chosen = {labels.APP_NAME: "karpenter", labels.APP_INSTANCE: "karpenter"}
    deployment = workload(
        "Deployment",
        "karpenter",
        namespace=install.namespace,
        replicas=install.replicas,
        pod=template(chosen, spec),
        selector=chosen,
        labels=install.marks,
        annotations=install.notes,
    )
    pods = pods_of(deployment, nodes, count=install.replicas)
    rights = cluster_roles(
        install.version,
        namespace=install.namespace,
        webhooks=install.env.get("DISABLE_WEBHOOK", "false") == "false",
        labels=install.marks,
        annotations=install.notes,
    )
    return [deployment, *pods, *_service(install, pods), _account(install), *rights]


def _env(values: Mapping[str, str]) -> list[JsonMap]:
    return [{"name": name, "value": value} for name, value in values.items()]


def _away_from_its_own_nodes(version: str) -> JsonMap:
    """The chart's affinity: not on nodes that Karpenter launched. Its keys depend on the generation."""
    order = minor_order(release(version).minor)
    keys = [labels.PROVISIONER_NAME] if order <= (0, 32) else []
    keys += [labels.NODEPOOL] if order >= (0, 32) else []
    term = {"matchExpressions": [{"key": key, "operator": "DoesNotExist"} for key in keys]}
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}}


def _service(install: Install, pods: Sequence[JsonMap]) -> list[JsonMap]:
    ports = [{"name": "http-metrics", "port": 8080 if minor_order(release(install.version).minor) >= (1, 0) else 8000}]
    if install.env.get("DISABLE_WEBHOOK", "false") == "false" and minor_order(release(install.version).minor) < (1, 1):
        ports += [{"name": "https-webhook", "port": 8443}]
    chosen = {labels.APP_NAME: "karpenter", labels.APP_INSTANCE: "karpenter"}
    metadata = meta("karpenter", install.namespace, labels=install.marks, annotations=install.notes)
    addresses = [{"ip": f"10.20.0.{10 + place}"} for place, _ in enumerate(pods)]
    return [
        doc("v1", "Service", metadata=metadata, spec={"ports": ports, "selector": chosen, "type": "ClusterIP"}),
        doc(
            "v1",
            "Endpoints",
            metadata=meta("karpenter", install.namespace, labels=install.marks),
            subsets=[{"addresses": addresses, "ports": ports}] if addresses else [],
        ),
    ]


def _account(install: Install) -> JsonMap:
    role = {labels.ROLE_ARN: install.role} if install.role else {}
    return doc(
        "v1",
        "ServiceAccount",
        metadata=meta("karpenter", install.namespace, labels=install.marks, annotations=install.notes | role),
    )


def helm_record(install: Install, *, chart: str = "karpenter", manifest: str = "") -> JsonMap:
    """The Secret in which Helm 3 stores a deployed release, in Helm's encoding."""
    body = {
        "name": chart,
        "namespace": install.namespace,
        "version": install.revision,
        "info": {"status": "deployed", "last_deployed": "2026-09-14T08:20:11Z"},
        "chart": {
            "metadata": {"name": chart, "version": install.chart_version, "appVersion": install.version},
            "values": {},
        },
        "config": install.values if chart == "karpenter" else {},
        "manifest": manifest,
    }
    packed = gzip.compress(json.dumps(body, sort_keys=True).encode(), mtime=0)
    data = base64.b64encode(base64.b64encode(packed)).decode()
    revision = str(install.revision)
    marks = {"name": chart, "owner": "helm", "status": "deployed", "version": revision}
    metadata = meta(f"sh.helm.release.v1.{chart}.v{revision}", install.namespace, labels=marks)
    return doc("v1", "Secret", metadata=metadata, type="helm.sh/release.v1", data={"release": data})


def crd_manifest(names: Sequence[str]) -> str:
    """The rendered manifest of karpenter-crd, reduced to the CRDs that it declares."""
    head = "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata:\n  name: "
    return "".join(f"---\n{head}{name}\n" for name in names)


@dataclass(frozen=True, slots=True, kw_only=True)
class Crds:
    """The CRDs of a release as they are in the cluster. `stored` overrides status.storedVersions of the three
    converted ones; `service` is the namespace and name that conversion calls; empty: no conversion block.
    """

    version: str
    stored: Sequence[str] = ()
    service: tuple[str, str] | tuple[()] = ()
    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)


def crds(shape: Crds) -> list[JsonMap]:
    """The CRDs of that release; of their schemas only the fields that distinguish releases."""
    shipped = crd_set(release(shape.version))
    return [_crd(row, shape) for row in shipped.crds] if shipped else []


def _crd(row: Crd, shape: Crds) -> JsonMap:
    versions = [
        {
            "name": v.name,
            "served": v.served,
            "storage": v.storage,
            "schema": _schema(row, v.name, shipped=shape.version),
        }
        for v in row.versions
    ]
    spec: JsonMap = {
        "group": row.kind.group,
        "names": {"kind": row.kind.kind, "plural": row.kind.plural},
        "scope": "Namespaced" if row.kind.namespaced else "Cluster",
        "versions": versions,
        "conversion": {"strategy": "None"},
    }
    converted = row.name in CONVERTED
    if converted and shape.service:
        spec["conversion"] = _conversion(*shape.service, group=row.kind.group)
    stored = list(shape.stored) if converted and shape.stored else [row.storage]
    accepted = [{"type": "NamesAccepted", "status": "True"}, {"type": "Established", "status": "True"}]
    metadata = meta(row.name, labels=dict(shape.labels), annotations=dict(shape.annotations))
    status = {"storedVersions": stored, "conditions": accepted}
    return doc("apiextensions.k8s.io/v1", "CustomResourceDefinition", metadata=metadata, spec=spec, status=status)


def _schema(row: Crd, version: str, *, shipped: str) -> JsonMap:
    marks = marks_of(row.name, version, running=release(shipped))
    return {"openAPIV3Schema": sketched(mark.path for mark in marks)}


def _conversion(namespace: str, name: str, *, group: str) -> JsonMap:
    service = {"namespace": namespace, "name": name, "path": f"/conversion/{group}", "port": 8443}
    webhook = {
        "clientConfig": {"service": service, "caBundle": "LS0tLS1CRUdJTg=="},
        "conversionReviewVersions": list(crd_sets.REVIEW_VERSIONS),
    }
    return {"strategy": "Webhook", "webhook": webhook}


def admission_webhook(name: str, *, namespace: str, mutating: bool = False) -> JsonMap:
    """An admission webhook configuration as the controllers of 0.32 to 0.37 create it."""
    group = "karpenter.k8s.aws" if name.endswith("aws") else "karpenter.sh"
    webhook = {
        "name": name,
        "clientConfig": {"service": {"namespace": namespace, "name": "karpenter", "port": 8443}},
        "failurePolicy": "Fail",
        "rules": [{"apiGroups": [group], "resources": ["*"], "operations": ["CREATE", "UPDATE"]}],
    }
    kind = "MutatingWebhookConfiguration" if mutating else "ValidatingWebhookConfiguration"
    return doc("admissionregistration.k8s.io/v1", kind, metadata=meta(name), webhooks=[webhook])
