"""Labels of one cluster: what is said of it, and what its ARN tells."""

import uuid

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.http import require_http_methods

from migrations_app.errors import BadInput, Conflict
from migrations_app.flow.label import set_labels
from migrations_app.queries.cluster import cluster_head
from migrations_app.queries.labels import USUAL, labels_of
from migrations_app.web.access import page


@page("change_cluster")
@require_http_methods(["GET", "HEAD", "POST"])
def labels(request: HttpRequest, cluster_id: uuid.UUID) -> HttpResponse:
    """Every label with its value; an empty value takes one away."""
    head = cluster_head(cluster_id, now=timezone.now())
    problem = _set(request, cluster_id, version=head.version) if request.method == "POST" else ""
    if request.method == "POST" and not problem:
        messages.success(request, "The labels are saved.")
        return redirect("cluster", cluster_id)
    told = labels_of(cluster_id)
    known = {one.key for one in told}
    context = {
        "section": "fleet",
        "head": head,
        "rows": [one for one in told if not one.derived],
        "derived": [one for one in told if one.derived],
        "blank": [key for key in USUAL if key not in known],
        "said": request.POST,
        "problem": problem,
    }
    return render(request, "cluster/labels.html", context, status=422 if problem else 200)


def _set(request: HttpRequest, cluster_id: uuid.UUID, *, version: int) -> str:
    """What is wrong, as a sentence; empty when the labels are set."""
    keys, values = request.POST.getlist("key"), request.POST.getlist("value")
    said = {key.strip(): value for key, value in zip(keys, values, strict=False) if key.strip()}
    sent = request.POST.get("version", "")
    try:
        set_labels(cluster_id, said, version=int(sent) if sent.isdecimal() and len(sent) < 10 else version)
    except (BadInput, Conflict) as refused:
        return f"{refused.message[:1].upper()}{refused.message[1:]}."
    return ""
