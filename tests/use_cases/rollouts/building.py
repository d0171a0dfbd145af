"""Writes rollouts that already run, with few steps over nodes, config maps and namespaces."""

import uuid
from collections.abc import Callable
from datetime import timedelta
from typing import Any

from django.utils import timezone

from migrations_app.actions.changes import ObjectTarget, application, creation, deletion, merge
from migrations_app.actions.conditions import Deleted, Exists, FieldEquals, ListContains, fields_digest
from migrations_app.actions.plan import Forecast, Plan, RolloutLimits, Step, canonical, numbered
from migrations_app.manifests import JsonMap
from migrations_app.models.cluster import Cluster
from migrations_app.models.rollout import Attempt, Rollout
from migrations_app.use_cases.rollouts import worker
from migrations_app.use_cases.runtime.connections import connect_writer
from tests.servers.apiserver import ApiServer

TAINT = {"key": "karpenter.sh/legacy", "effect": "NoSchedule"}
TAINTS = ("spec", "taints")
NODE_PATH = "/api/v1/nodes/node-1"
MAPS = "/api/v1/namespaces/default/configmaps"
APPLIED = [("s001", "patch", "applied"), ("s001", "gate", "noop")]


def node(server: ApiServer, name: str = "node-1") -> tuple[ObjectTarget, JsonMap]:
    body = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}, "spec": {"unschedulable": False}}
    made = server.admin.create(body)
    return ObjectTarget("", "v1", "nodes", "Node", name, uid=made["metadata"]["uid"]), made


def config_map(server: ApiServer, name: str = "map-1") -> tuple[ObjectTarget, JsonMap]:
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "default"}}
    made = server.admin.create(body | {"data": {"colour": "red"}})
    return ObjectTarget("", "v1", "configmaps", "ConfigMap", name, "default", uid=made["metadata"]["uid"]), made


def tainting(target: ObjectTarget, read: JsonMap, **more: Any) -> Step:
    return Step(
        id="", title=f"Taint {target.display_name}", change=merge(target, {"spec": {"taints": [TAINT]}}),
        preconditions=(TAINTS,),
        digest=fields_digest(read, (TAINTS,)), postconditions=(ListContains(field=TAINTS, element=TAINT),), **more,
    )  # fmt: skip


def painting(target: ObjectTarget, read: JsonMap, **more: Any) -> Step:
    """Returns a step of server-side apply of one field."""
    field = ("data", "size")
    return Step(
        id="", title=f"Size {target.display_name}", change=application(target, {"data": {"size": "big"}}),
        preconditions=(field,),
        digest=fields_digest(read, (field,)), postconditions=(FieldEquals(field=field, value="big"),), **more,
    )  # fmt: skip


def deleting(target: ObjectTarget, read: JsonMap, **more: Any) -> Step:
    return Step(
        id="", title=f"Delete {target.display_name}", change=deletion(target), digest=fields_digest(read, ()),
        postconditions=(Deleted(),),
        risk="high", **more,
    )  # fmt: skip


def creating(name: str = "made-1", **more: Any) -> Step:
    target = ObjectTarget("", "v1", "configmaps", "ConfigMap", name, "default")
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "default"}}
    return Step(
        id="", title=f"Create {name}", change=creation(target, body), digest=fields_digest(None, ()),
        postconditions=(Exists(),),
        **more,
    )  # fmt: skip


def rollout(cluster: Cluster, *steps: Step, limits: RolloutLimits | None = None, **columns: Any) -> Rollout:
    """Creates a running rollout of these steps."""
    with connect_writer(cluster) as writer:
        identity = writer.identity()
    plan = Plan(
        action="test", title="Test", parameters={}, cluster=str(cluster.pk), identity=identity, steps=numbered(steps),
        limits=limits or RolloutLimits(), forecast=Forecast(), author="ada", snapshot="", policy=1,
    )  # fmt: skip
    now = timezone.now()
    rest = {"state": "running", "author_name": "ada", "made_at": now, "expires_at": now + timedelta(hours=4)} | columns
    return Rollout.objects.create(
        cluster=cluster, cluster_name=cluster.name, action="test", title="Test", risk=plan.risk, digest=plan.digest,
        plan=canonical(plan), **rest,
    )  # fmt: skip


def advanced(row: Rollout, *, between: Callable[[], object] = lambda: None, most: int = 200) -> Rollout:
    """Returns the rollout when no worker has anything left to do."""
    for _ in range(most):
        if not worker.advance(row.pk, holder=f"w-{uuid.uuid4()}"):
            break
        between()
    row.refresh_from_db()
    return row


def outcomes(row: Rollout) -> list[tuple[str, str, str]]:
    """Returns (step, verb, outcome) of each line of the journal."""
    return [(one.step, one.verb, one.outcome) for one in Attempt.objects.filter(rollout=row).order_by("pk")]


def ended(row: Rollout) -> tuple[str, str]:
    return row.state, row.cause_code


def is_ours(read: JsonMap) -> bool:
    """Whether the node has the taint of `tainting`."""
    return any(taint["key"] == TAINT["key"] for taint in read["spec"].get("taints", ()))
