"""Whether the pods of a workload are replaced after its template changed, and why they are not yet.

Source: kubernetes/kubectl:pkg/polymorphichelpers/rollout_status.go, for the counts that `kubectl rollout status` waits
for. Unlike there, a pod that was not available before does not have to be available afterwards.
"""

from collections.abc import Iterator
from typing import NamedTuple

from migrations_app.actions.changes import ActionValue, ObjectTarget
from migrations_app.actions.conditions import value_at
from migrations_app.karpenter import kinds
from migrations_app.manifests import JsonMap


class WorkloadGate(ActionValue, frozen=True):
    """The workload whose pods have to be replaced. `available`: how many of them were available at the preview.

    `unavailable`: how many pods of a DaemonSet were not. Where a node is not Ready, the deleted pod does not end, and
    counts as not updated all that time. Source: kubernetes/kubernetes:pkg/controller/daemon/daemon_controller.go
    (updateDaemonSetStatus). It is 0 for other kinds: they do not count on each node.
    """

    target: ObjectTarget
    available: int = 0
    unavailable: int = 0


class WorkloadProgress(ActionValue, frozen=True):
    """The workload as read: `updated` of the `wanted` pods have the new template, `outdated` pods the old one."""

    found: bool = False
    observed: bool = False
    """Whether its controller has processed the newest generation."""
    wanted: int = 0
    updated: int = 0
    outdated: int = 0
    available: int = 0


class _Counts(NamedTuple):
    """Where a kind counts its pods. `total` is empty if all that are there but not updated have to stay or to wait."""

    wanted: tuple[str, ...]
    updated: str
    available: str
    total: str = ""


_COUNTS = {
    kinds.DEPLOYMENT.kind: _Counts(("spec", "replicas"), "updatedReplicas", "availableReplicas", "replicas"),
    kinds.STATEFUL_SET.kind: _Counts(("spec", "replicas"), "updatedReplicas", "readyReplicas"),
    kinds.DAEMON_SET.kind: _Counts(("status", "desiredNumberScheduled"), "updatedNumberScheduled", "numberAvailable"),
}
PARTITION = ("spec", "updateStrategy", "rollingUpdate", "partition")
"""The number of pods of a StatefulSet that keep the old template."""


def workload_progress(kind: str, read: JsonMap | None) -> WorkloadProgress:
    """The state that the workload reports; `read` None: it does not exist."""
    counts = _COUNTS.get(kind)
    if read is None or counts is None:
        return WorkloadProgress()
    updated = _number(value_at(read, ("status", counts.updated)))
    total = _number(value_at(read, ("status", counts.total))) if counts.total else updated
    return WorkloadProgress(
        found=True,
        observed=_number(value_at(read, ("status", "observedGeneration")))
        >= _number(value_at(read, ("metadata", "generation"))),
        wanted=max(0, _wanted(counts, read) - _number(value_at(read, PARTITION))),
        updated=updated,
        outdated=max(0, total - updated),
        available=_number(value_at(read, ("status", counts.available))),
    )


def workload_gate(target: ObjectTarget, read: JsonMap, *, pods: int) -> WorkloadGate:
    """The gate for `pods` restarting pods of the workload, with its counts as read for the preview."""
    before = workload_progress(target.kind, read)
    unavailable = max(0, before.wanted - before.available) if target.kind == kinds.DAEMON_SET.kind else 0
    return WorkloadGate(target=target, available=min(before.available, pods), unavailable=unavailable)


def workload_reasons(gate: WorkloadGate, seen: WorkloadProgress | None) -> list[str]:
    """The reasons why the gate does not hold yet, as text; empty if it holds."""
    if seen is None:
        return [f"{gate.target.display_name} could not be read"]
    return list(_reasons(gate, seen))


def _reasons(gate: WorkloadGate, seen: WorkloadProgress) -> Iterator[str]:
    where, least = gate.target.display_name, min(gate.available, seen.wanted)
    if not seen.found:
        yield f"{where} is not there"
        return
    if not seen.observed:
        yield f"{where} was not taken up by its controller yet"
    if seen.updated < seen.wanted - min(gate.unavailable, max(0, seen.wanted - seen.available)):
        yield f"{where}: pods replaced: {seen.updated} of {seen.wanted}"
    if seen.outdated:
        yield f"{where}: pods of the former template: {seen.outdated}"
    if seen.available < least:
        yield f"{where}: pods available: {seen.available}, before: {least}"


def _wanted(counts: _Counts, read: JsonMap) -> int:
    value = value_at(read, counts.wanted)
    is_default = value is None and counts.wanted[0] == "spec"
    return 1 if is_default else _number(value)


def _number(value: object) -> int:
    return value if isinstance(value, int) else 0
