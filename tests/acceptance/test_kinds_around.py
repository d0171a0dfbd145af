"""The kinds around Karpenter: the printed role lets a scan list each, a fault in it is found, and where the API server
refuses it the same check is unknown, never passed."""

from dataclasses import dataclass, replace
from typing import Any

import pytest
import yaml

from migrations_app.checks.base import Finding
from migrations_app.clients.kubernetes.api import Served
from migrations_app.collect.collect import collect
from migrations_app.errors import Forbidden
from migrations_app.inventory.objects.karpenter import ServedResource
from migrations_app.karpenter import kinds
from migrations_app.readiness.evaluate import evaluate
from migrations_app.readiness.rbac import roles
from migrations_app.samples.kubernetes_objects import doc, meta
from tests.acceptance.clusters import find, objects
from tests.acceptance.judged_faults import ONE_WORKER
from tests.acceptance.judging import at, crashes
from tests.acceptance.planting import Document, Plant, add, put
from tests.fakes.cluster_api import FakeCluster

pytestmark = ONE_WORKER

OLD_KEY = "karpenter.sh/provisioner-name"
ON = find("finished-032")
CONSTRAINT = ServedResource(
    group=kinds.GATEKEEPER_CONSTRAINT.group, version="v1beta1", plural="spotonlies", kind="SpotOnly", namespaced=False
)
METRIC = "karpenter_machines_created"


class ServedWithConstraints(FakeCluster):
    """One constraint template of Gatekeeper is installed."""

    def served(self) -> Served:
        known = super().served()
        return replace(known, resources=(*known.resources, CONSTRAINT))


@dataclass(frozen=True, slots=True, kw_only=True)
class Around:
    """A kind, an object of it that is at fault, and the check that names it at that hop. `plural` is what is refused,
    `granted` the resource of the role where it is called otherwise there."""

    group: str
    plural: str
    plant: Plant
    check: str
    kind: str
    name: str
    hop: str = ON.hop
    granted: str = ""


def _policy(version: str, kind: str) -> Document:
    return doc(version, kind, metadata=meta("pinned"), spec={"rules": [{"match": {OLD_KEY: "web"}}]})


def _query(kind: kinds.Kind) -> Document:
    """With a query for a metric of old: as a rule and as a trigger, of which each kind reads its own."""
    spec = {
        "groups": [{"name": "g", "rules": [{"alert": "X", "expr": METRIC}]}],
        "triggers": [{"type": "prometheus", "metadata": {"query": METRIC}}],
    }
    return doc(kind.api_versions[0], kind.kind, metadata=meta("old", "shop"), spec=spec)


def _rules(kind: kinds.Kind) -> Document:
    """Without its kind, as lists of built-in kinds leave it out."""
    rules = [{"apiGroups": ["karpenter.sh"], "apiVersions": ["v1alpha5"], "resources": ["provisioners"]}]
    spec = {"matchConstraints": {"resourceRules": rules}}
    return doc(kind.api_versions[0], kind.kind, metadata=meta("pinned"), spec=spec)


def _volume() -> Document:
    terms = [{"matchExpressions": [{"key": OLD_KEY, "operator": "In", "values": ["default"]}]}]
    spec = {"capacity": {"storage": "1Gi"}, "nodeAffinity": {"required": {"nodeSelectorTerms": terms}}}
    return doc("v1", "PersistentVolume", metadata=meta("pv-1"), spec=spec)


def _monitor(kind: str, endpoints: str) -> Document:
    relabelings = [{"regex": METRIC, "action": "keep", "sourceLabels": ["__name__"]}]
    spec = {
        endpoints: [{"port": "http-metrics", "metricRelabelings": relabelings}],
        "selector": {"matchLabels": {"app.kubernetes.io/name": "karpenter"}},
    }
    return doc("monitoring.coreos.com/v1", kind, metadata=meta("karpenter", "monitoring"), spec=spec)


def _rollout() -> Document:
    template = {"metadata": {}, "spec": {"nodeSelector": {OLD_KEY: "default"}, "containers": []}}
    spec = {"replicas": 1, "selector": {"matchLabels": {"app": "pages"}}, "template": template}
    return doc("argoproj.io/v1alpha1", "Rollout", metadata=meta("pages", "shop"), spec=spec)


def _helm_release(**spec: Any) -> Document:
    return doc("helm.toolkit.fluxcd.io/v2", "HelmRelease", metadata=meta("karpenter", "flux-system"), spec=spec)


def _kustomization() -> Document:
    spec = {"path": "./karpenter", "prune": True, "sourceRef": {"kind": "GitRepository", "name": "infra"}}
    version = "kustomize.toolkit.fluxcd.io/v1"
    return doc(version, "Kustomization", metadata=meta("karpenter", "flux-system"), spec=spec)


def _by_source(documents: list[Document]) -> None:
    """A HelmRelease whose chart is an OCIRepository; its tag lacks the v that 0.32 is spelt with."""
    spec = {"url": "oci://public.ecr.aws/karpenter/karpenter", "ref": {"tag": ON.version}}
    version = "source.toolkit.fluxcd.io/v1beta2"
    documents.append(doc(version, "OCIRepository", metadata=meta("chart", "flux-system"), spec=spec))
    documents.append(_helm_release(chartRef={"kind": "OCIRepository", "name": "chart"}, targetNamespace=ON.namespace))


def _named(plural: str, group: str, planted: Document, **told: Any) -> Around:
    return Around(group=group, plural=plural, plant=add(planted), **told)


def _around() -> tuple[Around, ...]:
    keys: dict[str, Any] = {"check": "policies_name_current_keys", "name": "pinned"}
    monitors: dict[str, Any] = {"check": "monitors_keep_current_metrics", "name": "karpenter"}
    paused: dict[str, Any] = {"check": "gitops_paused", "name": "karpenter"}
    injected = put("Namespace", ON.namespace, "metadata/labels", {"istio-injection": "enabled"})
    kubectl = put("NodePool", "default", "metadata/managedFields", [{"manager": "kubectl", "operation": "Apply"}])
    policies = [
        _named(one.plural, one.group, _policy(one.api_versions[0], one.kind), kind=one.kind, **keys)
        for one in kinds.POLICY_KINDS
    ]
    return (
        Around(group="", plural="namespaces", plant=injected, check="controller_outside_mesh", kind="Namespace",
               name=ON.namespace, hop="1.0"),
        _named("persistentvolumes", "", _volume(), check="policies_name_current_keys", kind="PersistentVolume",
               name="pv-1"),
        _named("servicemonitors", "monitoring.coreos.com", _monitor("ServiceMonitor", "endpoints"),
               kind="ServiceMonitor", **monitors),
        _named("podmonitors", "monitoring.coreos.com", _monitor("PodMonitor", "podMetricsEndpoints"),
               kind="PodMonitor", **monitors),
        *policies,
        *(_named(one.plural, one.group, _query(one), check="scalers_name_current_metrics", kind=one.kind, name="old")
          for one in kinds.QUERY_KINDS),
        *(_named(one.plural, one.group, _rules(one), check="admission_policies_know_new_objects", kind=one.kind,
                 name="pinned") for one in kinds.ADMISSION_POLICIES),
        Around(group=CONSTRAINT.group, plural=CONSTRAINT.plural, granted="*",
               plant=add(_policy(f"{CONSTRAINT.group}/v1beta1", CONSTRAINT.kind)), kind=CONSTRAINT.kind, **keys),
        _named("rollouts", "argoproj.io", _rollout(), check="workloads_select_current_labels", kind="Rollout",
               name="pages"),
        _named("kustomizations", "kustomize.toolkit.fluxcd.io", _kustomization(), kind="Kustomization", **paused),
        _named("helmreleases", "helm.toolkit.fluxcd.io", _helm_release(), kind="HelmRelease", **paused),
        Around(group="source.toolkit.fluxcd.io", plural="ocirepositories", plant=_by_source,
               check="deliveries_name_the_chart", kind="OCIRepository", name="chart"),
        Around(group="karpenter.sh", plural="nodepools", plant=kubectl, check="terraform_adds_beside",
               kind="NodePool", name="default"),
    )  # fmt: skip


AROUND = _around()


def finding(one: Around, *, refused: bool) -> Finding:
    documents = objects(ON)
    one.plant(documents)
    api = ServedWithConstraints(*documents, version=f"v{ON.kubernetes}.0-eks-1")
    if refused:
        api.refuse(one.plural, Forbidden(f"may not list {one.plural}"))
    report = evaluate(collect(api, cluster=ON.name)).report
    assert crashes(report) == []
    return next(each for each in at(report, one.hop) if each.id == one.check)


@pytest.mark.parametrize("one", AROUND, ids=lambda one: one.plural)
def test_the_printed_role_lets_a_scan_list_it(one: Around) -> None:
    role = next(yaml.safe_load_all(roles.scan_roles(roles.all_scan_permissions())))
    wanted = one.granted or one.plural
    rules = [rule for rule in role["rules"] if one.group in rule["apiGroups"] and wanted in rule["resources"]]
    assert "list" in {verb for rule in rules for verb in rule["verbs"]}
    assert all("resourceNames" not in rule or rule["verbs"] == ["get"] for rule in rules)


@pytest.mark.parametrize("one", AROUND, ids=lambda one: one.plural)
def test_a_fault_in_it_is_named(one: Around) -> None:
    found = finding(one, refused=False)
    if found.status == "manual":
        assert f"{one.kind} {one.name}" in found.summary
    else:
        assert found.status == "fail", found.summary
        assert (one.kind, one.name) in {(row.kind, row.name) for row in found.evidence}


@pytest.mark.parametrize("one", AROUND, ids=lambda one: one.plural)
def test_refused_it_is_unknown(one: Around) -> None:
    found = finding(one, refused=True)
    assert found.status == "unknown", (found.status, found.summary)
