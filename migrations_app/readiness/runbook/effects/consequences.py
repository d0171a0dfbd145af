"""Computes what follows from the change of an object: pods follow their template, a budget's counts follow its spec."""

import math
from typing import Final, TypeVar

from msgspec.structs import replace

from migrations_app.inventory.inventory import Inventory
from migrations_app.inventory.objects import karpenter as o
from migrations_app.inventory.parts import Seen
from migrations_app.inventory.pod_groups import constraints, markers
from migrations_app.readiness.runbook.effects.deletion import without_object
from migrations_app.readiness.runbook.effects.object_lookup import with_items, with_object, with_parts

ROLLING_KINDS: Final = ("Deployment", "StatefulSet", "DaemonSet")
"""Workloads that replace their pods when their template changes."""
N = TypeVar("N", bound=o.NamedObject)


def with_consequences(inventory: Inventory, before: N, *, after: N, kind: str) -> Inventory:
    """The inventory with `after` in place of `before`, and with what follows from that."""
    if isinstance(after, o.DisruptionBudget) and isinstance(before, o.DisruptionBudget) and before.spec != after.spec:
        return with_object(inventory, before, after=with_counts(after), kind=kind)
    if kind in ROLLING_KINDS and isinstance(before, o.Workload) and isinstance(after, o.Workload):
        scaled = _with_ready_pods(before, after)
        written = with_object(inventory, before, after=scaled, kind=kind)
        return _with_pods_rolled(written, before, after=scaled, kind=kind)
    written = with_object(inventory, before, after=after, kind=kind)
    if after.metadata.deleting and before.metadata.finalizers and not after.metadata.finalizers:
        return without_object(written, after, kind=kind)
    return written


def _with_ready_pods(before: o.Workload, after: o.Workload) -> o.Workload:
    """The workload with all its new replicas ready, if all its former replicas were ready."""
    desired, status = after.spec.replicas, after.status
    ready = (status.ready_replicas or 0) if status else None
    if status is None or desired is None or before.spec.replicas in (desired, None) or ready != before.spec.replicas:
        return after
    return replace(after, status=replace(status, ready_replicas=desired or None))


def with_counts(budget: o.DisruptionBudget) -> o.DisruptionBudget:
    """The budget with the counts that follow from its spec; percentages are rounded up.

    Source: kubernetes/kubernetes:pkg/controller/disruption/disruption.go, getExpectedPodCount.
    """
    status, spec = budget.status, budget.spec
    if status is None or status.expected_pods is None or status.current_healthy is None:
        return budget
    expected = status.expected_pods
    if spec.max_unavailable is not None:
        desired = max(0, expected - _pod_count(spec.max_unavailable, expected))
    else:
        desired = _pod_count(spec.min_available if spec.min_available is not None else 1, expected)
    allowed = max(0, status.current_healthy - desired) if expected else 0
    return replace(budget, status=replace(status, desired_healthy=desired, disruptions_allowed=allowed))


def _pod_count(limit: int | str, expected: int) -> int:
    """The limit as a number of pods; a percentage is of the expected pods, rounded up."""
    if isinstance(limit, int):
        return limit
    share = limit.removesuffix("%")
    return math.ceil(int(share) * expected / 100) if limit.endswith("%") and share.isdecimal() else expected


def _with_pods_rolled(inventory: Inventory, before: o.Workload, *, after: o.Workload, kind: str) -> Inventory:
    """The inventory with the pods of the workload replaced by pods of its new template, in its new number; none for 0
    replicas.
    """
    part = inventory.pods
    if not isinstance(part, Seen):
        return inventory
    workload_key = (after.namespace, kind, after.name)
    if after.spec.replicas == 0 != before.spec.replicas:
        others = tuple(
            pod_group
            for pod_group in part.items
            if (pod_group.namespace, pod_group.owner_kind, pod_group.owner_name) != workload_key
        )
        return with_parts(inventory, {"pods": with_items(part, others)})
    count = after.spec.replicas if after.spec.replicas != before.spec.replicas else None
    if before.template == after.template and count is None:
        return inventory
    own_groups = [
        pod_group
        for pod_group in part.items
        if (pod_group.namespace, pod_group.owner_kind, pod_group.owner_name) == workload_key
    ]
    if count is not None and len(own_groups) == 1:
        own_groups = [replace(own_groups[0], count=count)]
    rolled = iter(
        [_like_template(pod_group, after) for pod_group in own_groups]
        if before.template != after.template
        else own_groups
    )
    items = tuple(
        next(rolled) if (pod_group.namespace, pod_group.owner_kind, pod_group.owner_name) == workload_key else pod_group
        for pod_group in part.items
    )
    return with_parts(inventory, {"pods": with_items(part, items)}) if items != part.items else inventory


def _like_template(pods: o.PodGroup, workload: o.Workload) -> o.PodGroup:
    template = workload.template
    return replace(
        pods,
        markers=markers(template.metadata),
        placement=list(constraints(template.spec)),
        labels=template.metadata.labels or pods.labels,
    )
