"""A page whose database does not answer says so, and what to do; it is not called a bug."""

import pytest
from django.db import InterfaceError, OperationalError

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


def test_anything_else_still_is(broken):
    answer = broken(ZeroDivisionError())
    assert (answer.status_code, BUG in text(answer), AWAY in text(answer)) == (500, True, False)
