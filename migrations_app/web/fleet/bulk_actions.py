"""Bulk actions on the fleet page: labels, groups, scans and export of several clusters, and saved views."""

import uuid

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect, QueryDict
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import ngettext
from django.views.decorators.http import require_POST

from migrations_app.errors import Conflict, InvalidInput, NotFound
from migrations_app.queries.fleet.clusters import fleet_ids
from migrations_app.queries.fleet.groups import group_of
from migrations_app.queries.visibility import permitted_ids
from migrations_app.texts import text as _
from migrations_app.use_cases.clusters import groups
from migrations_app.use_cases.clusters.labels import label_all
from migrations_app.use_cases.clusters.saved_views import create_view, remove_view
from migrations_app.web.access import require_right, uuid_in, uuids_in
from migrations_app.web.clusters.register import start_scan
from migrations_app.web.fleet.page import csv_answer, fleet_filters

MAX_NAMES = 5
MAX_SCANS = 100
"""Maximum number of scans of one request; for more there is the scan of the whole fleet."""


@require_right("change_cluster")
@require_POST
def label_chosen(request: HttpRequest) -> HttpResponse:
    """Sets or removes a label on the chosen clusters."""
    key, value = request.POST.get("key", ""), request.POST.get("value", "")
    try:
        done, refused = label_all(chosen_clusters(request), {key: value})
    except InvalidInput as error:
        messages.error(request, _("Nothing was labelled: {message}.").format(message=error.message))
        return back_to_fleet(request)
    if value.strip():
        sentence = ngettext("{done} cluster labelled {key}:{value}.", "{done} clusters labelled {key}:{value}.", done)
    else:
        sentence = ngettext(
            "{done} cluster freed of the label {key}.", "{done} clusters freed of the label {key}.", done
        )
    messages.success(request, sentence.format(done=done, key=key.strip(), value=value.strip()))
    if refused:
        more = _(" and {count} more").format(count=len(refused) - MAX_NAMES) if len(refused) > MAX_NAMES else ""
        messages.warning(
            request,
            _("Not changed, because their ARN differs: {names}{more}.").format(
                names=", ".join(refused[:MAX_NAMES]), more=more
            ),
        )
    return back_to_fleet(request)


@require_right("administer_policy")
@require_POST
def group_chosen(request: HttpRequest) -> HttpResponse:
    """Adds the chosen clusters to a group, or removes them from it."""
    removes = request.POST.get("act") == "out"
    group_id = uuid_in(request.POST.get("group", ""))
    try:
        row = group_of(group_id or uuid.UUID(int=0))
        number = (groups.remove_from_group if removes else groups.add_to_group)(row.id, chosen_clusters(request))
    except NotFound:
        messages.error(request, _("Choose a group. Nothing was changed."))
    else:
        if removes:
            sentence = ngettext(
                "{number} cluster removed from {group}.", "{number} clusters removed from {group}.", number
            )
        else:
            sentence = ngettext("{number} cluster added to {group}.", "{number} clusters added to {group}.", number)
        messages.success(request, sentence.format(number=number, group=row.name))
    return back_to_fleet(request)


@require_right("add_scan", "change_cluster")
@require_POST
def scan_chosen(request: HttpRequest) -> HttpResponse:
    """Requests a scan of each chosen cluster, at most MAX_SCANS of them."""
    chosen = permitted_ids(chosen_clusters(request), right="scan")
    try:
        results = [start_scan(cluster_id, by=request.user.get_username()) for cluster_id in chosen[:MAX_SCANS]]
    except Conflict as refused:
        messages.error(request, f"{refused.message[0].upper()}{refused.message[1:]}.")
        return back_to_fleet(request)
    sentence = ngettext("{count} cluster queued for a scan.", "{count} clusters queued for a scan.", sum(results))
    messages.success(request, sentence.format(count=sum(results)))
    if len(chosen) > MAX_SCANS:
        others = len(chosen) - MAX_SCANS
        messages.warning(request, _("The other {others} were left out: use “Scan all now”.").format(others=others))
    return back_to_fleet(request)


@require_right()
@require_POST
def export_chosen(request: HttpRequest) -> HttpResponse:
    """The chosen clusters as CSV, in the order of the page."""
    chosen = chosen_clusters(request)
    if not chosen:
        messages.error(request, _("Choose clusters first. Nothing was exported."))
        return back_to_fleet(request)
    return csv_answer(fleet_filters(QueryDict(fleet_query(request))), only=frozenset(chosen))


@require_right()
@require_POST
def save_view(request: HttpRequest) -> HttpResponse:
    """Saves the current filters of the fleet page as a view."""
    try:
        name = request.POST.get("name", "")
        create_view(_me(request), name=name, query=fleet_query(request), shared=request.POST.get("shared") == "on")
        messages.success(request, _("View {name} saved.").format(name=name.strip()))
    except InvalidInput as error:
        messages.error(request, _("The view was not saved: {message}.").format(message=error.message))
    return back_to_fleet(request)


@require_right()
@require_POST
def forget(request: HttpRequest, view_id: uuid.UUID) -> HttpResponse:
    """Deletes one of the user's own views."""
    remove_view(view_id, person_id=_me(request))
    messages.success(request, _("View removed."))
    return back_to_fleet(request)


def _me(request: HttpRequest) -> int:
    return int(request.user.pk or 0)


def fleet_query(request: HttpRequest) -> str:
    """The query string of the page that sent the form, without its cursor."""
    sent = QueryDict(request.POST.get("query", "")[:4000], mutable=True)
    sent.pop("cursor", None)
    return sent.urlencode()


def chosen_clusters(request: HttpRequest) -> tuple[uuid.UUID, ...]:
    """The clusters that the form names, or all that match the filters."""
    if request.POST.get("every") == "on":
        return fleet_ids(fleet_filters(QueryDict(fleet_query(request))), now=timezone.now())
    return uuids_in(request.POST.getlist("cluster"))


def back_to_fleet(request: HttpRequest) -> HttpResponse:
    """Redirects to the fleet page that sent the form, with its filters."""
    query = fleet_query(request)
    return HttpResponseRedirect(reverse("fleet") + (f"?{query}" if query else ""))
