"""A scan -> what is left of the older generation on its day; the last scan of a day counts."""

import uuid
from collections.abc import Mapping
from datetime import date

from migrations_app.models.legacy import LegacyDay

COLUMNS: Mapping[str, str] = {
    "Provisioner": "provisioners",
    "AWSNodeTemplate": "templates",
    "Machine": "machines",
    "Node": "nodes",
}
"""Kinds as reports name them, and the columns of their counts."""


def note_legacy(cluster_id: uuid.UUID, legacy: Mapping[str, int | None], *, day: date) -> None:
    """Keeps the counts of the day; a report that counts nothing, since there is nothing to upgrade, counts as none."""
    counts = {column: legacy.get(kind) if legacy else 0 for kind, column in COLUMNS.items()}
    LegacyDay.objects.update_or_create(cluster_id=cluster_id, day=day, defaults=counts)
