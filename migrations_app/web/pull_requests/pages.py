"""The pull requests of one cluster: the list, a preview, opening it, refreshing its state."""

import uuid
from contextlib import suppress
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from migrations_app.errors import Conflict, InvalidInput, InvalidSetting, NotFound, PermissionDenied, ReadError
from migrations_app.inventory.facts.delivery_sources import GitSource
from migrations_app.queries.clusters.detail import ClusterHead, cluster_head
from migrations_app.queries.pull_requests import repository_rows, request_row, requests_of
from migrations_app.readiness.pull_requests.conversion import CONVERSION
from migrations_app.readiness.pull_requests.proposal import Proposal
from migrations_app.texts import text as _
from migrations_app.use_cases.pull_requests.opening import open_request, refresh_request, request_of
from migrations_app.use_cases.pull_requests.preview import (
    PreviewRequest,
    git_places,
    preview_request,
    proposal_of,
)
from migrations_app.web.access import person_of, require_right, uuid_in
from migrations_app.web.pull_requests.forms import PreviewForm

RIGHT = "operate_rollout"
REFUSED = (Conflict, InvalidInput, PermissionDenied, ReadError)


@require_right()
@require_safe
def of_cluster(request: HttpRequest, cluster_id: uuid.UUID) -> HttpResponse:
    """The newest pull requests of a cluster."""
    return render(request, "pull_requests/list.html", _cluster_context(cluster_id) | {"rows": requests_of(cluster_id)})


@require_right(RIGHT)
@require_http_methods(["GET", "HEAD", "POST"])
def new(request: HttpRequest, cluster_id: uuid.UUID) -> HttpResponse:
    """Asks where the file of a fix is, and previews the pull request; if one for the same fix is open, shows
    that one.
    """
    places, rows = git_places(cluster_id), repository_rows(cluster_id)
    start = {"check": request.GET.get("check", ""), "hop": request.GET.get("hop", "")} | _likely(places, rows=rows)
    form = PreviewForm(request.POST or None, initial=start).offer(rows)
    if request.method == "POST" and form.is_valid():
        try:
            return redirect("pull-request", _preview(request, cluster_id, form=form))
        except REFUSED as refused:
            form.add_error(refused.where if refused.where in form.fields else None, _sentence(refused.message))
    converts = form["check"].value() == CONVERSION
    context = _cluster_context(cluster_id) | {
        "form": form,
        "places": places,
        "repositories": rows,
        "converts": converts,
    }
    return render(request, "pull_requests/new.html", context, status=422 if form.errors else 200)


@require_right()
@require_safe
def pull_request(request: HttpRequest, pull_request_id: uuid.UUID) -> HttpResponse:
    """One pull request: its content, who approved it, and its outcome."""
    row = request_row(pull_request_id)
    proposal: Proposal | None = None
    # The preview is sealed: without the key the rest of the page still shows the state of the request.
    with suppress(InvalidSetting):
        proposal = proposal_of(request_of(pull_request_id))
    return render(
        request, "pull_requests/page.html", _cluster_context(row.cluster_id) | {"row": row, "proposal": proposal}
    )


@require_right(RIGHT)
@require_POST
def open_pull_request(request: HttpRequest, pull_request_id: uuid.UUID) -> HttpResponse:
    """Approves the preview that was shown and opens the pull request."""
    digest = request.POST.get("digest", "")
    try:
        open_request(pull_request_id, person_of(request), digest=digest, now=timezone.now())
        messages.success(request, _("The request is open. Somebody in the repository reviews and merges it."))
    except REFUSED as refused:
        messages.error(request, _("Not opened: {why}.").format(why=refused.message))
    return redirect("pull-request", pull_request_id)


@require_right(RIGHT)
@require_POST
def refresh(request: HttpRequest, pull_request_id: uuid.UUID) -> HttpResponse:
    """Reads the state of the pull request from the Git host."""
    try:
        refresh_request(pull_request_id, now=timezone.now())
        messages.success(request, _("The host was asked for the state."))
    except REFUSED as refused:
        messages.error(request, _("The host was not asked: {why}.").format(why=refused.message))
    return redirect("pull-request", pull_request_id)


def _cluster_context(cluster_id: uuid.UUID) -> dict[str, Any]:
    head: ClusterHead = cluster_head(cluster_id, now=timezone.now())
    return {"section": "fleet", "head": head, "request_url": reverse("cluster-pull-request-new", args=[cluster_id])}


def _preview(request: HttpRequest, cluster_id: uuid.UUID, *, form: PreviewForm) -> uuid.UUID:
    values = form.cleaned_data
    repository = uuid_in(values["repository"])
    if repository is None:
        raise NotFound("no such repository")
    preview = PreviewRequest(
        cluster=cluster_id,
        check=values["check"],
        hop=values["hop"],
        repository=repository,
        path=values["path"],
        branch=values["branch"],
    )
    return preview_request(preview, person_of(request), now=timezone.now())


def _likely(places: tuple[GitSource, ...], *, rows: tuple[Any, ...]) -> dict[str, str]:
    """Returns the first place that the GitOps delivery names and whose repository is registered."""
    by_address = {row.address: row for row in rows}
    git_source = next((place for place in places if place.address in by_address), None)
    if git_source is None:
        return {}
    return {"repository": str(by_address[git_source.address].id), "branch": git_source.branch, "path": git_source.path}


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:] + "."
