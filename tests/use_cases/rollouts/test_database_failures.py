"""A request whose intent cannot be stored is not sent; an outcome that was not stored is found out by reading."""

from contextlib import contextmanager

import pytest
from django.db import DatabaseError, OperationalError, connection

from migrations_app.models.audit import AuditEvent
from migrations_app.use_cases.rollouts import journal, worker
from tests.use_cases.rollouts.building import (
    APPLIED,
    NODE_PATH,
    advanced,
    ended,
    is_ours,
    node,
    outcomes,
    rollout,
    tainting,
)

pytestmark = [pytest.mark.django_db(transaction=True)]


def test_without_an_audit_row_nothing_is_sent(server, cluster, complaints, monkeypatch):  # A55, T26
    target, read = node(server)
    row = rollout(cluster, tainting(target, read))
    real = journal.record

    def record(event):
        if event.verb == "step.intent":
            raise DatabaseError("no")
        return real(event)

    monkeypatch.setattr(journal, "record", record)
    row = advanced(row)
    assert (ended(row), outcomes(row), complaints(row)) == (("paused", "audit"), [], [])
    assert not is_ours(server.admin.get(NODE_PATH))


def test_without_any_audit_row_nothing_moves_at_all(server, cluster, complaints, monkeypatch):  # A55
    target, read = node(server)
    row = rollout(cluster, tainting(target, read))
    before = AuditEvent.objects.count()
    with _refusing_table():
        with pytest.raises(DatabaseError):
            worker.advance(row.pk, holder="w")
        row.refresh_from_db()
        assert (row.state, outcomes(row), AuditEvent.objects.count()) == ("running", [], before)
    assert (advanced(row).state, complaints(row)) == ("succeeded", [])


def test_a_database_that_fails_before_the_intent_sends_nothing(server, cluster, complaints, monkeypatch):  # A19, R06
    target, read = node(server)
    row = rollout(cluster, tainting(target, read))
    with monkeypatch.context() as broken:
        broken.setattr(journal, "record", _failing)
        assert worker.advance(row.pk, holder="w") is False
    row.refresh_from_db()
    assert (row.state, outcomes(row), row.worker_attempts) == ("running", [], 0)
    assert (advanced(row).state, complaints(row)) == ("succeeded", [])


def test_a_database_that_fails_after_the_request_leaves_the_outcome_to_reading(
    server, cluster, complaints, monkeypatch
):  # A22, R06
    target, read = node(server)
    row = rollout(cluster, tainting(target, read))
    with monkeypatch.context() as broken:
        broken.setattr(journal, "record_outcome", _failing)
        assert worker.advance(row.pk, holder="w") is False
    assert outcomes(row) == [("s001", "patch", "")]
    row = advanced(row)
    assert (row.state, outcomes(row), complaints(row)) == ("succeeded", APPLIED, [])


def _failing(*_, **__):
    raise OperationalError("the connection is gone")


@contextmanager
def _refusing_table():
    """The database itself refuses new rows of the audit log."""
    _run(*_REFUSE[connection.vendor])
    yield
    _run(*_ALLOW[connection.vendor])


def _run(*statements):
    with connection.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement)


_REFUSE = {
    "sqlite": (
        "CREATE TRIGGER full_log BEFORE INSERT ON migrations_app_auditevent BEGIN SELECT RAISE(ABORT, 'full'); END",
    ),
    "postgresql": (
        "CREATE FUNCTION full_log() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'full'; END $$",
        "CREATE TRIGGER full_log BEFORE INSERT ON migrations_app_auditevent FOR EACH ROW EXECUTE FUNCTION full_log()",
    ),
}
_ALLOW = {"sqlite": ("DROP TRIGGER full_log",), "postgresql": ("DROP FUNCTION full_log CASCADE",)}
