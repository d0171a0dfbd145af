"""Form views that change one cluster: scan it, edit it, remove it, label it."""

import uuid
from contextlib import suppress

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_POST

from migrations_app.errors import Conflict, InvalidInput
from migrations_app.queries.clusters.detail import cluster_head
from migrations_app.queries.fleet.labels import USUAL, labels_of
from migrations_app.texts import text as _
from migrations_app.use_cases.clusters import registration as clusters
from migrations_app.use_cases.clusters.labels import set_labels
from migrations_app.use_cases.clusters.registration import Details
from migrations_app.use_cases.scans.check_again import is_asked
from migrations_app.web.access import require_right
from migrations_app.web.clusters.register import start_scan
from migrations_app.web.forms import ChangeForm, RemoveForm


@require_right("add_scan")
@require_POST
def scan(request: HttpRequest, cluster_id: uuid.UUID) -> HttpResponse:
    """Enqueues a scan unless one is already active; with a `check` in the form, only of what that check reads. With a
    `journey` in the form, leads back to that page."""
    check = request.POST.get("check", "")
    try:
        # An open page may be older than this release and name a removed check: then everything is read.
        if not start_scan(cluster_id, by=request.user.get_username(), only_check=check if is_asked(check) else ""):
            messages.info(request, _("A scan of this cluster was already under way."))
    except Conflict as refused:
        messages.error(request, f"{refused.message[0].upper()}{refused.message[1:]}.")
    with suppress(ValueError):
        return redirect("journey", uuid.UUID(request.POST.get("journey", "")))
    return redirect("cluster", cluster_id)


@require_right("change_cluster")
@require_http_methods(["GET", "POST"])
def change(request: HttpRequest, cluster_id: uuid.UUID) -> HttpResponse:
    """Changes name, environment, target and interval. A concurrent change is not overwritten."""
    head = cluster_head(cluster_id, now=timezone.now())
    current_values = {
        "name": head.name,
        "environment": head.environment,
        "target": head.target,
        "version": head.version,
    }
    current_values["interval"] = head.interval_seconds and head.interval_seconds // 60
    form = ChangeForm(request.POST or None, initial=current_values)
    if request.method == "POST" and form.is_valid() and _change(request, cluster_id, form=form):
        return redirect("cluster", cluster_id)
    context = {"section": "fleet", "head": head, "form": form}
    return render(request, "cluster/change.html", context, status=422 if form.errors else 200)


def _change(request: HttpRequest, cluster_id: uuid.UUID, *, form: ChangeForm) -> bool:
    values = form.cleaned_data
    details = Details(
        name=values["name"],
        environment=values["environment"],
        target=values["target"],
        interval=values["interval"] and values["interval"] * 60,
        by=request.user.get_username(),
    )
    try:
        clusters.change(cluster_id, details, version=values["version"])
    except InvalidInput as refused:
        form.add_error(refused.where if refused.where in form.fields else None, refused.message)
    except Conflict as refused:
        form.add_error("name" if refused.code == "name_taken" else None, f"{refused.message.capitalize()}.")
    else:
        messages.success(request, _("The change is saved."))
        return True
    return False


@require_right("delete_cluster")
@require_http_methods(["GET", "POST"])
def remove(request: HttpRequest, cluster_id: uuid.UUID) -> HttpResponse:
    """Removes a cluster after its name was typed."""
    head = cluster_head(cluster_id, now=timezone.now())
    form = RemoveForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        try:
            clusters.remove(cluster_id, typed_name=form.cleaned_data["name"])
        except InvalidInput:
            form.add_error("name", _("The name does not match. Nothing was removed."))
        else:
            messages.success(request, _("{name} is removed from karpdash.").format(name=head.name))
            return redirect("fleet")
    context = {"section": "fleet", "head": head, "form": form, "snapshots": head.snapshots}
    return render(request, "cluster/remove.html", context, status=422 if form.errors else 200)


@require_right("change_cluster")
@require_http_methods(["GET", "HEAD", "POST"])
def labels(request: HttpRequest, cluster_id: uuid.UUID) -> HttpResponse:
    """Edits the labels; an empty value removes a label."""
    head = cluster_head(cluster_id, now=timezone.now())
    problem = _set(request, cluster_id, version=head.version) if request.method == "POST" else ""
    if request.method == "POST" and not problem:
        messages.success(request, _("The labels are saved."))
        return redirect("cluster", cluster_id)
    cluster_labels = labels_of(cluster_id)
    label_keys = {label.key for label in cluster_labels}
    context = {
        "section": "fleet",
        "head": head,
        "rows": [label for label in cluster_labels if not label.derived],
        "derived": [label for label in cluster_labels if label.derived],
        "blank": [key for key in USUAL if key not in label_keys],
        "problem": problem,
    }
    return render(request, "cluster/labels.html", context, status=422 if problem else 200)


def _set(request: HttpRequest, cluster_id: uuid.UUID, *, version: int) -> str:
    """Stores the labels. Returns the error as a sentence; empty on success."""
    keys, values = request.POST.getlist("key"), request.POST.getlist("value")
    changes = {key.strip(): value for key, value in zip(keys, values, strict=False) if key.strip()}
    sent_version = request.POST.get("version", "")
    try:
        set_labels(
            cluster_id,
            changes,
            version=int(sent_version) if sent_version.isdecimal() and len(sent_version) < 10 else version,
        )
    except (InvalidInput, Conflict) as refused:
        return f"{refused.message[:1].upper()}{refused.message[1:]}."
    return ""
