"""The feed links of a person, without their secrets, which are not stored."""

import uuid
from dataclasses import dataclass
from datetime import datetime

from migrations_app.models.account import FeedLink
from migrations_app.queries.rows import from_row
from migrations_app.queries.visibility import visible_clusters


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedLinkRow:
    """A feed link.

    `prefix` is the beginning of the secret, to tell links apart. `about_all` is True for a link about all clusters;
    else `cluster_name` is empty if the person may no longer see the cluster.
    """

    id: uuid.UUID
    name: str
    kind: str
    prefix: str
    about_all: bool
    cluster_name: str
    created_at: datetime
    last_used_at: datetime | None
    revoked_at: datetime | None


def feed_links_of(owner_id: int) -> tuple[FeedLinkRow, ...]:
    """Every feed link of a person, newest first."""
    rows = list(FeedLink.objects.filter(owner_id=owner_id).order_by("-created_at", "-pk"))
    named = visible_clusters().filter(pk__in={row.cluster_id for row in rows if row.cluster_id})
    names = dict(named.values_list("pk", "name"))
    return tuple(
        from_row(
            FeedLinkRow,
            row,
            about_all=row.cluster_id is None,
            cluster_name=names.get(row.cluster_id, "") if row.cluster_id else "",
        )
        for row in rows
    )
