"""How a rollout differs from its rehearsal, as it was stored at the end."""

import uuid
from typing import Any

from migrations_app.models.rehearsal import RunRecord
from migrations_app.queries.visibility import visible


def stored_difference(rollout_id: uuid.UUID) -> dict[str, Any] | None:
    """The comparison as plain values; None before the end, and without a rehearsal."""
    rows = RunRecord.objects.filter(visible("rollout__cluster"), rollout_id=rollout_id)
    found: dict[str, Any] | None = rows.values_list("difference", flat=True).first()
    return found
