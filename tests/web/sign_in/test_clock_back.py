"""A clock that was ahead for a while and goes back: nobody stays locked out, no session lives longer (R18)."""

from datetime import timedelta

import pytest
import time_machine
from django.contrib.auth import get_user_model
from django.test import Client

from karpdash.sign_in.sessions import ACTIVITY_INTERVAL, MAX_AGE
from migrations_app.use_cases.accounts import sign_in as sign_in_rules
from tests.builders.rows import NOW
from tests.web.conftest import PASSWORD

pytestmark = pytest.mark.django_db
AHEAD = timedelta(days=3)


@pytest.fixture
def eve(db):
    return get_user_model().objects.create_user("eve", password=PASSWORD)


def sign_in(client, password=PASSWORD, name="eve"):
    return client.post("/login", {"username": name, "password": password}).status_code


def at(after: timedelta):
    """The clock stands still, that much after noon."""
    return time_machine.travel(NOW + after, tick=False)


def test_who_was_locked_out_is_not_locked_out_for_days(eve, dan, settings):  # R18, T28
    with at(AHEAD):
        tries = [sign_in(dan, "wrong") for _ in range(settings.AXES_FAILURE_LIMIT)]
        assert (tries[-1], sign_in(dan)) == (429, 429)
    with at(timedelta()):
        assert sign_in(dan) == 302


def test_tries_of_a_clock_that_is_ahead_by_minutes_still_count(eve, dan, settings):
    with at(timedelta(minutes=10)):
        assert [sign_in(dan, "wrong") for _ in range(settings.AXES_FAILURE_LIMIT)][-1] == 429
    with at(timedelta()):
        assert sign_in(dan) == 429


def test_an_address_does_not_wait_for_days(eve, dan, monkeypatch):
    monkeypatch.setattr(sign_in_rules, "MAX_WRONG_PASSWORDS", 5)
    with at(AHEAD):
        assert [sign_in(dan, "wrong", name=f"n{number}") for number in range(5)] == [200] * 5
        assert sign_in(dan) == 429
    with at(timedelta()):
        assert sign_in(dan) == 302


@pytest.mark.parametrize(
    ("ahead", "status"), [(ACTIVITY_INTERVAL, 200), (ACTIVITY_INTERVAL + timedelta(seconds=1), 302), (AHEAD, 302)]
)
def test_a_session_that_began_in_the_future_is_over(eve, ahead, status):
    client = Client()
    with at(ahead):
        assert (sign_in(client), client.get("/catalogue/").status_code) == (302, 200)
    with at(timedelta()):
        assert client.get("/catalogue/").status_code == status


def test_a_session_that_was_used_in_the_future_is_over(eve):
    client = Client()
    with at(timedelta()):
        sign_in(client)
    with at(MAX_AGE / 4):
        assert client.get("/catalogue/").status_code == 200
    with at(timedelta(minutes=1)):
        assert client.get("/catalogue/").status_code == 302
