"""The form that waives one check on each of the chosen clusters, by one waiver for each cluster."""

import uuid
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, time
from typing import Any

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.utils.translation import ngettext
from django.views.decorators.http import require_POST

from migrations_app.checks.registry import all_checks
from migrations_app.errors import Conflict, InvalidInput, NotFound, PermissionDenied
from migrations_app.queries.fleet.failing_checks import FailingCheck, failing_checks
from migrations_app.texts import text as _
from migrations_app.use_cases.scans.waivers import WaiverRequest, waive
from migrations_app.web.access import person_of, require_right
from migrations_app.web.clusters.waivers import WaiveForm, default_waiver
from migrations_app.web.fleet.bulk_actions import back_to_fleet, chosen_clusters, fleet_query

MAX_WAIVERS = 100
"""Maximum number of clusters in one form; for more there is the waiver of a group."""


@require_right("change_cluster")
@require_POST
def waive_chosen(request: HttpRequest) -> HttpResponse:
    """Asks which failing check is waived on the chosen clusters, why and until when; a POST creates the waivers."""
    chosen = chosen_clusters(request)
    if len(chosen) > MAX_WAIVERS:
        sentence = _("At most {most} clusters are waived at once: waive the check for a group. Nothing was waived.")
        messages.error(request, sentence.format(most=MAX_WAIVERS))
        return back_to_fleet(request)
    failing = failing_checks(chosen)
    if not failing:
        messages.error(request, _("No check fails on the chosen clusters. Nothing was waived."))
        return back_to_fleet(request)
    form = _form(request, failing, among=len(chosen))
    if form.is_bound and form.is_valid() and _waive(request, form=form, failing=failing, chosen=chosen):
        return back_to_fleet(request)
    context = {"section": "fleet", "form": form, "chosen": chosen, "here": fleet_query(request)}
    return render(request, "waivers/many.html", context, status=422 if form.errors else 200)


def _form(request: HttpRequest, failing: Sequence[FailingCheck], *, among: int) -> WaiveForm:
    sent = request.POST if request.POST.get("do") == "waive" else None
    form = WaiveForm(sent, initial=default_waiver(request))
    for name in ("group", "everywhere"):
        del form.fields[name]
    choices = [("", _("Choose a check")), *((check.check, _words(check, among)) for check in failing)]
    form.fields["check"] = forms.ChoiceField(choices=choices, label=_("Check"))
    return form


def _words(failing_check: FailingCheck, among: int) -> str:
    check = next((all_check for all_check in all_checks() if all_check.id == failing_check.check), None)
    summary = (
        check.says[failing_check.evidence != 1].format(count=failing_check.evidence)
        if check and failing_check.evidence
        else failing_check.check
    )
    return _("{said} (on {number} of {among})").format(said=summary, number=len(failing_check.clusters), among=among)


def _waive(
    request: HttpRequest, *, form: WaiveForm, failing: Sequence[FailingCheck], chosen: Sequence[uuid.UUID]
) -> bool:
    """Creates the waivers where the check fails and adds a message with the result; False if the form has to be
    corrected.
    """
    values, refused, done = form.cleaned_data, Counter[str](), 0
    fails = next(check.clusters for check in failing if check.check == values["check"])
    for cluster in fails:
        try:
            waive(_request(values, cluster), person_of(request), now=timezone.now())
        except InvalidInput as error:
            where = {"ends_at": "ends_on"}.get(error.where, error.where)
            form.add_error(where if where in form.fields else None, error.message)
            return False
        except (Conflict, NotFound, PermissionDenied) as error:
            refused[error.message] += 1
        else:
            done += 1
    _tell(request, values["check"], done=done, refused=refused, left_out=len(chosen) - len(fails))
    return True


def _request(values: Mapping[str, Any], cluster: uuid.UUID) -> WaiverRequest:
    return WaiverRequest(
        check=values["check"],
        hop=values["hop"],
        cluster=cluster,
        reason=values["reason"],
        owner=values["owner"],
        ends_at=datetime.combine(values["ends_on"], time(23, 59, 59), tzinfo=UTC),
    )


def _tell(request: HttpRequest, check: str, *, done: int, refused: Counter[str], left_out: int) -> None:
    if done:
        sentence = ngettext("{check} is waived on {done} cluster.", "{check} is waived on {done} clusters.", done)
        messages.success(request, sentence.format(check=check, done=done))
    for reason, number in refused.items():
        sentence = ngettext("Not waived on {number} cluster: {why}.", "Not waived on {number} clusters: {why}.", number)
        messages.error(request, sentence.format(number=number, why=reason))
    if left_out:
        sentence = ngettext(
            "{number} chosen cluster does not fail it.", "{number} chosen clusters do not fail it.", left_out
        )
        messages.info(request, sentence.format(number=left_out))
