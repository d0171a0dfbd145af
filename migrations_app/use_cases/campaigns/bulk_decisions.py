"""One decision of a person for many clusters of a campaign: plans approved or accepted, steps confirmed.

Each decision is carried out separately, with its own audit event; if something changed since it was shown, only that
decision is refused. One more event records the decision as a whole.
"""

import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field

from migrations_app.access import Person
from migrations_app.errors import Conflict, InvalidInput, PermissionDenied
from migrations_app.queries.campaigns.pending_decisions import MAX_ON_A_PAGE, WaitingDecision, waiting_in
from migrations_app.use_cases.audit.log import Actor
from migrations_app.use_cases.campaigns.transitions import CampaignEvent, load_campaign, note_campaign
from migrations_app.use_cases.journeys import steps
from migrations_app.use_cases.rollouts import approvals
from migrations_app.use_cases.rollouts.approvals import ApprovalRequest


@dataclass(frozen=True, slots=True, kw_only=True)
class TogetherRequest:
    """The submitted form: the chosen keys, the note or reason, the typed name of the campaign, and the steps of plans
    that are accepted one by one, by the id of the rollout.
    """

    keys: tuple[str, ...]
    note: str = ""
    typed: str = ""
    accepted: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionOutcome:
    """The outcome for one of the keys; `code` is empty if the decision was carried out."""

    key: str
    journey: uuid.UUID | None = None
    cluster: str = ""
    title: str = ""
    code: str = ""
    why: str = ""


def decide_together(
    campaign_id: uuid.UUID, person: Person, *, request: TogetherRequest, by: Actor
) -> tuple[DecisionOutcome, ...]:
    """Carries out each decision separately and returns the outcomes.

    Raises PermissionDenied for a token, and InvalidInput without a choice or with too many.
    """
    if person.method != "session":
        raise PermissionDenied("only a person can decide, in the browser", code="person_needed")
    chosen = tuple(dict.fromkeys(request.keys))
    if not chosen or len(chosen) > MAX_ON_A_PAGE:
        raise InvalidInput(f"choose 1 to {MAX_ON_A_PAGE}", where="decisions", code="out_of_range")
    loaded = load_campaign(campaign_id)
    waiting = {decision.key: decision for decision in waiting_in(campaign_id)}
    if loaded.row.name != request.typed and any(waiting[key].kind == "plan" for key in chosen if key in waiting):
        raise InvalidInput("type the campaign's name as it is shown above", where="typed", code="name_not_typed")
    outcomes = tuple(_decide(key, waiting.get(key), person=person, request=request, by=by) for key in chosen)
    done = sorted(outcome.key for outcome in outcomes if not outcome.code)
    detail = {"done": done, "refused": {outcome.key: outcome.code for outcome in outcomes if outcome.code}}
    note_campaign(
        loaded, CampaignEvent(verb="campaign.decided", by=by, code="decided", words=request.note, detail=detail)
    )
    return outcomes


def _decide(
    key: str, decision: WaitingDecision | None, *, person: Person, request: TogetherRequest, by: Actor
) -> DecisionOutcome:
    if decision is None:
        return DecisionOutcome(key=key, code="moved", why="it does not wait for a decision any more, or was changed")
    code, why = "", ""
    try:
        _carry_out(decision, person, request=request, by=by)
    except (PermissionDenied, Conflict, InvalidInput) as refused:
        code, why = refused.code, refused.message
    return DecisionOutcome(
        key=key, journey=decision.journey, cluster=decision.cluster, title=decision.title, code=code, why=why
    )


def _approve(decision: WaitingDecision, person: Person, *, request: TogetherRequest, by: Actor) -> None:
    if decision.rollout is None:
        return
    accepted = request.accepted.get(str(decision.rollout), ())
    # The person typed the campaign's name, once for all plans; the approval needs the cluster's name.
    approval_request = ApprovalRequest(
        digest=decision.digest, nonce=decision.nonce, accepted=accepted, reason=request.note, typed=decision.cluster
    )
    approvals.approve(decision.rollout, person, approval_request=approval_request, by=by)


def _carry_out(decision: WaitingDecision, person: Person, *, request: TogetherRequest, by: Actor) -> None:
    if decision.kind == "plan":
        _approve(decision, person, request=request, by=by)
    elif decision.kind == "differing":
        steps.accept_plan(
            decision.journey, person, step=decision.step, digest=decision.digest, by=by, version=decision.version
        )
    else:
        steps.confirm_step(
            decision.journey, person, step=decision.step, note=request.note, by=by, version=decision.version
        )
