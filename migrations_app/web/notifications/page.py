"""The page of notification channels and deliveries."""

import uuid
from functools import partial
from typing import Any

from django import forms
from django.contrib import messages
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_POST

from migrations_app.errors import Conflict, InvalidInput
from migrations_app.queries.accounts.people import group_choices, unoffered_groups
from migrations_app.queries.notifications.channels import (
    STATES,
    ChannelRow,
    DeliveryFilters,
    all_channels,
    channel_row,
    delivery_page,
)
from migrations_app.readiness.notification_events import TITLES
from migrations_app.tasks import enqueue_channel
from migrations_app.texts import text as _
from migrations_app.use_cases.notifications import channels
from migrations_app.use_cases.notifications.channels import ChannelSettings, ChannelUpdate
from migrations_app.web.access import require_right, uuids_in
from migrations_app.web.forms import WriteOnlyTextarea

KINDS = (
    ("webhook", _("Signed webhook")),
    ("slack", _("Slack or the like")),
    ("teams", "Microsoft Teams"),
    ("pagerduty", "PagerDuty"),
    ("opsgenie", "Opsgenie"),
    ("jira", "Jira"),
    ("email", "E-mail"),
)
BOXES = forms.CheckboxSelectMultiple
MAX_DELIVERIES = 50


class ChannelForm(forms.Form):
    """A new channel; its address is never shown again."""

    name = forms.CharField(max_length=80, label=_("Name"))
    kind = forms.ChoiceField(choices=KINDS, label=_("Kind"))
    target = forms.CharField(
        max_length=2000,
        label=_("Address"),
        help_text=_("https://… or a mailbox. It is kept encrypted and not shown again."),
        widget=WriteOnlyTextarea(attrs={"rows": 2, "spellcheck": "false", "autocomplete": "off"}),
    )
    key = forms.CharField(
        max_length=500,
        required=False,
        label=_("Key"),
        help_text=_("Only for PagerDuty, Opsgenie and Jira. It is kept encrypted and not shown again."),
        widget=WriteOnlyTextarea(attrs={"rows": 1, "spellcheck": "false", "autocomplete": "off"}),
    )
    events = forms.MultipleChoiceField(choices=tuple(TITLES.items()), label=_("Events"), widget=BOXES)
    groups = forms.MultipleChoiceField(required=False, label=_("Only for clusters of these groups"), widget=BOXES)

    def __init__(self, *args: Any, **kwargs: Any) -> None:  # noqa: ANN401 - Django's signature
        super().__init__(*args, **kwargs)
        chosen = uuids_in(map(str, self.initial.get("groups", ())))
        offered = group_choices(chosen=chosen)
        self.fields["groups"].choices = [(str(key), name) for key, name in offered]  # type: ignore[attr-defined]  # a field of choices
        self.unoffered_groups = unoffered_groups(len(offered))

    def list_values(self) -> dict[str, Any]:
        """Returns events and groups as the use cases expect them."""
        values = self.cleaned_data
        return {"events": tuple(values["events"]), "groups": tuple(map(uuid.UUID, values["groups"]))}


class EditForm(ChannelForm):
    kind = None  # type: ignore[assignment]  # Django's way to remove a field of the base class
    target = forms.CharField(
        max_length=2000,
        required=False,
        label=_("Another address"),
        help_text=_("Empty: the one it has."),
        widget=WriteOnlyTextarea(attrs={"rows": 2, "spellcheck": "false", "autocomplete": "off"}),
    )
    key = forms.CharField(
        max_length=500,
        required=False,
        label=_("Another key"),
        help_text=_("Empty: the one it has. Another address of PagerDuty, Opsgenie or Jira needs its key again."),
        widget=WriteOnlyTextarea(attrs={"rows": 1, "spellcheck": "false", "autocomplete": "off"}),
    )
    enabled = forms.BooleanField(required=False, label=_("Switched on"))
    version = forms.IntegerField(widget=forms.HiddenInput)


@require_right("administer_policy")
@require_http_methods(["GET", "HEAD", "POST"])
def notifications(request: HttpRequest) -> HttpResponse:
    """Channels, a form for a new one, and the newest deliveries."""
    form = ChannelForm(request.POST or None)
    secret = _add(request, form) if request.method == "POST" and form.is_valid() else None
    if secret == "":
        messages.success(request, _("The channel is made."))
        return redirect("notifications")
    return _channels_page(request, ChannelForm() if secret else form, secret=secret or "")


@require_right("administer_policy")
@require_http_methods(["GET", "HEAD", "POST"])
def change(request: HttpRequest, channel_id: uuid.UUID) -> HttpResponse:
    """Changes name, address, events and groups of a channel, and enables or disables it."""
    row = channel_row(channel_id)
    form = EditForm(request.POST or None, initial=_as_it_is(row))
    if request.method == "POST" and form.is_valid() and _change(row, form):
        messages.success(request, _("The channel is changed."))
        return redirect("notifications")
    context = {"section": "settings", "form": form, "row": row}
    return render(request, "notifications/change.html", context, status=422 if form.errors else 200)


@require_right("administer_policy")
@require_POST
def forget(request: HttpRequest, channel_id: uuid.UUID) -> HttpResponse:
    """Removes a channel with its delivery log."""
    channels.remove_channel(channel_id)
    messages.success(request, _("The channel is removed."))
    return redirect("notifications")


@require_right("administer_policy")
@require_POST
def rotate(request: HttpRequest, channel_id: uuid.UUID) -> HttpResponse:
    """Creates a new signing secret for a webhook, and shows it once."""
    try:
        return _channels_page(request, ChannelForm(), secret=channels.rotate(channel_id).reveal())
    except InvalidInput as error:
        messages.error(request, error.message)
        return redirect("notifications")


@require_right("administer_policy")
@require_POST
def test(request: HttpRequest, channel_id: uuid.UUID) -> HttpResponse:
    """Enqueues a test message."""
    try:
        channels.send_test(channel_id, by=request.user.get_username(), now=timezone.now())
        transaction.on_commit(partial(enqueue_channel, channel_id))
        messages.success(request, _("A test message is on its way; what comes of it stands in the deliveries."))
    except InvalidInput as error:
        messages.error(request, error.message)
    return redirect("notifications")


@require_right("administer_policy")
@require_POST
def resend(request: HttpRequest, delivery_id: uuid.UUID) -> HttpResponse:
    """Resends a delivery."""
    transaction.on_commit(partial(enqueue_channel, channels.resend(delivery_id, now=timezone.now())))
    messages.success(request, _("Sent again."))
    return redirect("notifications")


def _channels_page(request: HttpRequest, form: ChannelForm, *, secret: str = "") -> HttpResponse:
    ask, after = _delivery_filters(request), request.GET.get("after", "")
    try:
        page = delivery_page(ask, after=after, limit=MAX_DELIVERIES)
    except InvalidInput:
        page = delivery_page(ask, limit=MAX_DELIVERIES)
    context = {
        "now": timezone.now(),
        "section": "settings",
        "form": form,
        "secret": secret,
        "channels": all_channels(),
        "deliveries": page.rows,
        "next": page.next_cursor,
        "titles": TITLES,
        "states": STATES,
        "chosen": ask,
        "after": after,
    }
    answer = render(request, "notifications/page.html", context, status=422 if form.errors else 200)
    if secret:
        answer["Cache-Control"] = "no-store"
    return answer


def _delivery_filters(request: HttpRequest) -> DeliveryFilters:
    state, channel = request.GET.get("state", ""), request.GET.get("channel", "")
    try:
        return DeliveryFilters(channel=uuid.UUID(channel) if channel else None, state=state)
    except ValueError:
        return DeliveryFilters(state=state)


def _as_it_is(row: ChannelRow) -> dict[str, Any]:
    groups = [str(group.id) for group in row.groups]
    return {"name": row.name, "events": list(row.events), "groups": groups, "enabled": row.enabled} | {
        "version": row.version
    }


def _add(request: HttpRequest, form: ChannelForm) -> str | None:
    """Creates the channel. Returns its secret, empty for kinds that are not signed; None if it was refused."""
    values = form.cleaned_data
    where = {"kind": values["kind"], "target": values["target"].strip(), "key": values["key"].strip()}
    channel_settings = ChannelSettings(name=values["name"], **where, **form.list_values())
    try:
        return channels.create_channel(
            channel_settings, by=request.user.get_username(), now=timezone.now()
        ).secret.reveal()
    except (InvalidInput, Conflict) as error:
        _add_error(form, error)
        return None


def _change(row: ChannelRow, form: EditForm) -> bool:
    values = form.cleaned_data
    change = ChannelUpdate(
        name=values["name"],
        target=values["target"].strip() or None,
        key=values["key"].strip() or None,
        enabled=values["enabled"],
        **form.list_values(),
    )
    try:
        channels.change_channel(row.id, change, version=values["version"])
    except (InvalidInput, Conflict) as error:
        _add_error(form, error)
        return False
    return True


def _add_error(form: ChannelForm, error: InvalidInput | Conflict) -> None:
    where = error.where if error.where in form.fields else None
    form.add_error(where, error.message[:1].upper() + error.message[1:] + ".")
