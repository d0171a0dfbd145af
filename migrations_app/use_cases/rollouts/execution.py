"""One execution of a plan, as the code that carries out steps sees it: where it is recorded, what allows it, its clock.

A worker records in the database; a rehearsal keeps its own record. Both carry out the same steps. No Django here.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Literal, Protocol

from migrations_app.actions.changes import Change
from migrations_app.actions.gate import ClusterCounters
from migrations_app.actions.plan import Plan, Step
from migrations_app.actions.request import ObjectVersion
from migrations_app.actions.states import JournalEntry, Position
from migrations_app.errors import Conflict

HOUR = timedelta(hours=1)
COUNTED = "delete"
"""The verb that the hourly limit counts: deletions cost capacity and cannot be undone."""


class RolloutHalted(Conflict):
    """The rollout stops here and a person has to decide; `state` is the state that it goes to."""

    def __init__(self, code: str, words: str, *, state: Literal["paused", "needs_attention"] = "paused") -> None:
        super().__init__(words, code=code)
        self.state: Literal["paused", "needs_attention"] = state


class LeaseLost(Conflict):
    """Another worker has taken the lease over; the previous holder must not write any more (A14)."""

    code = "lease_lost"


@dataclass(frozen=True, slots=True)
class Intent:
    """A committed intent: its request may be sent now, once."""

    attempt_id: int
    number: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The outcome of a request."""

    outcome: str
    status: int | None = None
    reason: str = ""
    audit_id: str = ""
    uid: str = ""
    resource_version: str = ""
    settled_by: str = ""


class AttemptLine(JournalEntry, Protocol):
    """One line of the journal, as far as settling an open request needs it."""

    @property
    def pk(self) -> int: ...
    @property
    def uid(self) -> str: ...
    @property
    def status(self) -> int | None: ...
    @property
    def audit_id(self) -> str: ...


class Execution(Protocol):
    """What carrying out steps needs besides the cluster."""

    @property
    def plan(self) -> Plan:
        """What is carried out."""

    @property
    def name(self) -> str:
        """The id of the rollout, as its marks on objects and its User-Agent have it."""

    @property
    def digest(self) -> str:
        """The digest of the approved plan."""

    @property
    def gate_since(self) -> datetime | None:
        """Since when the current gate has been waited for."""

    @property
    def baseline(self) -> Mapping[str, Any]:
        """The counters before the current batch, as they were noted; empty before the first one."""

    def now(self) -> datetime:
        """The time that gates go by."""

    def wait(self, seconds: float) -> None:
        """Lets that much time pass."""

    def reached(self, point: str) -> None:
        """Called at named points between the requests."""

    def grace_period(self) -> str:
        """What the time after the start in which nothing is sent waits for, in words; empty if it is over."""

    def hourly_limit(self, step: Step) -> str:
        """What the limit of deletions an hour waits for before this step, in words; empty if nothing."""

    def skip_asked(self, step: Step) -> str:
        """Who wants the step left out, and why, in words; empty if nobody does."""

    def left_out(self) -> frozenset[str]:
        """The ids of the steps that were left out."""

    def refuse_batch(self) -> None:
        """Raises RolloutHalted if the starter's rights, a freeze or a change window do not allow the next batch."""

    def refuse_stopped(self) -> None:
        """Raises StopRequested if somebody, or the kill switch, stops the rollout."""

    def refuse_short_lease(self, seconds: float) -> None:
        """Raises LeaseLost unless the lease lasts that long."""

    def note(self, **columns: object) -> None:
        """Keeps these values of the rollout."""

    def sample(self, counters: ClusterCounters, *, pending_limit: int | None) -> None:
        """Keeps the counters for the lines of the run page, at most so often."""

    def report_waiting(self, words: str) -> bool:
        """Keeps what is waited for. Always False, "no progress"."""

    def record_intent(self, step: Step, *, change: Change, tie: ObjectVersion, body_digest: str) -> Intent:
        """Commits the intent of a request (A19). Raises if it must not be sent."""

    def record_outcome(self, attempt_id: int, outcome: Outcome) -> None:
        """Commits the outcome of a request (A21)."""

    def record_skipped(self, step: Step, *, verb: str, reason: str, outcome: str = "noop") -> None:
        """Adds a line without a request."""

    def open_line(self, here: Position) -> AttemptLine | None:
        """The line of the request whose outcome is not known; None if there is none."""

    def last_refusal(self, step: Step) -> tuple[int | None, str]:
        """HTTP status and reason of the step's last attempt."""

    def is_late(self, line: AttemptLine, *, deadline: float) -> bool:
        """Whether the line's request can no longer arrive; `deadline` is that of the request, in seconds (R18)."""


def hour_is_full(lately: int, most: int) -> str:
    """What it waits for after that many deletions within an hour, in words; empty if one more is allowed."""
    return f"the next hour: {lately} deletions of at most {most} an hour are done" if lately >= most else ""
