"""Permissions of the operations, declared beside each operation; if a declaration is missing the server does
not start.
"""

import uuid
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from django.contrib.auth.base_user import AbstractBaseUser
from django.contrib.auth.models import AnonymousUser
from django.core.exceptions import ImproperlyConfigured
from django.urls import URLPattern, URLResolver
from rest_framework.permissions import BasePermission
from rest_framework.request import Request

from migrations_app.api.framework.problem_codes import Problem
from migrations_app.queries.visibility import VisibilityScope, permissions_of, set_scope, subject_of
from migrations_app.use_cases.accounts.tokens import SCOPES, TokenUse

METHODS = ("get", "post", "put", "patch", "delete", "head", "options", "trace")


@dataclass(frozen=True, slots=True)
class EndpointPermission:
    """The scope that a token needs, and the permission that its owner or the signed-in person needs, if any."""

    scope: str
    right: str = ""
    others: tuple[str, ...] = ()
    """Rights that are accepted instead of `right`."""

    def met_by(self, user: AbstractBaseUser | AnonymousUser) -> bool:
        """Whether the account has the right."""
        rights = (self.right, *self.others)
        return not self.right or any(user.has_perm(f"migrations_app.{right}") for right in rights)  # type: ignore[union-attr]  # every account of ours has permissions


READ = EndpointPermission("read")
ROOT = "api/v1/"
SUBJECTS = {
    "campaigns": "campaign",
    "clusters": "cluster",
    "journeys": "journey",
    "plans": "rollout",
    "pull-requests": "pull_request",
    "rollouts": "rollout",
    "scans": "scan",
    "snapshots": "snapshot",
    "waivers": "waiver",
}
"""The kind of object that the id in a URL names, by the beginning of the URL."""


class DeclaredPermission(BasePermission):
    """Allows what the endpoint's `needs` allow; a method that the endpoint does not have goes on to the 405."""

    def has_permission(self, request: Request, view: Any) -> bool:  # noqa: ANN401 - DRF's signature
        method = (request.method or "").lower()
        if not request.user or not request.user.is_authenticated:
            return False
        if not hasattr(view, method) or method not in view.http_method_names:
            return True
        need = view.needs["GET" if method == "head" else method.upper()]
        use = request.auth
        if isinstance(use, TokenUse) and need.scope not in use.scopes:
            raise Problem("forbidden", f"the token lacks the scope {need.scope}")
        set_scope(_visibility(request, view.kwargs.get("id")))
        if not need.met_by(request.user):
            raise Problem("forbidden", f"the account lacks the permission {need.right}")
        return True


def _visibility(request: Request, key: object) -> VisibilityScope:
    """Returns the caller's visibility scope and the cluster that the URL names. Raises NotFound for a cluster that is
    not visible.
    """
    permissions = permissions_of(request.user)
    match = request.resolver_match
    first = match.route.removeprefix(ROOT).partition("/")[0] if match else ""
    kind = SUBJECTS.get(first)
    named = kind is not None and isinstance(key, uuid.UUID)
    return VisibilityScope(permissions, subject_of(str(kind), key, permissions=permissions) if named else None)  # type: ignore[arg-type]  # `named` says that it is one


def undeclared_operations(patterns: Iterable[URLPattern | URLResolver]) -> Iterator[str]:
    """Returns routes and methods without a declared permission, or with one that no scope can meet (T13)."""
    for pattern in patterns:
        if isinstance(pattern, URLResolver):
            yield from undeclared_operations(pattern.url_patterns)
            continue
        view = getattr(pattern.callback, "view_class", None) or getattr(pattern.callback, "cls", None)
        if view is None or DeclaredPermission not in view.permission_classes:
            yield f"{pattern.pattern}: not one of our endpoints"
            continue
        yield from (f"{method.upper()} {pattern.pattern}" for method in _served(view) if not _met(view, method))


def refuse_undeclared(patterns: Iterable[URLPattern | URLResolver]) -> None:
    """Raises ImproperlyConfigured naming these routes, so that the server does not start."""
    routes = sorted(undeclared_operations(patterns))
    if routes:
        raise ImproperlyConfigured(f"routes without a declared permission: {', '.join(routes)}")


def _served(view: type) -> list[str]:
    allowed: list[str] = view.http_method_names  # type: ignore[attr-defined]  # every Django view class has it
    return [method for method in METHODS if method in allowed and method != "head" and hasattr(view, method)]


def _met(view: Any, method: str) -> bool:  # noqa: ANN401 - a view class
    need = view.needs.get(method.upper())
    return isinstance(need, EndpointPermission) and need.scope in SCOPES
