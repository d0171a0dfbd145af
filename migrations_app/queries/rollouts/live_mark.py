"""Whether anything on the live part of a rollout's page has changed: one query, since many ask often."""

import hashlib
import uuid
from typing import NamedTuple

import msgspec
from django.db import connection

from migrations_app.errors import NotFound
from migrations_app.models.rollout import Rollout
from migrations_app.queries.visibility import sees_all, visible

# Written out: to build the four queries of the ORM anew cost three times what the database takes to answer them.
_MARK = """
SELECT r.version, r.wish, r.waits_for, r.picture,
  (SELECT COUNT(*) FROM migrations_app_approval p WHERE p.rollout_id = r.id),
  a.lines, a.last_line, a.last_outcome,
  (SELECT '-' || SUBSTR(CAST(h.id AS TEXT), 1, 8) || h.state FROM migrations_app_rehearsal h
   WHERE h.rollout_id = r.id ORDER BY h.made_at DESC, h.id DESC LIMIT 1)
FROM migrations_app_rollout r
LEFT JOIN (SELECT COUNT(*) AS lines, MAX(id) AS last_line, MAX(outcome_at) AS last_outcome
  FROM migrations_app_attempt WHERE rollout_id = %s) a ON TRUE
WHERE r.id = %s
"""


class LiveMark(NamedTuple):
    """What the live part is drawn from, or what changes whenever that does; values as the database driver gives them.

    `rehearsal` is that of `rehearsals.mark_of`; None without one.
    """

    version: int
    wish: str
    waits_for: str
    picture: object
    approvals: int
    lines: int
    last_line: int | None
    last_outcome: object
    rehearsal: str | None

    @property
    def etag(self) -> str:
        """The ETag of the live part."""
        return f'"{hashlib.sha256(msgspec.json.encode(tuple(self))).hexdigest()[:40]}"'

    @property
    def page_version(self) -> str:
        """Changes when the whole page has to be loaded anew, because other actions are possible."""
        return f"{self.version}.{self.approvals}{self.wish}{self.rehearsal or ''}"


def live_mark(rollout_id: uuid.UUID) -> LiveMark:
    """The mark of one rollout. Raises NotFound if there is none or the caller may not see it."""
    key = rollout_id if connection.features.has_native_uuid_field else rollout_id.hex
    with connection.cursor() as cursor:
        cursor.execute(_MARK, [key, key])
        columns = cursor.fetchone()
    if columns is None or not (sees_all() or Rollout.objects.filter(visible(), pk=rollout_id).exists()):
        raise NotFound("no such rollout")
    return LiveMark(*columns)
