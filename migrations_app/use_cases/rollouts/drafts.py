"""Drafts of rollouts: stored at once and planned later by a worker, so that no page waits for a cluster."""

import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from django.db import transaction
from django.utils import timezone

from migrations_app.access import Person, may_prepare
from migrations_app.actions import registry
from migrations_app.actions.base import Action, Parameter
from migrations_app.actions.plan import LIFETIME_SECONDS
from migrations_app.actions.states import PLANNED
from migrations_app.actions.targets.nodes import name_list
from migrations_app.errors import Conflict, InvalidInput, NotFound
from migrations_app.models.cluster import Cluster
from migrations_app.models.rollout import Rollout
from migrations_app.use_cases.accounts.rights import person_over_cluster, refuse_person
from migrations_app.use_cases.audit.log import Actor, Event, record
from migrations_app.use_cases.rollouts.start_checks import refuse_moved, refuse_without_action_workers
from migrations_app.use_cases.rollouts.transitions import require_rollout

ROLL_BACK = "roll_back"
MAY_BE_ROLLED_BACK: tuple[str, ...] = ("paused", "failed", "aborted", "succeeded")
"""States in which a rollout may be rolled back (A07)."""
LONGEST_TEXT = 253
MAX_CHOSEN = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class RolloutRequest:
    """The requested action and its parameters."""

    action: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    ticket: str = ""
    note: str = ""
    rolls_back: uuid.UUID | None = None


def draft(cluster_id: uuid.UUID, request: RolloutRequest, *, by: Actor, person: Person | None = None) -> uuid.UUID:
    """Creates a draft and returns its id.

    `person` is None only if karpdash itself requests the rollout. Raises NotFound, PermissionDenied, Conflict
    `read_only`, and InvalidInput that names the invalid parameter.
    """
    refuse_without_action_workers()
    if person is not None:
        refuse_person(may_prepare(person_over_cluster(person, cluster_id)))
    if (request.action == ROLL_BACK) is (request.rolls_back is None):
        raise InvalidInput("start a rollback from the page or address of the rollout to roll back", where="action")
    cluster = Cluster.objects.filter(pk=cluster_id).first()
    if cluster is None:
        raise NotFound("no such cluster")
    action = registry.find(request.action)
    if action is None:
        raise InvalidInput(f"there is no action {request.action[:60]!r}", where="action", code="unknown_action")
    parameters = checked(action, request.parameters, inside=("parameters",))
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
            ticket=request.ticket[:200],
            note=request.note[:2000],
            beside=action.beside or _belongs_to_pause(request.rolls_back),
            rolls_back_id=request.rolls_back,
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
                detail={"action": action.id, "parameters": parameters, "ticket": request.ticket[:200]},
            )
        )
    return row.pk


def _belongs_to_pause(rolls_back: uuid.UUID | None) -> bool:
    """Whether the rollout to be rolled back belongs to a pause; then its rollback belongs to the pause, too."""
    return rolls_back is not None and Rollout.objects.filter(pk=rolls_back, beside=True).exists()


def roll_back(rollout_id: uuid.UUID, person: Person, *, by: Actor, version: int | None = None) -> uuid.UUID:
    """Creates a draft that rolls a rollout back and returns its id; an open one is returned instead of a second.

    Raises NotFound, PermissionDenied, Conflict.
    """
    row = require_rollout(rollout_id)
    refuse_person(may_prepare(person_over_cluster(person, row.cluster_id)))
    refuse_moved(row, version)
    if row.state not in MAY_BE_ROLLED_BACK:
        raise Conflict(f"a rollout that is {row.state.replace('_', ' ')} cannot be rolled back", code="moved")
    open_one = Rollout.objects.filter(rolls_back=row, state__in=sorted(PLANNED)).first()
    if open_one is not None:
        return open_one.pk
    note = f"rolls back {row.title}"
    return draft(row.cluster_id, RolloutRequest(action=ROLL_BACK, rolls_back=row.pk, note=note), by=by, person=person)


def checked(action: Action, values: Mapping[str, Any], *, inside: tuple[str, ...]) -> dict[str, Any]:
    """The parameters with defaults filled in. Raises InvalidInput for an unknown, missing or malformed one; `inside` is
    the place of the values in the request."""
    try:
        return _checked(action, values)
    except InvalidInput as refused:
        refused.inside = inside
        raise


def _checked(action: Action, values: Mapping[str, Any]) -> dict[str, Any]:
    known = {parameter.name: parameter for parameter in action.parameters}
    for name in values:
        if name not in known:
            raise InvalidInput(
                f"{action.id} has no choice {name[:60]!r}", where=str(name)[:60], code="unknown_parameter"
            )
    parameters: dict[str, Any] = {}
    for name, parameter in known.items():
        value = values.get(name, parameter.default)
        if value in (None, "", []) and parameter.required:
            raise InvalidInput(parameter.question, where=name, code="missing_parameter")
        if value is not None:
            _refuse_invalid(value, parameter)
        parameters[name] = value
    for parameter in action.parameters:
        _refuse_chosen_twice(parameters, name=parameter.name, other=parameter.excludes)
    return parameters


def _refuse_chosen_twice(parameters: Mapping[str, Any], *, name: str, other: str) -> None:
    chosen, excluded = parameters.get(name), parameters.get(other)
    both = sorted(set(chosen) & set(excluded)) if isinstance(chosen, list) and isinstance(excluded, list) else []
    if both:
        raise InvalidInput(f"also chosen in {other}: {name_list(both)}", where=name, code="chosen_twice")


def _refuse_invalid(value: object, parameter: Parameter) -> None:
    """Raises InvalidInput unless the value is of the type that the published schema of the parameter names: the text
    `"false"` is not the choice false, nor one name a list of names.
    """
    if parameter.many and isinstance(value, list) and len(value) > MAX_CHOSEN:
        raise InvalidInput(f"at most {MAX_CHOSEN} at once", where=parameter.name, code="too_many")
    wanted, fits = _type_of(parameter)
    if not fits(value):
        raise InvalidInput(f"enter {wanted}", where=parameter.name, code="bad_parameter")


def _type_of(parameter: Parameter) -> tuple[str, Callable[[object], bool]]:
    """Returns what the parameter takes, in words and as a test."""
    if parameter.many:
        return "a list of names", lambda value: isinstance(value, list) and all(map(_is_text, value))
    if isinstance(parameter.default, bool):
        return "true or false", lambda value: isinstance(value, bool)
    if isinstance(parameter.default, int):
        return "a whole number", _is_number
    if parameter.of or isinstance(parameter.default, str):
        return "a short text", _is_text
    return "a short text or a whole number", lambda value: _is_text(value) or _is_number(value)


def _is_text(value: object) -> bool:
    return isinstance(value, str) and len(value) <= LONGEST_TEXT and value.isprintable()


def _is_number(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and abs(value) < 1_000_000
