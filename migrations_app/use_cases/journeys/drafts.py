"""Drafts of journeys: stored at once; a worker reads the cluster, makes the steps and previews their plans."""

import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import msgspec
from django.db import transaction
from django.utils import timezone

from migrations_app.access import Person, may_prepare
from migrations_app.actions import registry
from migrations_app.errors import Conflict, InvalidInput, NotFound
from migrations_app.journeys.compose import SOAK_SECONDS
from migrations_app.journeys.plan import COVERABLE, LIFETIME_SECONDS
from migrations_app.journeys.prior_approval import PriorApproval
from migrations_app.journeys.states import HOLDING, PLANNED
from migrations_app.models.cluster import Cluster
from migrations_app.models.journey import Journey
from migrations_app.readiness.action_offers import READ_ONLY
from migrations_app.use_cases.accounts.rights import person_over_cluster, refuse_person
from migrations_app.use_cases.audit.log import Actor, Event, record
from migrations_app.use_cases.rollouts.drafts import checked
from migrations_app.use_cases.rollouts.start_checks import refuse_without_action_workers

LONGEST_SOAK = 24 * 3600
SETTLED = "settled"
"""The key of `Journey.choices` with the decisions that the campaign made before."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JourneyRequest:
    """The choices of the author: the highest risk that one approval covers, parameters by action, and seconds
    to soak.
    """

    covers: str = "high"
    parameters: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    soak_seconds: int = SOAK_SECONDS
    ticket: str = ""
    note: str = ""
    prior: PriorApproval | None = None
    """Decisions that the campaign made before, for all of its clusters."""


def draft_journey(cluster_id: uuid.UUID, request: JourneyRequest, *, person: Person, by: Actor) -> uuid.UUID:
    """Creates a draft for the next hop of the cluster and returns its id.

    Raises NotFound, PermissionDenied, InvalidInput that names the field, Conflict `read_only`, and `journey_open` if
    the cluster has a journey that did not end.
    """
    refuse_without_action_workers()
    refuse_person(may_prepare(person_over_cluster(person, cluster_id)))
    cluster = Cluster.objects.filter(pk=cluster_id).first()
    if cluster is None:
        raise NotFound("no such cluster")
    if cluster.source in READ_ONLY:
        raise InvalidInput(
            f"a cluster of the source {cluster.source} is read-only", where="cluster", code="unavailable"
        )
    choices = _checked(request)
    now = timezone.now()
    with transaction.atomic():
        _refuse_second(cluster_id)
        row = Journey.objects.create(
            cluster=cluster,
            cluster_name=cluster.name,
            covers=request.covers,
            choices=choices,
            author_id=person.id,
            author_name=person.name,
            ticket=request.ticket[:200],
            note=request.note[:2000],
            made_at=now,
            changed_at=now,
            expires_at=now + timedelta(seconds=LIFETIME_SECONDS),
        )
        record(
            Event(
                verb="journey.draft",
                actor=by,
                object=f"Upgrade of {cluster.name}",
                outcome="draft",
                cluster_id=str(cluster.pk),
                correlation=str(row.pk),
                detail={"covers": request.covers, "choices": choices, "ticket": request.ticket[:200]},
            )
        )
    return row.pk


def _refuse_second(cluster_id: uuid.UUID) -> None:
    # Locks the row of the cluster, so that of two concurrent drafts the second one finds the first.
    Cluster.objects.select_for_update().only("pk").get(pk=cluster_id)
    other = Journey.objects.filter(cluster_id=cluster_id, state__in=sorted(PLANNED | HOLDING)).first()
    if other is not None:
        words = f"journey {other.pk} of this cluster is {other.state.replace('_', ' ')}"
        raise Conflict(words, code="journey_open")


def _checked(request: JourneyRequest) -> dict[str, Any]:
    if request.covers not in COVERABLE:
        raise InvalidInput("low, medium or high", where="covers", code="bad_parameter")
    if not 0 <= request.soak_seconds <= LONGEST_SOAK:
        raise InvalidInput(f"0 to {LONGEST_SOAK} seconds", where="soak_seconds", code="out_of_range")
    by_action: dict[str, dict[str, Any]] = {}
    for name, values in request.parameters.items():
        action = registry.find(name)
        if action is None:
            raise InvalidInput(f"there is no action {name[:60]!r}", where="parameters", code="unknown_action")
        full = checked(action, values, inside=("parameters", name))
        by_action[name] = {key: full[key] for key in values}
    chosen = {"parameters": by_action, "soak_seconds": request.soak_seconds}
    return chosen | ({SETTLED: msgspec.to_builtins(request.prior)} if request.prior else {})
