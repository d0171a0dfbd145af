"""The hold of Karpenter's own disruption for the pause of a journey, and what its rollouts came to."""

import uuid
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated

import msgspec
from msgspec import Meta

from migrations_app.actions.plan import Plan
from migrations_app.actions.targets.disruption_hold import NAMES, restores
from migrations_app.journeys.disruption_hold import RELEASE, RELEASED
from migrations_app.models.journey import JourneyHold, JourneyRollout
from migrations_app.models.rollout import Rollout
from migrations_app.queries.cluster.identity import registrations_of

PURPOSES = (JourneyRollout.Purpose.HOLD, JourneyRollout.Purpose.RELEASE)
STOPPED = ("failed", "aborted", "rejected", "needs_attention", "expired")
"""States of the rollout that restores, in which no worker goes on with it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DisruptionHold:
    """One hold of Karpenter's own disruption; `open` until its budgets are restored."""

    open: bool
    asked_for: Annotated[str, Meta(description="held or released: what is asked for.")]
    resumes: Annotated[bool, Meta(description="Whether the upgrade goes on once the budgets are restored.")]
    wait_code: Annotated[str, Meta(description="What it waits for: held once the budgets are set.")]
    cause: str
    by: str
    begun_at: datetime | None
    rollout: Annotated[uuid.UUID | None, Meta(description="The rollout that holds, or that restores.")]
    state: Annotated[str, Meta(description="The state of that rollout; empty while there is none.")]
    nodepools: Annotated[tuple[str, ...], Meta(description="The NodePools of its plan.")]
    left: Annotated[
        tuple[str, ...], Meta(description="NodePools whose budgets others changed since; they are left so.")
    ]
    held_at: datetime | None = None
    """When the rollout that holds succeeded; nothing is read again afterwards."""

    @property
    def stopped(self) -> bool:
        """Whether the budgets were to be restored, and a person has to look at why they are not."""
        ended = self.wait_code not in ("", "planning", "approval_needed", "rollout") and self.state in STOPPED
        return self.open and self.asked_for == RELEASED and ended


def disruption_hold(journey_id: uuid.UUID) -> DisruptionHold | None:
    """The hold of the journey, or the last one that is over; None if there was none."""
    held = JourneyHold.objects.filter(journey_id=journey_id).first()
    parts = JourneyRollout.objects.filter(step__journey_id=journey_id, purpose__in=PURPOSES)
    part = parts.filter(pk__gt=held.earlier if held else 0).select_related("rollout").last()
    if held is None and part is None:
        return None
    made = part.rollout if part else None
    changed = _changed(made)
    return DisruptionHold(
        open=held is not None,
        asked_for=held.asked_for if held else RELEASED,
        resumes=held is not None and held.resumes,
        wait_code=held.wait_code if held else "",
        cause=held.cause if held else "",
        by=held.by_name if held else "",
        begun_at=held.begun_at if held else None,
        rollout=made.pk if made else None,
        state=made.state if made else "",
        nodepools=tuple(changed),
        left=tuple(name for name, restored in changed.items() if not restored),
        held_at=made.finished_at if made and made.state == "succeeded" else None,
    )


def was_taken_back(made: Rollout) -> bool:
    """Whether the budgets that the rollout set were restored since: by its rollback, or a release of all NodePools."""
    if made.state != "succeeded" or made.finished_at is None:
        return False
    every = registrations_of(made.cluster_id)
    later = Rollout.objects.filter(cluster_id__in=every, state="succeeded", finished_at__gt=made.finished_at)
    whole = [rollout.parameters for rollout in later.filter(action=RELEASE).only("parameters")]
    return later.filter(rolls_back=made).exists() or any(not told.get(NAMES) for told in whole)


def _changed(made: Rollout | None) -> dict[str, bool]:
    """The NodePools of the plan, each with whether the plan sets its budgets."""
    if made is None or not made.plan:
        return {}
    plan = msgspec.json.decode(bytes(made.plan), type=Plan)
    return {step.change.target.name: restores(step.change) for step in plan.steps if step.change is not None}
