"""Between two batches: a picture of the cluster, and whether to wait, to go on or to stop and call a person (A24)."""

from typing import Literal

from migrations_app.actions.changes import ActionValue, ObjectTarget

Judgement = Literal["wait", "go", "pause"]


class Gate(ActionValue, frozen=True):
    """What has to be so before the next step. Every number is checked only where it is given.

    `gone` are objects that have to be gone; `pending_above` how many more pods may be Pending than before; `seconds`
    how long to wait for all that.
    """

    gone: tuple[ObjectTarget, ...] = ()
    replaced: bool = False
    """What was launched since then is Ready: no more claims and machines without a Ready node than before.

    Not "as many nodes as before": a replacement may be larger, or not needed at all.
    """
    no_legacy_nodes: bool = False
    """No node is owned by a Machine or Provisioner any more."""
    pending_above: int | None = 0
    seconds: int = 900


class BlockedEviction(ActionValue, frozen=True):
    """A pod that may not be moved now, and the budget or mark that says so."""

    namespace: str
    pod: str
    node: str
    by: str


class ClusterCounters(ActionValue, frozen=True):
    """The cluster as it stands, as far as gates and the run page ask. None: it could not be read."""

    taken_at: str
    ready_nodes: int | None = None
    new_nodes: int | None = None
    legacy_nodes: int | None = None
    legacy_objects: int | None = None
    pending_pods: int | None = None
    oldest_pending_seconds: int | None = None
    unready_claims: int | None = None
    """Machines and NodeClaims whose node has not come or is not Ready, but for those that are being deleted."""
    blocked: tuple[BlockedEviction, ...] = ()
    standing: tuple[str, ...] = ()
    """Of the gate's objects those that are still there, as `Target.said`."""


class GateDecision(ActionValue, frozen=True):
    """The judgement with its reasons, worded for the run page."""

    judgement: Judgement
    reasons: tuple[str, ...] = ()


def judge(gate: Gate, *, before: ClusterCounters, now: ClusterCounters, waited: float) -> GateDecision:
    """Go when everything is so; pause once the time is over or something could not be read by then."""
    reasons = tuple(_reasons(gate, before=before, now=now))
    if not reasons:
        return GateDecision(judgement="go")
    if waited < gate.seconds:
        return GateDecision(judgement="wait", reasons=reasons)
    return GateDecision(judgement="pause", reasons=(f"after {gate.seconds} s still not so", *reasons))


def _reasons(gate: Gate, *, before: ClusterCounters, now: ClusterCounters) -> list[str]:
    found = [f"{said} is still there" for said in now.standing]
    if gate.replaced:
        found += _at_most("claims without a Ready node", now.unready_claims, before=before.unready_claims, above=0)
    if gate.no_legacy_nodes:
        found += _none("nodes of Provisioners", now.legacy_nodes)
    if gate.pending_above is not None:
        found += _at_most("Pending pods", now.pending_pods, before=before.pending_pods, above=gate.pending_above)
    return found


def _at_most(what: str, now: int | None, *, before: int | None, above: int) -> list[str]:
    if now is None or before is None:
        return [f"{what} could not be counted"]
    return [f"{now} {what}, at most {before + above} are allowed"] if now > before + above else []


def _none(what: str, now: int | None) -> list[str]:
    if now is None:
        return [f"{what} could not be counted"]
    return [f"{now} {what} are left"] if now else []
