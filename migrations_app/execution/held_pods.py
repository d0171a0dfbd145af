"""Which pods have to leave a node, and which of them cannot be evicted now: by an annotation or an exhausted budget."""

from collections.abc import Iterator, Mapping
from datetime import datetime

import msgspec

from migrations_app.actions.gate import BlockedEviction
from migrations_app.actions.targets.nodes import PROTECTING, STAYS_WITH_NODE
from migrations_app.clients.kubernetes.api import Resource, Writer
from migrations_app.execution.listing import counted
from migrations_app.inventory.facts.node_claims import moment
from migrations_app.inventory.facts.workloads import protects_at, selects
from migrations_app.inventory.objects.base import NamedObject, Projection, Strings
from migrations_app.inventory.objects.workloads import LabelSelector
from migrations_app.karpenter import labels
from migrations_app.karpenter.versions import Release


class _PodSpec(Projection, frozen=True):
    node_name: str | None = None


class _PodStatus(Projection, frozen=True):
    start_time: str | None = None


class WatchedPod(NamedObject, frozen=True):
    """The fields of a pod that the counters need."""

    spec: _PodSpec = _PodSpec()
    status: _PodStatus | None = None

    def protected_by(self, *, now: datetime, running: Release | None) -> Iterator[str]:
        """The annotations that keep Karpenter from evicting it now, with the duration if it is only for a time."""
        yield from (key for key in PROTECTING if self.metadata.annotation(key) == "true")
        value = self.metadata.annotation(labels.DO_NOT_DISRUPT) or ""
        started = moment(self.status.start_time if self.status else None)
        age = None if started is None else now - started
        if value != "true" and protects_at(value, running, age=age):
            yield f"{labels.DO_NOT_DISRUPT} for {value}"


class _BudgetStatus(Projection, frozen=True):
    disruptions_allowed: int = 0


class _BudgetSpec(Projection, frozen=True):
    selector: LabelSelector | None = None


class WatchedBudget(NamedObject, frozen=True):
    """The fields of a PodDisruptionBudget that the counters need."""

    spec: _BudgetSpec = _BudgetSpec()
    status: _BudgetStatus | None = None


decode_pod, _decode_budget = msgspec.json.Decoder(WatchedPod).decode, msgspec.json.Decoder(WatchedBudget).decode


def pods_by_node(writer: Writer, names: list[str]) -> dict[str, list[WatchedPod]]:
    """The pods on these nodes that are rescheduled when their node goes, by node, without nodes whose pods could not be
    read.
    """
    by_node = {}
    for name in names:
        pods = counted(writer, Resource("", "v1", "pods", field_selector=f"spec.nodeName={name}"), read=decode_pod)
        if pods is not None:
            by_node[name] = [pod for pod in pods if not _stays(pod)]
    return by_node


def _stays(pod: WatchedPod) -> bool:
    return (
        next(
            (
                owner_reference.kind
                for owner_reference in pod.metadata.owner_references or ()
                if owner_reference.controller
            ),
            "",
        )
        in STAYS_WITH_NODE
    )


def blocked_evictions(
    on_nodes: Mapping[str, list[WatchedPod]], tight: list[WatchedBudget], *, now: datetime, running: Release | None
) -> Iterator[BlockedEviction]:
    """Those of the pods whose eviction an annotation or one of the exhausted budgets blocks now. `running`: the release
    of the controller, since only newer ones protect for a time.
    """
    for name, pods in on_nodes.items():
        for pod in pods:
            marks = ((f"annotation {mark}", "") for mark in pod.protected_by(now=now, running=running))
            yield from (
                BlockedEviction(namespace=pod.namespace, pod=pod.name, node=name, by=by, budget=budget)
                for by, budget in (*marks, *_holding(pod, tight))
            )


def _holding(pod: WatchedPod, tight: list[WatchedBudget]) -> Iterator[tuple[str, str]]:
    """Text of each budget that blocks the eviction of the pod, and the budget as namespace/name."""
    for budget in tight:
        if budget.namespace == pod.namespace and _selected(budget, pod.metadata.labels or {}):
            yield f"budget {budget.name}", f"{budget.namespace}/{budget.name}"


def tight_budgets(writer: Writer) -> list[WatchedBudget] | None:
    """The exhausted PodDisruptionBudgets; None if they could not be read."""
    versions = [Resource("policy", version, "poddisruptionbudgets") for version in ("v1", "v1beta1")]
    lists = [counted(writer, resource, read=_decode_budget) for resource in versions]
    budgets = next(filter(None, lists), None if None in lists else [])
    if budgets is None:
        return None
    return [budget for budget in budgets if budget.status is not None and budget.status.disruptions_allowed <= 0]


def _selected(budget: WatchedBudget, pod_labels: Strings) -> bool:
    return selects(budget.spec.selector, pod_labels)
