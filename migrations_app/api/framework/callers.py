"""Who makes a request of the REST API."""

from django.contrib.auth.models import User
from rest_framework.request import Request

from migrations_app.access import Person
from migrations_app.api.framework.problem_codes import Problem
from migrations_app.use_cases.accounts.rights import rights_of
from migrations_app.use_cases.accounts.tokens import TokenUse
from migrations_app.use_cases.audit.log import Actor


def person(request: Request) -> User:
    """Returns the caller's account; `DeclaredPermission` has refused callers without an account."""
    if not isinstance(request.user, User):
        raise Problem("not_signed_in")
    return request.user


def actor_of(request: Request) -> Actor:
    """Returns the caller as an actor for the audit log."""
    name, address = request.user.get_username() or "nobody", str(request.META.get("REMOTE_ADDR", ""))
    if isinstance(request.auth, TokenUse):
        return Actor(name=name, method="token", id=request.user.pk, address=address, token_id=str(request.auth.id))
    return Actor(name=name, id=request.user.pk, address=address)


def caller_of(request: Request) -> Person:
    """Returns the caller as the approval rules take it; over the API no caller has a recent sign-in."""
    user = person(request)
    method = "token" if isinstance(request.auth, TokenUse) else "session"
    return Person(id=user.pk, name=user.username, rights=rights_of(user), method=method)  # type: ignore[arg-type]  # one of the two words
