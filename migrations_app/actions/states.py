"""The states of a plan on its way and of a rollout, and which may follow which: one table, for code and database."""

from typing import Literal, get_args

State = Literal[
    "draft",
    "previewed",
    "awaiting_approval",
    "approved",
    "running",
    "paused",
    "succeeded",
    "failed",
    "aborted",
    "rolled_back",
    "rejected",
    "expired",
    "rolling_back",
    "needs_attention",
]
STATES: tuple[State, ...] = get_args(State)

FOLLOWS: dict[State, frozenset[State]] = {
    "draft": frozenset({"previewed", "expired"}),
    "previewed": frozenset({"awaiting_approval", "expired"}),
    "awaiting_approval": frozenset({"approved", "rejected", "expired"}),
    "approved": frozenset({"running", "expired", "rejected", "needs_attention"}),
    "running": frozenset({"paused", "succeeded", "failed", "aborted", "needs_attention"}),
    "paused": frozenset({"running", "failed", "aborted", "rolling_back", "needs_attention"}),
    "failed": frozenset({"rolling_back"}),
    "aborted": frozenset({"rolling_back"}),
    "rolling_back": frozenset({"rolled_back", "needs_attention"}),
    "needs_attention": frozenset({"paused", "failed", "aborted"}),
    "succeeded": frozenset(),
    "rolled_back": frozenset(),
    "rejected": frozenset(),
    "expired": frozenset(),
}
"""A07 and A09. A person settles `needs_attention`; `failed` and `aborted` end a rollout but for taking it back."""

PLANNED: frozenset[State] = frozenset({"draft", "previewed", "awaiting_approval", "approved"})
"""A plan that nothing was done for yet: it may still run out or be voided."""
FINAL: frozenset[State] = frozenset(state for state, following in FOLLOWS.items() if not following)
WORKING: frozenset[State] = frozenset({"running"})
"""States in which a worker makes progress. What takes a rollout back is a rollout of its own, and runs itself."""
HOLDING: frozenset[State] = WORKING | {"paused", "needs_attention"}
"""States in which no other rollout may begin on the cluster (A13)."""


def may_follow(now: State, then: State) -> bool:
    return then in FOLLOWS[now]


def pairs() -> tuple[tuple[State, State], ...]:
    """Every legal step from one state to the next, in the order of the table."""
    return tuple((now, then) for now in STATES for then in STATES if then in FOLLOWS[now])
