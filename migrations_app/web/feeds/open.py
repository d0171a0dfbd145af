"""The public URLs of feeds. The secret in the URL gives read access without a sign-in; nothing can be changed."""

from collections.abc import Callable
from datetime import datetime
from functools import partial
from typing import Protocol

from django.http import Http404, HttpRequest, HttpResponse
from django.template.loader import render_to_string
from django.utils import timezone
from django.views.decorators.http import require_safe

from migrations_app.errors import NotFound
from migrations_app.queries.clusters.detail import cluster_head
from migrations_app.queries.feeds.badges import facts_of_cluster, facts_of_fleet
from migrations_app.queries.feeds.calendar import calendar_entries
from migrations_app.queries.feeds.news import newest_news
from migrations_app.queries.visibility import VisibilityScope, permissions_of, visibility_scope
from migrations_app.readiness.outputs.badge import Badge, cluster_badge, fleet_badge
from migrations_app.use_cases.accounts.feed_links import OpenedFeed, open_feed
from migrations_app.web.access import open_page
from migrations_app.web.feeds.newsfeed import as_feed

MAX_NEWS = 100
"""Maximum number of items in a feed of news."""
COLOURS = {"green": "#1a7f52", "yellow": "#8a6100", "red": "#b3261e", "blue": "#1f6391", "grey": "#5a6862"}
"""White text on each of them has a contrast of at least 4.5 to 1."""
LETTER_WIDTH = 7
"""Pixels for a letter of 11 pixels height, with some margin."""


def _badge(opened: OpenedFeed, *, now: datetime, **_: object) -> tuple[str | bytes, str]:
    if opened.cluster is None:
        badge = fleet_badge(facts_of_fleet(now), now=now)
    else:
        name, facts = facts_of_cluster(opened.cluster, now=now)
        badge = cluster_badge(name, facts, now=now)
    return render_to_string("feeds/badge.svg", _sizes(badge) | {"badge": badge}), "image/svg+xml; charset=utf-8"


def _sizes(badge: Badge) -> dict[str, object]:
    left, right = (LETTER_WIDTH * len(text) + 10 for text in (badge.label, badge.message))
    return {
        "left": left,
        "right": right,
        "width": left + right,
        "label_at": left / 2,
        "message_at": left + right / 2,
        "colour": COLOURS[badge.colour],
    }


def _calendar(opened: OpenedFeed, *, address: Callable[[str], str], now: datetime) -> tuple[str | bytes, str]:
    from migrations_app.web.feeds.calendars import as_ical  # its package takes 6 MiB, in each process that loads it

    entries = calendar_entries(opened.cluster, now=now)
    return as_ical(entries, name=_name(opened, now=now), now=now, address=address), "text/calendar; charset=utf-8"


def _news(opened: OpenedFeed, *, form: str, address: Callable[[str], str], now: datetime) -> tuple[str | bytes, str]:
    events = newest_news(opened.cluster, limit=MAX_NEWS)
    body = as_feed(events, form=form, name=_name(opened, now=now), address=address)
    return body, f"application/{form}+xml; charset=utf-8"


def _name(opened: OpenedFeed, *, now: datetime) -> str:
    return f"karpdash: {cluster_head(opened.cluster, now=now).name}" if opened.cluster else "karpdash"


class Render(Protocol):
    """Writes a feed: its body and media type. `address` makes the full URL of a path."""

    def __call__(
        self, opened: OpenedFeed, /, *, address: Callable[[str], str], now: datetime
    ) -> tuple[str | bytes, str]: ...


FILES: dict[str, tuple[str, Render]] = {
    "badge.svg": ("badge", _badge),
    "calendar.ics": ("calendar", _calendar),
    "news.atom": ("news", partial(_news, form="atom")),
    "news.rss": ("news", partial(_news, form="rss")),
}
"""By file name: the kind of link that opens the file, and the function that writes it."""
FILES_OF = {kind: tuple(name for name, row in FILES.items() if row[0] == kind) for kind, _ in FILES.values()}


@require_safe
def _feed(request: HttpRequest, *, secret: str, name: str) -> HttpResponse:
    """Returns the feed. 404 for a secret that is unknown, revoked, of another kind, or whose owner no longer sees the
    object.
    """
    if name not in FILES:
        raise Http404
    kind, render = FILES[name]
    try:
        opened = open_feed(secret, kind=kind)
        with visibility_scope(VisibilityScope(permissions_of(opened.owner), opened.cluster)):
            body, media = render(opened, address=request.build_absolute_uri, now=timezone.now())
    except NotFound:
        raise Http404 from None
    answer = HttpResponse(body, content_type=media)
    # No cache may store it: an old badge must not be shown, and a revoked link shows nothing.
    answer["Cache-Control"] = "no-cache, no-store, must-revalidate, max-age=0"
    answer["X-Robots-Tag"] = "noindex, nofollow"
    answer["Referrer-Policy"] = "no-referrer"
    return answer


feed = open_page(_feed)
