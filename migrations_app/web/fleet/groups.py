"""Groups of clusters: list, one group, and changes to it."""

import uuid

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import ngettext
from django.views.decorators.http import require_POST, require_safe

from migrations_app.errors import Conflict, InvalidInput, KarpdashError, NotFound
from migrations_app.queries.fleet.groups import group_of, group_page, members_of, outside_of
from migrations_app.texts import text as _
from migrations_app.use_cases.clusters import groups as arrange
from migrations_app.web.access import require_right, uuids_in

RIGHT = "administer_policy"
"""Membership in a group decides who may do what to a cluster."""


class GroupForm(forms.Form):
    """A group's name and scan interval."""

    name = forms.CharField(max_length=80, label=_("Name"), help_text=_("Such as a team, or all of production."))
    interval = forms.IntegerField(
        min_value=1,
        max_value=10_080,
        required=False,
        label=_("Minutes between scans"),
        help_text=_("For clusters without an interval of their own; with several groups the shortest applies."),
    )
    version = forms.IntegerField(required=False, widget=forms.HiddenInput)

    def seconds(self) -> int | None:
        """The interval in seconds, as it is stored; None if empty."""
        minutes: int | None = self.cleaned_data["interval"]
        return minutes * 60 if minutes else None


@require_right()
@require_safe
def groups(request: HttpRequest) -> HttpResponse:
    """Every visible group."""
    try:
        page = group_page(after=request.GET.get("after", ""))
    except InvalidInput:
        page = group_page()
    context = {"section": "fleet", "rows": page.rows, "next": page.next_cursor, "form": GroupForm()}
    return render(request, "groups/list.html", context)


@require_right(RIGHT)
@require_POST
def make(request: HttpRequest) -> HttpResponse:
    """Creates a group."""
    form = GroupForm(request.POST)
    if form.is_valid():
        try:
            group_id = arrange.create_group(form.cleaned_data["name"], interval=form.seconds())
            return redirect("group", group_id)
        except (InvalidInput, Conflict) as refused:
            form.add_error("name", _sentence(refused))
    context = {"section": "fleet", "rows": group_page().rows, "next": "", "form": form}
    return render(request, "groups/list.html", context, status=422)


@require_right()
@require_safe
def group(request: HttpRequest, group_id: uuid.UUID) -> HttpResponse:
    """One group and its clusters."""
    row = group_of(group_id)
    minutes = row.interval_seconds and row.interval_seconds // 60
    form = GroupForm(initial={"name": row.name, "interval": minutes, "version": row.version})
    return _members_page(request, group_id, form=form)


@require_right(RIGHT)
@require_POST
def change(request: HttpRequest, group_id: uuid.UUID) -> HttpResponse:
    """Changes name and interval. A concurrent change is not overwritten."""
    form = GroupForm(request.POST)
    if form.is_valid():
        values = form.cleaned_data
        version = values["version"] or group_of(group_id).version
        try:
            arrange.change_group(group_id, name=values["name"], interval=form.seconds(), version=version)
            messages.success(request, _("The change is saved."))
            return redirect("group", group_id)
        except (InvalidInput, Conflict) as refused:
            form.add_error("name", _sentence(refused))
    return _members_page(request, group_id, form=form, status=422)


@require_right(RIGHT)
@require_POST
def move(request: HttpRequest, group_id: uuid.UUID) -> HttpResponse:
    """Adds or removes clusters."""
    chosen = uuids_in(request.POST.getlist("cluster"))
    removes = request.POST.get("act") == "out"
    try:
        number = (arrange.remove_from_group if removes else arrange.add_to_group)(group_id, chosen)
        if removes:
            sentence = ngettext("{number} cluster removed.", "{number} clusters removed.", number)
        else:
            sentence = ngettext("{number} cluster put in.", "{number} clusters put in.", number)
        messages.success(request, sentence.format(number=number))
    except NotFound as missing:
        messages.error(request, _sentence(missing))
    return redirect("group", group_id)


@require_right(RIGHT)
@require_POST
def remove(request: HttpRequest, group_id: uuid.UUID) -> HttpResponse:
    """Removes the group after its name was typed."""
    row = group_of(group_id)
    if request.POST.get("name", "") != row.name:
        messages.error(request, _("The name does not match. Nothing was removed."))
        return redirect("group", group_id)
    try:
        arrange.remove_group(group_id)
    except Conflict as refused:
        messages.error(request, _sentence(refused))
        return redirect("group", group_id)
    messages.success(request, _("The group {name} is removed; its clusters stay.").format(name=row.name))
    return redirect("groups")


def _members_page(request: HttpRequest, group_id: uuid.UUID, *, form: GroupForm, status: int = 200) -> HttpResponse:
    others = outside_of(group_id) if request.user.has_perm(f"migrations_app.{RIGHT}") else ()
    members = members_of(group_id)
    context = {"section": "fleet", "row": group_of(group_id), "members": members, "others": others, "form": form}
    return render(request, "groups/page.html", context, status=status)


def _sentence(refused: KarpdashError) -> str:
    return f"{refused.message[:1].upper()}{refused.message[1:]}."
