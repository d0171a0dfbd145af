"""Collecting: every part Seen or Unseen with its reason, and a sick cluster never looks like an empty one."""

import json
from dataclasses import dataclass, field

import msgspec
import pytest

from migrations_app.clients.bundle.bundle import open_bundle
from migrations_app.clients.kubernetes.api import Clock, ListPage, Served
from migrations_app.collect.collect import collect
from migrations_app.errors import Expired, Forbidden, NotServed, ReadError, ServerFailed
from migrations_app.inventory.inventory import PART_NAMES
from migrations_app.inventory.objects.karpenter import ServedResource
from migrations_app.inventory.parts import OtherVersion, Seen, Unseen
from migrations_app.readiness.evaluate import evaluate
from tests.acceptance.clusters import find as clean
from tests.acceptance.clusters import objects
from tests.acceptance.judging import as_list


@dataclass
class Cluster:
    """A ClusterApi in memory: objects by plural; `wrong` raises on a plural, once or for ever."""

    objects: dict = field(default_factory=dict)
    wrong: dict = field(default_factory=dict)
    failed: dict = field(default_factory=dict)
    discovery: ReadError | None = None
    pauses: float = 0.0
    asked: list = field(default_factory=list)

    def get(self, path):
        assert path == "/version"
        return b'{"major":"1","minor":"27","gitVersion":"v1.27.3"}'

    def served(self):
        if self.discovery:
            raise self.discovery
        found = [
            ServedResource(group=group, version=version, plural=plural, kind="", namespaced=True)
            for (group, version, plural) in self.objects
        ]
        return Served(tuple(found), self.failed)

    def pages(self, resource):
        self.asked.append(resource)
        wrong = self.wrong.get(resource.plural)
        if isinstance(wrong, list):
            wrong = wrong.pop() if wrong else None
        key = (resource.group, resource.version, resource.plural)
        items = self.objects.get(key)
        if wrong is None and items is None:
            raise NotServed(resource.path)
        yield ListPage([msgspec.Raw(json.dumps(item).encode()) for item in (items or [])[:1]])
        if wrong is not None:
            raise wrong
        yield ListPage([msgspec.Raw(json.dumps(item).encode()) for item in items[1:]])

    def clock(self):
        return Clock("2026-11-21T10:00:00Z")

    def close(self):
        pass


def named(*names, **more):
    return [{"metadata": {"name": name, "namespace": "karpenter"}, **more} for name in names]


CORE = {("", "v1", "nodes"): named("n1", "n2"), ("", "v1", "pods"): named("p1", "p2", "p3")}
BETA = ("karpenter.sh", "v1beta1", "nodepools")


def inventory_of(**kwargs):
    return collect(Cluster(**kwargs), cluster="c").inventory


def test_every_part_is_told_and_absent_kinds_are_seen_and_empty():
    found = collect(Cluster(objects=dict(CORE)), cluster="c")
    assert [line.name for line in found.parts] == list(PART_NAMES)
    assert found.inventory.nodes.count == 2
    assert found.inventory.provisioners == Seen((), None)
    assert found.inventory.taken_at == "2026-11-21T10:00:00Z"


def test_the_served_version_is_read_newest_first():
    v1 = ("karpenter.sh", "v1", "nodepools")
    found = inventory_of(objects={BETA: named("old"), v1: named("new")})
    assert (found.nodepools.served, [pool.name for pool in found.nodepools.items]) == ("karpenter.sh/v1", ["new"])
    assert inventory_of(objects={BETA: named("old")}).nodepools.served == "karpenter.sh/v1beta1"


def test_a_workload_whose_pods_claim_devices_is_kept():
    specs = {"gpu": {"resourceClaims": [{"name": "gpu"}]}, "web": {}}
    workloads = [named(name, spec={"template": {"spec": spec}})[0] for name, spec in specs.items()]
    found = inventory_of(objects={("apps", "v1", "statefulsets"): workloads}).statefulsets
    assert ([workload.name for workload in found.items], found.count) == (["gpu"], 2)


def test_of_the_config_map_of_cilium_only_its_ipam_is_kept():
    maps = [
        {"metadata": {"name": name, "namespace": "kube-system"}, "data": {"ipam": "eni", "identity": "x"}}
        for name in ("cilium-config", "other")
    ]
    (config,) = inventory_of(objects={("", "v1", "configmaps"): maps}).cilium_config.items
    assert (config.name, config.data) == ("cilium-config", {"ipam": "eni"})
    refused = inventory_of(objects=dict(CORE), wrong={"configmaps": Forbidden("no")})
    assert refused.cilium_config == Unseen("forbidden", "no")


@pytest.mark.parametrize("reason", [Forbidden("list pods"), ServerFailed("webhook", code="conversion_failed")])
def test_a_part_that_fails_has_its_reason_and_the_others_go_on(reason):  # R15, R16
    found = collect(Cluster(objects=dict(CORE), wrong={"pods": reason}), cluster="c")
    assert found.inventory.pods == Unseen(reason.code, reason.message)
    assert found.inventory.nodes.count == 2
    assert not found.complete


def test_a_list_is_begun_anew_when_the_server_forgot_its_version():  # R14, K11
    found = inventory_of(objects=dict(CORE), wrong={"pods": [Expired("gone")], "nodes": [Expired("gone")]})
    assert (found.pods.count, found.nodes.count) == (3, 2)


def test_a_list_that_is_always_forgotten_is_unseen():
    assert inventory_of(objects=dict(CORE), wrong={"pods": Expired("gone")}).pods == Unseen("expired", "gone")


def test_a_group_whose_discovery_failed_is_not_absent():  # R16
    found = inventory_of(objects=dict(CORE), failed={"karpenter.sh/v1": "server_failed"})
    assert isinstance(found.nodepools, Unseen)
    assert isinstance(found.machines, Unseen)
    assert found.ec2nodeclasses == Seen((), None)


def test_without_discovery_every_known_version_is_tried():
    found = inventory_of(objects={BETA: named("a")}, discovery=Forbidden("no"))
    assert isinstance(found.discovery, Unseen)
    assert found.nodepools.served == "karpenter.sh/v1beta1"


def test_what_depends_on_an_unseen_part_is_unseen_and_not_empty():
    found = inventory_of(objects=dict(CORE), wrong={"deployments": Forbidden("no")})
    for name in ("controller", "controller_pods", "helm_releases", "settings", "services"):
        assert isinstance(found.part(name), Unseen), name


def test_past_its_deadline_a_scan_ends_and_says_so():  # R11
    found = collect(Cluster(objects=dict(CORE)), cluster="c", deadline=-1.0)
    assert {part.why for part in found.parts} == {"timeout"}


def test_the_secrets_that_are_read_are_helms_own():
    cluster = Cluster(objects=dict(CORE) | {("", "v1", "secrets"): []})
    collect(cluster, cluster="c")
    asked = [resource for resource in cluster.asked if resource.plural == "secrets"]
    assert {(resource.namespace, resource.label_selector) for resource in asked} == {
        ("karpenter", "owner=helm"),
        ("kube-system", "owner=helm"),
    }


def test_a_cluster_that_could_not_be_read_is_judged_unknown():
    report = evaluate(collect(Cluster(discovery=Forbidden("no")), cluster="c", deadline=-1.0)).report
    assert (report.cluster.stage, report.complete, report.hops) == ("unknown", False, ())
    assert report.legacy == {"Provisioner": None, "AWSNodeTemplate": None, "Machine": None, "Node": None}


def test_of_the_jobs_those_of_a_chart_s_hook_are_kept_without_any_label():
    jobs = named("karpenter-post-install-hook", "vault-post-install-hook", "nightly-1")
    found = inventory_of(objects=CORE | {("batch", "v1", "jobs"): jobs}).jobs
    assert ([job.name for job in found.items], found.total) == (["karpenter-post-install-hook"], 3)


def test_of_the_deployments_that_of_another_autoscaler_is_kept():
    named_so = named("prod-cluster-autoscaler", "web")
    found = inventory_of(objects=CORE | {("apps", "v1", "deployments"): named_so}).deployments
    assert ([one.name for one in found.items], found.total) == (["prod-cluster-autoscaler"], 2)


def test_network_plugins_are_kept():
    sets = named("aws-node", "cilium", "calico-node", "kube-flannel", "kube-flannel-ds", "weave-net", "kube-proxy")
    objects = CORE | {
        ("apps", "v1", "daemonsets"): sets,
        ("apps", "v1", "deployments"): named("cilium-operator", "web"),
    }
    inventory = inventory_of(objects=objects)
    kept = [one.name for one in inventory.daemonsets.items]
    assert kept == ["cilium", "calico-node", "kube-flannel", "kube-flannel-ds", "weave-net"]
    assert [one.name for one in inventory.deployments.items] == ["cilium-operator"]


ONE = ("karpenter.sh", "v1", "nodepools")
CRDS = ("apiextensions.k8s.io", "v1", "customresourcedefinitions")


def unconverted(*versions):
    """The CRD of NodePools, which converts nothing."""
    served = [{"name": name, "served": True, "storage": name == versions[0]} for name in versions]
    stored = {"storedVersions": ["v1beta1", "v1"]}
    spec = {"group": "karpenter.sh", "names": {"kind": "NodePool", "plural": "nodepools"}, "versions": served}
    return {CRDS: [{"metadata": {"name": "nodepools.karpenter.sh"}, "spec": spec, "status": stored}]}


def a_pool(version, **disruption):
    template = {"spec": {"nodeClassRef": {"name": "default"}}}
    spec = {"template": template, "disruption": disruption}
    return {"apiVersion": f"karpenter.sh/{version}", "metadata": {"name": "a"}, "spec": spec}


def test_what_was_read_as_v1_alone_and_lost_fields_is_set_aside():  # D12
    found = collect(Cluster(objects=CORE | unconverted("v1") | {ONE: [a_pool("v1")]}), cluster="c")
    line = next(one for one in found.parts if one.name == "nodepools")
    assert found.inventory.nodepools.items == ()
    assert (line.quarantined, line.detail) == (1, "a: holds v1beta1 and was read as v1, which drops fields")
    assert not found.complete


def test_what_was_read_as_v1_alone_and_lost_nothing_is_judged_as_v1beta1():
    found = inventory_of(objects=CORE | unconverted("v1") | {ONE: [a_pool("v1", expireAfter="720h")]})
    assert [pool.api_version for pool in found.nodepools.items] == ["karpenter.sh/v1beta1"]
    assert found.nodepools.quarantined == ()


@pytest.mark.parametrize("why", ["conversion_failed", "server_failed"])
def test_a_list_that_fails_is_asked_for_in_the_other_version(why):  # D5
    cluster = Cluster(objects=CORE | {ONE: [], BETA: named("old")}, wrong={"nodepools": [ServerFailed("no", code=why)]})
    found = collect(cluster, cluster="c").inventory.nodepools
    assert [(one.version, one.plural) for one in cluster.asked if one.plural == "nodepools"] == [
        ("v1", "nodepools"),
        ("v1beta1", "nodepools"),
    ]
    assert found.other_version == OtherVersion("karpenter.sh/v1", why, "no")


@pytest.mark.parametrize("reason", [Forbidden("no"), ServerFailed("busy", code="throttled"), Expired("gone")])
def test_a_list_that_fails_for_another_reason_is_not(reason):
    cluster = Cluster(objects=CORE | {ONE: [], BETA: []}, wrong={"nodepools": reason})
    assert collect(cluster, cluster="c").inventory.nodepools == Unseen(reason.code, reason.message)
    assert {one.version for one in cluster.asked if one.plural == "nodepools"} == {"v1"}


def test_where_no_version_answers_the_first_reason_counts():
    broken = ServerFailed("no", code="conversion_failed")
    found = inventory_of(objects=CORE | {ONE: [], BETA: []}, wrong={"nodepools": broken})
    assert found.nodepools == Unseen("conversion_failed", "no")


CONTROLLER = {
    "metadata": {"name": "karpenter", "namespace": "kube-system", "labels": {"app.kubernetes.io/name": "karpenter"}},
    "spec": {"replicas": "many"},
}


def test_where_the_controller_cannot_be_read_what_depends_on_it_is_in_doubt():  # K12
    found = collect(Cluster({("apps", "v1", "deployments"): [CONTROLLER]}), cluster="c").inventory
    doubted = found.part("controller").quarantined
    assert [one.name for one in doubted] == ["karpenter"]
    seen = [found.part(name) for name in ("controller_accounts", "settings", "controller_rbac", "network_policies")]
    assert [part.quarantined for part in seen if isinstance(part, Seen)] == [doubted] * 4


SERVICES = ("", "v1", "services")


def controlled(*deployments, services):
    """An inventory with these controllers and these Services."""
    return collect(Cluster({("apps", "v1", "deployments"): deployments, SERVICES: services}), cluster="c").inventory


def deployed(**metadata):
    labels = {"app.kubernetes.io/name": "karpenter"}
    image = "public.ecr.aws/karpenter/controller:v0.37.0"
    template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "controller", "image": image}]}}
    spec = {"selector": {"matchLabels": labels}, "template": template}
    return {"metadata": {"name": "karpenter", "labels": labels, **metadata}, "spec": spec}


CONTROLLED = deployed(namespace="karpenter")


def service(name, namespace):
    selector = {"app.kubernetes.io/name": "karpenter"}
    return {"metadata": {"name": name, "namespace": namespace}, "spec": {"selector": selector}}


def test_what_a_list_of_one_namespace_says_of_another_one_is_set_aside():  # T06, K12
    told = [service("karpenter", "karpenter"), service("other", "kube-system")]
    found = controlled(CONTROLLED, services=told).part("services")
    assert [one.name for one in found.items] == ["karpenter"]
    assert [(bad.name, bad.field) for bad in found.quarantined] == [("other", "$.metadata.namespace")]


def test_a_controller_in_no_namespace_does_not_end_the_scan():  # T06
    found = controlled(deployed(), services=[service("karpenter", "karpenter"), service("mine", "")])
    assert [one.name for one in found.part("controller").items] == ["karpenter"]
    assert [one.name for one in found.part("services").items] == ["mine"]


def test_of_two_controllers_the_one_with_ready_pods_comes_first():
    """After a move to another namespace the one that was left behind may be scaled to zero."""
    moved = deployed(namespace="kube-system") | {"status": {"readyReplicas": 2}}
    for left in (CONTROLLED, CONTROLLED | {"status": {"readyReplicas": 0}}):
        found = controlled(left, moved, services=[]).part("controller")
        assert [one.namespace for one in found.items] == ["kube-system", "karpenter"]
    both = [one | {"status": {"readyReplicas": 1}} for one in (CONTROLLED, moved)]
    assert [one.namespace for one in controlled(*both, services=[]).part("controller").items] == [
        "karpenter",
        "kube-system",
    ]


def test_of_a_controller_in_no_namespace_the_release_is_looked_for_in_all():
    cluster = Cluster({("apps", "v1", "deployments"): [deployed()]})
    collect(cluster, cluster="c")
    assert {one.namespace for one in cluster.asked if one.plural == "secrets"} == {""}


def test_beside_a_controller_in_no_namespace_no_object_is_read_twice():
    given = {SERVICES: [service("karpenter", "karpenter")], ("apps", "v1", "deployments"): [deployed(), CONTROLLED]}
    given |= {("", "v1", "pods"): [{"metadata": {"name": "karpenter-1", "namespace": "karpenter"}}]}
    given |= {("", "v1", "serviceaccounts"): named("default")}
    given |= {("networking.k8s.io", "v1", "networkpolicies"): named("fence")}
    found = collect(Cluster(given), cluster="c").inventory
    parts = ("services", "controller_pods", "controller_accounts", "network_policies")
    assert [[one.name for one in found.part(part).items] for part in parts] == [
        ["karpenter"], ["karpenter-1"], ["default"], ["fence"]
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("part", "key"),
    [
        ("webhooks", ("admissionregistration.k8s.io", "v1", "validatingwebhookconfigurations")),
        ("controller", ("apps", "v1", "deployments")),
        ("crds", ("apiextensions.k8s.io", "v1", "customresourcedefinitions")),
        ("controller_rbac", ("rbac.authorization.k8s.io", "v1", "clusterroles")),
    ],
)
@pytest.mark.parametrize("metadata", [{}, {"name": "../x"}, {"name": "a\0b"}], ids=["none", "path", "NUL"])
def test_an_object_whose_name_tells_nothing_may_be_one_of_karpenter(part, key, metadata):  # K12
    if part == "controller_rbac" and metadata:
        metadata = {"name": "a/b"}
    found = collect(Cluster({key: [{"metadata": metadata}]}), cluster="c").inventory
    assert len(found.part(part).quarantined) == 1


@pytest.mark.parametrize(
    ("part", "key"),
    [
        ("nodes", ("", "v1", "nodes")),
        ("pods", ("", "v1", "pods")),
        ("crds", ("apiextensions.k8s.io", "v1", "customresourcedefinitions")),
        ("volumes", ("", "v1", "persistentvolumes")),
    ],
)
def test_a_list_that_holds_an_object_twice_is_not_whole(part, key):  # K10
    names = {"name": "one.karpenter.sh"}, {"name": "two.karpenter.sh"}
    objects = [{"metadata": one, "spec": {"group": "karpenter.sh"}} for one in (*names, names[0])]
    assert isinstance(collect(Cluster({key: objects[:2]}), cluster="c").inventory.part(part), Seen)
    assert collect(Cluster({key: objects}), cluster="c").inventory.part(part).why == "listed_twice"


def test_of_an_object_that_a_bundle_holds_twice_one_is_read():
    one = clean("beta-037")
    pool = next(doc for doc in objects(one) if doc["kind"] == "NodePool")
    files = as_list(objects(one), kubernetes=one.kubernetes) | {"again.json": json.dumps(pool).encode()}
    pools = collect(open_bundle(files), cluster=one.name).inventory.nodepools
    assert [found.name for found in pools.items] == [pool["metadata"]["name"]]
