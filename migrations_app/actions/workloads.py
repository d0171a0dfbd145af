"""Workloads as targets: where their pod template lies, and what a change of it does to the pods that run."""

from dataclasses import dataclass

import msgspec

from migrations_app.actions import pools
from migrations_app.actions.changes import Target
from migrations_app.actions.conditions import Field, Tree, value_at
from migrations_app.actions.nodes import counted
from migrations_app.inventory.inventory import WORKLOAD_PARTS, Inventory
from migrations_app.inventory.mentions import KIND_OF_PART
from migrations_app.inventory.objects import Metadata
from migrations_app.karpenter import kinds

TEMPLATE: Field = ("spec", "template")
CRON_TEMPLATE: Field = ("spec", "jobTemplate", "spec", "template")
POD = kinds.POD


@dataclass(frozen=True, slots=True)
class Restart:
    """What a changed template means: how many pods restart, in words; `held` where it cannot be changed at all."""

    pods: int
    note: str
    held: bool = False


def target_of(inventory: Inventory, *, kind: str, namespace: str, name: str) -> Target | None:
    """The workload in the version that it was read in; None for a kind that is not among those read."""
    part = next((part for part in WORKLOAD_PARTS if KIND_OF_PART[part] == kind), None)
    row = kinds.find(kind)
    if part is None or row is None:
        return None
    version = pools.served_version(inventory, part) or row.versions[0]
    return Target(row.group, version, row.plural, row.kind, name, namespace=namespace)


def pod_target(namespace: str, name: str) -> Target:
    return Target(POD.group, POD.versions[0], POD.plural, POD.kind, name, namespace=namespace)


def with_uid(target: Target, read: Tree) -> Target:
    """The very object that was read."""
    return msgspec.structs.replace(target, uid=str(value_at(read, ("metadata", "uid")) or ""))


def template_field(target: Target) -> Field:
    return CRON_TEMPLATE if target.kind == kinds.CRON_JOB.kind else TEMPLATE


def metadata_of(read: Tree) -> Metadata:
    """The metadata as the inventory words it; empty where it is none of an API server."""
    try:
        return msgspec.convert(read.get("metadata") or {}, Metadata)
    except msgspec.ValidationError:
        return Metadata()


def restart(target: Target, read: Tree) -> Restart:
    """What happens to the pods that run when the template changes."""
    if target.kind == kinds.CRON_JOB.kind:
        return Restart(0, "no pod restarts; the next run has it")
    if target.kind == kinds.JOB.kind:
        return _of_job(read)
    many = _replicas(target, read)
    pods = counted(many, "pod")
    if value_at(read, ("spec", "updateStrategy", "type")) == "OnDelete":
        return Restart(0, f"{pods} stay as they are until deleted")
    if value_at(read, ("spec", "paused")) is True:
        return Restart(many, f"restarts {pods} once it is resumed")
    if value_at(read, ("spec", "strategy", "type")) == "Recreate":
        return Restart(many, f"stops {pods} at once and starts them again")
    return Restart(many, f"restarts {pods} one after the other")


def _of_job(read: Tree) -> Restart:
    started = value_at(read, ("status", "startTime")) is not None
    if value_at(read, ("spec", "suspend")) is True and not started:
        return Restart(0, "no pod runs yet")
    return Restart(0, "its template cannot be changed any more", held=True)


def _replicas(target: Target, read: Tree) -> int:
    field = ("status", "desiredNumberScheduled") if target.kind == kinds.DAEMON_SET.kind else ("spec", "replicas")
    found = value_at(read, field)
    return found if isinstance(found, int) else 1
