"""Simulates the controller of PodDisruptionBudgets, and tells which evictions the budgets allow."""

import math
from collections.abc import Iterable
from dataclasses import dataclass

import msgspec

from migrations_app.inventory.facts.workloads import selects
from migrations_app.inventory.objects.workloads import LabelSelector
from migrations_app.manifests import JsonMap
from migrations_app.simulator.api import SimulatorApi
from migrations_app.simulator.cluster_state import ClusterState
from migrations_app.simulator.generations import going
from migrations_app.simulator.pod_shapes import PodShape


@dataclass(frozen=True, slots=True)
class BudgetCount:
    """The pods that a budget counts, how many of them are healthy, and how many have to be healthy."""

    expected: int
    healthy: int
    wanted: int

    @property
    def margin(self) -> int:
        return self.healthy - self.wanted


class BudgetController:
    """Updates the status of budgets.

    Source: kubernetes/kubernetes:pkg/controller/disruption/disruption.go: the expected pods are the scale of the pods'
    controllers, a percentage is rounded up, and a pod that is being deleted is not healthy.
    """

    def __init__(self, api: SimulatorApi) -> None:
        self._api = api
        self._of_shape: dict[PodShape, tuple[str, ...]] = {}
        self._selectors: dict[str, tuple[JsonMap | None, LabelSelector | None]] = {}
        self._in: dict[str, dict[str, None]] = {}
        """The uids of the budgets, by namespace."""
        self._shapes: dict[str, list[PodShape]] = {}
        self._known: dict[str, list[JsonMap]] = {}
        self._known_at = -1
        self._apps: dict[str, list[JsonMap]] = {}
        """The workloads whose pods are counted by their scale, by namespace."""

    def work(self, state: ClusterState) -> None:
        changed, state.changed_budgets = state.changed_budgets, set()
        shapes, state.changed_shapes = state.changed_shapes, set()
        for shape in shapes:
            changed.update(self.over(state, shape))
        for uid in sorted(changed & state.budgets.keys()):
            self._write(state, uid)

    def learn(self, state: ClusterState) -> None:
        """Updates which budget covers which pods after a selector changed."""
        has_changes = False
        for uid in state.changed_budgets:
            budget, known_selector = state.budgets.get(uid), self._selectors.get(uid)
            selector = budget["spec"].get("selector") if budget else None
            if known_selector is not None and budget is not None and known_selector[0] == selector:
                continue
            has_changes = True
            self._forget(uid)
            if budget is not None:
                self._selectors[uid] = (selector, msgspec.convert(selector, type=LabelSelector | None))
                self._in.setdefault(budget["metadata"]["namespace"], {})[uid] = None
        if has_changes:
            self._of_shape.clear()
            self._shapes.clear()
            for shape in state.counts:
                self.over(state, shape)

    def _forget(self, uid: str) -> None:
        self._selectors.pop(uid, None)
        for members in self._in.values():
            members.pop(uid, None)

    def over(self, state: ClusterState, shape: PodShape) -> tuple[str, ...]:
        """Returns the uids of the budgets that cover pods of this shape."""
        uids = self._of_shape.get(shape)
        if uids is None:
            uids = self._of_shape[shape] = tuple(
                uid
                for uid in self._in.get(shape.namespace, ())
                if uid in state.budgets and selects(self._selectors[uid][1], shape.labels)
            )
            for uid in uids:
                self._shapes.setdefault(uid, []).append(shape)
        return uids

    def holding(self, state: ClusterState, shapes: Iterable[PodShape]) -> list[JsonMap]:
        """Returns the budgets that do not allow the eviction of a pod of one of these shapes now."""
        by_uid = {
            uid: state.budgets[uid] for shape in shapes for uid in self.over(state, shape) if uid in state.budgets
        }
        return [budget for budget in by_uid.values() if (budget.get("status") or {}).get("disruptionsAllowed", 0) <= 0]

    def note_eviction(self, state: ClusterState, shape: PodShape, *, evicted: bool) -> None:
        """Records an eviction in the budgets' status; after a refused one no eviction is left."""
        for uid in self.over(state, shape):
            status = state.budgets[uid].get("status") or {}
            allowed = status.get("disruptionsAllowed", 0) - 1 if evicted else 0
            state.budgets[uid] = state.budgets[uid] | {"status": status | {"disruptionsAllowed": allowed}}
            state.changed_budgets.add(uid)

    def count(self, state: ClusterState, uid: str) -> BudgetCount:
        """Returns what the budget counts now."""
        budget = state.budgets[uid]
        shapes = self._shapes.get(uid, [])
        expected = sum(workload["spec"].get("replicas", 1) for workload in self._workloads(state, uid))
        shapes_without_scale = [
            shape for shape in shapes if shape.owner not in state.workloads or shape.owner_kind == "DaemonSet"
        ]
        expected += sum(state.counts[shape].total for shape in shapes_without_scale)
        healthy = sum(state.counts[shape].healthy for shape in shapes)
        spec = budget["spec"]
        if spec.get("minAvailable") is not None:
            return BudgetCount(expected, healthy, _number(spec["minAvailable"], expected))
        max_unavailable = _number(spec["maxUnavailable"], expected) if spec.get("maxUnavailable") is not None else 0
        return BudgetCount(expected, healthy, max(0, expected - max_unavailable))

    def _workloads(self, state: ClusterState, uid: str) -> list[JsonMap]:
        """Returns the workloads whose pods the budget covers."""
        if self._known_at != state.workload_changes:
            self._known_at = state.workload_changes
            self._known.clear()
            self._apps.clear()
            for workload in state.workloads.values():
                if workload["kind"] != "DaemonSet":
                    self._apps.setdefault(workload["metadata"]["namespace"], []).append(workload)
        if uid not in self._known:
            namespace, selector = state.budgets[uid]["metadata"]["namespace"], self._selectors[uid][1]
            self._known[uid] = [
                owner for owner in self._apps.get(namespace, ()) if selects(selector, _template_labels(owner))
            ]
        return self._known[uid]

    def _write(self, state: ClusterState, uid: str) -> None:
        budget = state.budgets[uid]
        if going(budget):
            return
        metadata, old_status, budget_count = budget["metadata"], budget.get("status") or {}, self.count(state, uid)
        status = {
            "observedGeneration": metadata.get("generation", 1),
            "expectedPods": budget_count.expected,
            "currentHealthy": budget_count.healthy,
            "desiredHealthy": budget_count.wanted,
            "disruptionsAllowed": max(0, budget_count.margin) if budget_count.expected else 0,
            "disruptedPods": None,
        }
        if all(old_status.get(key) == value for key, value in status.items()):
            return
        root = f"/apis/{budget['apiVersion']}/namespaces/{metadata['namespace']}"
        doc = self._api.patch(f"{root}/poddisruptionbudgets/{metadata['name']}/status", {"status": status})
        if doc is None:
            state.changed_budgets.add(uid)
        else:
            state.budgets[uid] = budget | {"status": status, "metadata": doc["metadata"]}
            state.pod_changes += 1


def _template_labels(owner: JsonMap) -> dict[str, str]:
    labels: dict[str, str] = (owner["spec"].get("template", {}).get("metadata") or {}).get("labels") or {}
    return labels


def _number(value: int | str, total: int) -> int:
    return value if isinstance(value, int) else math.ceil(total * int(value.removesuffix("%")) / 100)
