"""The in-memory record of a rehearsal on simulated time; a worker keeps the same in the database."""

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import msgspec

from migrations_app.actions import states
from migrations_app.actions.changes import PlannedRequest
from migrations_app.actions.gate import ClusterCounters
from migrations_app.actions.plan import Plan, Step
from migrations_app.actions.request import ObjectVersion
from migrations_app.actions.states import Position
from migrations_app.execution.interface import (
    COUNTED_VERB,
    HOUR,
    AttemptLine,
    AttemptOutcome,
    FruitlessRequests,
    Intent,
    hourly_wait_text,
)
from migrations_app.simulator.clock import SimulatorClock

NAME = "rehearsal"
_COUNTS = ("", "unknown", "applied")


@dataclass(slots=True)
class RehearsedLine:
    """One line of the journal."""

    pk: int
    step: str
    verb: str
    outcome: str = ""
    uid: str = ""
    status: int | None = None
    audit_id: str = ""
    reason: str = ""
    at: datetime | None = None


class RehearsalExecution:
    """An Execution in memory, without stop requests, lease, freezes and change windows."""

    def __init__(self, plan: Plan, clock: SimulatorClock, *, wait: Callable[[float], None]) -> None:
        self.plan, self._clock, self._wait = plan, clock, wait
        self.gate_since: datetime | None = None
        self.baseline: Mapping[str, Any] = {}
        self.waits_for = ""
        self._digest = plan.digest
        self._lines: dict[str, list[RehearsedLine]] = {}
        self._count = 0
        self._first = 0
        self._deletions: deque[RehearsedLine] = deque()

    @property
    def name(self) -> str:
        return NAME

    @property
    def digest(self) -> str:
        return self._digest

    @property
    def done(self) -> int:
        """The number of finished steps."""
        return self._first

    def position(self) -> Position | None:
        """The first step that is not finished; None if all are."""
        while self._first < len(self.plan.steps):
            step = self.plan.steps[self._first]
            alone = msgspec.structs.replace(self.plan, steps=(step,))
            position = states.current_position(alone, self._lines.get(step.id, ()))
            if position is not None:
                return position
            self._first += 1
        return None

    def now(self) -> datetime:
        return self._clock.now()

    def wait(self, seconds: float) -> None:
        self._wait(seconds)

    def reached(self, point: str) -> None:
        """Does nothing at these points."""

    def grace_period(self) -> str:
        return ""

    def hourly_limit(self, step: Step) -> str:
        if step.change is None or step.change.verb != COUNTED_VERB:
            return ""
        since = self.now() - HOUR
        while self._deletions and (self._deletions[0].at or since) <= since:
            self._deletions.popleft()
        lately = sum(line.outcome in _COUNTS for line in self._deletions)
        return hourly_wait_text(lately, self.plan.limits.per_hour)

    def skip_asked(self, step: Step) -> str:
        del step
        return ""

    def left_out(self) -> frozenset[str]:
        return states.skipped_step_ids(line for lines in self._lines.values() for line in lines)

    def refuse_batch(self) -> None:
        """Does nothing: rights, freezes and change windows only apply to a real run."""

    def refuse_stopped(self) -> None:
        """Does nothing: no person can stop a rehearsal."""

    def refuse_short_lease(self, seconds: float) -> None:
        """Does nothing: there is no lease."""

    def note(self, **columns: object) -> None:
        for name in ("gate_since", "baseline"):
            if name in columns:
                setattr(self, name, columns[name])

    def sample(self, counters: ClusterCounters, *, pending_limit: int | None) -> None:
        """Stores nothing: the simulator measures the timeline."""

    def report_waiting(self, words: str) -> bool:
        self.waits_for = words
        return False

    def record_intent(
        self, step: Step, *, change: PlannedRequest, object_version: ObjectVersion, body_digest: str
    ) -> Intent:
        del body_digest
        line = self._line(step, change.verb, uid=object_version.uid)
        if change.verb == COUNTED_VERB:
            self._deletions.append(line)
        return Intent(line.pk, len(self._lines[step.id]))

    def record_outcome(self, attempt_id: int, outcome: AttemptOutcome) -> None:
        lines = self._lines[self.plan.steps[self._first].id]
        line = next(line for line in lines if line.pk == attempt_id)
        line.outcome, line.status, line.reason, line.audit_id = (
            outcome.outcome,
            outcome.status,
            outcome.reason,
            outcome.audit_id,
        )

    def record_skipped(self, step: Step, *, verb: str, reason: str, outcome: str = "noop") -> None:
        line = self._line(step, verb)
        line.outcome, line.reason = outcome, reason

    def open_line(self, position: Position) -> AttemptLine | None:
        return position.open if isinstance(position.open, RehearsedLine) else None

    def fruitless(self, step: Step) -> FruitlessRequests:
        return FruitlessRequests.of(reversed(self._lines.get(step.id, ())))

    def is_late(self, line: AttemptLine, *, deadline: float) -> bool:
        at = next(
            (
                rehearsed_line.at
                for lines in self._lines.values()
                for rehearsed_line in lines
                if rehearsed_line.pk == line.pk
            ),
            None,
        )
        return at is None or (self.now() - at).total_seconds() >= deadline

    def _line(self, step: Step, verb: str, *, uid: str = "") -> RehearsedLine:
        self._count += 1
        line = RehearsedLine(self._count, step.id, verb, uid=uid, at=self.now())
        self._lines.setdefault(step.id, []).append(line)
        return line
