"""The queue of rehearsals: requests, claims with leases and fencing tokens, lost workers. Every change is a
compare-and-set.
"""

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta

import msgspec
from django.conf import settings
from django.db import IntegrityError, transaction
from django.db.models import F, Q, QuerySet
from django.db.models.functions import Now
from django.utils import timezone

from migrations_app.access import Person, may_prepare
from migrations_app.actions.plan import Plan
from migrations_app.actions.rehearsable import why_unplayed
from migrations_app.errors import Conflict, InvalidInput
from migrations_app.models.rehearsal import Rehearsal
from migrations_app.models.rollout import Rollout
from migrations_app.queries.rehearsals.rehearsals import REHEARSED
from migrations_app.rehearsals.play import Failure
from migrations_app.rehearsals.result import Scenario
from migrations_app.use_cases.accounts.rights import person_over_cluster, refuse_person
from migrations_app.use_cases.audit.log import WORKER, Actor, Event, record
from migrations_app.use_cases.rollouts.start_checks import refuse_expired
from migrations_app.use_cases.rollouts.transitions import locked_rollout

MAX_ATTEMPTS = 2
MAX_OF_A_PLAN = 20
"""Maximum number of rehearsals of one plan; more are refused."""
MAX_ENQUEUED = 50
HIGHEST_SEED = 2**31 - 1
SCENARIOS: tuple[Scenario, ...] = ("full_zone", "nodes_never_ready", "webhook_down")
"""The failures that can be requested."""
ABANDONED = Q(state=Rehearsal.State.RUNNING, lease_until__lt=Now())
"""By the database's clock, so that workers with different clocks agree (R18)."""


@dataclass(frozen=True, slots=True)
class RehearsalClaim:
    rehearsal_id: uuid.UUID
    rollout_id: uuid.UUID
    fence: int


def request_rehearsal(
    rollout_id: uuid.UUID, person: Person, *, failures: Sequence[Failure] = (), seed: int = 0, by: Actor
) -> uuid.UUID:
    """Enqueues a rehearsal of the plan, or returns the active one.

    Raises PermissionDenied; InvalidInput `not_played`, `bad_parameter`; Conflict `moved` if the plan was started,
    `expired`, `too_many`.
    """
    _refuse_invalid(failures, seed)
    with transaction.atomic():
        row = locked_rollout(rollout_id)
        refuse_person(may_prepare(person_over_cluster(person, row.cluster_id)))
        if row.state not in REHEARSED:
            raise Conflict(f"a plan that is {row.state.replace('_', ' ')} cannot be rehearsed", code="moved")
        refuse_expired(row)
        if why := why_unplayed(msgspec.json.decode(bytes(row.plan), type=Plan)):
            raise InvalidInput(why, code="not_played", where="plan")
        if row.rehearsals.count() >= MAX_OF_A_PLAN:
            raise Conflict(f"{MAX_OF_A_PLAN} rehearsals of a plan at most: make a new preview", code="too_many")
        return _enqueue(row, person, failures=failures, seed=seed, by=by)


def _refuse_invalid(failures: Sequence[Failure], seed: int) -> None:
    if not 0 <= seed <= HIGHEST_SEED:
        raise InvalidInput(f"0 to {HIGHEST_SEED}", where="seed", code="bad_parameter")
    if len({failure.scenario for failure in failures}) != len(failures):
        raise InvalidInput("a failure is named twice", where="failures", code="bad_parameter")
    for failure in failures:
        if failure.scenario not in SCENARIOS:
            raise InvalidInput(f"one of {', '.join(SCENARIOS)}", where="failures", code="bad_parameter")


def _enqueue(row: Rollout, person: Person, *, failures: Sequence[Failure], seed: int, by: Actor) -> uuid.UUID:
    try:
        with transaction.atomic():
            rehearsal = Rehearsal.objects.create(
                rollout=row,
                digest=row.digest,
                failures=[[failure.scenario, failure.zone] for failure in failures],
                seed=seed,
                requested_by=person.name,
            )
            record(rehearsal_event(rehearsal, "requested", row=row, by=by))
    except IntegrityError:
        return uuid.UUID(str(row.rehearsals.get(state__in=("queued", "running")).pk))
    return rehearsal.pk


def claim(rehearsal_id: uuid.UUID) -> RehearsalClaim | None:
    """Claims a queued rehearsal, or a running one whose lease expired; None if it is claimed or has ended."""
    free = Q(state=Rehearsal.State.QUEUED) | ABANDONED
    # The attempt is counted before the work, so that work that crashes its worker each time ends (R36).
    changed = Rehearsal.objects.filter(free, pk=rehearsal_id, attempts__lt=MAX_ATTEMPTS).update(
        state=Rehearsal.State.RUNNING,
        started_at=timezone.now(),
        lease_until=Now() + _lease(),
        attempts=F("attempts") + 1,
        fence=F("fence") + 1,
    )
    if not changed:
        return None
    row = Rehearsal.objects.defer("result").get(pk=rehearsal_id)
    return RehearsalClaim(row.pk, row.rollout_id, row.fence)


def renew(rehearsal_claim: RehearsalClaim) -> bool:
    """Renews the lease. False if another worker took the rehearsal over: the work must stop then."""
    return bool(_row_of(rehearsal_claim).update(lease_until=Now() + _lease()))


def requeue(rehearsal_claim: RehearsalClaim) -> bool:
    """Returns the rehearsal to the queue without counting the attempt (R28). False if it was taken over or has
    ended.
    """
    return bool(
        _row_of(rehearsal_claim).update(
            state=Rehearsal.State.QUEUED, lease_until=None, started_at=None, attempts=F("attempts") - 1
        )
    )


def store(rehearsal_claim: RehearsalClaim, raw: bytes) -> None:
    """Ends the rehearsal with its result. Raises Conflict if another worker took it over."""
    _end(rehearsal_claim, "finished", columns={"state": Rehearsal.State.FINISHED, "result": raw})


def fail(rehearsal_claim: RehearsalClaim, code: str, *, words: str) -> None:
    """Ends the rehearsal without a result. Raises Conflict if another worker took it over."""
    columns = {"state": Rehearsal.State.FAILED, "error_code": code[:60], "error": words[:2000]}
    _end(rehearsal_claim, "failed", columns=columns)


def crashed(rehearsal_claim: RehearsalClaim, kind: str) -> None:
    """Fails a rehearsal whose code raised. `kind` is the exception's type; its text may hold data and is only
    logged.
    """
    fail(rehearsal_claim, "rehearsal_crashed", words=f"{kind} in the rehearsal; see the worker's log")


def rehearsals_to_enqueue() -> tuple[uuid.UUID, ...]:
    """The ids of rehearsals to enqueue: queued ones without a message, and those of lost workers. Fails those without
    attempts left.
    """
    for row in Rehearsal.objects.filter(ABANDONED, attempts__gte=MAX_ATTEMPTS).defer("result"):
        rehearsal_claim = RehearsalClaim(row.pk, row.rollout_id, row.fence)
        fail(rehearsal_claim, "worker_lost", words=f"the worker ended during the rehearsal, {MAX_ATTEMPTS} times")
    earlier = timezone.now() - timedelta(seconds=settings.ENV.sweep_interval)
    waiting = Q(state=Rehearsal.State.QUEUED, made_at__lt=earlier)
    rows = Rehearsal.objects.filter(ABANDONED | waiting, attempts__lt=MAX_ATTEMPTS).order_by("made_at")
    return tuple(rows.values_list("pk", flat=True)[:MAX_ENQUEUED])


def _row_of(rehearsal_claim: RehearsalClaim) -> QuerySet[Rehearsal]:
    return Rehearsal.objects.filter(
        pk=rehearsal_claim.rehearsal_id, state=Rehearsal.State.RUNNING, fence=rehearsal_claim.fence
    )


def _lease() -> timedelta:
    return timedelta(seconds=settings.ENV.scan_lease)


def _end(rehearsal_claim: RehearsalClaim, then: str, *, columns: Mapping[str, object]) -> None:
    with transaction.atomic():
        if not _row_of(rehearsal_claim).update(finished_at=timezone.now(), lease_until=None, **columns):
            raise Conflict("another worker took over the rehearsal", code="lease_lost")
        rehearsal = Rehearsal.objects.defer("result").select_related("rollout").get(pk=rehearsal_claim.rehearsal_id)
        record(rehearsal_event(rehearsal, then, row=rehearsal.rollout, by=WORKER))


def rehearsal_event(rehearsal: Rehearsal, then: str, *, row: Rollout, by: Actor) -> Event:
    """The audit event of a rehearsal."""
    return Event(
        verb=f"rehearsal.{then}",
        actor=by,
        object=f"{row.title} on {row.cluster_name}",
        outcome=rehearsal.error_code or then,
        cluster_id=str(row.cluster_id),
        plan_digest=rehearsal.digest,
        correlation=str(row.pk),
        detail={"rehearsal": str(rehearsal.pk), "failures": rehearsal.failures, "seed": rehearsal.seed},
    )
