"""A worker carries out an approved plan on the real API server: each request journalled, recorded, sent once."""

import uuid
from dataclasses import replace
from datetime import timedelta

import msgspec
import pytest
from django.utils import timezone

from migrations_app.actions.changes import ObjectTarget, creation, deletion, merge
from migrations_app.actions.conditions import Deleted, Exists, ListContains, fields_digest
from migrations_app.actions.gate import Gate
from migrations_app.actions.plan import Forecast, Plan, RolloutLimits, Step, canonical, numbered
from migrations_app.models.cluster import Cluster
from migrations_app.models.rollout import Attempt, Rollout
from migrations_app.use_cases.clusters.registration import Details, register_kubeconfig
from migrations_app.use_cases.rollouts import lease, worker
from migrations_app.use_cases.runtime.connections import connect_writer

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.apiserver]
TAINT = {"key": "karpenter.sh/legacy", "effect": "NoSchedule"}


@pytest.fixture(autouse=True)
def quick(settings):
    changed = {"allow_loopback": True, "gate_poll": 0, "settle_seconds": 0, "encryption_keys": (("k", b"k" * 32),)}
    settings.ENV = replace(settings.ENV, **changed)


@pytest.fixture
def server(clean_apiserver):
    return clean_apiserver


@pytest.fixture
def cluster(server) -> Cluster:
    text = server.kubeconfig(server.admin_token).encode()
    return Cluster.objects.get(pk=register_kubeconfig(text, Details(name="shop", by="ada")))


def node(server, name="node-1"):
    body = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}, "spec": {"unschedulable": False}}
    made = server.admin.create(body)
    return ObjectTarget("", "v1", "nodes", "Node", name, uid=made["metadata"]["uid"]), made


def rollout(cluster, *steps, state="running") -> Rollout:
    with connect_writer(cluster) as writer:
        identity = writer.identity()
    plan = Plan(
        action="test", title="Test", parameters={}, cluster=str(cluster.pk), identity=identity, steps=numbered(steps),
        limits=RolloutLimits(), forecast=Forecast(), author="ada", snapshot="", policy=1,
    )  # fmt: skip
    now = timezone.now()
    return Rollout.objects.create(
        cluster=cluster, cluster_name=cluster.name, action="test", title="Test", risk=plan.risk, digest=plan.digest,
        plan=canonical(plan), state=state, author_name="ada", made_at=now, expires_at=now + timedelta(hours=4),
    )  # fmt: skip


def taint(target, read, **more) -> Step:
    field = ("spec", "taints")
    return Step(
        id="", title=f"Taint {target.display_name}", change=merge(target, {"spec": {"taints": [TAINT]}}),
        preconditions=(field,),
        digest=fields_digest(read, (field,)), postconditions=(ListContains(field=field, element=TAINT),), **more,
    )  # fmt: skip


def run(row) -> Rollout:
    while worker.advance(row.pk, holder=f"w-{uuid.uuid4()}"):
        pass
    row.refresh_from_db()
    return row


def journal(row):
    return [(one.step, one.verb, one.outcome) for one in Attempt.objects.filter(rollout=row)]


def test_a_plan_is_carried_out_step_by_step(server, cluster):  # A17, A19, A21, A24
    target, read = node(server)
    gone = Step(
        id="", title="Delete", change=deletion(target), digest=fields_digest(read, ()),
        postconditions=(Deleted(),), risk="high",
        after=Gate(gone=(target,)),
    )  # fmt: skip
    row = run(rollout(cluster, taint(target, read), gone))
    assert (row.state, row.cause) == ("succeeded", "")
    assert journal(row) == [
        ("s001", "patch", "applied"), ("s001", "gate", "noop"), ("s002", "delete", "applied"), ("s002", "gate", "noop"),
    ]  # fmt: skip
    assert not server.admin.get("/api/v1/nodes")["items"]
    assert lease.acquire(cluster.pk, "next") is not None


def test_what_is_so_already_is_passed_over(server, cluster):  # A17
    target, _ = node(server)
    server.admin.patch(target.path, {"spec": {"taints": [TAINT]}})
    row = run(rollout(cluster, taint(target, {})))
    assert journal(row) == [("s001", "patch", "noop"), ("s001", "gate", "noop")]


def test_an_object_that_was_changed_stops_the_step(server, cluster):  # A17, T16, R21
    target, read = node(server)
    server.admin.patch(target.path, {"spec": {"taints": [{"key": "mine", "effect": "NoSchedule"}]}})
    row = run(rollout(cluster, taint(target, read)))
    assert (row.state, row.cause_code, journal(row)) == ("paused", "changed", [])


def test_an_object_that_was_made_anew_is_never_touched(server, cluster):  # R22
    target, read = node(server)
    server.admin.delete(target.path)
    node(server)
    row = run(rollout(cluster, taint(target, read)))
    assert (row.state, row.cause_code) == ("paused", "changed")
    assert TAINT not in server.admin.get(target.path)["spec"]["taints"]


def test_a_creation_carries_our_marks(server, cluster):  # A23
    target = ObjectTarget("", "v1", "namespaces", "Namespace", "made-by-us")
    body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "made-by-us"}}
    step = Step(
        id="", title="Create", change=creation(target, body), postconditions=(Exists(),), digest=fields_digest(None, ())
    )
    row = run(rollout(cluster, step))
    found = server.admin.get("/api/v1/namespaces/made-by-us")["metadata"]["annotations"]
    assert found == {"karpdash.io/rollout": str(row.pk), "karpdash.io/plan": row.digest}
    assert row.state == "succeeded"


def test_a_wish_is_heard_between_two_requests(server, cluster):  # A10
    target, read = node(server)
    row = rollout(cluster, taint(target, read))
    Rollout.objects.filter(pk=row.pk).update(stop_request="pause")
    assert (run(row).state, row.cause_code, journal(row)) == ("paused", "pause", [])


def test_another_cluster_behind_the_name_needs_a_person(server, cluster):  # A05, T17, R32
    target, read = node(server)
    row = rollout(cluster, taint(target, read))
    plan = msgspec.json.decode(row.plan, type=Plan)
    other = msgspec.structs.replace(plan, identity=msgspec.structs.replace(plan.identity, kube_system_uid="another"))
    Rollout.objects.filter(pk=row.pk).delete()
    row = Rollout.objects.create(
        cluster=cluster, cluster_name="shop", action="test", title="Test", risk="low", digest=other.digest,
        plan=canonical(other), state="running", author_name="ada", made_at=timezone.now(), expires_at=timezone.now(),
    )  # fmt: skip
    assert (run(row).state, row.cause_code, journal(row)) == ("needs_attention", "other_cluster", [])


def test_a_plan_that_is_not_what_was_approved_is_not_carried_out(server, cluster):  # A01, A04
    target, read = node(server)
    row = rollout(cluster, taint(target, read))
    Rollout.objects.filter(pk=row.pk).delete()
    row.digest = "0" * 64
    row.save(force_insert=True)
    assert (run(row).state, row.cause_code) == ("needs_attention", "strange_plan")
