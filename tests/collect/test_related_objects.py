"""What surrounds Karpenter is read, kept small, unknown where it may not be read, and carried by bundles."""

import io
from dataclasses import replace

import pytest

from migrations_app.clients.bundle.bundle import open_bundle
from migrations_app.clients.bundle.writer import Recording
from migrations_app.clients.kubernetes.api import Served
from migrations_app.collect.collect import collect
from migrations_app.errors import Forbidden, NotServed
from migrations_app.inventory.facts.delivery_sources import comes_from
from migrations_app.inventory.facts.workloads import placement_mentions
from migrations_app.inventory.objects.karpenter import ServedResource
from migrations_app.inventory.parts import Seen, Unseen
from migrations_app.karpenter import labels
from migrations_app.samples.installation import Install, controller
from migrations_app.samples.kubernetes_objects import doc, meta
from tests.fakes.cluster_api import FakeCluster

CONSTRAINT = ServedResource(
    group="constraints.gatekeeper.sh", version="v1beta1", plural="spotonlies", kind="SpotOnly", namespaced=False
)


class WithConstraints(FakeCluster):
    def served(self) -> Served:
        return replace(super().served(), resources=(*super().served().resources, CONSTRAINT))


def namespace(name, **given):
    return doc("v1", "Namespace", metadata=meta(name, labels=given))


def volume(zone):
    terms = [{"matchExpressions": [{"key": "topology.kubernetes.io/zone", "operator": "In", "values": [zone]}]}]
    spec = {"claimRef": {"namespace": "shop", "name": "c"}, "csi": {"volumeHandle": "vol-1"}}
    spec |= {"nodeAffinity": {"required": {"nodeSelectorTerms": terms}}}
    return doc("v1", "PersistentVolume", metadata=meta("pv-1", annotations={"a": "b"}), spec=spec)


def monitor(name="karpenter"):
    endpoint = {
        "port": "http-metrics",
        "targetPort": 8000,
        "basicAuth": {"password": {"name": "secret"}},
        "metricRelabelings": [{"regex": f"{name}_nodes_created"}],
    }
    spec = {"endpoints": [endpoint], "selector": {"matchLabels": {"app.kubernetes.io/name": name}}}
    return doc("monitoring.coreos.com/v1", "ServiceMonitor", metadata=meta(name, "monitoring"), spec=spec)


def policy(version="kyverno.io/v1", kind="ClusterPolicy", name="spare", key="karpenter.sh/do-not-evict"):
    return doc(version, kind, metadata=meta(name), spec={"rules": [{"mutate": {key: "true"}}]}, status={"ready": True})


def rollout():
    template = {"metadata": {}, "spec": {"nodeSelector": {labels.PROVISIONER_NAME: "web"}}}
    return doc("argoproj.io/v1alpha1", "Rollout", metadata=meta("web", "shop"), spec={"template": template})


def rollout_pod(number):
    owner = {"kind": "ReplicaSet", "name": "web-7d9", "apiVersion": "apps/v1", "uid": "u", "controller": True}
    marks = {"rollouts-pod-template-hash": "7d9"}
    metadata = meta(f"web-7d9-{number}", "shop", labels=marks) | {"ownerReferences": [owner]}
    return doc("v1", "Pod", metadata=metadata, spec={"nodeSelector": {labels.PROVISIONER_NAME: "web"}})


def kustomization():
    spec = {"sourceRef": {"kind": "GitRepository", "name": "infra"}, "path": "./karpenter"}
    version = "kustomize.toolkit.fluxcd.io/v1"
    return doc(version, "Kustomization", metadata=meta("karpenter", "flux-system"), spec=spec)


def source(name="infra"):
    spec = {"url": "ssh://git@example.com/infra", "ref": {"branch": "main"}, "secretRef": {"name": "key"}}
    version = "source.toolkit.fluxcd.io/v1"
    return doc(version, "GitRepository", metadata=meta(name, "flux-system"), spec=spec)


DOCS = (
    *controller(Install(cluster="test", version="0.37.8", namespace="karpenter"), ["n1"]),
    namespace("karpenter", **{"istio-injection": "enabled"}),
    namespace("shop"),
    volume("eu-central-1a"),
    monitor(),
    monitor("other"),
    policy(),
    policy(name="other", key="example.com/key"),
    policy("mutations.gatekeeper.sh/v1", "AssignMetadata", "mark"),
    policy("constraints.gatekeeper.sh/v1beta1", "SpotOnly", "only-spot"),
    policy("admissionregistration.k8s.io/v1", "ValidatingAdmissionPolicy", "pools"),
    policy("admissionregistration.k8s.io/v1", "ValidatingAdmissionPolicy", "others", key="example.com/key"),
    rollout(),
    rollout_pod(1),
    rollout_pod(2),
    kustomization(),
    source(),
    source("apps"),
)


def a_cluster():
    return WithConstraints(*DOCS)


@pytest.fixture
def live():
    return collect(a_cluster(), cluster="c").inventory


def names(part):
    return [(one.kind, one.name) for one in part.items]


def test_only_what_concerns_karpenter_is_kept_and_everything_is_counted(live):
    assert ([one.name for one in live.namespaces.items], live.namespaces.total) == (["karpenter"], 2)
    assert (names(live.monitors), live.monitors.total) == ([("ServiceMonitor", "karpenter")], 2)
    assert (names(live.sources), live.sources.total) == ([("GitRepository", "infra")], 2)
    assert names(live.policies) == [("ClusterPolicy", "spare"), ("AssignMetadata", "mark"), ("SpotOnly", "only-spot")]
    assert live.policies.total == 4
    assert names(live.admission_policies) == [("ValidatingAdmissionPolicy", "pools")]
    assert live.admission_policies.total == 2


def test_what_volumes_and_monitors_tell(live):
    (one,) = live.volumes.items
    assert (one.zones, one.claimed_in, one.metadata.annotations) == ({"eu-central-1a"}, "shop", None)
    (monitor,) = live.monitors.items
    assert (monitor.numbers, [query.text for query in monitor.queries]) == ([8000], ["karpenter_nodes_created"])


def test_the_pods_of_a_rollout_are_counted_with_its_template(live):
    (mention,) = placement_mentions(live, {labels.PROVISIONER_NAME})
    assert (mention.kind, mention.name, mention.count) == ("Rollout", "web", 2)


def test_where_a_delivery_comes_from(live):
    told = comes_from(live, live.deliveries.items[0])
    assert told == "GitRepository flux-system/infra, ssh://git@example.com/infra branch main"


@pytest.mark.parametrize(
    ("part", "plural"),
    [
        ("namespaces", "namespaces"),
        ("volumes", "persistentvolumes"),
        ("monitors", "podmonitors"),
        ("monitors", "servicemonitors"),
        ("argo_rollouts", "rollouts"),
        ("policies", "clusterpolicies"),
        ("policies", "modifyset"),
        ("policies", "spotonlies"),
        ("admission_policies", "validatingadmissionpolicies"),
        ("sources", "gitrepositories"),
    ],
)
def test_what_may_not_be_read_is_unknown_and_what_is_not_installed_is_empty(part, plural):
    api = a_cluster()
    api.refuse(plural, Forbidden(f"may not list {plural}"))
    assert collect(api, cluster="c").inventory.part(part) == Unseen("forbidden", f"may not list {plural}")
    api.refuse(plural, NotServed(plural))
    contradicted = collect(api, cluster="c").inventory.part(part)
    assert isinstance(contradicted, Unseen)  # discovery names it still
    api.without.add(plural)
    if plural != CONSTRAINT.plural:
        assert isinstance(collect(api, cluster="c").inventory.part(part), Seen)


def test_sources_are_not_asked_for_where_no_delivery_names_one():
    api = FakeCluster(source())
    assert collect(api, cluster="c").inventory.sources.items == ()
    assert "gitrepositories" not in api.lists


def test_a_bundle_carries_them_without_what_is_secret():
    api, packed = a_cluster(), io.BytesIO()
    recording = Recording(api)
    live = collect(recording, cluster="c").inventory
    recording.write(packed, made_at=live.taken_at, made_by="tests")
    bundled = collect(open_bundle(packed.getvalue()), cluster="c").inventory
    for part in ("namespaces", "volumes", "monitors", "policies", "admission_policies", "argo_rollouts"):
        assert bundled.part(part).items == live.part(part).items, part
    assert comes_from(bundled, bundled.deliveries.items[0]) == comes_from(live, live.deliveries.items[0])
