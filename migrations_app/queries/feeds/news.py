"""News: the newest published events that the caller may see. They are kept for seven days."""

import uuid
from collections.abc import Iterable

from migrations_app.models.cluster import ClusterGroup
from migrations_app.models.rollout import Outbox
from migrations_app.queries.fleet.groups import visible_groups
from migrations_app.queries.notifications.events import TOPICS, events_of
from migrations_app.queries.visibility import sees_all, visible_campaigns, visible_texts
from migrations_app.readiness.notification_events import EventFacts

MAX_EVENTS_READ = 2000
"""Maximum number of events that one request reads, visible or not."""
OWN_TO_A_CLUSTER = ("rollout", "journey")


def newest_news(cluster: uuid.UUID | None, *, limit: int) -> tuple[EventFacts, ...]:
    """The newest events of the cluster, or of everything that the caller may see, newest first.

    With a cluster, events about all clusters are left out.
    """
    rows = Outbox.objects.filter(topic__in=TOPICS).order_by("-pk")[:MAX_EVENTS_READ]
    events = events_of(rows)
    if cluster is not None:
        events = [event for event in events if event["data"].get("cluster") == str(cluster)]
    return tuple(_visible_events(events))[:limit]


def _visible_events(events: Iterable[EventFacts]) -> Iterable[EventFacts]:
    clusters = visible_texts("view")
    if clusters is None:
        return events
    campaigns = frozenset(map(str, visible_campaigns().values_list("pk", flat=True)))
    groups = frozenset(map(str, ClusterGroup.objects.filter(visible_groups()).values_list("pk", flat=True)))
    return [event for event in events if _seen(event, clusters=clusters, campaigns=campaigns, groups=groups)]


def _seen(event: EventFacts, *, clusters: frozenset[str], campaigns: frozenset[str], groups: frozenset[str]) -> bool:
    """Whether the caller may see the event. An event that names none of these is about all clusters, and visible to
    everyone.
    """
    data = event["data"]
    named = {"cluster": clusters, "campaign": campaigns, "group": groups}
    for word, seen in named.items():
        if data.get(word):
            return data[word] in seen
    return sees_all() or not any(data.get(word) for word in OWN_TO_A_CLUSTER)
