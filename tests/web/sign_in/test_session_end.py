"""When a session ends by itself: left alone, or long after the sign-in whatever is done."""

from datetime import timedelta

import pytest
import time_machine

from karpdash.sign_in.sessions import IDLE_TIMEOUT, MAX_AGE
from tests.builders.rows import NOW

POLL = {"HX-Request": "true"}


def status_at(client, after: timedelta, **headers: str) -> int:
    with time_machine.travel(NOW + after, tick=False):
        return client.get("/catalogue/", headers=headers).status_code


def test_a_session_that_is_left_alone_ends(ben):
    minute = timedelta(minutes=1)
    assert status_at(ben, IDLE_TIMEOUT - minute) == 200
    assert status_at(ben, 2 * IDLE_TIMEOUT - 2 * minute) == 200
    assert [status_at(ben, 3 * IDLE_TIMEOUT - minute), status_at(ben, 3 * IDLE_TIMEOUT)] == [302, 302]


def test_a_page_that_asks_again_by_itself_keeps_no_session(ben):
    at = [status_at(ben, timedelta(minutes=minutes), **POLL) for minutes in (60, 120, 239)]
    assert (at, status_at(ben, IDLE_TIMEOUT, **POLL)) == ([200] * 3, 302)


@pytest.mark.parametrize("headers", [{}, {"Sec-Fetch-Site": "same-origin"}])
def test_nothing_keeps_a_session_longer_than_its_longest(ben, headers):
    hours = [status_at(ben, timedelta(hours=hour), **headers) for hour in range(1, 12)]
    assert (hours, status_at(ben, MAX_AGE, **headers)) == ([200] * 11, 302)
