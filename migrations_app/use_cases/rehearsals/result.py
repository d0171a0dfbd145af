"""What a rehearsal foretells."""

from typing import Literal

import msgspec

SCHEMA = "karpdash/rehearsal/v1"
Scenario = Literal["none", "full_zone", "nodes_never_ready", "webhook_down"]


class RehearsalValue(msgspec.Struct, frozen=True, kw_only=True):
    """Base type of what a rehearsal tells. None always means: not known."""


class RehearsalStop(RehearsalValue, frozen=True):
    """Where the plan stops and why: the code that the real rollout would halt with."""

    step: str
    title: str
    code: str
    words: str


class NodeGroupCount(RehearsalValue, frozen=True):
    """Nodes of one pool, size and zone."""

    pool: str
    size: str
    zone: str
    before: int
    peak: int
    """The most that there were at any time."""
    after: int


class PoolUse(RehearsalValue, frozen=True):
    """A pool's limits, and what its nodes have of them at the end. CPU in thousandths, memory in bytes.

    The peaks are upper bounds: the sum of each size and zone at its own peak. None for a size that is not known.
    """

    pool: str
    cpu: int
    cpu_peak: int | None
    cpu_limit: int | None
    memory: int
    memory_peak: int | None
    memory_limit: int | None


class HeldEviction(RehearsalValue, frozen=True):
    """Evictions that a budget, or an annotation of pods, held up."""

    by: str
    pods: int
    seconds: int
    """From the first refusal until the last pod that was held went, or to the end."""


class WorkloadGap(RehearsalValue, frozen=True):
    """A workload that had no Ready pod for a time, in seconds."""

    workload: str
    seconds: int
    longest: int


class BudgetGap(RehearsalValue, frozen=True):
    """A budget below what it asks for: by how many pods at most, and for how many seconds."""

    budget: str
    lowest: int
    seconds: int


class PodWithoutPlace(RehearsalValue, frozen=True):
    """One of the pods of a kind that waits at the end. `why`: no_pool, limit, pod_rules, no_capacity,
    no_size or unknown.
    """

    pod: str
    count: int
    why: str


class RehearsalMoment(RehearsalValue, frozen=True):
    """The cluster at a moment, in seconds since the start."""

    seconds: int
    nodes: int
    draining: int
    coming: int
    waiting: int


class UnknownPart(RehearsalValue, frozen=True):
    """What the reading does not show or the simulator does not play, and what cannot be told because of it."""

    code: str
    words: str


class RehearsalResult(RehearsalValue, frozen=True):
    """The outcome of one play. `finished`: the plan ran to its end. Times in seconds."""

    schema: str
    cluster: str
    taken_at: str
    action: str
    title: str
    plan: str
    """The digest of the plan."""
    scenario: Scenario
    zone: str
    """The zone without capacity; empty in other scenarios."""
    seed: int
    finished: bool
    stopped: RehearsalStop | None
    seconds: int
    steps_done: int
    steps: int
    nodes_before: int
    nodes_peak: int | None
    nodes_after: int
    groups: tuple[NodeGroupCount, ...] | None
    pools: tuple[PoolUse, ...] | None
    drained: tuple[str, ...]
    """The nodes in the order in which they began to drain."""
    pods_moved: int
    held: tuple[HeldEviction, ...] | None
    workloads: tuple[WorkloadGap, ...]
    budgets: tuple[BudgetGap, ...] | None
    no_place: tuple[PodWithoutPlace, ...] | None
    longest_wait: int
    """The longest time that a pod waited for a place."""
    timeline: tuple[RehearsalMoment, ...]
    unknown: tuple[UnknownPart, ...]
    assumptions: tuple[str, ...]
