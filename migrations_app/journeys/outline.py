"""Compares the plan of a step that was approved with a plan made anew.

The action, its parameters, the cluster, the limits of the rollout and every object that is not a node have to be the
same, with the same request in the same order. Nodes, NodeClaims and Machines come and go by themselves: their names may
differ, and each kind of request may be made for a tenth more than was shown, and always for one more. Fewer are always
accepted. Numbers of the forecast, ages and resourceVersions are not compared.
"""

import hashlib
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, Literal

import msgspec

from migrations_app.actions.changes import RISKS, Risk
from migrations_app.actions.plan import Plan, Step, canonical
from migrations_app.actions.states import NODE_KINDS

DifferenceCode = Literal[
    "action", "parameters", "cluster", "limits", "risk", "request_added", "request_missing", "order", "nodes", "doubts"
]


class RequestOutline(msgspec.Struct, frozen=True, kw_only=True):
    """A request about an object that is not a node. `content` is the digest of the request's body and its undo."""

    verb: str
    kind: str
    name: str
    content: str


class NodeRequests(msgspec.Struct, frozen=True, kw_only=True):
    """The number of requests about nodes that differ only in the node."""

    verb: str
    kind: str
    undo: bool
    count: int


class Outline(msgspec.Struct, frozen=True, kw_only=True):
    """The compared parts of a plan. `cluster` is the uid of kube-system and the CA; `doubts` are steps without
    proof."""

    action: str
    parameters: str
    cluster: str
    limits: str
    risk: Risk
    requests: tuple[RequestOutline, ...]
    nodes: tuple[NodeRequests, ...] = ()
    doubts: tuple[str, ...] = ()


class PlanDifference(msgspec.Struct, frozen=True):
    """A difference between two plans: a code, and the object if it is about one."""

    code: DifferenceCode
    about: str = ""


def outline(plan: Plan, *, doubts: Mapping[str, str]) -> Outline:
    """Returns the outline of a plan; `doubts` has by id of the step the reason why it is not proven."""
    nodes = Counter(
        (change.verb, change.target.kind, step.undo is not None)
        for step in plan.steps
        if (change := step.change) is not None and change.target.kind in NODE_KINDS
    )
    titles = {step.id: step.title for step in plan.steps}
    return Outline(
        action=plan.action,
        parameters=_digest(plan.parameters),
        cluster=f"{plan.identity.kube_system_uid} {plan.identity.ca}",
        limits=_digest(plan.limits),
        risk=plan.risk,
        requests=tuple(_requests(plan)),
        nodes=tuple(NodeRequests(verb=v, kind=k, undo=u, count=n) for (v, k, u), n in sorted(nodes.items())),
        doubts=tuple(sorted(titles.get(step, step) for step in doubts)),
    )


def differences(approved: Outline, now: Outline) -> tuple[PlanDifference, ...]:
    """Returns how the new plan differs from the approved one, by the rule of this module; empty if it does not."""
    return tuple(_differences(approved, now))


def _requests(plan: Plan) -> Iterator[RequestOutline]:
    for step in plan.steps:
        change = step.change
        if change is not None and change.target.kind not in NODE_KINDS:
            where = f"{change.target.namespace}/" if change.target.namespace else ""
            yield RequestOutline(
                verb=change.verb, kind=change.target.kind, name=f"{where}{change.target.name}", content=_content(step)
            )


def _content(step: Step) -> str:
    """Returns the digest of the request, its undo, the tool that keeps the object, and the uid of the object."""
    change, undo = step.change, step.undo
    uid = change.target.uid if change else ""
    parts = [change.path if change else "", change.body if change else {}, undo.body if undo else None]
    return _digest([uid, step.manager, *parts])


def _digest(value: Any) -> str:  # noqa: ANN401 - plain JSON or a struct
    return hashlib.sha256(canonical(value)).hexdigest()


def _differences(approved: Outline, now: Outline) -> Iterator[PlanDifference]:
    codes: tuple[tuple[DifferenceCode, str, str], ...] = (
        ("action", approved.action, now.action),
        ("parameters", approved.parameters, now.parameters),
        ("cluster", approved.cluster, now.cluster),
        ("limits", approved.limits, now.limits),
    )
    yield from (PlanDifference(code) for code, before, after in codes if before != after)
    if RISKS.index(now.risk) > RISKS.index(approved.risk):
        yield PlanDifference("risk", now.risk)
    yield from _other_requests(approved, now)
    yield from _more_nodes(approved, now)
    yield from (PlanDifference("doubts", title) for title in now.doubts if title not in approved.doubts)


def _other_requests(approved: Outline, now: Outline) -> Iterator[PlanDifference]:
    before, after = set(approved.requests), set(now.requests)
    added = [request for request in now.requests if request not in before]
    missing = [request for request in approved.requests if request not in after]
    yield from (
        PlanDifference("request_added", f"{request_outline.verb} {request_outline.kind} {request_outline.name}")
        for request_outline in added
    )
    yield from (
        PlanDifference("request_missing", f"{request_outline.verb} {request_outline.kind} {request_outline.name}")
        for request_outline in missing
    )
    if not added and not missing and approved.requests != now.requests:
        yield PlanDifference("order")


def _more_nodes(approved: Outline, now: Outline) -> Iterator[PlanDifference]:
    counts = {(node.verb, node.kind, node.undo): node.count for node in approved.nodes}
    for node in now.nodes:
        count = counts.get((node.verb, node.kind, node.undo), 0)
        if node.count > (count + max(1, count // 10) if count else 0):
            yield PlanDifference("nodes", f"{node.verb} {node.kind}: {node.count}, shown were {count}")
