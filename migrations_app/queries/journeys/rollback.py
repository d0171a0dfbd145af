"""What a rollback of a journey to a step would undo: which rollouts took effect, and how each step is undone."""

import uuid

import msgspec
from django.db.models import Exists, OuterRef, QuerySet

from migrations_app.actions.states import GATE, unsettled_step_ids
from migrations_app.errors import InvalidInput
from migrations_app.journeys.plan import JourneyStep
from migrations_app.journeys.rollback import StepRollback, step_rollbacks
from migrations_app.models.journey import JourneyRollout, JourneyStepRow
from migrations_app.models.rollout import Attempt, Rollout


def rollout_to_undo(step: JourneyStepRow) -> Rollout | None:
    """The newest rollout of the step that changed the cluster and was not rolled back; None if there is none."""
    return _changed().filter(journey_part__step=step).order_by("-journey_part__pk").first()


def changed_places(journey_id: uuid.UUID) -> frozenset[int]:
    """The places of the steps whose rollouts changed the cluster and were not rolled back."""
    of_journey = _changed().filter(journey_part__step__journey_id=journey_id)
    return frozenset(of_journey.values_list("journey_part__step__place", flat=True))


def doubtful_places(journey_id: uuid.UUID) -> frozenset[int]:
    """The places of the steps of whose newest rollout nobody knows whether it changed the cluster: it did nothing that
    karpdash could undo. Without steps that wait for their turn again: a person undid those.
    """
    links = JourneyRollout.objects.filter(step__journey_id=journey_id, purpose=JourneyRollout.Purpose.WORK)
    begun = links.exclude(step__state__in=("waiting", "ready")).order_by("pk")
    newest = dict(begun.values_list("step__place", "rollout_id"))
    doubtful = {place for place, rollout_id in newest.items() if _is_doubtful(rollout_id)}
    return frozenset(doubtful - changed_places(journey_id))


def _is_doubtful(rollout_id: uuid.UUID) -> bool:
    if Rollout.objects.filter(rolls_back=rollout_id, state="succeeded").exists():
        return False
    return bool(unsettled_step_ids(Attempt.objects.filter(rollout_id=rollout_id).order_by("pk")))


def rollback_of(journey_id: uuid.UUID, *, to: str) -> tuple[StepRollback, ...]:
    """How each step down to that step would be undone, the last one first. Raises InvalidInput for an unknown step."""
    rows = list(JourneyStepRow.objects.filter(journey_id=journey_id).order_by("place"))
    place = next((row.place for row in rows if row.step == to), None)
    if place is None:
        raise InvalidInput("the journey has no such step", where="step", code="unknown_step")
    changed, doubtful = changed_places(journey_id), doubtful_places(journey_id)
    steps = [(msgspec.convert(row.definition, type=JourneyStep), row.state, row.place in changed) for row in rows]
    return step_rollbacks(steps, to=place, doubtful=doubtful)  # type: ignore[arg-type]  # the column's choices are the states


def _changed() -> QuerySet[Rollout]:
    """Rollouts that did the work of a step, took effect, and were not rolled back."""
    applied = Attempt.objects.filter(rollout=OuterRef("pk"), outcome=Attempt.Outcome.APPLIED).exclude(verb=GATE)
    back = Rollout.objects.filter(rolls_back=OuterRef("pk"), state="succeeded")
    work = Rollout.objects.filter(journey_part__purpose=JourneyRollout.Purpose.WORK)
    return work.filter(Exists(applied)).exclude(Exists(back)).exclude(state="rolled_back")
