"""The result of a rehearsal: the forecast for the real run."""

from typing import Literal

import msgspec

SCHEMA = "karpdash/rehearsal/v1"
Scenario = Literal["none", "full_zone", "nodes_never_ready", "webhook_down"]


class RehearsalValue(msgspec.Struct, frozen=True, kw_only=True):
    """Base type of values of a rehearsal. None always means: not known."""


class RehearsalStop(RehearsalValue, frozen=True):
    """Where the plan stops and why, with the code with which the real rollout would halt."""

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
    """The highest number at any time."""
    after: int


class PoolUse(RehearsalValue, frozen=True):
    """A pool's limits, and the use by its nodes at the end.

    CPU in thousandths, memory in bytes. The peaks are upper bounds: the sum of each size and zone at its own peak. None
    if a size is not known.
    """

    pool: str
    cpu: int
    cpu_peak: int | None
    cpu_limit: int | None
    memory: int
    memory_peak: int | None
    memory_limit: int | None


class HeldEviction(RehearsalValue, frozen=True):
    """Evictions that a budget or an annotation of pods blocked."""

    by: str
    pods: int
    seconds: int
    """From the first refusal until the last of these pods left, or to the end."""


class WorkloadGap(RehearsalValue, frozen=True):
    """A workload that had no Ready pod for a time, in seconds."""

    workload: str
    seconds: int
    longest: int


class BudgetGap(RehearsalValue, frozen=True):
    """A budget with fewer available pods than it requires: by how many at most, and for how many seconds."""

    budget: str
    lowest: int
    seconds: int


class PodWithoutPlace(RehearsalValue, frozen=True):
    """A pod without a place at the end, as example for `count` pods of the same shape. `why`: no_pool, limit,
    pod_rules, no_capacity, no_size or unknown.
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
    """A part that was not read or is not simulated, and what is not known because of that."""

    code: str
    words: str


class RehearsalResult(RehearsalValue, frozen=True):
    """The result of one play. `finished`: the plan was completed. Times in seconds."""

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
