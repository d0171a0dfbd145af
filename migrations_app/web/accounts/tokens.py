"""The user's own API tokens: list, create, revoke."""

import uuid

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST

from migrations_app.errors import InvalidInput
from migrations_app.queries.accounts.tokens import tokens_of
from migrations_app.texts import text as _
from migrations_app.use_cases.accounts.tokens import LONGEST_DAYS, SCOPES, IssuedToken, issue, revoke
from migrations_app.web.access import require_right


@require_right()
@require_http_methods(["GET", "HEAD", "POST"])
def tokens(request: HttpRequest) -> HttpResponse:
    """The list; a POST creates a token and shows its secret once."""
    refused: InvalidInput | None = None
    token: IssuedToken | None = None
    if request.method == "POST":
        try:
            token = _issue(request)
        except InvalidInput as error:
            refused = error
    context = {
        "section": "tokens",
        "rows": tokens_of(int(request.user.pk or 0)),
        "scopes": SCOPES,
        "longest": LONGEST_DAYS,
        "made": token,
        "example": _example(request),
        "refused": refused,
        "submitted": request.POST,
    }
    return render(request, "accounts/tokens.html", context, status=422 if refused else 200)


def _issue(request: HttpRequest) -> IssuedToken:
    days = request.POST.get("days", "")
    return issue(
        request.user,  # type: ignore[arg-type]  # `require_right` needs a signed-in user
        name=request.POST.get("name", "")[:80],
        scopes=request.POST.getlist("scopes"),
        days=int(days) if days.isdecimal() and len(days) < 4 else 0,
    )


def _example(request: HttpRequest) -> str:
    """Returns a command that lists the clusters and keeps the token out of the shell's history."""
    address = request.build_absolute_uri(reverse("api-clusters"))
    return f'curl --header "Authorization: Bearer $KARPDASH_TOKEN" {address}'


@require_right()
@require_POST
def end(request: HttpRequest, token_id: uuid.UUID) -> HttpResponse:
    """Revokes one of the user's own tokens at once."""
    revoke(token_id, owner_id=int(request.user.pk or 0))
    messages.success(request, _("The token is revoked."))
    return redirect("tokens")
