"""The user's own feed links: list, create, revoke."""

import uuid

from django.contrib import messages
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.debug import sensitive_variables
from django.views.decorators.http import require_http_methods, require_POST

from migrations_app.errors import Conflict, InvalidInput
from migrations_app.queries.accounts.feed_links import feed_links_of
from migrations_app.queries.visibility import visible_clusters
from migrations_app.texts import text as _
from migrations_app.use_cases.accounts.feed_links import KINDS, NewFeedLink, create_feed_link, revoke_feed_link
from migrations_app.web.access import require_right
from migrations_app.web.feeds.open import FILES_OF

KIND_WORDS = {
    "badge": _("Badge (SVG): readiness, and how old the scan is"),
    "calendar": _("Calendar (iCal): windows, campaigns, waivers that end"),
    "news": _("News (RSS, Atom): what channels are told"),
}


@require_right()
@require_http_methods(["GET", "HEAD", "POST"])
@sensitive_variables("addresses")
def feeds(request: HttpRequest) -> HttpResponse:
    """The list; a POST creates a link and shows its URLs once."""
    refused: InvalidInput | Conflict | None = None
    addresses: tuple[str, ...] = ()
    if request.method == "POST":
        try:
            addresses = _addresses(request, _make_link(request))
        except (InvalidInput, Conflict) as error:
            refused = error
    context = {
        "section": "feeds",
        "rows": feed_links_of(int(request.user.pk or 0)),
        "kinds": [(kind, KIND_WORDS[kind]) for kind in KINDS],
        "addresses": addresses,
        "refused": refused,
        "submitted": request.POST or request.GET,
    }
    return render(request, "accounts/feeds.html", context, status=422 if refused else 200)


@require_right()
@require_POST
def end(request: HttpRequest, link_id: uuid.UUID) -> HttpResponse:
    """Revokes one of the user's own links at once."""
    revoke_feed_link(link_id, owner_id=int(request.user.pk or 0))
    messages.success(request, _("The feed link is revoked."))
    return redirect("feeds")


def _make_link(request: HttpRequest) -> NewFeedLink:
    form, owner = request.POST, request.user
    if not isinstance(owner, User):
        raise InvalidInput("a feed link belongs to a person", where="name")
    cluster_name = form.get("cluster", "").strip()
    cluster = (
        visible_clusters().filter(name=cluster_name).values_list("pk", flat=True).first() if cluster_name else None
    )
    if cluster_name and cluster is None:
        raise InvalidInput("no such cluster", where="cluster")
    return create_feed_link(owner, kind=form.get("kind", ""), name=form.get("name", "")[:80], cluster=cluster)


def _addresses(request: HttpRequest, link: NewFeedLink) -> tuple[str, ...]:
    return tuple(request.build_absolute_uri(reverse("feed", args=[link.secret, name])) for name in FILES_OF[link.kind])
