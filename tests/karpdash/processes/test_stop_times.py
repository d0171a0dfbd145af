"""A worker that is asked to stop ends before it is killed: what it may wait for until then is bounded (R28)."""

import pytest
from celery.worker.worker import SHUTDOWN_SOCKET_TIMEOUT
from django.db import connection

from karpdash.processes.queues import KILL_AFTER, LAST_SECONDS, SOFT_STOP
from karpdash.processes.supervise import STOP_SECONDS
from migrations_app.use_cases.runtime import heartbeat

NAME = "scan@here"
ENDING = 15
"""Seconds for a pool and an interpreter to end where others keep the cores busy."""


def test_the_grace_period_holds_all_that_a_stop_may_wait_for():  # R28
    assert LAST_SECONDS >= 2 * heartbeat.MAX_DATABASE_WAIT_SECONDS + SHUTDOWN_SOCKET_TIMEOUT
    assert STOP_SECONDS >= SOFT_STOP + KILL_AFTER + LAST_SECONDS + ENDING


@pytest.mark.skipif("connection.vendor != 'sqlite'", reason="PostgreSQL has no lock of the whole database")
@pytest.mark.django_db
@pytest.mark.parametrize(
    "write", [lambda: heartbeat.write_heartbeat(NAME, ["scan"]), lambda: heartbeat.delete_heartbeat(NAME)]
)
def test_a_heartbeat_waits_for_the_lock_of_sqlite_only_briefly(write):  # R28
    told = []

    def noted(execute, sql, params, many, context):
        told.append((sql.split()[0], _busy()))
        return execute(sql, params, many, context)

    heartbeat.write_heartbeat(NAME, ["scan"])
    before = _busy()
    with connection.execute_wrapper(noted):
        write()
    waits = {wait for word, wait in told if word in ("UPDATE", "DELETE", "INSERT")}
    assert (waits, _busy()) == ({round(heartbeat.MAX_DATABASE_WAIT_SECONDS * 1000)}, before)


def _busy() -> int:
    return int(connection.connection.execute("PRAGMA busy_timeout").fetchone()[0])
