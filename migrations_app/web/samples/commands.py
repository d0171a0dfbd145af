"""Form views for sample clusters: do the next step, reset a cluster, add or remove all of them."""

import uuid
from functools import partial

from django.contrib import messages
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_POST

from migrations_app.errors import Conflict, InvalidInput, PermissionDenied
from migrations_app.tasks import enqueue_rollout, enqueue_sample_history, prepare_rollout
from migrations_app.texts import text as _
from migrations_app.use_cases.audit.log import actor
from migrations_app.use_cases.samples.clusters import visible_samples
from migrations_app.use_cases.samples.load import add_samples
from migrations_app.use_cases.samples.path import run_next_step
from migrations_app.use_cases.samples.reset import remove_samples, reset_sample
from migrations_app.web.access import OPERATE, person_of, require_right
from migrations_app.web.clusters.register import start_scan
from migrations_app.web.double_submit import submit_once


@require_right(*OPERATE)
@require_POST
def do(request: HttpRequest, cluster_id: uuid.UUID) -> HttpResponse:
    """Does the next step: drafts its rollout and shows it, or upgrades the controller and scans."""
    try:
        return submit_once(_do_step)(request, cluster_id)  # type: ignore[return-value]  # a redirect
    except (Conflict, InvalidInput, PermissionDenied) as refused:
        messages.error(request, f"{refused.message[0].upper()}{refused.message[1:]}.")
        return redirect("sample", cluster_id)


def _do_step(request: HttpRequest, cluster_id: uuid.UUID) -> HttpResponse:
    step = request.POST.get("step", "")
    with transaction.atomic():
        rollout_id = run_next_step(cluster_id, step, person=person_of(request), by=actor())
    if rollout_id is not None:
        transaction.on_commit(partial(enqueue_rollout, rollout_id, prepare_rollout))
        return redirect("rollout", rollout_id)
    start_scan(cluster_id, by=request.user.get_username(), waits=True)
    messages.success(request, _("Done, as your helm upgrade would do it. A scan of the cluster is under way."))
    return redirect("sample", cluster_id)


@require_right(*OPERATE)
@require_POST
def reset(request: HttpRequest, cluster_id: uuid.UUID) -> HttpResponse:
    """Puts the sample cluster back to its first state."""
    try:
        reset_sample(cluster_id, person=person_of(request), by=actor())
    except (Conflict, PermissionDenied) as refused:
        messages.error(request, f"{refused.message[0].upper()}{refused.message[1:]}.")
        return redirect("sample", cluster_id)
    start_scan(cluster_id, by=request.user.get_username(), waits=True)
    messages.success(request, _("The sample cluster is as it was at first."))
    return redirect("sample", cluster_id)


@require_right("add_cluster")
@require_POST
def add(request: HttpRequest) -> HttpResponse:
    """Adds the sample clusters that are missing; their history is generated in the background."""
    try:
        count = add_samples(person=person_of(request))
    except (Conflict, PermissionDenied) as refused:
        messages.error(request, f"{refused.message[0].upper()}{refused.message[1:]}.")
        return redirect("samples")
    transaction.on_commit(enqueue_sample_history)
    for cluster_id, _name in visible_samples():
        start_scan(cluster_id, by=request.user.get_username(), waits=True)
    messages.success(request, _("{count} sample clusters are here. Scans are under way.").format(count=count))
    return redirect("samples")


@require_right("delete_cluster")
@require_POST
def remove(request: HttpRequest) -> HttpResponse:
    """Removes all samples: clusters with their history, and the sample people."""
    try:
        count = remove_samples(person=person_of(request))
    except (Conflict, PermissionDenied) as refused:
        messages.error(request, f"{refused.message[0].upper()}{refused.message[1:]}.")
        return redirect("samples")
    messages.success(request, _("{count} sample clusters and the sample people are gone.").format(count=count))
    return redirect("fleet")
