"""How a controller stops that works against this one."""

from migrations_app.checks.base import Evidence
from migrations_app.checks.changes import Change, ObjectPatch, PersonTask
from migrations_app.checks.remedies.placement import workload_target
from migrations_app.inventory.facts.workloads import workload
from migrations_app.inventory.inventory import Inventory


def autoscaler_stopped(inventory: Inventory, row: Evidence) -> Change:
    """The other autoscaler without pods, undone with those it has; for a person where it has no number of pods."""
    found = workload(inventory, kind=row.kind, namespace=row.namespace, name=row.name)
    if row.kind not in ("Deployment", "StatefulSet"):
        return PersonTask(
            what=f"stop {row.kind} {row.name} in {row.namespace}",
            why="it has no number of pods that could be 0",
            where=f"the owner of {row.kind} {row.name}",
        )
    target, done = workload_target(row), f"no pod of {row.kind} {row.namespace}/{row.name} runs"
    if found is None:
        final = "how many pods it had was not read"
        return ObjectPatch(target=target, body={"spec": {"replicas": 0}}, final=final, done=done)
    before = found.spec.replicas if found.spec.replicas is not None else 1
    undo = ObjectPatch(target=target, body={"spec": {"replicas": before}})
    return ObjectPatch(target=target, body={"spec": {"replicas": 0}}, undo=undo, done=done)
