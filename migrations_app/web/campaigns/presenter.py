"""Decides which forms the page of a campaign shows, and why a form is disabled."""

from collections.abc import Callable

from django.utils import timezone

from migrations_app.access import Person, Refusal, may_approve, may_prepare, may_resolve, may_start, may_stop
from migrations_app.actions.changes import Risk
from migrations_app.journeys.states import ENDED
from migrations_app.queries.accounts.services import makers_of
from migrations_app.queries.campaigns.campaigns import with_failed_step
from migrations_app.queries.campaigns.values import CampaignBoard, WaveRow
from migrations_app.queries.rollouts.policies import risk_of
from migrations_app.use_cases.rollouts.approvals import TYPED

POLLED = ("draft", "running", "paused")
"""States in which the page polls for updates."""
CampaignForms = dict[str, str | None]
"""Why a form is disabled, by its name: empty if it is not; None if it is not shown."""


def campaign_forms(board: CampaignBoard, person: Person) -> CampaignForms:
    """Returns the forms of the campaign. `person` has the permissions that hold over all clusters of the campaign."""
    state = board.row.state
    rules: dict[str, tuple[tuple[str, ...], Callable[[Person], Refusal | None]]] = {
        "ask": (("previewed",), may_prepare),
        "start": (("approved",), may_start),
        "pause": (("running",), may_stop),
        "resume": (("paused",), may_start),
        "abort": (("running", "paused"), may_stop),
        "reject": (("draft", "previewed", "awaiting_approval", "approved"), may_stop),
    }
    refusals: CampaignForms = {
        name: _reason(may(person)) if state in states else None for name, (states, may) in rules.items()
    }
    approvals_missing = state == "paused" and approval_count(board) < board.needed
    refusals["approve"] = (
        _reason(_approving(board, person)) if state == "awaiting_approval" or approvals_missing else None
    )
    mine = any(approval.by == person.name and approval.counts for approval in board.approvals)
    refusals["take_back"] = "" if mine and state in ("awaiting_approval", "approved", "running", "paused") else None
    refusals["open"] = _reason(may_resolve(person)) if wave_to_open(board) else None
    settles = state in ("running", "paused")
    refusals["settle"] = _reason(may_start(person)) if settles else None
    return refusals


def approval_count(board: CampaignBoard) -> int:
    """Returns the number of approvals that count now."""
    return sum(approval.counts for approval in board.approvals)


def wave_to_open(board: CampaignBoard) -> WaveRow | None:
    """Returns the wave that a person may open now; None if there is none."""
    if board.row.state != "running" or board.row.wait_code not in ("person", "stops"):
        return None
    return next((wave for wave in board.waves if wave.opened_at is None and wave.agreed_at is None), None)


def must_type_name(board: CampaignBoard) -> bool:
    """Whether an approver has to type the name of the campaign."""
    return board.row.risk in TYPED


def retryable_members(board: CampaignBoard) -> dict[str, frozenset[int]]:
    """Returns the stopped clusters that can be queued again from this page, by the way to do so; the other stopped
    clusters are handled on the pages of their journeys.
    """
    failed = with_failed_step(board.stopped)
    return {
        "queued": frozenset(
            member_row.id
            for member_row in board.stopped
            if member_row.journey is None or member_row.journey_state in ENDED
        ),
        "retried": frozenset(
            member_row.id
            for member_row in board.stopped
            if member_row.journey in failed and member_row.journey_state not in ENDED
        ),
    }


def _approving(board: CampaignBoard, person: Person) -> Refusal | None:
    risk: Risk = risk_of(board.row.risk) if board.row.risk else "low"
    author = board.row.author_id or 0
    return may_approve(person, author=author, makers=makers_of(author), risk=risk, now=timezone.now())


def signs_in_again(board: CampaignBoard, person: Person) -> bool:
    """Whether an approver only has to sign in again before approving."""
    refusal = _approving(board, person)
    return refusal is not None and refusal.code == "sign_in_again"


def _reason(refusal: Refusal | None) -> str:
    return refusal.why if refusal else ""
