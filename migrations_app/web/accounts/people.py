"""The page of accounts, teams and roles."""

import uuid
from collections.abc import Callable, Mapping

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST, require_safe

from migrations_app.access import ROLES, Person
from migrations_app.errors import Conflict, InvalidInput, KarpdashError, NotFound, PermissionDenied
from migrations_app.queries.accounts.people import accounts, grant_page, group_choices, teams, unoffered_groups
from migrations_app.texts import text as _
from migrations_app.use_cases.accounts import management
from migrations_app.use_cases.accounts.management import RoleGrant
from migrations_app.web.access import person_of, require_right
from migrations_app.web.command_forms import refusal_status

RIGHT = "change_grant"
SECRETS = ("account", "password")
"""Acts that return a password."""
PeopleAct = Callable[[QueryDict, Person], str]


@require_right(RIGHT)
@require_safe
def people(request: HttpRequest) -> HttpResponse:
    """All accounts, teams and role grants."""
    return _page(request)


@require_right(RIGHT)
@require_POST
def change(request: HttpRequest) -> HttpResponse:
    """One change to accounts, teams or roles; the field `do` says which."""
    act = ACTS.get(request.POST.get("do", ""))
    try:
        if act is None:
            raise InvalidInput(_("is not an operation of this page"), where="do")
        result = act(request.POST, person_of(request))
    except (InvalidInput, Conflict, PermissionDenied, NotFound) as error:
        return _page(request, refused=error, status=404 if isinstance(error, NotFound) else refusal_status(error))
    if request.POST.get("do") in SECRETS:
        # The password is shown in this response only and not stored.
        return _page(request, password=result)
    messages.success(request, result)
    return redirect("people")


def _page(
    request: HttpRequest, *, refused: KarpdashError | None = None, password: str = "", status: int = 200
) -> HttpResponse:
    groups = group_choices()
    context = {
        "section": "people",
        "accounts": accounts(),
        "teams": teams(),
        "grants": grant_page().rows,
        "groups": groups,
        "unoffered_groups": unoffered_groups(len(groups)),
        "roles": tuple(ROLES),
        "refused": refused,
        "password": password,
        "submitted": request.POST,
        "self": request.user.pk,
    }
    return render(request, "accounts/people.html", context, status=status)


def _account(form: QueryDict, person: Person) -> str:
    return management.create_account(form.get("name", "").strip(), person=person)


def _password(form: QueryDict, person: Person) -> str:
    return management.first_password(form.get("name", ""), person=person)


def _remove_team(form: QueryDict, person: Person) -> str:
    management.remove_team(form.get("team", ""), person=person)
    return "The team is removed, with its roles."


def _close(form: QueryDict, person: Person) -> str:
    management.set_active(form.get("name", ""), active=False, person=person)
    return _("The account is closed; its sessions and tokens have ended.")


def _open(form: QueryDict, person: Person) -> str:
    management.set_active(form.get("name", ""), active=True, person=person)
    return _("The account is open again.")


def _join(form: QueryDict, person: Person) -> str:
    management.add_to_team(form.get("team", ""), member=form.get("name", ""), person=person)
    return _("The team has a member more.")


def _leave(form: QueryDict, person: Person) -> str:
    management.remove_from_team(form.get("team", ""), member=form.get("name", ""), person=person)
    return _("The team has a member less.")


def _give(form: QueryDict, person: Person) -> str:
    kind, _colon, name = form.get("to", "").partition(":")
    receiver = {"person": name} if kind == "person" else {"team": name} if kind == "team" else {}
    management.grant_role(RoleGrant(role=form.get("role", ""), over=_id(form, "over"), **receiver), person=person)
    return _("The role is given.")


def _take_back(form: QueryDict, person: Person) -> str:
    grant = _id(form, "grant")
    if grant is None:
        raise NotFound("no such grant")
    management.revoke_role(grant, person=person)
    return _("The role is revoked.")


def _id(form: QueryDict, name: str) -> uuid.UUID | None:
    text = form.get(name, "")
    try:
        return uuid.UUID(text) if text else None
    except ValueError:
        raise NotFound("no such group of clusters", where=name) from None


ACTS: Mapping[str, PeopleAct] = {
    "account": _account,
    "password": _password,
    "close": _close,
    "open": _open,
    "join": _join,
    "leave": _leave,
    "drop_team": _remove_team,
    "give": _give,
    "take_back": _take_back,
}
