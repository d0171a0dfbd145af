"""A page whose database does not answer says so, and what to do; it is not called a bug."""

import pytest
from django.contrib.sessions.backends.base import UpdateError
from django.contrib.sessions.exceptions import SessionInterrupted
from django.db import DatabaseError, InterfaceError, OperationalError, connection, transaction

from tests.web.pages import text

BUG, AWAY = "This is a bug in karpdash.", "The database does not answer"


@pytest.fixture
def broken(client, monkeypatch):
    client.raise_request_exception = False

    def get(error, method="get"):
        def fail(_middleware, _request):
            raise error

        monkeypatch.setattr("django.contrib.sessions.middleware.SessionMiddleware.process_request", fail)
        return getattr(client, method)("/waivers/")

    return get


@pytest.mark.parametrize("error", [OperationalError("database is locked"), InterfaceError("connection already closed")])
def test_a_database_that_does_not_answer_is_no_bug(broken, error):
    answer = broken(error)
    words = text(answer)
    assert (answer.status_code, answer.headers["Retry-After"]) == (503, "5")
    assert [part in words for part in (AWAY, "Reload this page in a moment.", "/readyz", BUG)] == [True] * 3 + [False]
    assert "What you sent may not be stored" in text(broken(error, "post"))


@pytest.mark.django_db
def test_wrong_sql_is_a_bug(broken):
    """SQLite's driver raises OperationalError for it, as for a locked file."""
    with pytest.raises(DatabaseError) as caught, transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SELECT 1 FROM no_such_table")
    answer = broken(caught.value)
    assert (answer.status_code, BUG in text(answer)) == (500, True)


def test_anything_else_still_is(broken):
    answer = broken(ZeroDivisionError())
    assert (answer.status_code, BUG in text(answer), AWAY in text(answer)) == (500, True, False)


@pytest.mark.parametrize(("cause", "status"), [(OperationalError("database is locked"), 503), (UpdateError(), 400)])
def test_a_session_that_could_not_be_stored_was_not_ended(client, monkeypatch, cause, status):
    """Django takes both for a session that was ended meanwhile, and answers 400."""
    client.raise_request_exception = False

    def fail(_middleware, _request):
        try:
            raise cause
        except type(cause):
            raise SessionInterrupted("the session was deleted")  # noqa: B904 - as Django raises it

    monkeypatch.setattr("django.contrib.sessions.middleware.SessionMiddleware.process_request", fail)
    answer = client.get("/waivers/")
    assert (answer.status_code, AWAY in text(answer)) == (status, status == 503)
