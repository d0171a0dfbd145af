"""Authenticates the caller: the owner of a bearer token, or a person with a browser session."""

from typing import Any

from rest_framework.authentication import BaseAuthentication, SessionAuthentication
from rest_framework.exceptions import AuthenticationFailed, PermissionDenied
from rest_framework.request import Request

from migrations_app.api.framework.problem_codes import Problem
from migrations_app.use_cases.accounts import service_tokens
from migrations_app.use_cases.accounts.rights import must_change_password
from migrations_app.use_cases.accounts.tokens import TokenUse

OWN_SITE = ("same-origin", "none")


class BearerToken(BaseAuthentication):
    """Authentication by token. A request with an Authorization header is judged by that header alone: cookies are
    ignored (T09).
    """

    def authenticate(self, request: Request) -> tuple[Any, TokenUse] | None:
        """Returns the token's owner and the token's use; None without an Authorization header."""
        header = request.META.get("HTTP_AUTHORIZATION", "")
        if not header:
            return None
        scheme, _, secret = header.partition(" ")
        address = str(getattr(request, "client_address", ""))
        use = service_tokens.authenticate(secret.strip(), address=address) if scheme.lower() == "bearer" else None
        if use is None:
            raise AuthenticationFailed("the token is unknown, expired, revoked or not valid from this network")
        return use.owner, use

    def authenticate_header(self, request: Request) -> str:  # noqa: ARG002 - DRF's signature
        return 'Bearer realm="karpdash"'


class Session(SessionAuthentication):
    """Authentication by the browser's session, with CSRF token and Sec-Fetch-Site on every change."""

    def authenticate(self, request: Request) -> tuple[Any, None] | None:
        """Returns the signed-in person; None without a signed-in session."""
        result = super().authenticate(request)
        if result and must_change_password(result[0].pk):
            raise Problem("password_change_needed")
        return result

    def enforce_csrf(self, request: Request) -> None:
        if request.method not in ("GET", "HEAD") and request.headers.get("Sec-Fetch-Site", "none") not in OWN_SITE:
            raise Problem("csrf")
        try:
            super().enforce_csrf(request)
        except PermissionDenied:
            raise Problem("csrf") from None
