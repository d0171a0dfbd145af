"""Gates between the steps of a rollout: live cluster counters, the baseline before a batch, and the decision (A24).

The counters need few, narrow reads; the page of a running rollout shows them, too.
"""

from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice

import msgspec

from migrations_app.actions.changes import ObjectTarget, PlannedRequest
from migrations_app.actions.conditions import all_hold, successor_note
from migrations_app.actions.gate import (
    ClusterCounters,
    Gate,
    GateDecision,
    LeavingPods,
    NodeMark,
    judge,
    pending_limit,
)
from migrations_app.actions.plan import Step
from migrations_app.actions.states import GATE, Position, about_one_node, batch_of
from migrations_app.clients.kubernetes.api import Resource, Writer
from migrations_app.errors import NotServed
from migrations_app.execution.controller_status import controller_status
from migrations_app.execution.held_pods import WatchedPod, blocked_evictions, decode_pod, pods_by_node, tight_budgets
from migrations_app.execution.interface import Execution, RolloutHalted
from migrations_app.execution.listing import counted
from migrations_app.execution.served_lists import list_answers
from migrations_app.execution.watched_objects import delivery_seen, workload_seen
from migrations_app.inventory.facts.controller import ZONE
from migrations_app.inventory.facts.node_claims import moment
from migrations_app.inventory.objects.base import NamedObject, Projection, StatusCondition
from migrations_app.karpenter import kinds, labels
from migrations_app.karpenter.detection import image_release
from migrations_app.karpenter.kinds import CORE_GROUP
from migrations_app.karpenter.versions import Release
from migrations_app.manifests import JsonMap
from migrations_app.manifests.natural_order import natural

MAX_BLOCKED = 50
MAX_DRAINED = 20
"""Maximum number of nodes whose pods are read at a time, so that it costs few requests."""
MAX_NAMED = 10
MAX_MARKED = 400
"""Maximum number of nodes that the run page draws, so that the row stays small."""
PENDING = "status.phase=Pending"


class _WatchedNodeStatus(Projection, frozen=True):
    conditions: list[StatusCondition] | None = None


class _NodeSpec(Projection, frozen=True):
    unschedulable: bool = False


class _NodeObject(NamedObject, frozen=True):
    spec: _NodeSpec = _NodeSpec()
    status: _WatchedNodeStatus = _WatchedNodeStatus()


@dataclass(frozen=True, slots=True)
class _WatchedNode:
    """The fields of a node that the counters need. `mark` is for nodes of Karpenter, None for others."""

    name: str
    ready: bool
    takes_pods: bool
    legacy: bool
    new: bool
    deleting: bool
    mark: NodeMark | None

    @property
    def drains(self) -> bool:
        """Whether it is a node of Karpenter that is being deleted."""
        return self.deleting and self.mark is not None


def _watched(raw: msgspec.Raw | bytes) -> _WatchedNode:
    node_object = _decode_node(raw)
    metadata = node_object.metadata
    ready = any(
        condition.type == "Ready" and condition.status == "True" for condition in node_object.status.conditions or ()
    )
    new, deleting = metadata.label(labels.NODEPOOL) is not None, bool(metadata.deleting)
    legacy = metadata.label(labels.PROVISIONER_NAME) is not None and not metadata.label(labels.NODEPOOL)
    mark = NodeMark(
        name=node_object.name,
        zone=metadata.label(ZONE) or "",
        made_at=metadata.creation_timestamp or "",
        legacy=legacy,
        ready=ready,
        draining=deleting,
        cordoned=node_object.spec.unschedulable,
    )
    takes_pods = ready and not node_object.spec.unschedulable and not deleting
    return _WatchedNode(node_object.name, ready, takes_pods, legacy, new, deleting, mark if legacy or new else None)


_decode_node = msgspec.json.Decoder(_NodeObject).decode


class _ClaimStatus(Projection, frozen=True):
    node_name: str | None = None


class _Claim(NamedObject, frozen=True):
    status: _ClaimStatus | None = None


_decode_claim, _decode_named = msgspec.json.Decoder(_Claim).decode, msgspec.json.Decoder(NamedObject).decode


def cluster_counters(
    writer: Writer, *, gate: Gate | None, now: datetime, running: Release | None = None
) -> ClusterCounters:
    """Counts the cluster's current state; None for a counter that could not be read. `gate` is the one waited for,
    `running` the release of the controller, None if it is not known.
    """
    nodes = counted(writer, Resource("", "v1", "nodes"), read=_watched)
    pending = counted(writer, Resource("", "v1", "pods", field_selector=PENDING), read=decode_pod)
    claims = _claims(writer)
    marks = _marks(nodes or [])
    to_drain = _to_drain(nodes or [], gate)
    on_nodes = pods_by_node(writer, to_drain)
    tight = tight_budgets(writer) if on_nodes else []
    return ClusterCounters(
        taken_at=now.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        all_nodes=None if nodes is None else len(nodes),
        ready_nodes=None if nodes is None else sum(node.takes_pods for node in nodes),
        new_nodes=None if nodes is None else sum(node.new for node in nodes),
        legacy_nodes=None if nodes is None else sum(node.legacy for node in nodes),
        legacy_objects=_legacy_objects(writer),
        pending_pods=None if pending is None else len(pending),
        oldest_pending_seconds=None if pending is None else _oldest(pending, now),
        unready_claims=None if nodes is None or claims is None else _unready(claims, nodes),
        draining_nodes=None if nodes is None else sum(node.drains for node in nodes),
        pending=tuple(f"{pod.namespace}/{pod.name}" for pod in (pending or [])[:MAX_NAMED]),
        blocked=tuple(islice(blocked_evictions(on_nodes, tight or [], now=now, running=running), MAX_BLOCKED)),
        held_unread=tight is None or len(on_nodes) < len(to_drain),
        leaving=tuple(LeavingPods(node=name, pods=len(pods)) for name, pods in on_nodes.items()),
        standing=tuple(target.display_name for target in (gate.gone if gate else ()) if _exists(writer, target)),
        controller=controller_status(writer, gate.controller) if gate and gate.controller else None,
        delivery=delivery_seen(writer, gate.delivery.target) if gate and gate.delivery else None,
        workload=workload_seen(writer, gate.workload.target) if gate and gate.workload else None,
        nodes=marks[:MAX_MARKED],
        nodes_rest=len(marks[MAX_MARKED:]),
    )


def _marks(nodes: list[_WatchedNode]) -> tuple[NodeMark, ...]:
    """The marks of Karpenter's nodes, ordered by zone and name."""
    marks = (node.mark for node in nodes if node.mark is not None)
    return tuple(sorted(marks, key=lambda mark: (mark.zone, natural(mark.name))))


def _claims(writer: Writer) -> list[_Claim] | None:
    claims: list[_Claim] = []
    for resource in _KARPENTERS:
        part = counted(writer, resource, read=_decode_claim)
        if part is None:
            return None
        claims += part
        if part and resource.plural == "nodeclaims":
            break  # both versions return the same objects
    return claims


_KARPENTERS = (
    Resource(CORE_GROUP, "v1alpha5", "machines"),
    Resource(CORE_GROUP, "v1", "nodeclaims"),
    Resource(CORE_GROUP, "v1beta1", "nodeclaims"),
)


def _unready(claims: list[_Claim], nodes: list[_WatchedNode]) -> int:
    ready = {node.name for node in nodes if node.ready}
    living = [claim for claim in claims if not claim.metadata.deleting]
    return sum(((claim.status and claim.status.node_name) or "") not in ready for claim in living)


def _legacy_objects(writer: Writer) -> int | None:
    parts = [
        counted(writer, Resource(CORE_GROUP, "v1alpha5", name), read=_decode_named)
        for name in ("provisioners", "machines")
    ]
    counts = [len(part) for part in parts if part is not None]
    return sum(counts) if len(counts) == len(parts) else None


def _oldest(pods: list[WatchedPod], now: datetime) -> int:
    ages = [now - (moment(pod.metadata.creation_timestamp) or now) for pod in pods]
    return max((int(age.total_seconds()) for age in ages), default=0)


def _exists(writer: Writer, target: ObjectTarget) -> bool:
    try:
        read = writer.read(target)
    except NotServed:
        return False  # the kind was removed meanwhile, and so were all of its objects
    return read is not None and (not target.uid or read.get("metadata", {}).get("uid") == target.uid)


def _to_drain(nodes: list[_WatchedNode], gate: Gate | None) -> list[str]:
    """The names of the nodes whose pods are read: those being deleted, then those that the gate waits for."""
    waited = {target.name for target in gate.gone if target.plural == kinds.NODE.plural} if gate else set()
    legacy = gate is not None and gate.no_legacy_nodes
    later = [node for node in nodes if not node.deleting and (node.name in waited or (legacy and node.legacy))]
    going = [node for node in nodes if node.deleting]
    return [node.name for node in (*going, *later)][:MAX_DRAINED]


def note_baseline(work: Execution, writer: Writer, *, step: Step) -> None:
    """Stores the counters before the step's batch, unless they are stored already. Raises ReadError, LeaseLost."""
    batch = batch_of(work.plan, step)
    if work.baseline.get("batch") == batch or not any(
        plan_step.after for plan_step in work.plan.steps if plan_step.id == batch
    ):
        return
    counters = cluster_counters(writer, gate=None, now=work.now(), running=_running(work))
    entry = {"batch": batch, "picture": msgspec.to_builtins(counters)}
    work.note(baseline=entry, picture=entry["picture"], gate_since=None)
    work.sample(counters, pending_limit=None)


def _running(work: Execution) -> Release | None:
    """The release of the controller, that of the preview; None if the plan changes it, or names none."""
    releases = {image_release(controller.image) for controller in work.plan.controllers or ()}
    return releases.pop() if len(releases) == 1 and not work.plan.changes_controller else None


def baseline(work: Execution) -> ClusterCounters:
    """The counters before the current batch; empty counters if none were taken."""
    picture = work.baseline.get("picture")
    return msgspec.convert(picture, type=ClusterCounters) if picture else ClusterCounters(taken_at="")


ROLL_BACK = "roll_back"
"""The action that restores what was before, also a conversion that did not answer."""
VERIFY_SECONDS = 60
"""How long a step without a gate may take until its result is visible, in seconds."""
LISTS_SECONDS = 300
"""How long the objects of a changed CRD may be unreadable, such as until the controller has written its certificate."""


def pass_gate(work: Execution, writer: Writer, *, position: Position) -> bool:
    """True once the gate is passed and recorded; False while it has to wait.

    Raises RolloutHalted, LeaseLost, ReadError.
    """
    step, waited = position.step, _seconds_waited(work)
    gate = step.after or Gate(pending_above=None, seconds=VERIFY_SECONDS)
    notes = ""
    if not position.skipped and step.change is not None and step.postconditions:
        waits_for, notes = _result(work, writer, step=step, change=step.change, waited=waited, most=gate.seconds)
        if waits_for:
            return work.report_waiting(waits_for)
    if step.after is None:
        return _record_pass(work, step, reason="; ".join(filter(None, ("verified", notes))))
    gate = _without_skipped(work, gate)
    now = cluster_counters(writer, gate=gate, now=work.now(), running=_running(work))
    work.note(picture=msgspec.to_builtins(now))
    work.sample(now, pending_limit=pending_limit(gate, baseline(work)))
    decision = judge(gate, before=baseline(work), now=now, waited=waited)
    words = _gate_text(decision, now)
    if decision.judgement == "pause":
        raise RolloutHalted("gate", f"{step.title}: {words}")
    return _record_pass(work, step, reason="gate passed") if decision.judgement == "go" else work.report_waiting(words)


def _result(
    work: Execution, writer: Writer, *, step: Step, change: PlannedRequest, waited: float, most: int
) -> tuple[str, str]:
    """What to wait for until a read shows the step's result, and notes on what it shows besides; empty for neither.

    Raises RolloutHalted once that took too long: `not_verified` after `most` seconds, `unreadable`; and `recreated`.
    """
    read = writer.read(change.target)
    if not all_hold(step.postconditions, read, uid=change.target.uid):
        if waited >= most:
            raise RolloutHalted("not_verified", f"{step.title}: the cluster shows no effect after {most} s")
        return "the cluster to show it", ""
    _refuse_recreated(step, read)
    answers = list_answers(writer, change, read=read)
    notes = "; ".join(filter(None, answers))
    if not answers.failed or work.plan.action == ROLL_BACK:
        return "", notes
    if waited >= LISTS_SECONDS:
        raise RolloutHalted("unreadable", f"{step.title}: after {LISTS_SECONDS} s {answers.failed}")
    return answers.failed, notes


def _without_skipped(work: Execution, gate: Gate) -> Gate:
    """The gate without the objects of skipped steps: these stay, so the gate must not wait for their deletion."""
    left = work.left_out()
    stays = {step.change.target for step in work.plan.steps if step.change and step.id in left}
    return msgspec.structs.replace(gate, gone=tuple(target for target in gate.gone if target not in stays))


def _gate_text(decision: GateDecision, now: ClusterCounters) -> str:
    """The gate's reasons, and which pods are blocked by which budget (R23)."""
    lines = [
        f"{eviction.namespace}/{eviction.pod} on {eviction.node} is held by {eviction.by}"
        for eviction in now.blocked[:MAX_NAMED]
    ]
    more = len(now.blocked) - MAX_NAMED
    return "; ".join((*decision.reasons, *lines, *((f"and {more} more pods are held",) if more > 0 else ())))


def _record_pass(work: Execution, step: Step, *, reason: str) -> bool:
    work.record_skipped(step, verb=GATE, reason=reason)
    work.note(gate_since=None)
    return True


def _refuse_recreated(step: Step, read: JsonMap | None) -> None:
    """Raises RolloutHalted `recreated` if somebody created a deleted object again: the cluster has it as before. Nodes,
    claims and machines may have a successor, since Karpenter creates these by itself.
    """
    change = step.change
    if change is None or change.verb != "delete" or about_one_node(step):
        return
    if note := successor_note(change.target, read):
        raise RolloutHalted("recreated", f"{step.title}: it was deleted, and created again by another client{note}")


def _seconds_waited(work: Execution) -> float:
    now = work.now()
    if work.gate_since is None:
        work.note(gate_since=now)
        return 0.0
    return (now - work.gate_since).total_seconds()
