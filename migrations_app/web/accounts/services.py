"""The pages of service accounts and their tokens."""

import uuid
from collections.abc import Callable, Mapping
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_POST

from migrations_app.access import PROGRAM_ROLES, Person
from migrations_app.errors import Conflict, InvalidInput, KarpdashError, NotFound, PermissionDenied
from migrations_app.queries.accounts.people import group_choices, unoffered_groups
from migrations_app.queries.accounts.services import (
    ServiceRow,
    service_of,
    service_page,
    service_token_of,
    service_token_page,
)
from migrations_app.texts import text as _
from migrations_app.use_cases.accounts import service_tokens, services
from migrations_app.use_cases.accounts.service_tokens import ENDLESS_SCOPES, LONGEST_SERVICE_DAYS, ServiceSecret
from migrations_app.use_cases.accounts.services import ServiceRules
from migrations_app.use_cases.accounts.tokens import SCOPES
from migrations_app.web.access import person_of, require_right, uuids_in
from migrations_app.web.command_forms import refusal_status

RIGHT = "change_grant"
MAX_SERVICES = 200
REFUSALS = (InvalidInput, Conflict, PermissionDenied)


@require_right(RIGHT)
@require_http_methods(["GET", "HEAD", "POST"])
def all_services(request: HttpRequest) -> HttpResponse:
    """Every service account, and a form for a new one."""
    refused: KarpdashError | None = None
    if request.method == "POST":
        try:
            name = request.POST.get("name", "").strip()
            service_id = services.create_service(name, _rules(request.POST), person=person_of(request))
        except (*REFUSALS, NotFound) as error:
            refused = error
        else:
            messages.success(request, _("The service account is created. It needs a token next."))
            return redirect("service", service_id)
    found = service_page(after="", limit=MAX_SERVICES)
    context = {"section": "services", "rows": found.rows, "is_cut": bool(found.next_cursor), "refused": refused}
    context |= _choices(request.POST if refused else None, None)
    return render(request, "accounts/services.html", context, status=_status(refused))


@require_right(RIGHT)
@require_http_methods(["GET", "HEAD", "POST"])
def service(request: HttpRequest, service_id: uuid.UUID) -> HttpResponse:
    """One service account with its tokens; a POST makes the change that the field `do` names."""
    row, refused = service_of(service_id), None
    act = ACTS.get(request.POST.get("do", ""))
    if request.method == "POST" and act is not None:
        try:
            done = act(row, request.POST, person=person_of(request))
        except (*REFUSALS, NotFound) as error:
            refused = error
        else:
            if isinstance(done, ServiceSecret):
                # The secret is shown in this response only and not stored.
                return _page(request, service_id, secret=done)
            messages.success(request, done)
            return redirect("service", service_id)
    return _page(request, service_id, refused=refused)


@require_right(RIGHT)
@require_POST
def revoke(request: HttpRequest, token_id: uuid.UUID) -> HttpResponse:
    """Revokes a token of a service account at once."""
    row = service_token_of(token_id)
    service_tokens.revoke_service_token(token_id, person=person_of(request))
    messages.success(request, _("The token is revoked."))
    return redirect("service", row.service)


def _page(
    request: HttpRequest,
    service_id: uuid.UUID,
    *,
    refused: KarpdashError | None = None,
    secret: ServiceSecret | None = None,
) -> HttpResponse:
    row = service_of(service_id)
    tokens = service_token_page(service_id, after="", limit=MAX_SERVICES)
    context = {
        "section": "services",
        "row": row,
        "tokens": tokens.rows,
        "is_cut": bool(tokens.next_cursor),
        "longest": LONGEST_SERVICE_DAYS,
        "endless": ENDLESS_SCOPES,
        "refused": refused,
        "made": secret,
    }
    context |= _choices(request.POST if refused and request.POST.get("do") == "change" else None, row)
    return render(request, "accounts/service.html", context, status=_status(refused))


def _status(refused: KarpdashError | None) -> int:
    if refused is None:
        return 200
    return 404 if isinstance(refused, NotFound) else refusal_status(refused)


def _choices(form: QueryDict | None, row: ServiceRow | None) -> dict[str, Any]:
    """Returns the values of the form: those that were refused, else the current ones, else those of a new account."""
    groups = set(form.getlist("groups")) if form else set(map(str, row.groups)) if row else set()
    scopes = set(form.getlist("scopes")) if form else set(row.scopes) if row else {"read"}
    role = form.get("role", "") if form else row.role if row else "viewer"
    everywhere = form.get("over") == "everywhere" if form else row is not None and row.everywhere
    offered = group_choices(chosen=uuids_in(groups))
    return {
        "everywhere": everywhere,
        "roles": [(option, option == role) for option in PROGRAM_ROLES],
        "scope_choices": [(option, option in scopes) for option in SCOPES],
        "group_choices": [(str(key), name, str(key) in groups) for key, name in offered],
        "unoffered_groups": unoffered_groups(len(offered)),
        "networks": form.get("networks", "") if form else "\n".join(row.networks) if row else "",
        "purpose": form.get("purpose", "") if form else row.purpose if row else "",
        "name": form.get("name", "") if form else "",
    }


def _rules(form: QueryDict) -> ServiceRules:
    """Returns the rules in the form: without a group, the role covers every cluster only if that is chosen."""
    everywhere = form.get("over") == "everywhere"
    return ServiceRules(
        purpose=form.get("purpose", ""),
        role=form.get("role", ""),  # type: ignore[arg-type]  # the use case refuses what is no role
        everywhere=everywhere,
        groups=() if everywhere else uuids_in(form.getlist("groups")),
        scopes=tuple(form.getlist("scopes")),
        networks=tuple(form.get("networks", "").replace(",", " ").split()),
    )


def _change(row: ServiceRow, form: QueryDict, *, person: Person) -> str:
    version = form.get("version", "")
    number = int(version) if version.isdecimal() and len(version) < 9 else 0
    services.change_service(row.id, _rules(form), version=number, person=person)
    return "The service account is changed; its tokens obey from their next request on."


def _end(row: ServiceRow, form: QueryDict, *, person: Person) -> str:
    if form.get("typed", "") != row.name:
        raise InvalidInput("type the name of the service account to end it", where="typed", code="name_not_typed")
    services.end_service(row.id, person=person)
    return "The service account and its tokens have ended."


def _token(row: ServiceRow, form: QueryDict, *, person: Person) -> ServiceSecret:
    text = form.get("days", "").strip()
    days = int(text) if text.isdecimal() and len(text) < 5 else 0
    return service_tokens.issue_service_token(
        row.id,
        name=form.get("token_name", "")[:80],
        scopes=form.getlist("token_scopes"),
        days=None if form.get("endless") == "on" else days,
        person=person,
    )


ACTS: Mapping[str, Callable[..., str | ServiceSecret]] = {"change": _change, "end": _end, "token": _token}
