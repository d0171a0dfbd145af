"""The page of a sample cluster's path with its next task, and a part of it for other pages."""

import uuid
from typing import Any
from urllib.parse import urlsplit

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_safe

from migrations_app.queries.clusters.detail import cluster_head
from migrations_app.use_cases.samples.clusters import sees_samples, visible_samples
from migrations_app.use_cases.samples.load import missing_samples
from migrations_app.use_cases.samples.path import SamplePath
from migrations_app.use_cases.samples.people import PEOPLE
from migrations_app.use_cases.twins.state import SPEED_FACTOR
from migrations_app.web.access import OPERATE, require_right
from migrations_app.web.double_submit import form_key
from migrations_app.web.samples.sign_in import people_for


@require_right()
@require_safe
def samples(request: HttpRequest) -> HttpResponse:
    """Every sample cluster that can be acted on and that the user may see, with its next task."""
    paths = [(cluster_id, name, SamplePath(cluster_id)) for cluster_id, name in visible_samples()]
    context = {
        "section": "fleet",
        "paths": paths,
        "people": people_for(request),
        "speed": SPEED_FACTOR,
        "may_add": missing_samples() > 0 and request.user.has_perm("migrations_app.add_cluster"),
        "may_remove": sees_samples() and request.user.has_perm("migrations_app.delete_cluster"),
    }
    return render(request, "samples/list.html", context)


@require_right()
@require_safe
def sample(request: HttpRequest, cluster_id: uuid.UUID) -> HttpResponse:
    """The path of one sample cluster with the next task on top."""
    head = cluster_head(cluster_id, now=timezone.now())
    path = SamplePath(cluster_id)
    context = _next(request, path, cluster_id=cluster_id) | {"section": "fleet", "head": head, "speed": SPEED_FACTOR}
    return render(request, "samples/page.html", context)


@require_right()
@require_safe
def next_task(request: HttpRequest, cluster_id: uuid.UUID) -> HttpResponse:
    """The next task alone, as other pages of the cluster show it; the rollout's own page has no link to itself."""
    path = SamplePath(cluster_id)
    context = _next(request, path, cluster_id=cluster_id)
    current_path = urlsplit(request.headers.get("HX-Current-URL", "")).path
    on_rollout_page = path.next.rollout and current_path == reverse("rollout", args=[path.next.rollout])
    return render(request, "samples/_next.html", context | {"in_strip": True, "there": on_rollout_page})


def _next(request: HttpRequest, path: SamplePath, *, cluster_id: uuid.UUID) -> dict[str, Any]:
    """Returns the next task of this user. The sample approver is not offered planning, because nobody else could then
    approve.
    """
    me = request.user.get_username()
    plans = not any(person.name == me and person.part == "approver" for person in PEOPLE)
    may_operate = plans and any(request.user.has_perm(f"migrations_app.{right}") for right in OPERATE)
    may_approve = request.user.has_perm("migrations_app.approve_rollout") and path.author != me
    mine = {"operator": may_operate, "approver": may_approve, "anybody": True}
    return {
        "path": path,
        "cluster": cluster_id,
        "mine": mine[path.next.who],
        "may_operate": may_operate,
        "other": next(
            (person for person in people_for(request) if person.part == path.next.who and person.name != me), None
        ),
        "auditor": next((person for person in people_for(request) if person.part == "approver"), None),
        "form_key": form_key(),
    }
