"""Guards that keep karpdash's own database role from changing the audit log (A52): triggers, and least privileges.

Without the triggers a change leaves no trace. The privileges are SQL for PostgreSQL.
"""

import re

from django.db import connection

from migrations_app.errors import InvalidInput

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
"""The names of the required triggers, by Django's name of the database."""
ASKED = {
    "sqlite": "SELECT name FROM sqlite_master WHERE type = 'trigger'",
    "postgresql": "SELECT tgname FROM pg_trigger WHERE NOT tgisinternal AND tgenabled <> 'D'",
}


def missing_guards() -> tuple[str, ...]:
    """The names of the required triggers that are missing or switched off, sorted."""
    with connection.cursor() as cursor:
        cursor.execute(ASKED[connection.vendor])
        triggers = {str(row[0]) for row in cursor.fetchall()}
    return tuple(sorted(EXPECTED[connection.vendor] - triggers))


ROLE = "karpdash_app"
_NAME = re.compile(r"[a-z_][a-z0-9_]{0,62}")
_SQL = """\
-- Run by the owner of the tables, after each `manage.py migrate`; karpdash then connects as {role}.
-- The role adds events and checkpoints and reads them; it can neither change, delete nor truncate them,
-- and since it owns no table it can not take the triggers away either.
GRANT USAGE ON SCHEMA public TO {role};
GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO {role};
GRANT USAGE, SELECT ON ALL SEQUENCES IN SCHEMA public TO {role};
REVOKE ALL ON migrations_app_auditevent, migrations_app_checkpoint, migrations_app_audithead FROM {role};
GRANT SELECT, INSERT ON migrations_app_auditevent, migrations_app_checkpoint TO {role};
GRANT SELECT, INSERT, UPDATE ON migrations_app_audithead TO {role};
"""


def grants(role: str = ROLE) -> str:
    """The GRANT and REVOKE statements. Raises InvalidInput for a role name that would need quoting."""
    if not _NAME.fullmatch(role):
        raise InvalidInput("a role is named by lower case letters, digits and underscores here", where="--role")
    return _SQL.format(role=role)
