"""OpenID Connect sign-in: redirect to the provider, and callback."""

import base64
import hashlib
import logging
import secrets
import time
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

from django.conf import settings
from django.contrib import messages
from django.contrib.auth import login
from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.http import require_GET

from migrations_app.errors import PermissionDenied, ReadError
from migrations_app.texts import text as _
from migrations_app.use_cases.accounts import oidc, sign_in
from migrations_app.use_cases.accounts.sign_in import SESSION_KEY, record_reauthentication
from migrations_app.use_cases.audit.log import Actor, acting_as
from migrations_app.web.access import OWN_SITE, actor_of, address_of, next_page, open_page, require_right

STATE_KEY = "oidc"
MODEL_BACKEND = "django.contrib.auth.backends.ModelBackend"
"""Sessions are loaded by Django's own backend, so that a closed account is signed out at once."""
StoredState = Mapping[str, Any]
"""What the session stores until the callback: state, nonce, verifier, `next`; also `again` and `since` for step-up."""
log = logging.getLogger(__name__)


@open_page
@require_GET
def begin(request: HttpRequest) -> HttpResponse:
    """Redirects to the provider.

    The method is GET, because the content security policy forbids forms that lead to another site, even by a redirect.
    A link on another site signs nobody in: it leads to the sign-in page, where the person decides.
    """
    if request.headers.get("Sec-Fetch-Site", "none") not in OWN_SITE:
        return redirect("login")
    return _redirect_to_provider(request, {"next": next_page(request)}, asking={})


@require_right()
@require_GET
def reauthenticate(request: HttpRequest) -> HttpResponse:
    """Redirects a signed-in user for re-authentication: the provider must ask them again and report when it did."""
    stored_state = {"next": next_page(request), "again": request.user.pk, "since": int(time.time())}
    return _redirect_to_provider(request, stored_state, asking={"prompt": "login", "max_age": "0"})


def _redirect_to_provider(
    request: HttpRequest, stored_state: StoredState, *, asking: Mapping[str, str]
) -> HttpResponse:
    """Returns the redirect, with one-time state, nonce and PKCE challenge."""
    _refuse_off()
    try:
        client, provider = oidc.client(), oidc.provider()
    except ReadError as error:
        return _failure(request, error.message, stored_state=stored_state)
    state, nonce, verifier = (secrets.token_urlsafe(48) for _ in range(3))
    request.session[STATE_KEY] = {"state": state, "nonce": nonce, "verifier": verifier, **stored_state}
    query = {
        "response_type": "code",
        "client_id": client.client_id,
        "redirect_uri": _back(request),
        "scope": client.scopes,
        "state": state,
        "nonce": nonce,
        "code_challenge": base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).decode().rstrip("="),
        "code_challenge_method": "S256",
        **asking,
    }
    glue = "&" if "?" in provider.authorization else "?"
    return redirect(f"{provider.authorization}{glue}{urlencode(query)}")


@open_page
@require_GET
def callback(request: HttpRequest) -> HttpResponse:
    """The callback: receives the code and completes the sign-in. On any error it redirects to where the sign-in
    began.
    """
    _refuse_off()
    # Removed before the comparison, so that a repeated callback is refused.
    stored_state = request.session.pop(STATE_KEY, None)
    state, code = request.GET.get("state", ""), request.GET.get("code", "")
    if not isinstance(stored_state, dict) or not secrets.compare_digest(
        str(stored_state.get("state")).encode(), state.encode()
    ):
        return _failure(request, _("the answer does not belong to a sign-in of this browser"), stored_state={})
    # RFC 9207: a provider that names itself in its answer must be the one that the request was sent to.
    if request.GET.get("iss", oidc.client().issuer) != oidc.client().issuer:
        return _failure(request, _("the answer is from another identity provider"), stored_state=stored_state)
    if not code or len(code) > 4096:
        return _failure(request, _("the identity provider sent no code"), stored_state=stored_state)
    ticket = oidc.OidcState(
        code=code, nonce=stored_state["nonce"], verifier=stored_state["verifier"], back=_back(request)
    )
    try:
        end = _confirm_reauthentication if "again" in stored_state else _sign_in
        return end(request, ticket, stored_state=stored_state)
    except (PermissionDenied, ReadError) as error:
        return _failure(request, error.message, stored_state=stored_state)


def _sign_in(request: HttpRequest, ticket: oidc.OidcState, *, stored_state: StoredState) -> HttpResponse:
    claims = oidc.claims_for(ticket)
    with acting_as(Actor(name="identity provider", method="system", address=address_of(request))), transaction.atomic():
        user = oidc.account_of(claims)
        login(request, user, backend=MODEL_BACKEND)
        sign_in.record_sign_in(user.pk, user.get_username(), address=address_of(request))
    return redirect(stored_state["next"])


def _confirm_reauthentication(
    request: HttpRequest, ticket: oidc.OidcState, *, stored_state: StoredState
) -> HttpResponse:
    """Marks the session as re-authenticated if the provider asked the same user again since the redirect (A44)."""
    if request.user.pk != stored_state["again"]:
        raise PermissionDenied(_("another person is signed in now"), code="sign_in_refused")
    oidc.require_authentication_since(
        oidc.claims_for(ticket), user_id=stored_state["again"], since=stored_state["since"]
    )
    request.session.cycle_key()
    request.session[SESSION_KEY] = record_reauthentication(actor_of(request))
    return redirect(stored_state["next"])


def _failure(request: HttpRequest, reason: str, *, stored_state: StoredState) -> HttpResponse:
    log.warning("sign-in at the identity provider refused", extra={"why": reason})
    again = "again" in stored_state and request.user.is_authenticated
    sign_in.record_refusal(request.user.get_username() if again else "", address=address_of(request), locked=False)
    messages.error(request, _("The sign-in at the identity provider did not succeed. Try again, or ask your admin."))
    return redirect(f"{reverse('sign-in-again')}?{urlencode({'next': stored_state['next']})}" if again else "login")


def _back(request: HttpRequest) -> str:
    return request.build_absolute_uri(reverse("oidc-back"))


def _refuse_off() -> None:
    if settings.ENV.oidc is None:
        raise Http404("no identity provider is set")
