"""Whether anything on the live part of a rollout's page has changed, for three small queries."""

import hashlib
import uuid
from datetime import datetime
from typing import NamedTuple

import msgspec
from django.db.models import Count, Max

from migrations_app.errors import NotFound
from migrations_app.models.rollout import Approval, Attempt, Rollout
from migrations_app.queries.visibility import visible


class LiveMark(NamedTuple):
    """What the live part is drawn from, or what changes whenever that does."""

    version: int
    wish: str
    waits_for: str
    picture: object
    approvals: int
    lines: int
    last_line: int | None
    last_outcome: datetime | None

    @property
    def etag(self) -> str:
        """The ETag of the live part."""
        return f'"{hashlib.sha256(msgspec.json.encode(tuple(self))).hexdigest()[:40]}"'

    @property
    def page_version(self) -> str:
        """Changes when the whole page has to be loaded anew, because other actions are possible."""
        return f"{self.version}.{self.approvals}{self.wish}"


def live_mark(rollout_id: uuid.UUID) -> LiveMark:
    """The mark of one rollout. Raises NotFound if there is none or the caller may not see it."""
    shown = Rollout.objects.filter(visible(), pk=rollout_id).values_list("version", "wish", "waits_for", "picture")
    found = shown.order_by().first()
    if found is None:
        raise NotFound("no such rollout")
    lines = Attempt.objects.filter(rollout_id=rollout_id).aggregate(
        lines=Count("pk"), last_line=Max("pk"), last_outcome=Max("outcome_at")
    )
    approvals = Approval.objects.filter(rollout_id=rollout_id).count()
    return LiveMark(*found, approvals, **lines)
