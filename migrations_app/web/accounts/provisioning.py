"""The page of tokens for identity providers ("directories") that provision people and teams over SCIM."""

import uuid

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_POST

from migrations_app.errors import Conflict, InvalidInput, KarpdashError, NotFound
from migrations_app.queries.accounts.directory import provisioning_tokens
from migrations_app.texts import text as _
from migrations_app.use_cases.accounts.directory_tokens import (
    LONGEST_PROVISIONING_DAYS,
    ProvisioningSecret,
    issue_provisioning_token,
    revoke_provisioning_token,
)
from migrations_app.web.access import person_of, require_right
from migrations_app.web.command_forms import refusal_status

RIGHT = "change_grant"


@require_right(RIGHT)
@require_http_methods(["GET", "HEAD", "POST"])
def provisioning(request: HttpRequest) -> HttpResponse:
    """The tokens; a POST creates one and shows its secret once."""
    refused: KarpdashError | None = None
    secret: ProvisioningSecret | None = None
    if request.method == "POST":
        days = request.POST.get("days", "")
        number = int(days) if days.isdecimal() and len(days) < 5 else 0
        try:
            secret = issue_provisioning_token(request.POST.get("name", ""), days=number, person=person_of(request))
        except (InvalidInput, Conflict) as error:
            refused = error
    context = {
        "section": "provisioning",
        "rows": provisioning_tokens(),
        "longest": LONGEST_PROVISIONING_DAYS,
        "address": request.build_absolute_uri("/scim/v2"),
        "made": secret,
        "refused": refused,
        "submitted": request.POST if refused else {},
    }
    return render(request, "accounts/provisioning.html", context, status=refusal_status(refused) if refused else 200)


@require_right(RIGHT)
@require_POST
def revoke(request: HttpRequest, token_id: uuid.UUID) -> HttpResponse:
    """Revokes a token at once."""
    try:
        revoke_provisioning_token(token_id, person=person_of(request))
        messages.success(request, _("The token is revoked."))
    except NotFound:
        messages.error(request, _("That token was revoked already."))
    return redirect("provisioning")
