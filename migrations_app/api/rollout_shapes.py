"""The shapes of plans, rollouts and policies, as the API answers them."""

from typing import Any

import msgspec
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from migrations_app.access import Person
from migrations_app.api import entity_tags
from migrations_app.api.endpoint import person
from migrations_app.api.fields import Told
from migrations_app.flow.people import rights_of
from migrations_app.flow.tokens import TokenUse
from migrations_app.queries.rollout_detail import RolloutDetail

WHOLE = serializers.IntegerField


class RolloutLine(serializers.Serializer[Any]):
    """A plan and its one execution. `alone`: approved by one person in an emergency."""

    id = serializers.UUIDField()
    cluster = serializers.UUIDField()
    cluster_name = Told()
    action = Told()
    title = Told()
    risk = Told(help_text="low, medium, high or destructive; empty for a draft.")
    digest = Told(help_text="SHA-256 of the plan; empty for a draft.")
    state = Told()
    version = WHOLE()
    cause_code = Told()
    cause = Told()
    wish = Told(help_text="pause or abort: asked for, and done after the request under way.")
    waits_for = Told(help_text="What a running one waits for right now; empty while it works.")
    author = Told()
    started_by = Told()
    made_at = serializers.DateTimeField()
    expires_at = serializers.DateTimeField()
    changed_at = serializers.DateTimeField()
    started_at = serializers.DateTimeField(allow_null=True)
    finished_at = serializers.DateTimeField(allow_null=True)
    rolls_back = serializers.UUIDField(allow_null=True)
    ticket = Told()
    note = Told()
    approvals = WHOLE()
    alone = serializers.BooleanField()


class Agreed(serializers.Serializer[Any]):
    """One person's approval."""

    by = Told()
    at = serializers.DateTimeField()
    alone = serializers.BooleanField()
    reason = Told()


class Kept(serializers.Serializer[Any]):
    """An object that was exported before; `proven_at` is when it was read back and found the same."""

    path = Told()
    digest = Told()
    proven_at = serializers.DateTimeField(allow_null=True)


class PlanWhole(RolloutLine):
    """With the plan itself; `plan` is null until a worker has worked it out."""

    parameters = serializers.DictField()
    plan = serializers.DictField(
        allow_null=True, help_text="Steps, limits, forecast and identity: what the digest covers."
    )
    doubts = serializers.DictField(child=Told(), help_text="By step: what an approver takes on themselves, and why.")
    needed = WHOLE(help_text="Approvals that the policy asks for now.")
    agreed = Agreed(many=True)
    exports = Kept(many=True)


class StepState(serializers.Serializer[Any]):
    """A step and how far it is."""

    id = Told()
    title = Told()
    risk = Told()
    standing = Told(help_text="todo, sent, unknown, applied, noop, refused, changed_by_other or done.")


class RolloutWhole(RolloutLine):
    """With its steps and what was last counted; `picture.taken_at` tells how old the numbers are."""

    needed = WHOLE()
    agreed = Agreed(many=True)
    done = WHOLE()
    steps = StepState(many=True)
    picture = serializers.DictField(allow_null=True)


class JournalLine(serializers.Serializer[Any]):
    """One request, or a gate that was passed. An empty outcome: sent, and no answer yet."""

    id = WHOLE()
    step = Told()
    number = WHOLE()
    verb = Told()
    path = Told()
    outcome = Told()
    status = WHOLE(allow_null=True)
    reason = Told()
    audit_id = Told()
    settled_by = Told()
    actor = Told()
    intent_at = serializers.DateTimeField()
    outcome_at = serializers.DateTimeField(allow_null=True)


class Events(serializers.Serializer[Any]):
    """The newest lines of the journal, oldest of them first, with the state they led to."""

    state = Told()
    version = WHOLE()
    wish = Told()
    picture = serializers.DictField(allow_null=True)
    results = JournalLine(many=True)


def asking(request: Request) -> Person:
    """Who asks, as those who decide want to know it; over the API nobody is freshly signed in."""
    user = person(request)
    method = "token" if isinstance(request.auth, TokenUse) else "session"
    return Person(id=user.pk, name=user.username, rights=rights_of(user), method=method)  # type: ignore[arg-type]  # one of the two words


def plan_answer(detail: RolloutDetail, *, status: int = 200) -> Response:
    """The plan with its ETag."""
    told = {
        **line_of(detail),
        "parameters": detail.parameters,
        "plan": msgspec.to_builtins(detail.plan) if detail.plan else None,
        "doubts": {line.step.id: line.doubt for line in detail.steps if line.doubt},
        "needed": detail.needed,
        "agreed": detail.approvals,
        "exports": detail.exports,
    }
    return _tagged(PlanWhole(told), detail, status=status)


def rollout_answer(detail: RolloutDetail, *, status: int = 200) -> Response:
    """The rollout with its ETag."""
    told = {
        **line_of(detail),
        "needed": detail.needed,
        "agreed": detail.approvals,
        "done": detail.done,
        "steps": [
            {"id": one.step.id, "title": one.step.title, "risk": one.step.risk, "standing": one.standing}
            for one in detail.steps
        ],
        "picture": msgspec.to_builtins(detail.picture) if detail.picture else None,
    }
    return _tagged(RolloutWhole(told), detail, status=status)


def line_of(detail: RolloutDetail) -> dict[str, Any]:
    """The columns of the list."""
    names = [str(name) for name in RolloutLine().fields]
    return {name: getattr(detail.row, name) for name in names}


def _tagged(shape: serializers.Serializer[Any], detail: RolloutDetail, *, status: int) -> Response:
    answer = Response(shape.data, status=status)
    answer["ETag"] = entity_tags.of_version(detail.row.version)
    return answer
