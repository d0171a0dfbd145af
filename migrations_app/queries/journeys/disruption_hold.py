"""The hold of Karpenter's own disruption during a pause of a journey, and the outcome of its rollouts."""

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
from migrations_app.queries.clusters.identity import registrations_of

PURPOSES = (JourneyRollout.Purpose.HOLD, JourneyRollout.Purpose.RELEASE)
STOPPED = ("failed", "aborted", "rejected", "needs_attention", "expired")
"""States of the release rollout in which no worker continues it."""


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
    """When the hold rollout succeeded; the cluster is not read again afterwards."""

    @property
    def stopped(self) -> bool:
        """Whether restoring the budgets was requested, and a person has to find out why it failed."""
        ended = self.wait_code not in ("", "planning", "approval_needed", "rollout") and self.state in STOPPED
        return self.open and self.asked_for == RELEASED and ended


def disruption_hold(journey_id: uuid.UUID) -> DisruptionHold | None:
    """The hold of the journey, or its last ended hold; None if there was none."""
    hold = JourneyHold.objects.filter(journey_id=journey_id).first()
    parts = JourneyRollout.objects.filter(step__journey_id=journey_id, purpose__in=PURPOSES)
    part = parts.filter(pk__gt=hold.earlier if hold else 0).select_related("rollout").last()
    if hold is None and part is None:
        return None
    rollout = part.rollout if part else None
    changed = _changed(rollout)
    return DisruptionHold(
        open=hold is not None,
        asked_for=hold.asked_for if hold else RELEASED,
        resumes=hold is not None and hold.resumes,
        wait_code=hold.wait_code if hold else "",
        cause=hold.cause if hold else "",
        by=hold.by_name if hold else "",
        begun_at=hold.begun_at if hold else None,
        rollout=rollout.pk if rollout else None,
        state=rollout.state if rollout else "",
        nodepools=tuple(changed),
        left=tuple(name for name, restored in changed.items() if not restored),
        held_at=rollout.finished_at if rollout and rollout.state == "succeeded" else None,
    )


def budgets_restored(rollout: Rollout) -> bool:
    """Whether the budgets that the rollout set were restored since, by its rollback or by a release of all
    NodePools.
    """
    if rollout.state != "succeeded" or rollout.finished_at is None:
        return False
    every = registrations_of(rollout.cluster_id)
    later = Rollout.objects.filter(cluster_id__in=every, state="succeeded", finished_at__gt=rollout.finished_at)
    release_parameters = [release.parameters for release in later.filter(action=RELEASE).only("parameters")]
    return later.filter(rolls_back=rollout).exists() or any(
        not parameters.get(NAMES) for parameters in release_parameters
    )


def _changed(rollout: Rollout | None) -> dict[str, bool]:
    """The NodePools of the plan, each with whether the plan restores its budgets."""
    if rollout is None or not rollout.plan:
        return {}
    plan = msgspec.json.decode(bytes(rollout.plan), type=Plan)
    return {step.change.target.name: restores(step.change) for step in plan.steps if step.change is not None}
