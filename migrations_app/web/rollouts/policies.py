"""The pages of the general policy and of one cluster's policy, and the kill switch.

Change windows are entered as text: `Mon-Fri 22:00-04:00`, one on each line.
"""

import re
import uuid
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.http import require_http_methods

from migrations_app.access import Person
from migrations_app.actions.changes import RISKS
from migrations_app.actions.registry import all_actions
from migrations_app.errors import Conflict, InvalidInput, KarpdashError, PermissionDenied
from migrations_app.queries.clusters.detail import cluster_head
from migrations_app.queries.rollouts.policies import PolicyRow, kill_switch_state, own_policies, policy_row
from migrations_app.texts import text as _
from migrations_app.use_cases.audit.log import actor
from migrations_app.use_cases.rollouts import kill_switch
from migrations_app.use_cases.rollouts.policies import Rules, change_policy, remove_policy
from migrations_app.web.access import STOP, person_of, require_right
from migrations_app.web.command_forms import refusal_status

DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_LINE = re.compile(r"(?P<days>[A-Za-z, -]+?)?\s*(?P<from>\d{1,2}:\d{2})\s*-\s*(?P<to>\d{1,2}:\d{2})")


def windows_text(windows: Sequence[Mapping[str, Any]]) -> str:
    """Returns the change windows as text, one on each line."""
    return "\n".join(_line(window) for window in windows)


def parse_windows(text: str) -> tuple[dict[str, Any], ...]:
    """Returns the change windows in the text. Raises InvalidInput that names the invalid line."""
    return tuple(_window(line.strip()) for line in text.splitlines() if line.strip())


def _line(window: Mapping[str, Any]) -> str:
    days = sorted({day for day in window.get("days", range(7)) if day in range(7)})
    return f"{_runs(days)} {window.get('from', '?')}-{window.get('to', '?')}"


def _runs(days: Sequence[int]) -> str:
    """Returns the days as `Mon-Fri` or `Mon,Wed`: consecutive days become a range."""
    runs: list[list[int]] = []
    for day in days:
        if runs and runs[-1][-1] == day - 1:
            runs[-1].append(day)
        else:
            runs.append([day])
    return ",".join(DAYS[run[0]] if len(run) == 1 else f"{DAYS[run[0]]}-{DAYS[run[-1]]}" for run in runs)


def _window(line: str) -> dict[str, Any]:
    match = _LINE.fullmatch(line)
    if match is None:
        raise _bad_window(line)
    days = _days(match["days"] or "Mon-Sun", line)
    return {"days": days, "from": match["from"].zfill(5), "to": match["to"].zfill(5)}


def _days(text: str, line: str) -> list[int]:
    days: set[int] = set()
    for part in text.replace(" ", "").split(","):
        first, _, last = part.partition("-")
        begins, ends = _day(first, line), _day(last or first, line)
        days |= {(begins + step) % 7 for step in range((ends - begins) % 7 + 1)}
    return sorted(days)


def _day(word: str, line: str) -> int:
    names = {name.lower(): number for number, name in enumerate(DAYS)}
    if word[:3].lower() not in names:
        raise _bad_window(line)
    return names[word[:3].lower()]


def _bad_window(line: str) -> InvalidInput:
    message = _("{line!r} is not a window; write one such as Mon-Fri 22:00-04:00").format(line=line[:60])
    return InvalidInput(message, where="windows", code="bad_window")


REFUSALS = (InvalidInput, Conflict, PermissionDenied)
NUMBERS = ("batch", "per_hour", "pool_percent")
EVERY = "*"
SWITCH_CHANGES: dict[str, Callable[[Person, HttpRequest], None]] = {
    "stop": lambda person, request: kill_switch.stop_everything(person, why=request.POST.get("why", ""), by=actor()),
    "ask": lambda person, _request: kill_switch.ask_to_lift(person, by=actor()),
    "lift": lambda person, _request: kill_switch.turn_off(person, by=actor()),
    "keep": lambda person, _request: kill_switch.keep_turned_on(person, by=actor()),
}


@require_right("administer_policy")
@require_http_methods(["GET", "HEAD", "POST"])
def general_policy(request: HttpRequest) -> HttpResponse:
    """The general policy, for clusters without their own."""
    return _policy(request, None)


@require_right("administer_policy")
@require_http_methods(["GET", "HEAD", "POST"])
def of_cluster(request: HttpRequest, cluster_id: uuid.UUID) -> HttpResponse:
    """The policy of one cluster, or the general one until it has its own."""
    return _policy(request, cluster_id)


@require_right(*STOP)
@require_http_methods(["GET", "HEAD", "POST"])
def switch(request: HttpRequest) -> HttpResponse:
    """Turns the kill switch on; turning it off needs two people."""
    refused: KarpdashError | None = None
    if request.method == "POST":
        switch_change = SWITCH_CHANGES.get(request.POST.get("do", ""))
        try:
            if switch_change is not None:
                switch_change(person_of(request), request)
                return redirect("kill-switch")
        except REFUSALS as error:
            refused = error
    context = {
        "section": "rollouts",
        "switch": kill_switch_state(),
        "person": person_of(request),
        "may_lift": request.user.has_perm("migrations_app.administer_policy"),
        "refused": refused,
    }
    return render(request, "policy/switch.html", context, status=refusal_status(refused) if refused else 200)


def _policy(request: HttpRequest, cluster_id: uuid.UUID | None) -> HttpResponse:
    head = cluster_head(cluster_id, now=timezone.now()) if cluster_id else None
    refused: KarpdashError | None = None
    if request.method == "POST":
        try:
            _change(request, cluster_id)
        except REFUSALS as error:
            refused = error
        else:
            messages.success(request, _("The policy is changed. Plans made before it are refused; make them anew."))
            return redirect("cluster-policy", cluster_id) if cluster_id else redirect("policy")
    row = policy_row(cluster_id)
    section = "fleet" if head else "rollouts"
    context = {"section": section, "head": head, "policy": row, "refused": refused, "own": own_policies()}
    context |= _fields(row, request.POST if refused else None)
    return render(request, "policy/page.html", context, status=refusal_status(refused) if refused else 200)


def _change(request: HttpRequest, cluster_id: uuid.UUID | None) -> None:
    version, person = _whole_number(request.POST, "version"), person_of(request)
    if request.POST.get("do") == "drop" and cluster_id:
        remove_policy(cluster_id, person, version=version, by=actor())
        return
    change_policy(cluster_id, _rules(request.POST), person=person, version=version, by=actor())


def _rules(form: QueryDict) -> Rules:
    every_action = form.get("which", EVERY) == EVERY
    return Rules(
        approvals={risk: _whole_number(form, f"approvals_{risk}") for risk in RISKS},
        actions=(EVERY,) if every_action else tuple(form.getlist("actions")),
        windows=parse_windows(form.get("windows", "")),
        rehearsals=tuple(form.getlist("rehearsals")),
        campaigns_destroy=form.get("campaigns_destroy") == "on",
        frozen=form.get("frozen") == "on",
        frozen_why=form.get("frozen_why", "").strip()[:500],
        **{name: _whole_number(form, name) for name in NUMBERS},
    )


def _whole_number(form: QueryDict, name: str) -> int:
    text = form.get(name, "").strip()
    if not text.isdecimal() or len(text) > 6:
        raise InvalidInput(_("a whole number is needed"), where=name, code="out_of_range")
    return int(text)


def _fields(row: PolicyRow, form: QueryDict | None) -> dict[str, Any]:
    """Returns the form's values: those submitted and refused, else those of the current policy."""
    chosen = form.getlist("actions") if form else row.actions
    every_action = form.get("which", EVERY) == EVERY if form else EVERY in row.actions
    rehearsed = form.getlist("rehearsals") if form else row.rehearsals
    return {
        "risks": [(risk, form.get(f"approvals_{risk}", "") if form else row.approvals[risk]) for risk in RISKS],
        "rehearsed": [(risk, risk in rehearsed) for risk in RISKS],
        "every_action": every_action,
        "known_actions": [(all_action, every_action or all_action.id in chosen) for all_action in all_actions()],
        "windows": form.get("windows", "") if form else windows_text(row.windows),
        "numbers": {name: form.get(name, "") if form else getattr(row, name) for name in NUMBERS},
        "campaigns_destroy": form.get("campaigns_destroy") == "on" if form else row.campaigns_destroy,
        "frozen": form.get("frozen") == "on" if form else row.frozen,
        "frozen_why": form.get("frozen_why", "") if form else row.frozen_why,
    }
