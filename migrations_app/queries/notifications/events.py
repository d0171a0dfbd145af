"""Published events as values, from the rows of the outbox."""

import uuid
from collections.abc import Iterable, Mapping

from django.conf import settings

from migrations_app.models.rollout import Outbox, Rollout
from migrations_app.readiness.notification_events import EVENTS, EventFacts

NAMED: Mapping[str, str] = {
    "rollout.awaiting_approval": "plan.approval_requested",
    "rollout.succeeded": "rollout.completed",
}
"""Outbox topics whose public event type has another name."""
_IDS = uuid.UUID("c2a1b9ce-35a4-4c0a-8a59-5b0f6d3f9d10")
TOPICS: tuple[str, ...] = (*EVENTS, *NAMED)
"""Topics of the outbox that may be an event."""


def events_of(rows: Iterable[Outbox]) -> list[EventFacts]:
    """The events of the rows. Rows that are no events are skipped, and so are approval requests that are over."""
    rows = [row for row in rows if NAMED.get(row.topic, row.topic) in EVENTS]
    keys = {row.body["rollout"] for row in rows if row.body.get("rollout")}
    rollouts = {str(rollout.pk): rollout for rollout in Rollout.objects.filter(pk__in=keys).defer("plan")}
    events = (_event(row, rollout=rollouts.get(row.body.get("rollout", ""))) for row in rows)
    return [event for event in events if event is not None]


def _event(row: Outbox, *, rollout: Rollout | None) -> EventFacts | None:
    topic, data = NAMED.get(row.topic, row.topic), dict(row.body)
    if data.get("rollout") and rollout is None:
        return None
    if rollout is not None:
        if topic == "plan.approval_requested" and rollout.state != "awaiting_approval":
            return None
        data |= {"subject": rollout.cluster_name, "cluster": str(rollout.cluster_id), "title": rollout.title}
        data["why"] = rollout.cause[:300]
        data["url"] = _address(f"/rollouts/{rollout.pk}/")
    elif data.get("campaign"):
        data["url"] = _address(f"/campaigns/{data['campaign']}/")
    elif data.get("journey"):
        data["url"] = _address(f"/journeys/{data['journey']}/")
    elif data.get("cluster"):
        data["url"] = _address(f"/clusters/{data['cluster']}")
    return {
        # Stable for a row, and different in a restored database that reuses the row number.
        "id": str(uuid.uuid5(_IDS, f"{row.pk} {row.created_at.isoformat()}")),
        "type": topic,
        "time": row.created_at.isoformat().replace("+00:00", "Z"),
        "subject": str(data.pop("subject", "")),
        "data": {name: value for name, value in data.items() if value not in ("", None)},
    }


def _address(path: str) -> str:
    """The page's absolute URL if the installation's origin is configured; else the path."""
    origins = settings.ENV.trusted_origins
    return f"{origins[0].rstrip('/')}{path}" if origins else path
