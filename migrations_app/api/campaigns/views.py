"""Resource campaigns: preview a recipe over many clusters, follow its waves, start and stop it, and leave out or retry
its clusters.
"""

import uuid
from collections.abc import Callable
from functools import partial
from typing import Any, NoReturn

from django.db import transaction
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.reverse import reverse

from migrations_app.api.campaigns.serializers import (
    CampaignLineSerializer,
    CampaignMemberQuerySerializer,
    CampaignMemberSerializer,
    CampaignQuerySerializer,
    CampaignReasonSerializer,
    CampaignStartSerializer,
    CampaignWholeSerializer,
    MemberNameSerializer,
    MemberOutSerializer,
    NewCampaignSerializer,
    WaveOpenSerializer,
    campaign_answer,
    campaign_request,
)
from migrations_app.api.framework import etags
from migrations_app.api.framework.callers import caller_of
from migrations_app.api.framework.fields import StrictSerializer
from migrations_app.api.framework.idempotency import key_and_etag_required, key_required
from migrations_app.api.framework.operations import KEY_NEEDED, Operation, page_of
from migrations_app.api.framework.permissions import READ
from migrations_app.api.framework.problem_codes import Problem
from migrations_app.api.framework.views import Endpoint, body_params, cursor_of, page_answer, query_params
from migrations_app.api.plans import PLAN, ApprovingSerializer
from migrations_app.api.rollouts import ACT, STOP, NothingSerializer
from migrations_app.queries.campaigns.campaigns import campaign_board, campaign_page, campaign_row, member_page
from migrations_app.tasks import enqueue_campaign, enqueue_campaign_previews
from migrations_app.use_cases.audit.log import actor
from migrations_app.use_cases.campaigns import approvals, lifecycle, member_decisions
from migrations_app.use_cases.campaigns.drafts import draft_campaign


def _steering(name: str, body: Any) -> dict[str, Operation]:  # noqa: ANN401 - a serializer class
    """Returns the operation of an endpoint that changes a campaign."""
    return {"POST": Operation(name, body=body, answer=CampaignWholeSerializer, status=202, guarded=True)}


class CampaignsView(Endpoint):
    """All campaigns."""

    needs = {"GET": READ, "POST": PLAN}
    operations = {
        "GET": Operation(
            id="campaigns_list",
            query=CampaignQuerySerializer,
            answer=page_of("Campaign", CampaignLineSerializer),
            named=True,
        ),
        "POST": Operation(
            id="campaigns_create",
            body=NewCampaignSerializer,
            answer=CampaignWholeSerializer,
            status=202,
            named=True,
            more=[KEY_NEEDED],
        ),
    }

    def get(self, request: Request) -> Response:
        """Campaigns, newest first by default."""
        query = query_params(request, CampaignQuerySerializer)
        page = campaign_page(
            query.get("state", ""),
            after=cursor_of(request, query),
            limit=query["limit"],
            ordering=query["ordering"],
        )
        return page_answer(request, page, shape=CampaignLineSerializer)

    @key_required
    def post(self, request: Request) -> Response:
        """Stores a draft; workers preview its clusters from their stored scans. No request is sent to a cluster."""
        draft = campaign_request(body_params(request, NewCampaignSerializer))
        campaign_id = draft_campaign(draft, person=caller_of(request), by=actor())
        transaction.on_commit(partial(enqueue_campaign_previews, campaign_id))
        answer = campaign_answer(campaign_board(campaign_id), status=202)
        answer["Location"] = reverse("api-campaign", kwargs={"id": campaign_id}, request=request)
        return answer


class CampaignView(Endpoint):
    """One campaign."""

    needs = {"GET": READ}
    operations = {"GET": Operation("campaigns_read", answer=CampaignWholeSerializer)}

    def get(self, request: Request, id: uuid.UUID) -> Response:  # noqa: A002 - the name in the address
        """The campaign with its recipe, its waves, what it would do, and who approved it."""
        query_params(request, StrictSerializer)
        return campaign_answer(campaign_board(id, limit=1))


class CampaignClustersView(Endpoint):
    """The clusters of a campaign."""

    needs = {"GET": READ}
    operations = {
        "GET": Operation(
            id="campaigns_clusters_list",
            query=CampaignMemberQuerySerializer,
            answer=page_of("CampaignMember", CampaignMemberSerializer),
        )
    }

    def get(self, request: Request, id: uuid.UUID) -> Response:  # noqa: A002 - the name in the address
        """One row for each cluster, by wave; those that are not part of it come last, with the code of the reason."""
        query = query_params(request, CampaignMemberQuerySerializer)
        page = member_page(id, after=cursor_of(request, query), limit=query["limit"], state=query.get("state", ""))
        return page_answer(request, page, shape=CampaignMemberSerializer)


class CampaignApprovalRequestView(Endpoint):
    """Requesting approval."""

    needs = {"POST": PLAN}
    operations = _steering("campaigns_ask", NothingSerializer)

    @key_and_etag_required
    def post(self, request: Request, id: uuid.UUID) -> Response:  # noqa: A002 - the name in the address
        """Requests approval of the preview and claims its clusters. If the policies require no approval, it is approved
        at once.
        """
        body_params(request, NothingSerializer)
        return _apply_change(request, id, change=approvals.request_campaign_approval)


class CampaignApproveView(Endpoint):
    """Approving; only people can, in the browser (A42)."""

    needs = {"POST": READ}
    operations = {"POST": Operation("campaigns_approve", body=ApprovingSerializer)}

    def post(self, request: Request, id: uuid.UUID) -> NoReturn:  # noqa: A002, ARG002 - the name in the address
        """Always refused with `person_needed`: a campaign is approved by a person, in the browser."""
        row = campaign_row(id)
        raise Problem("person_needed", f"open /campaigns/{row.id}/ in the browser")


class CampaignStartView(Endpoint):
    """Starting."""

    needs = {"POST": ACT}
    operations = _steering("campaigns_start", CampaignStartSerializer)

    @key_and_etag_required
    def post(self, request: Request, id: uuid.UUID) -> Response:  # noqa: A002 - the name in the address
        """Starts an approved campaign, once."""
        body = body_params(request, CampaignStartSerializer)
        return _apply_change(request, id, change=partial(lifecycle.start_campaign, digest=body["digest"]))


class CampaignPauseView(Endpoint):
    """Pausing."""

    needs = {"POST": STOP}
    operations = _steering("campaigns_pause", NothingSerializer)

    @key_and_etag_required
    def post(self, request: Request, id: uuid.UUID) -> Response:  # noqa: A002 - the name in the address
        """Pauses the campaign and its running journeys."""
        body_params(request, NothingSerializer)
        return _apply_change(request, id, change=lifecycle.pause_campaign)


class CampaignResumeView(Endpoint):
    """Resuming."""

    needs = {"POST": ACT}
    operations = _steering("campaigns_resume", NothingSerializer)

    @key_and_etag_required
    def post(self, request: Request, id: uuid.UUID) -> Response:  # noqa: A002 - the name in the address
        """Resumes the campaign, with all checks of a start. Clusters that are stopped have to be queued again or left
        out first.
        """
        body_params(request, NothingSerializer)
        return _apply_change(request, id, change=lifecycle.resume_campaign)


class CampaignAbortView(Endpoint):
    """Aborting."""

    needs = {"POST": STOP}
    operations = _steering("campaigns_abort", CampaignReasonSerializer)

    @key_and_etag_required
    def post(self, request: Request, id: uuid.UUID) -> Response:  # noqa: A002 - the name in the address
        """Ends the campaign: journeys that were not started are withdrawn, running ones are paused."""
        body = body_params(request, CampaignReasonSerializer)
        return _apply_change(request, id, change=partial(lifecycle.abort_campaign, reason=body["reason"]))


class CampaignOpenWaveView(Endpoint):
    """Opening the next wave."""

    needs = {"POST": ACT}
    operations = _steering("campaigns_open_wave", WaveOpenSerializer)

    @key_and_etag_required
    def post(self, request: Request, id: uuid.UUID) -> Response:  # noqa: A002 - the name in the address
        """Opens the next wave. For tokens always refused with `person_needed`."""
        body = body_params(request, WaveOpenSerializer)
        change = partial(member_decisions.open_wave, wave=body["wave"] - 1, note=body["note"])
        return _apply_change(request, id, change=change)


class CampaignLeaveOutView(Endpoint):
    """Leaving a cluster out."""

    needs = {"POST": ACT}
    operations = _steering("campaigns_leave_out", MemberOutSerializer)

    @key_and_etag_required
    def post(self, request: Request, id: uuid.UUID) -> Response:  # noqa: A002 - the name in the address
        """Leaves out a waiting or stopped cluster, with a reason."""
        body = body_params(request, MemberOutSerializer)
        change = partial(member_decisions.exclude_member, member=body["member"], reason=body["reason"])
        return _apply_change(request, id, change=change)


class CampaignTryAgainView(Endpoint):
    """Queuing a cluster again."""

    needs = {"POST": ACT}
    operations = _steering("campaigns_try_again", MemberNameSerializer)

    @key_and_etag_required
    def post(self, request: Request, id: uuid.UUID) -> Response:  # noqa: A002 - the name in the address
        """Queues a stopped cluster again, once its journey has ended."""
        body = body_params(request, MemberNameSerializer)
        return _apply_change(request, id, change=partial(member_decisions.requeue_member, member=body["member"]))


def _apply_change(request: Request, campaign_id: uuid.UUID, *, change: Callable[..., Any]) -> Response:
    """Makes the change at the version that the client has read, enqueues work for a worker, and answers with the
    campaign.
    """
    version = campaign_row(campaign_id).version
    etags.require_match(request, etags.of_version(version))
    change(campaign_id, caller_of(request), by=actor(), version=version)
    transaction.on_commit(partial(enqueue_campaign, campaign_id))
    return campaign_answer(campaign_board(campaign_id, limit=1), status=202)
