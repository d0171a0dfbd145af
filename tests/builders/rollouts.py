"""Creates rows of plans and rollouts in any state, without a cluster."""

from datetime import timedelta
from typing import Any

import msgspec
from django.contrib.auth.models import Permission, User
from django.utils import timezone

from migrations_app.actions.changes import ObjectTarget, deletion, merge
from migrations_app.actions.conditions import Deleted, ListContains
from migrations_app.actions.gate import BlockedEviction, ClusterCounters, Gate
from migrations_app.actions.plan import ClusterIdentity, Forecast, Plan, RolloutLimits, Step, canonical, numbered
from migrations_app.models.cluster import Cluster
from migrations_app.models.rollout import Approval, Attempt, Rollout

IDENTITY = ClusterIdentity(kube_system_uid="5c1f", ca="ab12", endpoint="https://127.0.0.1:6443")
TAINT = {"key": "karpenter.sh/legacy", "effect": "NoSchedule"}
NONCE = "n" * 32
POOL = ObjectTarget("karpenter.sh", "v1alpha5", "provisioners", "Provisioner", "default", uid="u-1")
NODE = ObjectTarget("", "v1", "nodes", "Node", "ip-10-0-0-1", uid="u-2")


def taint(**more: Any) -> Step:
    """Returns a step that taints the Provisioner; it can be undone."""
    field = ("spec", "taints")
    words: dict[str, Any] = {
        "title": "Taint Provisioner default",
        "change": merge(POOL, {"spec": {"taints": [TAINT]}}),
        "preconditions": (field,),
        "digest": "d" * 64,
        "postconditions": (ListContains(field=field, element=TAINT),),
        "undo": merge(POOL, {"spec": {"taints": None}}),
        "risk": "medium",
    }
    return Step(id="", **(words | more))


def remove(**more: Any) -> Step:
    """Returns a step that deletes a node; it cannot be undone."""
    words: dict[str, Any] = {
        "title": "Delete Node ip-10-0-0-1",
        "change": deletion(NODE),
        "digest": "d" * 64,
        "postconditions": (Deleted(),),
        "risk": "high",
        "after": Gate(gone=(NODE,), replaced=True),
    }
    return Step(id="", **(words | more))


def identity_of(cluster: Cluster) -> ClusterIdentity:
    """Returns the identity of the cluster in its plans: each row is another cluster."""
    return msgspec.structs.replace(IDENTITY, kube_system_uid=f"uid-{cluster.pk}")


def a_plan(cluster: Cluster, *steps: Step, **more: Any) -> Plan:
    """Returns a plan of these steps; without steps it taints one Provisioner."""
    words: dict[str, Any] = {
        "action": "taint_and_drift",
        "title": "Taint Provisioners and let drift replace their nodes",
        "parameters": {},
        "cluster": str(cluster.pk),
        "identity": identity_of(cluster),
        "steps": numbered(steps or (taint(),)),
        "limits": RolloutLimits(),
        "forecast": Forecast(nodes=12, pods=96, pods_without_budget=4),
        "author": "ada",
        "snapshot": "",
        "policy": 1,
    }
    return Plan(**(words | more))


def a_rollout(
    cluster: Cluster, *steps: Step, state: str = "previewed", author: User | None = None, **columns: Any
) -> Rollout:
    """Creates a rollout in that state. One after the state previewed has a nonce."""
    plan = columns.pop("plan_value", None) or a_plan(cluster, *steps)
    now = timezone.now()
    told: dict[str, Any] = {
        "cluster": cluster,
        "cluster_name": cluster.name,
        "action": plan.action,
        "title": plan.title,
        "risk": plan.risk,
        "digest": plan.digest,
        "plan": canonical(plan),
        "state": state,
        "author": author,
        "author_name": author.username if author else "ada",
        "nonce": "" if state in ("draft", "previewed") else NONCE,
        "policy_version": plan.policy,
        "made_at": now,
        "expires_at": now + timedelta(hours=4),
    }
    if state == "draft":
        told |= {"plan": b"", "digest": "", "risk": ""}
    if state in ("running", "paused", "needs_attention", "succeeded", "failed", "aborted"):
        told |= {"started_at": now, "started_by_name": told["author_name"]}
    return Rollout.objects.create(**(told | columns))


def an_approval(row: Rollout, person: User, **columns: Any) -> Approval:
    """Creates the person's approval of this plan."""
    told: dict[str, Any] = {"digest": row.digest, "nonce": row.nonce, "approver_name": person.username}
    return Approval.objects.create(rollout=row, approver=person, **(told | columns))


def a_line(row: Rollout, step: str = "s001", **columns: Any) -> Attempt:
    """Creates a line of the journal: an applied patch, with these changes."""
    told: dict[str, Any] = {
        "step": step,
        "number": Attempt.objects.filter(rollout=row, step=step).count() + 1,
        "fence": 1,
        "verb": "patch",
        "path": POOL.path,
        "body_digest": "b" * 64,
        "actor": "karpdash",
        "intent_at": timezone.now(),
        "outcome": "applied",
        "status": 200,
        "outcome_at": timezone.now(),
    }
    return Attempt.objects.create(rollout=row, **(told | columns))


def a_picture(**more: Any) -> dict[str, Any]:
    """Returns stored counters of a cluster, with one pod whose eviction a budget blocks."""
    told: dict[str, Any] = {
        "taken_at": timezone.now().strftime("%Y-%m-%dT%H:%M:%SZ"),
        "ready_nodes": 14,
        "new_nodes": 5,
        "legacy_nodes": 7,
        "legacy_objects": 9,
        "pending_pods": 3,
        "oldest_pending_seconds": 42,
        "unready_claims": 1,
        "blocked": (BlockedEviction(namespace="shop", pod="cart-0", node="ip-10-0-0-1", by="budget cart"),),
    }
    found: dict[str, Any] = msgspec.to_builtins(ClusterCounters(**(told | more)))
    return found


def entitled(user: User, *rights: str) -> User:
    """Gives the user these rights and returns a fresh object, since Django caches rights."""
    user.user_permissions.add(*Permission.objects.filter(codename__in=rights))
    return User.objects.get(pk=user.pk)
