"""Many who watch one run are answered without the database; who may not watch any more is out after ten seconds."""

import gzip

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from migrations_app.web.rollouts import watching
from tests.builders_rollouts import a_line, a_picture, a_rollout

BACKEND = "django.contrib.auth.backends.ModelBackend"


@pytest.fixture
def clock(monkeypatch):
    """A clock that stands still until it is moved."""
    now = [1000.0]
    monkeypatch.setattr(watching.time, "monotonic", lambda: now[0])
    watching._WATCHERS.clear()
    watching._READINGS.clear()

    def pass_by(seconds):
        now[0] += seconds

    return pass_by


@pytest.fixture
def run(shop):
    return a_rollout(shop, state="running", picture=a_picture())


def address(row):
    return f"/rollouts/{row.pk}/live"


def another(user):
    """A second browser of the same person."""
    client = Client()
    client.force_login(user, backend=BACKEND)
    return client


def queries(client, url, **headers):
    with CaptureQueriesContext(connection) as asked:
        answer = client.get(url, headers=headers)
    return answer, len(asked)


def test_who_was_let_in_shares_the_reading_of_another(ada, run, clock):
    other = another(User.objects.get(username="ada"))
    first = ada.get(address(run))
    clock(0.1)
    other.get(address(run))
    clock(3)
    other.get(address(run), headers={"If-None-Match": first["ETag"]})
    clock(0.5)
    again, asked = queries(ada, address(run), if_none_match=first["ETag"])
    assert (again.status_code, again.content, asked) == (304, b"", 0)
    assert again["X-Rollout-Version"] == first["X-Rollout-Version"]


def test_a_part_that_moved_is_told_without_drawing_it_again(ada, run, clock):
    other = another(User.objects.get(username="ada"))
    for one in (ada, other):
        one.get(address(run))
    a_line(run)
    clock(2)
    drawn = other.get(address(run))
    clock(0.5)
    same, asked = queries(ada, address(run))
    assert (same.status_code, same.content, asked) == (200, drawn.content, 0)
    packed = ada.get(address(run), headers={"Accept-Encoding": "gzip"})
    assert gzip.decompress(packed.content) == drawn.content
    assert (packed["Content-Encoding"], packed["Vary"]) == ("gzip", "Accept-Encoding")


def test_nobody_is_answered_from_one_reading_twice(ada, run, clock):
    first = ada.get(address(run))
    a_line(run)
    clock(0.1)
    moved = ada.get(address(run), headers={"If-None-Match": first["ETag"]})
    assert (moved.status_code, moved["ETag"] != first["ETag"]) == (200, True)


@pytest.mark.parametrize(("seconds", "status"), [(9, 200), (10, 302)])
def test_a_session_that_ended_is_out_after_ten_seconds(ada, run, clock, seconds, status):
    ada.get(address(run))
    User.objects.filter(username="ada").update(is_active=False)
    clock(seconds)
    assert ada.get(address(run)).status_code == status
    assert ada.get(f"/rollouts/{run.pk}/").status_code == 302


def test_a_right_that_was_taken_back_ends_the_watching(ada, run, clock):
    ada.get(address(run))
    ada_row = User.objects.get(username="ada")
    ada_row.is_superuser = False
    ada_row.save()
    ada_row.user_permissions.clear()
    ada_row.groups.clear()
    clock(10)
    assert ada.get(address(run)).status_code in (403, 404)


def test_a_stranger_is_never_let_in_by_what_others_watch(ada, run, clock, django_user_model):
    ada.get(address(run))
    nobody = another(django_user_model.objects.create_user("nobody"))
    assert [nobody.get(address(run)).status_code for _ in range(2)] == [404, 404]
    assert Client().get(address(run)).status_code == 302
    assert len(watching._WATCHERS) == 1


def test_a_run_that_is_gone_is_gone_for_its_watchers(ada, run, clock):
    ada.get(address(run))
    run.delete()
    clock(2)
    assert ada.get(address(run)).status_code == 404


def test_watchers_and_readings_do_not_grow_without_end(ada, run, clock, monkeypatch):
    monkeypatch.setattr(watching, "MOST_WATCHERS", 2)
    person = User.objects.get(username="ada")
    for _ in range(4):
        another(person).get(address(run))
    assert len(watching._WATCHERS) == 2
    clock(20)
    another(person).get(address(run))
    assert len(watching._WATCHERS) == 1
