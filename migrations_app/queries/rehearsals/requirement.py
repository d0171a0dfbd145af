"""Whether a policy requires a rehearsal of a plan, and whether there is one (A46)."""

import msgspec

from migrations_app.actions.plan import Plan
from migrations_app.actions.rehearsable import unplayed_kinds
from migrations_app.models.rehearsal import Rehearsal
from migrations_app.models.rollout import Rollout
from migrations_app.queries.clusters.identity import registrations_of
from migrations_app.queries.rollouts.policies import policy_of, risk_of, risks_requiring_rehearsal

WITHOUT_FAILURE = "none"
"""The scenario of the play without a failure."""


class _StoredStop(msgspec.Struct, frozen=True):
    title: str = ""


class _StoredEnd(msgspec.Struct, frozen=True):
    finished: bool = False
    stopped: _StoredStop | None = None


class _StoredPlay(msgspec.Struct, frozen=True):
    scenario: str = ""
    result: _StoredEnd | None = None


class _StoredPlays(msgspec.Struct, frozen=True):
    """The part of a stored rehearsal that shows how its plays ended."""

    plays: tuple[_StoredPlay, ...] = ()


def rehearsal_required(row: Rollout) -> bool:
    """Whether a policy of the cluster's registrations requires a rehearsal of this plan.

    It does not if the plan changes kinds that rehearsals cannot play.
    """
    risk = risk_of(row.risk)
    if not any(
        risk in risks_requiring_rehearsal(policy_of(registration)) for registration in registrations_of(row.cluster_id)
    ):
        return False
    return bool(row.plan) and not unplayed_kinds(msgspec.json.decode(bytes(row.plan), type=Plan))


def why_unrehearsed(row: Rollout) -> str:
    """Text of why the plan may not be approved or started without a rehearsal; empty if it may.

    The newest rehearsal of exactly this plan counts, if its play without a failure completed the plan.
    """
    if not rehearsal_required(row):
        return ""
    rehearsals = Rehearsal.objects.filter(rollout_id=row.pk)
    ended = rehearsals.filter(digest=row.digest, state=Rehearsal.State.FINISHED).order_by("-made_at", "-pk")
    newest = ended.values_list("result", flat=True).first()
    why = _why_not(bytes(newest)) if newest is not None else ""
    if newest is not None and not why:
        return ""
    if rehearsals.filter(state__in=("queued", "running")).exists():
        return "the policy asks for a rehearsal of this plan, which is not over yet"
    return why or f"the policy asks for a rehearsal of plans of {row.risk} risk, and this plan has none that ended"


def _why_not(raw: bytes) -> str:
    """Text of why a stored rehearsal does not meet the policy; empty if it does."""
    try:
        plays = msgspec.json.decode(raw, type=_StoredPlays).plays
    except msgspec.DecodeError:
        plays = ()
    without_failure = next((play.result for play in plays if play.scenario == WITHOUT_FAILURE), None)
    if without_failure is None:
        return "the policy asks for a rehearsal without a failure, and the newest one has none"
    if without_failure.finished:
        return ""
    where = f" at {without_failure.stopped.title!r}" if without_failure.stopped is not None else ""
    return f"the policy asks for a rehearsal that runs to its end, and the newest one stops{where}"
