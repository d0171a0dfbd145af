"""Access to pages: who may open a page, who is signed in, and where to go after sign-in.

Every view in `urls` is wrapped by `require_right` or `open_page`; a test checks all URLs.
"""

import uuid
from collections.abc import Callable, Iterable, Mapping
from functools import wraps
from typing import Any, Concatenate, ParamSpec

from django.contrib.auth.views import redirect_to_login
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponseBase
from django.shortcuts import redirect
from django.utils.http import url_has_allowed_host_and_scheme

from migrations_app.access import Person
from migrations_app.errors import NotFound
from migrations_app.queries.visibility import NOTHING, VisibilityScope, permissions_of, subject_of, visibility_scope
from migrations_app.texts import text as _
from migrations_app.use_cases.accounts.rights import must_change_password, rights_of
from migrations_app.use_cases.accounts.sign_in import SESSION_KEY, fresh_until
from migrations_app.use_cases.audit.log import Actor, acting_as

P = ParamSpec("P")
View = Callable[Concatenate[HttpRequest, P], HttpResponseBase]
SIGNED_IN = "look"
"""The right of everyone who is signed in; what they see depends on their roles."""
OPERATE = ("operate_rollout", "administer_policy")
APPROVE = ("approve_rollout", "administer_policy")
STOP = ("operate_rollout", "approve_rollout", "administer_policy")
OPEN = "open"
SUBJECTS = {
    "campaign_id": "campaign",
    "cluster_id": "cluster",
    "journey_id": "journey",
    "pull_request_id": "pull_request",
    "rollout_id": "rollout",
    "waiver_id": "waiver",
}
"""The kind of object that a URL parameter identifies."""
OWN_SITE = {"same-origin", "none"}
RIGHTS = {
    "add_cluster": _("register clusters"),
    "change_cluster": _("change clusters"),
    "delete_cluster": _("remove clusters"),
    "add_scan": _("start scans"),
    "view_auditevent": _("read the audit log"),
    "operate_rollout": _("prepare and start rollouts"),
    "approve_rollout": _("approve plans"),
    "administer_policy": _("change policies"),
    "break_glass": _("approve alone in an emergency"),
    "change_grant": _("decide what others may do"),
}


def require_right(
    right: str = SIGNED_IN, *others: str, with_any_password: bool = False
) -> Callable[[View[P]], View[P]]:
    """Decorator for views: the user must be signed in and have that right or one of `others`.

    A right is a codename of this app, or SIGNED_IN.
    """

    def wrap(view: View[P]) -> View[P]:
        @wraps(view)
        def guarded(request: HttpRequest, /, *args: P.args, **kwargs: P.kwargs) -> HttpResponseBase:
            _refuse_other_sites(request)
            if not request.user.is_authenticated:
                return redirect_to_login(request.get_full_path())
            if not with_any_password and must_change_password(request.user.pk):
                return redirect("password")
            acting = acting_as(actor_of(request), request_id=str(getattr(request, "request_id", "")))
            try:
                with acting, visibility_scope(_visibility(request, kwargs)):
                    _require(request, right, *others)
                    return view(request, *args, **kwargs)
            except NotFound as missing:
                raise Http404(missing.message) from None

        guarded.right = right  # type: ignore[attr-defined]  # a mark for the test that checks all URLs
        guarded.rights = (right, *others)  # type: ignore[attr-defined]  # as above, and for `may_open`
        return guarded

    return wrap


def may_open(request: HttpRequest, view: Callable[..., Any]) -> bool:
    """Whether the user has a right that opens the page of that view."""
    rights: tuple[str, ...] = getattr(view, "rights", (SIGNED_IN,))
    return any(right == SIGNED_IN or request.user.has_perm(f"migrations_app.{right}") for right in rights)


def actor_of(request: HttpRequest) -> Actor:
    """The signed-in user as an actor for the audit log."""
    name = request.user.get_username() or "nobody"
    return Actor(name=name, id=request.user.pk, address=address_of(request))


def address_of(request: HttpRequest) -> str:
    """The client's IP address as karpdash's own socket sees it."""
    return str(request.META.get("REMOTE_ADDR", ""))


def open_page(view: View[P]) -> View[P]:
    """Decorator for views that need no sign-in, such as the sign-in page."""

    @wraps(view)
    def guarded(request: HttpRequest, /, *args: P.args, **kwargs: P.kwargs) -> HttpResponseBase:
        _refuse_other_sites(request)
        with visibility_scope(NOTHING):
            return view(request, *args, **kwargs)

    guarded.right = OPEN  # type: ignore[attr-defined]  # as in `require_right`
    return guarded


def _refuse_other_sites(request: HttpRequest) -> None:
    """Refuses requests that another site sends, in addition to the CSRF token (T09): browsers send the origin of a
    request, and scripts cannot change it.
    """
    if request.method not in ("GET", "HEAD") and request.headers.get("Sec-Fetch-Site", "none") not in OWN_SITE:
        raise PermissionDenied(_("The request came from another site."))


def _visibility(request: HttpRequest, named: Mapping[str, Any]) -> VisibilityScope:
    """Returns the user's visibility scope with the cluster that the URL names. Raises NotFound if that cluster is not
    visible (T11).
    """
    permissions = permissions_of(request.user)
    subject = next(((kind, named[name]) for name, kind in SUBJECTS.items() if name in named), None)
    return VisibilityScope(permissions, subject_of(*subject, permissions=permissions) if subject else None)


def _require(request: HttpRequest, right: str, *others: str) -> None:
    if right == SIGNED_IN or any(request.user.has_perm(f"migrations_app.{name}") for name in (right, *others)):
        return
    raise PermissionDenied(_("Your account may not {act}.").format(act=RIGHTS[right]))


def next_page(request: HttpRequest) -> str:
    """The path in the parameter `next`; the fleet page if it is missing or on another site."""
    path = request.POST.get("next") or request.GET.get("next") or ""
    return path if url_has_allowed_host_and_scheme(path, allowed_hosts=None) and path.startswith("/") else "/"


def person_of(request: HttpRequest) -> Person:
    """The signed-in user with their current rights, and when their re-authentication expires."""
    return Person(
        id=int(request.user.pk or 0),
        name=request.user.get_username(),
        rights=rights_of(request.user),
        fresh_until=fresh_until(request.session.get(SESSION_KEY)),
    )


def uuids_in(texts: Iterable[str]) -> tuple[uuid.UUID, ...]:
    """The valid ids among the texts, each once."""
    return tuple(dict.fromkeys(key for text in texts if (key := uuid_in(text))))


def uuid_in(text: str) -> uuid.UUID | None:
    """The id in the text; None if it is not a UUID."""
    try:
        return uuid.UUID(text)
    except ValueError:
        return None
