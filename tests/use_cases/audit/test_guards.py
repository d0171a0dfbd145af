"""The printed rights let karpdash work on PostgreSQL, and no more than that (A52)."""

import pytest
from django.db import DatabaseError, connection, transaction

from migrations_app.audit_verify import verify
from migrations_app.models.checkpoint import Checkpoint
from migrations_app.queries.audit.log import head
from migrations_app.use_cases.audit.guards import grants
from tests.use_cases.audit.signed_log import log, with_sinks, write

pytestmark = pytest.mark.django_db
ROLE = "karpdash_app"


@pytest.fixture
def as_the_role(settings):
    if connection.vendor != "postgresql":
        pytest.skip("SQLite knows no roles")
    with_sinks(settings)
    with connection.cursor() as cursor:
        cursor.execute(f"CREATE ROLE {ROLE}")
        cursor.execute(grants(ROLE))
        cursor.execute(f"SET LOCAL ROLE {ROLE}")


def test_the_role_records_signs_and_reads(as_the_role):  # A52
    write(101)
    assert verify(log(), head=head()).events == 101
    assert Checkpoint.objects.get().seq == 100


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE migrations_app_auditevent SET actor = 'mallory'",
        "DELETE FROM migrations_app_auditevent",
        "TRUNCATE migrations_app_auditevent",
        "DELETE FROM migrations_app_checkpoint",
        "DELETE FROM migrations_app_audithead",
        "DROP TABLE migrations_app_auditevent",
        "ALTER TABLE migrations_app_auditevent DISABLE TRIGGER USER",
        "DROP TRIGGER audit_never_changes ON migrations_app_auditevent",
    ],
)
def test_the_role_changes_nothing_that_was_written(as_the_role, statement):  # A52, T26
    write(2)
    with (
        pytest.raises(DatabaseError, match=r"permission denied|must be owner"),
        transaction.atomic(),
        connection.cursor() as cursor,
    ):
        cursor.execute(statement)
