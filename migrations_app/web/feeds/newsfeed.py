"""Writes news as RSS 2.0 and Atom, with Django's feed generator.

The feed does not contain its own URL, because feed readers show that URL and it contains the secret.
"""

from collections.abc import Callable, Iterable
from datetime import datetime

from django.utils.feedgenerator import Atom1Feed, Rss201rev2Feed

from migrations_app.manifests.text_lines import one_line
from migrations_app.readiness.notification_events import TITLES, EventFacts, text_of

FORMS: dict[str, type[Atom1Feed] | type[Rss201rev2Feed]] = {"atom": Atom1Feed, "rss": Rss201rev2Feed}


def as_feed(events: Iterable[EventFacts], *, form: str, name: str, address: Callable[[str], str]) -> str:
    """Returns the feed as XML. `address` makes the full URL of a path, and leaves a full URL unchanged."""
    home = address("/")
    feed = FORMS[form](title=name, link=home, description="What happens to clusters, plans and waivers.", language="en")
    for event in events:
        feed.add_item(
            title=one_line(f"{TITLES.get(event['type'], event['type'])}: {event['subject']}"),
            link=address(str(event["data"].get("url") or "/")),
            description=text_of([event]),
            pubdate=_moment(event),
            updateddate=_moment(event),
            unique_id=f"urn:uuid:{event['id']}",
            unique_id_is_permalink=False,
        )
    return feed.writeString("utf-8")


def _moment(event: EventFacts) -> datetime:
    return datetime.fromisoformat(event["time"])
