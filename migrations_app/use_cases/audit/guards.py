"""Whether the triggers that refuse changes of the audit log are there (A52): without them a change leaves no trace."""

from django.db import connection

EXPECTED: dict[str, frozenset[str]] = {
    "sqlite": frozenset(
        (
            *("audit_never_changes", "audit_never_shrinks", "audit_head_stays", "audit_head_steps"),
            *("checkpoint_never_changes", "checkpoint_never_shrinks"),
        )
    ),
    "postgresql": frozenset(
        (
            *("audit_never_changes", "audit_never_emptied", "audit_head_stays", "audit_head_never_emptied"),
            *("audit_head_steps", "checkpoint_never_changes", "checkpoint_never_emptied"),
        )
    ),
}
"""By Django's name of the database."""
ASKED = {
    "sqlite": "SELECT name FROM sqlite_master WHERE type = 'trigger'",
    "postgresql": "SELECT tgname FROM pg_trigger WHERE NOT tgisinternal AND tgenabled <> 'D'",
}


def missing_guards() -> tuple[str, ...]:
    """The names of the triggers that are gone or switched off, in order."""
    with connection.cursor() as cursor:
        cursor.execute(ASKED[connection.vendor])
        there = {str(row[0]) for row in cursor.fetchall()}
    return tuple(sorted(EXPECTED[connection.vendor] - there))
