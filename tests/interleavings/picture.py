"""What the rows say at one moment, and the canonical digest of everything that can matter later."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from types import FrameType
from typing import Any

import msgspec

from migrations_app.actions.plan import Step
from migrations_app.actions.request import ObjectVersion
from migrations_app.actions.states import Position
from migrations_app.clients.kubernetes.api import WriteResult
from migrations_app.errors import KarpdashError
from migrations_app.execution.interface import Intent
from migrations_app.models.audit import AuditEvent
from migrations_app.models.policy import KillSwitch
from migrations_app.models.rollout import Attempt, Lease, Rollout
from migrations_app.models.scan import Scan
from migrations_app.use_cases.rollouts.journal import ExecutionContext
from migrations_app.use_cases.rollouts.lease import LeaseToken
from tests.interleavings.actors import HaltedWorker
from tests.interleavings.stage import OrdersStage

OLDEST = 3600.0
UNKNOWN = ("", "unknown")


@dataclass(frozen=True, slots=True, kw_only=True)
class RowsPicture:
    """The rows of rollouts, journal, lease and kill switch. `told` are the verbs of the audit log with its steps."""

    rollouts: tuple[Rollout, ...]
    attempts: tuple[Attempt, ...]
    lease: Lease | None
    stopped: bool
    lifting: bool
    scans: int
    told: tuple[tuple[str, str, str, int], ...]


def picture_of(stage: OrdersStage) -> RowsPicture:
    switch = KillSwitch.objects.first()
    events = AuditEvent.objects.order_by("seq").values_list("verb", "correlation", "step", "attempt")
    return RowsPicture(
        rollouts=tuple(sorted(Rollout.objects.all(), key=lambda row: [one.pk for one in stage.rows].index(row.pk))),
        attempts=tuple(Attempt.objects.order_by("pk")),
        lease=Lease.objects.first(),
        stopped=bool(switch and switch.on),
        lifting=bool(switch and switch.lifting_id),
        scans=Scan.objects.count(),
        told=tuple(events),
    )


def digest_of(stage: OrdersStage, now: RowsPicture) -> bytes:
    """The same for states that differ in nothing that can matter: names, versions and times are told by relations."""
    plain = _PlainState(stage, now)
    workers = sorted(plain.worker(one) for one in stage.workers)
    seen = (sorted(stage.effects.items()), stage.asked, stage.meddled, stage.replaced)
    state = (plain.rows(), plain.cluster(), plain.letters(), workers, seen)
    return hashlib.blake2b(repr(state).encode(), digest_size=15).digest()


class _PlainState:
    def __init__(self, stage: OrdersStage, now: RowsPicture) -> None:
        self._stage, self._now = stage, now
        self._places = {line.pk: place for place, line in enumerate(now.attempts)}
        self._versions = {row.pk: row.version for row in now.rollouts}
        self._objects = [stage.writer.now(target) for target in stage.targets]
        self._current = {
            (str(one["metadata"]["uid"]), str(one["metadata"]["resourceVersion"])) for one in self._objects if one
        }

    def rows(self) -> tuple[Any, ...]:
        now, held = self._now, self._now.lease
        token = held.token if held else 0
        lines = [
            (str(one.rollout_id), one.step, one.number, one.verb, one.outcome, one.status, one.fence == token,
             self._age(one.intent_at) if one.outcome in UNKNOWN else None)
            for one in now.attempts
        ]  # fmt: skip
        holder = None if held is None else (bool(held.holder), self._age(held.expires_at))
        rollouts = [self.value(row) for row in now.rollouts]
        return rollouts, lines, holder, now.stopped, now.lifting, now.scans

    def cluster(self) -> list[Any]:
        return [_bare(one) for one in self._objects]

    def letters(self) -> list[Any]:
        return [
            (
                one.rollout,
                one.step,
                one.number,
                self.value(one.object_version),
                self.value(one.answer),
                one.sender.letter is one,
            )
            for one in self._stage.letters
            if one.answer is None or one.sender.letter is one
        ]

    def worker(self, one: HaltedWorker) -> tuple[Any, ...]:
        held = self._now.lease
        stands = list(self._frames(one)) if one.working else []
        letter = None if one.letter is None else (one.letter.rollout, one.letter.step, one.letter.number)
        holds = bool(held and held.holder == one.name)
        return one.at, holds, self._stage.current is one, one.slept, letter or (), repr(stands)

    def _frames(self, one: HaltedWorker) -> Iterator[Any]:
        """Where in the product it stands, and the values that it has read."""
        frame: FrameType | None = one.stack.gr_frame if one.stack else None
        while frame is not None:
            if str(frame.f_globals.get("__name__", "")).startswith("migrations_app."):
                values = [(name, self.value(value, one)) for name, value in sorted(frame.f_locals.items())]
                yield frame.f_code.co_qualname, frame.f_lasti, values
            frame = frame.f_back

    def value(self, value: Any, one: HaltedWorker | None = None) -> Any:  # noqa: C901 - a line for each type
        match value:
            case None | bool() | int() | str():
                return value
            case float():
                return round(value - (one.seconds if one else 0.0))
            case datetime():
                return self._age(value)
            case Rollout():
                return self._rollout(value)
            case Attempt():
                return self._places.get(value.pk), value.outcome
            case LeaseToken():
                held = self._now.lease
                return bool(held and held.token == value.token)
            case ExecutionContext():
                return self.value(value.row), self.value(value.lease_token)
            case Position():
                opened = self.value(value.open)
                return value.step.id, value.phase, opened, value.in_doubt, value.skipped
            case Intent():
                return self._places.get(value.attempt_id), value.number
            case ObjectVersion():
                return bool(value.uid), (value.uid, value.resource_version) in self._current
            case WriteResult():
                return value.status, len(value.conflicts)
            case Step():
                return value.id
            case KarpdashError():
                return type(value).__name__, value.code
            case dict() if "metadata" in value:
                return _bare(value), self.value(ObjectVersion.of(value))
            case list() | tuple():
                return [self.value(each, one) for each in value]
        return type(value).__name__

    def _rollout(self, row: Rollout) -> tuple[Any, ...]:
        fresh = self._versions.get(row.pk) == row.version
        ages = (self._age(row.gate_since), self._age(row.unknown_since), self._age(row.expires_at))
        batch = (row.baseline or {}).get("batch")
        return str(row.pk), row.state, fresh, row.stop_request, row.worker_attempts, row.started_by_name, batch, ages

    def _age(self, moment: datetime | None) -> float | None:
        age = self._stage.time.age(moment)
        return None if age is None else min(round(age), OLDEST)


def _bare(read: Any) -> Any:
    """The object without what each write changes."""
    if read is None:
        return None
    kept = {name: value for name, value in read["metadata"].items() if name not in ("resourceVersion", "managedFields")}
    return msgspec.json.encode(dict(read) | {"metadata": kept}, order="deterministic")
