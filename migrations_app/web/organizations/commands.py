"""Form views that change AWS organizations: create one, list it again, register chosen clusters, remove it."""

import uuid
from functools import partial

from django.contrib import messages
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_POST

from migrations_app.errors import Conflict, InvalidInput, ReadError
from migrations_app.tasks import enqueue_listing, enqueue_scan
from migrations_app.texts import text as _
from migrations_app.use_cases.clusters.registration import Details
from migrations_app.use_cases.organizations.clusters import register_listed
from migrations_app.use_cases.organizations.queue import request_listing
from migrations_app.use_cases.organizations.registration import (
    NewOrganization,
    register_organization,
    remove_organization,
)
from migrations_app.use_cases.scans.queue import request_scan
from migrations_app.web.access import require_right
from migrations_app.web.organizations.forms import ChosenForm, OrganizationForm, RemovedOrganizationForm
from migrations_app.web.organizations.pages import RIGHT, list_page, organization_answer


@require_right(RIGHT)
@require_POST
def make(request: HttpRequest) -> HttpResponse:
    """Stores an organization with a new external id; its page has the templates of the roles."""
    form = OrganizationForm(request.POST)
    if not form.is_valid():
        return list_page(request, form=form)
    values = form.cleaned_data
    organization = NewOrganization(
        name=values["name"],
        account=values["account"].strip(),
        regions=form.named_regions(),
        hub_role=values["hub_role"],
        member_role=values["member_role"],
        by=request.user.get_username(),
    )
    try:
        return redirect("organization", register_organization(organization))
    except InvalidInput as refused:
        form.add_error(refused.where if refused.where in form.fields else None, refused.message)
    except (Conflict, ReadError) as refused:
        form.add_error("name" if refused.code == "name_taken" else None, refused.message)
    return list_page(request, form=form)


@require_right(RIGHT)
@require_POST
def list_organization(request: HttpRequest, organization_id: uuid.UUID) -> HttpResponse:
    """Enqueues a listing of the organization's accounts and clusters."""
    request_listing(organization_id, by=request.user.get_username())
    transaction.on_commit(partial(enqueue_listing, organization_id))
    return redirect("organization", organization_id)


@require_right(RIGHT)
@require_POST
def register(request: HttpRequest, organization_id: uuid.UUID) -> HttpResponse:
    """Registers the chosen clusters and queues their first scans; if one cannot be registered, none is."""
    form = ChosenForm(request.POST)
    names = {arn: request.POST.get(f"name {arn}", "") for arn in request.POST.getlist("arn")}
    if not names or not form.is_valid():
        refused = "" if names else _("Choose at least one cluster.")
        return organization_answer(request, organization_id, refused=refused, chosen=form)
    by = request.user.get_username()
    values = form.cleaned_data
    details = Details(name="", environment=values["environment"], target=values["target"], by=by)
    try:
        with transaction.atomic():
            clusters = register_listed(organization_id, names, details=details)
            scans = [request_scan(cluster_id, by=by, waits=True).scan_id for cluster_id in clusters.values()]
    except (InvalidInput, Conflict) as refused:
        return organization_answer(
            request, organization_id, refused=_("Nothing is registered: {why}.").format(why=refused), chosen=form
        )
    for scan_id in scans:
        transaction.on_commit(partial(enqueue_scan, scan_id))
    count = len(clusters)
    sentence = _("{count} clusters are registered; the first scans are on the way.").format(count=count)
    messages.success(request, sentence if count > 1 else _("1 cluster is registered; its first scan is on the way."))
    return redirect("organization", organization_id)


@require_right(RIGHT)
@require_POST
def remove(request: HttpRequest, organization_id: uuid.UUID) -> HttpResponse:
    """Forgets an organization without registered clusters. The roles in AWS stay."""
    form = RemovedOrganizationForm(request.POST)
    if form.is_valid():
        try:
            remove_organization(organization_id, typed_name=form.cleaned_data["name"])
            messages.success(
                request, _("{name} is forgotten; its roles in AWS stay.").format(name=form.cleaned_data["name"])
            )
            return redirect("organizations")
        except (InvalidInput, Conflict) as refused:
            form.add_error("name", refused.message)
    return organization_answer(request, organization_id, removal=form)
