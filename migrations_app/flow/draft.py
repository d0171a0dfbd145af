"""What a person asks for -> a draft: stored at once, worked out by a worker, so that no page waits for a cluster."""

import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from django.db import transaction
from django.utils import timezone

from migrations_app.actions import registry
from migrations_app.actions.base import Action
from migrations_app.actions.plan import LIFETIME_SECONDS
from migrations_app.errors import BadInput, NotFound
from migrations_app.flow.record import Actor, Event, record
from migrations_app.models.cluster import Cluster
from migrations_app.models.rollout import Rollout

LONGEST_TEXT = 253
MOST_CHOSEN = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """The action and the choices for it, as a person gave them."""

    action: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    ticket: str = ""
    note: str = ""
    rolls_back: uuid.UUID | None = None


def draft(cluster_id: uuid.UUID, wanted: Wanted, *, by: Actor) -> uuid.UUID:
    """The id of a new draft. Raises NotFound, and BadInput naming the choice that cannot be made."""
    cluster = Cluster.objects.filter(pk=cluster_id).first()
    if cluster is None:
        raise NotFound("no such cluster")
    action = registry.find(wanted.action)
    if action is None:
        raise BadInput(f"there is no action {wanted.action[:60]!r}", where="action", code="unknown_action")
    parameters = checked(action, wanted.parameters)
    now = timezone.now()
    with transaction.atomic():
        row = Rollout.objects.create(
            cluster=cluster,
            cluster_name=cluster.name,
            action=action.id,
            title=action.title,
            parameters=parameters,
            author_id=by.id,
            author_name=by.name,
            snapshot=cluster.latest,
            ticket=wanted.ticket[:200],
            note=wanted.note[:2000],
            rolls_back_id=wanted.rolls_back,
            made_at=now,
            expires_at=now + timedelta(seconds=LIFETIME_SECONDS),
        )
        record(
            Event(
                verb="rollout.draft",
                actor=by,
                object=f"{action.title} on {cluster.name}",
                outcome="draft",
                cluster_id=str(cluster.pk),
                correlation=str(row.pk),
                detail={"action": action.id, "parameters": parameters, "ticket": wanted.ticket[:200]},
            )
        )
    return row.pk


def checked(action: Action, given: Mapping[str, Any]) -> dict[str, Any]:
    """The choices with defaults filled in. Raises BadInput for one that is unknown, missing or of a wrong shape."""
    known = {one.name: one for one in action.parameters}
    for name in given:
        if name not in known:
            raise BadInput(f"{action.id} asks for no {name[:60]!r}", where=str(name)[:60], code="unknown_parameter")
    found: dict[str, Any] = {}
    for name, one in known.items():
        value = given.get(name, one.default)
        if value in (None, "", []) and one.required:
            raise BadInput(one.question, where=name, code="missing_parameter")
        _refuse_odd(value, name=name, many=one.many)
        found[name] = value
    return found


def _refuse_odd(value: object, *, name: str, many: bool) -> None:
    if many and isinstance(value, list):
        if len(value) > MOST_CHOSEN:
            raise BadInput(f"at most {MOST_CHOSEN} at once", where=name, code="too_many")
        for item in value:
            _refuse_odd(item, name=name, many=False)
        return
    if value is None or isinstance(value, bool):
        return
    if isinstance(value, int) and abs(value) < 1_000_000:
        return
    if isinstance(value, str) and len(value) <= LONGEST_TEXT and value.isprintable():
        return
    raise BadInput("a short text, a whole number or a list of names is wanted", where=name, code="bad_parameter")
