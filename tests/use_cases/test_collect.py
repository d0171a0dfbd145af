"""Collecting: every part Seen or Unseen with its reason, and a sick cluster never looks like an empty one."""

import json
from dataclasses import dataclass, field

import msgspec
import pytest

from migrations_app.clients.kubernetes.api import Clock, ListPage, Served
from migrations_app.errors import Expired, Forbidden, NotServed, ReadError, ServerFailed
from migrations_app.inventory.inventory import PART_NAMES
from migrations_app.inventory.objects.karpenter import ServedResource
from migrations_app.inventory.parts import Seen, Unseen
from migrations_app.readiness.evaluate import evaluate
from migrations_app.use_cases.collect.collect import collect


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
