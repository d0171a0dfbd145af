"""The interface between the code that carries out steps and one execution of a plan: records, limits and clock.

A worker records in the database, a rehearsal in memory; both carry out the same steps. No Django here.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import takewhile
from typing import Any, Literal, Protocol

from migrations_app.actions.changes import PlannedRequest
from migrations_app.actions.gate import ClusterCounters
from migrations_app.actions.plan import Plan, Step
from migrations_app.actions.request import ObjectVersion
from migrations_app.actions.states import WITHOUT_EFFECT, JournalEntry, Position
from migrations_app.errors import Conflict

HOUR = timedelta(hours=1)
COUNTED_VERB = "delete"
"""The verb that the hourly limit counts: deletions cost capacity and cannot be undone."""


class RolloutHalted(Conflict):
    """The rollout stops here and a person has to decide; `state` is the rollout's new state."""

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
class AttemptOutcome:
    """The outcome of a request."""

    outcome: str
    status: int | None = None
    reason: str = ""
    audit_id: str = ""
    uid: str = ""
    resource_version: str = ""
    settled_by: str = ""


class AttemptLine(JournalEntry, Protocol):
    """One line of the journal, with the fields that settling an open request needs."""

    @property
    def pk(self) -> int: ...
    @property
    def uid(self) -> str: ...
    @property
    def status(self) -> int | None: ...
    @property
    def audit_id(self) -> str: ...
    @property
    def reason(self) -> str: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class FruitlessRequests:
    """The newest requests of a step in a row that changed nothing; outcome, status and reason are the last one's."""

    count: int = 0
    outcome: str = ""
    status: int | None = None
    reason: str = ""

    @classmethod
    def of(cls, newest_first: Iterable[AttemptLine]) -> "FruitlessRequests":
        """Those of a step's journal lines, the newest first."""
        lines = tuple(takewhile(lambda line: line.outcome in WITHOUT_EFFECT, newest_first))
        if not lines:
            return cls()
        last = lines[0]
        return cls(count=len(lines), outcome=last.outcome, status=last.status, reason=last.reason)


class Execution(Protocol):
    """Everything that carrying out steps needs besides the cluster."""

    @property
    def plan(self) -> Plan:
        """The plan that is carried out."""

    @property
    def name(self) -> str:
        """The id of the rollout, as in its marks on objects and its User-Agent."""

    @property
    def digest(self) -> str:
        """The digest of the approved plan."""

    @property
    def gate_since(self) -> datetime | None:
        """The time since when the current gate has been waited for; None if it is not waited for."""

    @property
    def baseline(self) -> Mapping[str, Any]:
        """The stored counters from before the current batch; empty before the first batch."""

    def now(self) -> datetime:
        """The current time for gates."""

    def wait(self, seconds: float) -> None:
        """Waits that many seconds."""

    def reached(self, point: str) -> None:
        """Called at named points between the requests."""

    def grace_period(self) -> str:
        """Text of how long nothing is sent after the start; empty if that time is over."""

    def hourly_limit(self, step: Step) -> str:
        """Text of what the hourly limit of deletions waits for before this step; empty if nothing."""

    def skip_asked(self, step: Step) -> str:
        """Text of who skips the step and why; empty if it is not skipped."""

    def left_out(self) -> frozenset[str]:
        """The ids of the steps that were skipped."""

    def refuse_batch(self) -> None:
        """Raises RolloutHalted if the rights of the person who started it, a freeze or a change window forbid the next
        batch.
        """

    def refuse_stopped(self) -> None:
        """Raises StopRequested if a person or the kill switch stops the rollout."""

    def refuse_short_lease(self, seconds: float) -> None:
        """Raises LeaseLost unless the lease is valid for that many seconds."""

    def note(self, **columns: object) -> None:
        """Stores these columns of the rollout."""

    def sample(self, counters: ClusterCounters, *, pending_limit: int | None) -> None:
        """Stores the counters for the charts of the run page, at a limited rate."""

    def report_waiting(self, words: str) -> bool:
        """Stores what the rollout waits for. Always returns False, "no progress"."""

    def record_intent(
        self, step: Step, *, change: PlannedRequest, object_version: ObjectVersion, body_digest: str
    ) -> Intent:
        """Commits the intent of a request (A19). Raises if it must not be sent."""

    def record_outcome(self, attempt_id: int, outcome: AttemptOutcome) -> None:
        """Commits the outcome of a request (A21)."""

    def record_skipped(self, step: Step, *, verb: str, reason: str, outcome: str = "noop") -> None:
        """Adds a journal line without a request."""

    def open_line(self, position: Position) -> AttemptLine | None:
        """The line of the request whose outcome is not known; None if there is none."""

    def fruitless(self, step: Step) -> FruitlessRequests:
        """The step's requests in a row that changed nothing since a person last started or resumed the rollout."""

    def is_late(self, line: AttemptLine, *, deadline: float) -> bool:
        """Whether the line's request can no longer arrive; `deadline` is that of the request, in seconds (R18)."""


def hourly_wait_text(lately: int, most: int) -> str:
    """Text of the wait after `lately` deletions within an hour; empty if another deletion is allowed."""
    return f"the next hour: {lately} deletions of at most {most} an hour are done" if lately >= most else ""
