"""Approval of campaigns, bound to the campaign's digest of recipe, clusters and previews (A40). It covers the
journeys.
"""

import secrets
import uuid

from django.db import transaction
from django.utils import timezone

from migrations_app.access import Person, may_approve, may_prepare
from migrations_app.actions.changes import Risk
from migrations_app.campaigns.states import CLAIMING
from migrations_app.errors import Conflict, InvalidInput, PermissionDenied
from migrations_app.models.campaign import Campaign
from migrations_app.queries.accounts.services import makers_of
from migrations_app.queries.campaigns.agreement import campaign_approvals_needed, campaign_approvals_valid
from migrations_app.queries.rollouts.policies import risk_of
from migrations_app.use_cases.accounts.rights import person_over_clusters, refuse_person
from migrations_app.use_cases.audit.log import Actor
from migrations_app.use_cases.campaigns.claims import claim
from migrations_app.use_cases.campaigns.member_journeys import hold_journeys
from migrations_app.use_cases.campaigns.transitions import CampaignEvent, LoadedCampaign, load_campaign, store_campaign
from migrations_app.use_cases.journeys.approval_copies import withdraw_journey_approvals
from migrations_app.use_cases.rollouts.approvals import TYPED, ApprovalRequest, refuse_other_digest, store_approval


def request_campaign_approval(
    campaign_id: uuid.UUID, person: Person, *, by: Actor, version: int | None = None
) -> Campaign:
    """Requests approval of the previewed campaign, which claims its clusters from then on.

    Approved at once if the policies need no approver. Raises PermissionDenied, and Conflict: `campaign_holds` names the
    clusters that another campaign has claimed.
    """
    with transaction.atomic():
        loaded = load_campaign(campaign_id, lock=True)
        refuse_person(may_prepare(person_over_clusters(person, loaded.clusters)))
        refuse_other_version(loaded, version)
        refuse_expired_campaign(loaded.row)
        needed = campaign_approvals_needed(loaded.row, loaded.clusters)
        tells = "campaign.approval_requested" if needed else ""
        event = CampaignEvent(verb="campaign.awaiting_approval", by=by, tells=tells)
        refuse_unless_in_state(loaded, "previewed")
        store_campaign(loaded, "awaiting_approval", event=event, nonce=secrets.token_hex(16))
        # The audit event locks the head of the log: of two concurrent campaigns the second one finds the first.
        claim(loaded)
        if not needed:
            event = CampaignEvent(verb="campaign.approved", by=by, code="no_approval_asked")
            store_campaign(loaded, "approved", event=event)
    return loaded.row


def approve_campaign(
    campaign_id: uuid.UUID, person: Person, *, approval_request: ApprovalRequest, by: Actor
) -> Campaign:
    """Records one approval; for a paused campaign, too, if an approval was withdrawn.

    Raises PermissionDenied, InvalidInput for a missing name, Conflict for another digest or an expired campaign.
    """
    now = timezone.now()
    with transaction.atomic():
        loaded = load_campaign(campaign_id, lock=True)
        row = loaded.row
        if row.state != "paused":
            refuse_unless_in_state(loaded, "awaiting_approval")
            refuse_expired_campaign(row)
        risk: Risk = risk_of(row.risk) if row.risk else "low"
        scoped_person = person_over_clusters(person, loaded.clusters)
        author = row.author_id or 0
        refuse_person(may_approve(scoped_person, author=author, makers=makers_of(author), risk=risk, now=now))
        _refuse_other_plan(row, approval_request)
        accepted = _accepted_checks(loaded, approval_request)
        store_approval(row.approvals, person, approval_request=approval_request, subject="campaign", now=now)
        detail = {"accepted": accepted} if accepted else {}
        event = CampaignEvent(verb="campaign.yes", by=by, code="yes", words=approval_request.reason, detail=detail)
        enough = len(campaign_approvals_valid(row, loaded.clusters)) >= campaign_approvals_needed(row, loaded.clusters)
        store_campaign(loaded, row.state, event=event)  # type: ignore[arg-type]  # the column's choices are the states
        if enough and row.state == "awaiting_approval":
            store_campaign(loaded, "approved", event=CampaignEvent(verb="campaign.approved", by=by))
    return loaded.row


def _accepted_checks(loaded: LoadedCampaign, approval_request: ApprovalRequest) -> list[str]:
    """The ids of the checks that the approver has to accept. Raises InvalidInput `not_accepted` if one of them is
    missing.
    """
    check_ids = loaded.plan.accepted
    if left := sorted(set(check_ids) - set(approval_request.accepted)):
        words = f"these warnings have to be accepted one by one: {', '.join(left)}"
        raise InvalidInput(words, where="accepted", code="not_accepted")
    return list(check_ids)


def withdraw_approval(campaign_id: uuid.UUID, person: Person, *, reason: str, by: Actor) -> Campaign:
    """Withdraws a person's own approval of the campaign and of its journeys that have not ended.

    A running campaign pauses before anything else begins; one that waits for its start waits for an approval again.
    Raises Conflict if the person has not approved, PermissionDenied for a token.
    """
    if person.method != "session":
        raise PermissionDenied("only the person who gave an approval can withdraw it", code="person_needed")
    with transaction.atomic():
        loaded = load_campaign(campaign_id, lock=True)
        row = loaded.row
        own_approvals = row.approvals.filter(approver_id=person.id, taken_back_at=None)
        if row.state not in CLAIMING or not own_approvals.update(taken_back_at=timezone.now()):
            raise Conflict("there is no approval of yours to withdraw", code="moved")
        journeys = [member.journey_id for member in loaded.members if member.covered and member.journey_id]
        hold_journeys(loaded)
        withdraw_journey_approvals(journeys, person.id, by=by)
        valid_count = len(campaign_approvals_valid(row, loaded.clusters))
        enough = valid_count >= campaign_approvals_needed(row, loaded.clusters)
        event = CampaignEvent(verb="campaign.yes_taken_back", by=by, code="taken_back", words=reason)
        if enough or row.state in ("awaiting_approval", "paused"):
            store_campaign(loaded, row.state, event=event)
        elif row.state == "approved":
            store_campaign(loaded, "awaiting_approval", event=event)
        else:
            pausing = {"cause_code": "approval_missing", "cause": reason[:2000], "needs_person": True, "wait_code": ""}
            store_campaign(loaded, "paused", event=event, **pausing)
    return loaded.row


def reject_campaign(
    campaign_id: uuid.UUID, person: Person, *, reason: str, by: Actor, version: int | None = None
) -> Campaign:
    """Rejects a campaign that waits for approval or its start; a draft or preview is withdrawn instead.

    Raises PermissionDenied, Conflict.
    """
    with transaction.atomic():
        loaded = load_campaign(campaign_id, lock=True)
        scoped_person = person_over_clusters(person, loaded.clusters)
        if "approve" not in scoped_person.rights:
            refuse_person(may_prepare(scoped_person))
        refuse_other_version(loaded, version)
        early = loaded.row.state in ("draft", "previewed")
        code = "withdrawn" if early else "rejected"
        event = CampaignEvent(verb="campaign.expired" if early else "campaign.rejected", by=by, code=code, words=reason)
        columns = {"cause_code": code, "cause": reason[:2000], "finished_at": timezone.now()}
        store_campaign(loaded, "expired" if early else "rejected", event=event, **columns)
    return loaded.row


def refuse_expired_campaign(row: Campaign) -> None:
    """Raises Conflict `expired` for a campaign that was not started in time."""
    if row.expires_at <= timezone.now():
        raise Conflict("the campaign is too old; make a new one", code="expired")


def refuse_other_version(loaded: LoadedCampaign, version: int | None) -> None:
    """Raises Conflict `moved` if the campaign is no longer at the version that the caller read (R33)."""
    if version is not None and loaded.row.version != version:
        words = f"the campaign was changed meanwhile: it is {loaded.row.state.replace('_', ' ')} now"
        raise Conflict(words, code="moved")


def refuse_unless_in_state(loaded: LoadedCampaign, state: str) -> None:
    """Raises Conflict `moved` if the campaign is in another state."""
    if loaded.row.state != state:
        raise Conflict(f"the campaign is {loaded.row.state.replace('_', ' ')}", code="moved")


def _refuse_other_plan(row: Campaign, approval_request: ApprovalRequest) -> None:
    refuse_other_digest(approval_request, digest=row.digest, nonce=row.nonce, subject="campaign")
    if row.risk in TYPED and approval_request.typed != row.name:
        raise InvalidInput("type the campaign's name as it is shown above", where="typed", code="name_not_typed")
