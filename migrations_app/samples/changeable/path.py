"""The path of a sample cluster to v1: its steps in order, and the first one that is not done. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from migrations_app.karpenter.versions import minor_order, release

NextActor = Literal["operator", "approver", "anybody"]
SampleStepKind = Literal["rollout", "upgrade", "roll_back", "read"]
BETA, BRIDGE, CURRENT = "0.32.10", "0.37.8", "1.0.14"


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleFacts:
    """The facts of a sample cluster. `served` and `stored` are the API versions of NodePools: none before 0.32."""

    release: str
    served: tuple[str, ...] = ()
    storage: str = ""
    stored: tuple[str, ...] = ()
    node_pools: int = 0
    legacy_nodes: int = 0
    legacy_objects: int = 0
    nodes: int = 0
    waiting_pods: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleStep:
    """One step: a rollout of an action with these choices, or the person's own upgrade of the controller."""

    id: str
    kind: SampleStepKind
    title: str
    why: str
    action: str = ""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    release: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenRollout:
    """The newest rollout of the cluster that has not ended, or that ended without success."""

    id: str
    action: str
    state: str
    author: str
    cause: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RolloutsSoFar:
    """Rollouts since the sample was reset: the actions that succeeded, whether one was rolled back, what is open."""

    succeeded: frozenset[str] = frozenset()
    to_take_back: str = ""
    """The id of the conversion that can be rolled back; empty if there is none."""
    taken_back: bool = False
    open: OpenRollout | None = None


STATES: Mapping[str, tuple[str, NextActor]] = {
    "draft": ("The plan is being made: it reads the cluster and tries each step as a dry run.", "anybody"),
    "previewed": ("Read the plan, rehearse it, then ask for approval.", "operator"),
    "awaiting_approval": ("The other person reads the plan and approves it.", "approver"),
    "approved": ("It is approved: start it.", "operator"),
    "running": ("It runs. Watch it.", "anybody"),
    "rolling_back": ("It is being rolled back. Watch it.", "anybody"),
    "paused": ("It is paused: read why, then resume or abort it.", "operator"),
    "needs_attention": ("It needs a decision of yours.", "operator"),
}
"""By state of a rollout, what has to be done and by whom."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleNext:
    """The next thing to do. `step` is None at the end; `rollout` is the rollout to open, if there is one."""

    number: int
    total: int
    words: str
    who: NextActor
    step: SampleStep | None = None
    rollout: str = ""
    retry: bool = False


def steps(cluster: str, *, begins: str) -> tuple[SampleStep, ...]:
    """The whole path of a sample that began with that release. `cluster` is its name in AWS."""
    order = minor_order(release(begins).minor)
    sample_steps = [*_alpha(cluster)] if order < (0, 32) else []
    sample_steps += _to_beta() if order <= (0, 32) else []
    return (*sample_steps, *(_to_v1() if order < (1, 0) else ()), _rewrite())


def _alpha(cluster: str) -> tuple[SampleStep, ...]:
    role = {"node_role": f"KarpenterNodeRole-{cluster}"}
    convert = SampleStep(
        id="convert",
        kind="rollout",
        title="Make a NodePool and an EC2NodeClass of what is there",
        why="They take over from the Provisioner and its AWSNodeTemplate; no node moves yet.",
        action="convert_and_apply",
        parameters=role,
    )
    return (
        _crds(BETA, "so that NodePools can be stored"),
        _upgrade(BETA, "the one minor that knows v1alpha5 and v1beta1"),
        convert,
        SampleStep(
            id="roll_back",
            kind="roll_back",
            title="Roll that back, to see how",
            why="A rollback is a rollout of its own: planned, approved, and made of the undo of each applied step.",
        ),
        SampleStep(
            id="convert_again",
            kind="rollout",
            title="And make them again",
            why="Now for good.",
            action=convert.action,
            parameters=role,
        ),
    )


def _to_beta() -> tuple[SampleStep, ...]:
    return (
        SampleStep(
            id="nodes",
            kind="rollout",
            title="Replace the nodes of the Provisioner",
            why="A taint makes them drift; Karpenter launches new ones first, one after the other.",
            action="taint_and_drift",
        ),
        SampleStep(
            id="legacy",
            kind="rollout",
            title="Delete what is left of v1alpha5",
            why="0.33 does not know these kinds any more. This cannot be undone, so it asks for a fresh sign-in.",
            action="remove_legacy",
        ),
    )


def _to_v1() -> tuple[SampleStep, ...]:
    return (
        _crds(BRIDGE, "which serve v1 beside v1beta1"),
        _upgrade(BRIDGE, "the last release before v1"),
        _crds(CURRENT, "which store v1"),
        _upgrade(CURRENT, "the first release that speaks v1"),
    )


def _rewrite() -> SampleStep:
    return SampleStep(
        id="rewrite",
        kind="rollout",
        title="Rewrite every stored object as v1",
        why="Until then the CRDs list v1beta1 as stored, and 1.1 cannot be installed.",
        action="rewrite_stored_versions",
    )


def _crds(version: str, reason: str) -> SampleStep:
    return SampleStep(
        id=f"crds-{version}",
        kind="rollout",
        title=f"Install the CRDs of {version}",
        why=f"They come before the controller, {reason}.",
        action="upgrade_crds",
        parameters={"release": version},
        release=version,
    )


def _upgrade(version: str, reason: str) -> SampleStep:
    return SampleStep(
        id=f"controller-{version}",
        kind="upgrade",
        title=f"Upgrade the controller to {version}",
        why=f"It is {reason}. For a sample, this button stands for your own helm upgrade.",
        release=version,
    )


def is_done(step: SampleStep, facts: SampleFacts, *, so_far: RolloutsSoFar) -> bool:
    """Whether nothing is left to do for it."""
    if step.kind == "upgrade":
        return _at_least(facts.release, step.release)
    if step.action == "upgrade_crds":
        return _at_least(facts.release, step.release) or _installed(step.release, facts)
    match step.id:
        case "convert":
            return bool(facts.node_pools) or so_far.taken_back
        case "roll_back":
            return so_far.taken_back or _past_conversion(facts)
        case "convert_again":
            return bool(facts.node_pools)
        case "nodes":
            return facts.legacy_nodes == 0
        case "legacy":
            return facts.legacy_objects == 0
    return facts.stored == ("v1",)


def _past_conversion(facts: SampleFacts) -> bool:
    return facts.legacy_nodes < facts.nodes


def _installed(version: str, facts: SampleFacts) -> bool:
    if version == BETA:
        return bool(facts.served)
    return "v1" in facts.served if version == BRIDGE else facts.storage == "v1"


def _at_least(running: str, version: str) -> bool:
    return minor_order(release(running).minor) >= minor_order(release(version).minor)


def next_step(path: tuple[SampleStep, ...], facts: SampleFacts, *, so_far: RolloutsSoFar) -> SampleNext:
    """The first step that is not done, or what an open rollout waits for."""
    place = next(
        (at for at, sample_step in enumerate(path) if not is_done(sample_step, facts, so_far=so_far)), len(path)
    )
    step = path[place] if place < len(path) else None
    number, total = min(place + 1, len(path)), len(path)
    open_rollout = so_far.open
    if open_rollout is not None and open_rollout.state in STATES:
        words, who = STATES[open_rollout.state]
        return SampleNext(number=number, total=total, words=words, who=who, step=step, rollout=open_rollout.id)
    if step is None:
        words = "Done: everything is v1. Read in the audit log who did what."
        return SampleNext(number=total, total=total, words=words, who="anybody")
    if open_rollout is not None and open_rollout.action == step.action:
        words = (
            f"The last try did not work out: {open_rollout.cause}"
            if open_rollout.cause
            else "The last try was not carried out."
        )
        return SampleNext(
            number=number, total=total, words=words, who="operator", step=step, rollout=open_rollout.id, retry=True
        )
    return SampleNext(number=number, total=total, words=step.why, who="operator", step=step)
