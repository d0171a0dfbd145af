"""Which journey holds a cluster, in any of its registrations, and which rollouts belong to the journey."""

import uuid

from migrations_app.journeys.states import HOLDING
from migrations_app.models.journey import Journey, JourneyRollout
from migrations_app.models.rollout import Rollout
from migrations_app.queries.clusters.identity import registrations_of


def holding_journey(cluster_id: uuid.UUID) -> Journey | None:
    """The journey that holds the cluster; None if there is none."""
    rows = Journey.objects.filter(cluster_id__in=registrations_of(cluster_id), state__in=sorted(HOLDING))
    return rows.defer("plan").first()


def part_of(rollout_id: uuid.UUID) -> uuid.UUID | None:
    """The journey that made the rollout; None if there is none."""
    return JourneyRollout.objects.filter(rollout_id=rollout_id).values_list("step__journey_id", flat=True).first()


def is_part_of(rollout: Rollout, journey: Journey) -> bool:
    """Whether the journey made the rollout, or the one that it rolls back."""
    links = JourneyRollout.objects.filter(step__journey=journey)
    return links.filter(rollout_id__in=[pk for pk in (rollout.pk, rollout.rolls_back_id) if pk]).exists()
