"""How the schema describes the two ways of signing in; importing it tells the schema generator."""

from typing import Any

from drf_spectacular.extensions import OpenApiAuthenticationExtension

from migrations_app.api.sign_in import BearerToken, Session


class BearerScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]  # the library's metaclass hook
    """How the schema describes bearer tokens."""

    target_class = BearerToken
    name = "token"

    def get_security_definition(self, auto_schema: Any) -> dict[str, str]:  # noqa: ANN401, ARG002 - the library's
        return {"type": "http", "scheme": "bearer"}


class SessionScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]  # as above
    """How the schema describes browser sessions."""

    target_class = Session
    name = "session"

    def get_security_definition(self, auto_schema: Any) -> dict[str, str]:  # noqa: ANN401, ARG002 - the library's
        return {"type": "apiKey", "in": "cookie", "name": "sessionid"}
