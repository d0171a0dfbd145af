"""The first step of a way into an AWS account, as pages need it: asked for, shown, brought back."""

from dataclasses import dataclass

from django import forms
from django.http import HttpRequest

from migrations_app.errors import BadInput, Conflict, CouldNotLook, KarpdashError
from migrations_app.flow.draft_access import Draft, draft_access, read_draft
from migrations_app.flow.look import ConnectionTest
from migrations_app.flow.prove_access import AccessTest
from migrations_app.web.forms import EksForm

REFUSALS = (BadInput, Conflict, CouldNotLook)
_FIELDS = {"region": "eks_region"}


@dataclass(frozen=True, slots=True)
class Tried:
    """The result of a test; `refused` says why the input itself could not be used, `note` what to know beside it."""

    result: ConnectionTest | None = None
    refused: str = ""
    access: AccessTest | None = None
    note: str = ""


def tried(access: AccessTest) -> Tried:
    return Tried(access.result, access=access)


def user_name(request: HttpRequest) -> str:
    return request.user.get_username()


def brought(request: HttpRequest) -> Draft | None:
    """The draft of the form or the address; None without one, or when it is not good any more."""
    text = request.POST.get("draft") or request.GET.get("draft") or ""
    try:
        return read_draft(text, by=user_name(request)) if text else None
    except BadInput:
        return None


def asked(request: HttpRequest, start: EksForm) -> Draft | None:
    """A new draft for what the form names; None when it was refused, and the form says why."""
    if not start.is_valid():
        return None
    said = start.cleaned_data
    try:
        return draft_access(said["eks_cluster"], region=said["eks_region"], by=user_name(request))
    except REFUSALS as refused:
        start.add_error(_FIELDS.get(refused.where, "eks_cluster"), refused.message)
        return None


def explain(form: forms.Form, refused: KarpdashError) -> None:
    """Puts what flow said beside the field of the second step that it is about."""
    known = {"name", "environment", "target", "role_arn"}
    if refused.code == "name_taken":
        form.add_error("name", refused.message)
    else:
        form.add_error(refused.where if refused.where in known else None, refused.message)
