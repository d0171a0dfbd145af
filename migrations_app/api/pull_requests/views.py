"""Resources repositories and pull requests: preview a change of files, open it, follow its state. karpdash never
merges.
"""

import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from django.utils import timezone
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.reverse import reverse

from migrations_app.api.framework.callers import caller_of
from migrations_app.api.framework.fields import PagedSerializer, StrictSerializer
from migrations_app.api.framework.idempotency import key_required
from migrations_app.api.framework.operations import KEY_NEEDED, Operation, page_of
from migrations_app.api.framework.permissions import READ, EndpointPermission
from migrations_app.api.framework.problem_codes import Problem
from migrations_app.api.framework.views import Endpoint, body_params, cursor_of, page_answer, query_params
from migrations_app.api.plans import PLAN
from migrations_app.api.pull_requests.serializers import (
    CodeRepositorySerializer,
    NewPullRequestSerializer,
    OpeningSerializer,
    PullRequestSerializer,
    PullRequestWholeSerializer,
    proposal_body,
)
from migrations_app.api.rollouts import ACT, NothingSerializer
from migrations_app.errors import Forbidden, InvalidSetting, NotServed, Unauthorized
from migrations_app.queries.pagination import Page
from migrations_app.queries.pull_requests import repository_rows, request_page, request_row
from migrations_app.readiness.pull_requests.proposal import Proposal
from migrations_app.use_cases.pull_requests.opening import open_request, refresh_request, request_of
from migrations_app.use_cases.pull_requests.preview import PreviewRequest, preview_request, proposal_of


class RepositoriesView(Endpoint):
    """Registered repositories."""

    needs = {"GET": EndpointPermission("read", "operate_rollout", ("administer_policy",))}
    tag = "pull-requests"
    operations = {
        "GET": Operation(
            id="repositories_list",
            query=PagedSerializer,
            answer=page_of("CodeRepository", CodeRepositorySerializer),
            named=False,
        ),
    }

    def get(self, request: Request) -> Response:
        """The repositories that the caller may use, by address, on one page. They are registered in the browser."""
        query_params(request, PagedSerializer)
        return page_answer(request, Page(repository_rows(), ""), shape=CodeRepositorySerializer)


class ClusterPullRequestsView(Endpoint):
    """The pull requests of a cluster."""

    needs = {"GET": READ, "POST": PLAN}
    tag = "pull-requests"
    operations = {
        "GET": Operation(
            id="cluster_pull_requests_list",
            query=PagedSerializer,
            answer=page_of("PullRequest", PullRequestSerializer),
        ),
        "POST": Operation(
            id="cluster_pull_requests_create",
            body=NewPullRequestSerializer,
            answer=PullRequestWholeSerializer,
            status=201,
            more=[KEY_NEEDED],
        ),
    }

    def get(self, request: Request, id: uuid.UUID) -> Response:  # noqa: A002 - the name in the address
        """Previews and pull requests, newest first."""
        query = query_params(request, PagedSerializer)
        page = request_page(id, after=cursor_of(request, query), limit=query["limit"])
        return page_answer(request, page, shape=PullRequestSerializer)

    @key_required
    def post(self, request: Request, id: uuid.UUID) -> Response:  # noqa: A002 - the name in the address
        """Reads the repository and stores a preview of the pull request; nothing is written to the repository. If a
        pull request of the same change is open, it is returned instead.
        """
        preview = PreviewRequest(cluster=id, **body_params(request, NewPullRequestSerializer))
        with _refused_by_host():
            request_id = preview_request(preview, caller_of(request), now=timezone.now())
        answer = _request_answer(request_id, status=201)
        answer["Location"] = reverse("api-pull-request", kwargs={"id": request_id}, request=request)
        return answer


class PullRequestView(Endpoint):
    """One pull request."""

    needs = {"GET": READ}
    operations = {"GET": Operation("pull_requests_read", answer=PullRequestWholeSerializer)}

    def get(self, request: Request, id: uuid.UUID) -> Response:  # noqa: A002 - the name in the address
        """The pull request with its content, and its state as of `looked_at`."""
        query_params(request, StrictSerializer)
        return _request_answer(id)


class PullRequestOpenView(Endpoint):
    """Opening a pull request, which approves it: only people can (A42)."""

    needs = {"POST": ACT}
    operations = {
        "POST": Operation(
            id="pull_requests_open",
            body=OpeningSerializer,
            answer=PullRequestWholeSerializer,
            more=[KEY_NEEDED],
        ),
    }

    @key_required
    def post(self, request: Request, id: uuid.UUID) -> Response:  # noqa: A002 - the name in the address
        """Approves the preview, by its digest, and opens the pull request. For tokens always refused with
        `person_needed`.
        """
        body = body_params(request, OpeningSerializer)
        with _refused_by_host():
            open_request(id, caller_of(request), digest=body["digest"], now=timezone.now())
        return _request_answer(id)


class PullRequestRefreshView(Endpoint):
    """Refreshing the state from the Git host."""

    needs = {"POST": ACT}
    operations = {
        "POST": Operation(
            id="pull_requests_refresh",
            body=NothingSerializer,
            answer=PullRequestWholeSerializer,
            more=[KEY_NEEDED],
        ),
    }

    @key_required
    def post(self, request: Request, id: uuid.UUID) -> Response:  # noqa: A002 - the name in the address
        """Reads from the Git host whether it is open, merged or closed. Only a scan tells whether the check passes."""
        body_params(request, NothingSerializer)
        with _refused_by_host():
            refresh_request(id, now=timezone.now())
        return _request_answer(id)


@contextmanager
def _refused_by_host() -> Iterator[None]:
    """Turns a refused credential, or a repository that the host does not show, into a problem that is not an outage:
    sending the request again does not help.
    """
    try:
        yield
    except (Forbidden, NotServed, Unauthorized) as refused:
        raise Problem("refused_by_host", refused.message) from None


def _request_answer(request_id: uuid.UUID, *, status: int = 200) -> Response:
    row = request_row(request_id)
    proposal: Proposal | None = None
    # The preview is sealed: without the key the answer still has the state of the request.
    with suppress(InvalidSetting):
        proposal = proposal_of(request_of(request_id))
    return Response(PullRequestSerializer(row).data | {"proposal": proposal_body(proposal)}, status=status)
