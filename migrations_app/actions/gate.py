"""Gates between batches: counters of the cluster, and the decision to wait, continue, or pause for a person (A24)."""

from typing import Literal

from migrations_app.actions.changes import ActionValue, ObjectTarget
from migrations_app.actions.gates.controller_gate import ControllerGate, ControllerStatus, controller_reasons
from migrations_app.actions.gates.delivery_gate import DeliveryGate, DeliveryStatus, delivery_reasons
from migrations_app.actions.gates.workload_gate import WorkloadGate, WorkloadProgress, workload_reasons

Judgement = Literal["wait", "go", "pause"]


class Gate(ActionValue, frozen=True):
    """What must hold before the next step. A number is checked only if it is given.

    `gone` are objects that must be gone; `pending_above` is how many more pods than before may be Pending;
    `seconds` is the maximum wait.
    """

    gone: tuple[ObjectTarget, ...] = ()
    replaced: bool = False
    """No more claims and machines without a Ready node than before: all that was launched since then is Ready.

    Not "as many nodes as before": a replacement may be larger, or not needed at all.
    """
    no_legacy_nodes: bool = False
    """No node is owned by a Machine or Provisioner any more."""
    no_drains: bool = False
    """No node of Karpenter is being drained, also none that Karpenter replaces by itself."""
    pending_above: int | None = 0
    seconds: int = 900
    controller: ControllerGate | None = None
    """The controller runs what was installed: rollout, pods, images, leader."""
    delivery: DeliveryGate | None = None
    """The object of Flux or Argo CD reports that it installed the version."""
    workload: WorkloadGate | None = None
    """The pods of the workload are replaced, and no fewer of them are available than before."""


class BlockedEviction(ActionValue, frozen=True):
    """A pod that cannot be evicted now, and the budget or annotation that prevents it."""

    namespace: str
    pod: str
    node: str
    by: str
    budget: str = ""
    """Namespace and name of the budget; empty for an annotation."""


class LeavingPods(ActionValue, frozen=True):
    """How many pods have to leave one node that is drained or waits for that."""

    node: str
    pods: int


class NodeMark(ActionValue, frozen=True):
    """One node of Karpenter on the run page. `made_at` is its creation time in RFC 3339, which tells old from new."""

    name: str
    zone: str = ""
    made_at: str = ""
    legacy: bool = False
    ready: bool = False
    draining: bool = False
    cordoned: bool = False


class ClusterCounters(ActionValue, frozen=True):
    """The state of the cluster that gates and the run page need. None: not read."""

    taken_at: str
    all_nodes: int | None = None
    ready_nodes: int | None = None
    new_nodes: int | None = None
    legacy_nodes: int | None = None
    legacy_objects: int | None = None
    pending_pods: int | None = None
    oldest_pending_seconds: int | None = None
    unready_claims: int | None = None
    """Machines and NodeClaims whose node is missing or not Ready, except those being deleted."""
    draining_nodes: int | None = None
    """Nodes of Karpenter that are being deleted."""
    pending: tuple[str, ...] = ()
    """The first Pending pods, as namespace/name."""
    blocked: tuple[BlockedEviction, ...] = ()
    leaving: tuple[LeavingPods, ...] = ()
    held_unread: bool = False
    """Whether pods of the nodes to drain, or budgets, could not be read: `blocked` and `leaving` may lack some."""
    standing: tuple[str, ...] = ()
    """The gate's objects that still exist, as `ObjectTarget.display_name`."""
    nodes: tuple[NodeMark, ...] = ()
    """The first nodes of Karpenter by zone and name; `nodes_rest` counts those left out."""
    nodes_rest: int = 0
    controller: ControllerStatus | None = None
    """The controller, where the gate asks for it; None where it does not, or it could not be read."""
    delivery: DeliveryStatus | None = None
    """The delivery, where the gate asks for it; None where it does not, or it could not be read."""
    workload: WorkloadProgress | None = None
    """The workload, where the gate asks for it; None where it does not, or it could not be read."""

    @property
    def held_pods(self) -> int | None:
        """How many evictions are blocked, up to the limit of `blocked`; None if not all that decides it was read."""
        return None if self.legacy_nodes is None or self.held_unread else len(self.blocked)


class GateDecision(ActionValue, frozen=True):
    """The decision with its reasons, worded for the run page."""

    judgement: Judgement
    reasons: tuple[str, ...] = ()


def judge(gate: Gate, *, before: ClusterCounters, now: ClusterCounters, waited: float) -> GateDecision:
    """`go` if everything holds; `pause` once the time is over or a counter could not be read by then; `wait`
    otherwise.
    """
    reasons = tuple(_reasons(gate, before=before, now=now))
    if not reasons:
        return GateDecision(judgement="go")
    if waited < gate.seconds:
        return GateDecision(judgement="wait", reasons=reasons)
    return GateDecision(judgement="pause", reasons=(f"after {gate.seconds} s still not so", *reasons))


def pending_limit(gate: Gate, before: ClusterCounters) -> int | None:
    """How many pods may be Pending at this gate; None if it does not ask, or the count before is not known."""
    if gate.pending_above is None or before.pending_pods is None:
        return None
    return before.pending_pods + gate.pending_above


def _reasons(gate: Gate, *, before: ClusterCounters, now: ClusterCounters) -> list[str]:
    reasons = [f"{pod} is still there" for pod in now.standing]
    if gate.replaced:
        reasons += _at_most("claims without a Ready node", now.unready_claims, before=before.unready_claims, above=0)
    if gate.no_legacy_nodes:
        reasons += _none("nodes of Provisioners", now.legacy_nodes)
    if gate.no_drains:
        reasons += _none("nodes that Karpenter drains", now.draining_nodes)
    if gate.delivery is not None:
        reasons += delivery_reasons(gate.delivery, now.delivery)
    if gate.workload is not None:
        reasons += workload_reasons(gate.workload, now.workload)
    if gate.controller is not None:
        reasons += controller_reasons(gate.controller, now.controller)
    if gate.pending_above is not None:
        many = _at_most("Pending pods", now.pending_pods, before=before.pending_pods, above=gate.pending_above)
        reasons += [f"{words}: {_named(now)}" if now.pending and now.pending_pods else words for words in many]
    return reasons


def _named(now: ClusterCounters) -> str:
    rest = (now.pending_pods or 0) - len(now.pending)
    return ", ".join(now.pending) + (f" and {rest} more" if rest > 0 else "")


def _at_most(subject: str, now: int | None, *, before: int | None, above: int) -> list[str]:
    if now is None or before is None:
        return [f"{subject} could not be counted"]
    return [f"{now} {subject}, at most {before + above} are allowed"] if now > before + above else []


def _none(subject: str, now: int | None) -> list[str]:
    if now is None:
        return [f"{subject} could not be counted"]
    return [f"{now} {subject} are left"] if now else []
