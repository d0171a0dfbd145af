"""Compares the journal of a rollout in this process's database with the API server's audit log."""

from datetime import datetime
from typing import Any

from migrations_app.models.audit import AuditEvent
from migrations_app.models.rollout import Attempt, Rollout
from tests.use_cases.rollouts import audit_log_reader


def complaints_of(row: Rollout, events: list[dict[str, Any]]) -> list[str]:
    """Returns contradictions between the API server's audit log and the journal of this rollout."""
    said = AuditEvent.objects.filter(correlation=str(row.pk), verb__in=("step.intent", "step.passed"))
    at = {(one.step, one.attempt): datetime.fromisoformat(one.at.replace("Z", "+00:00")) for one in said}
    lines = [
        audit_log_reader.Line(
            step=one.step, number=one.number, verb=one.verb, outcome=one.outcome, audit_id=one.audit_id,
            recorded_at=at.get((one.step, one.number)),
        )
        for one in Attempt.objects.filter(rollout=row).order_by("pk")
    ]  # fmt: skip
    return audit_log_reader.complaints(audit_log_reader.requests(events, of=str(row.pk)), lines)
