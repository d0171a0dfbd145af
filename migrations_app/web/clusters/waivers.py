"""The pages of waivers: list, create, revoke."""

import uuid
from datetime import UTC, datetime, time, timedelta
from typing import Any

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_POST

from migrations_app.errors import Conflict, InvalidInput, PermissionDenied
from migrations_app.karpenter.hops import every_hop
from migrations_app.queries.clusters.detail import ClusterHead, cluster_head
from migrations_app.queries.fleet.groups import groups_of_cluster
from migrations_app.queries.fleet.waivers import WaiverFilters, covers_now, waiver_of, waiver_page
from migrations_app.texts import text as _
from migrations_app.use_cases.scans import waivers as waiving
from migrations_app.use_cases.scans.waivers import WaiverRequest
from migrations_app.web.access import person_of, require_right, uuid_in

DEFAULT_DURATION = timedelta(days=90)
_UNCOVERED: dict[str, str] = {
    "unknown": _(
        "The waiver is stored, but waives nothing in {cluster} now: {check} is unknown there, and unknown results "
        "cannot be waived. Make it readable and scan again."
    ),
    "nothing": _(
        "The waiver is stored, but waives nothing in {cluster} now: {check} does not fail there at {hop}. It accepts a "
        "failure that comes before its end; revoke it if that is not meant."
    ),
}
"""What is said of a waiver that covers nothing."""


class WaiveForm(forms.Form):
    """Which check is waived at which hop, why, by whom and until when."""

    check = forms.CharField(max_length=80, label=_("Check"))
    hop = forms.ChoiceField(
        required=False,
        label=_("For the upgrade"),
        help_text=_("A manual check for one upgrade is not valid for the next one."),
        choices=[("", _("Every upgrade")), *((hop, hop) for hop in every_hop())],
    )
    reason = forms.CharField(
        max_length=500,
        label=_("Reason"),
        help_text=_("Why is it safe to proceed? Shown beside the check."),
    )
    owner = forms.CharField(max_length=150, label=_("Owner"), help_text=_("Who answers for it: a person or a team."))
    ends_on = forms.DateField(
        label=_("Until"),
        help_text=_("The last day, UTC; at most a year ahead."),
        widget=forms.DateInput(attrs={"type": "date"}),
    )
    group = forms.ChoiceField(
        required=False, label=_("For a group"), help_text=_("All clusters that are in it, now and later.")
    )
    everywhere = forms.BooleanField(required=False, label=_("For all clusters"))


@require_right()
@require_http_methods(["GET", "HEAD"])
def all_waivers(request: HttpRequest) -> HttpResponse:
    """Every waiver, newest first."""
    return _list_page(request, None)


@require_right()
@require_http_methods(["GET", "HEAD"])
def of_cluster(request: HttpRequest, cluster_id: uuid.UUID) -> HttpResponse:
    """The active and past waivers of one cluster."""
    return _list_page(request, cluster_head(cluster_id, now=timezone.now()))


@require_right("change_cluster")
@require_http_methods(["GET", "HEAD", "POST"])
def waive(request: HttpRequest, cluster_id: uuid.UUID) -> HttpResponse:
    """Creates a waiver for a failing check of the cluster."""
    head = cluster_head(cluster_id, now=timezone.now())
    form = WaiveForm(request.POST or None, initial=default_waiver(request))
    _offer_groups(form, cluster_id)
    if request.method == "POST" and form.is_valid() and _waive(request, head, form=form):
        _tell_reach(request, head, form=form)
        return redirect("cluster", cluster_id)
    context = {"section": "fleet", "head": head, "form": form}
    return render(request, "waivers/form.html", context, status=422 if form.errors else 200)


@require_right("change_cluster")
@require_POST
def revoke(request: HttpRequest, waiver_id: uuid.UUID) -> HttpResponse:
    """Revokes a waiver."""
    row = waiver_of(waiver_id, now=timezone.now())
    try:
        waiving.revoke(waiver_id, person_of(request), now=timezone.now())
        messages.success(
            request, _("The waiver of {check} is revoked: it fails again where it fails.").format(check=row.check)
        )
    except PermissionDenied as refused:
        messages.error(request, _("Not revoked: {message}.").format(message=refused.message))
    return redirect("cluster-waivers", row.cluster) if row.cluster else redirect("waivers")


def _offer_groups(form: WaiveForm, cluster_id: uuid.UUID) -> None:
    """Adds the cluster's groups as choices of the form."""
    choices = [(str(key), name) for key, name in groups_of_cluster(cluster_id)]
    if isinstance(field := form.fields["group"], forms.ChoiceField):
        field.choices = [("", _("This cluster alone")), *choices]


def _list_page(request: HttpRequest, head: ClusterHead | None) -> HttpResponse:
    after = request.GET.get("after", "")
    try:
        page = waiver_page(WaiverFilters(cluster=head.id if head else None), now=timezone.now(), after=after)
    except InvalidInput:
        page = waiver_page(WaiverFilters(cluster=head.id if head else None), now=timezone.now())
    context = {"section": "fleet", "head": head, "rows": page.rows, "next": page.next_cursor}
    return render(request, "waivers/list.html", context)


def default_waiver(request: HttpRequest) -> dict[str, Any]:
    """Returns the initial values of the form."""
    return {
        "check": request.GET.get("check", ""),
        "hop": request.GET.get("hop", ""),
        "owner": request.user.get_username(),
        "ends_on": (timezone.now() + DEFAULT_DURATION).date().isoformat(),
    }


def _tell_reach(request: HttpRequest, head: ClusterHead, *, form: WaiveForm) -> None:
    """Adds the message with what the new waiver does now: it may cover nothing yet, or nothing that can be waived."""
    check, hop = form.cleaned_data["check"], form.cleaned_data["hop"]
    reach = covers_now(head.id, check=check, hop=hop)
    if reach == "covers":
        messages.success(request, _("The check is waived. It stays in sight, and fails again when the waiver ends."))
    else:
        messages.warning(request, _UNCOVERED[reach].format(check=check, cluster=head.name, hop=hop or _("any hop")))


def _waive(request: HttpRequest, head: ClusterHead, *, form: WaiveForm) -> bool:
    values = form.cleaned_data
    waiver = WaiverRequest(
        check=values["check"],
        hop=values["hop"],
        cluster=None if values["everywhere"] or values["group"] else head.id,
        group=uuid_in(values["group"]) if not values["everywhere"] else None,
        reason=values["reason"],
        owner=values["owner"],
        ends_at=datetime.combine(values["ends_on"], time(23, 59, 59), tzinfo=UTC),
    )
    try:
        waiving.waive(waiver, person_of(request), now=timezone.now())
    except (InvalidInput, Conflict, PermissionDenied) as error:
        where = {"ends_at": "ends_on"}.get(getattr(error, "where", ""), getattr(error, "where", ""))
        form.add_error(where if where in form.fields else None, error.message[:1].upper() + error.message[1:] + ".")
        return False
    return True
