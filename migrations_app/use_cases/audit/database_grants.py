"""The least privileges of karpdash's own database role, as SQL for PostgreSQL (A52)."""

import re

from migrations_app.errors import InvalidInput

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
