"""Many watch one run: its live part is drawn and compressed once for all, and rights are looked at each time."""

import gzip

import pytest
from django.contrib.auth.models import User
from django.test import Client

from migrations_app.web.rollouts import page, rollout_polling
from tests.builders.rollouts import a_line, a_picture, a_rollout

BACKEND = "django.contrib.auth.backends.ModelBackend"


@pytest.fixture
def run(shop):
    rollout_polling._DRAWN.clear()
    return a_rollout(shop, state="running", picture=a_picture())


@pytest.fixture
def drawings(monkeypatch):
    """The runs that were drawn, in order."""
    found = []
    draw = page._parts
    monkeypatch.setattr(page, "_parts", lambda request, run: found.append(run) or draw(request, run))
    return found


def address(row):
    return f"/rollouts/{row.pk}/live"


def another(user):
    """A second browser of the same person."""
    client = Client()
    client.force_login(user, backend=BACKEND)
    return client


def test_a_part_is_drawn_once_for_all_who_watch(ada, run, drawings):
    other = another(User.objects.get(username="ada"))
    first = ada.get(address(run))
    assert other.get(address(run)).content == first.content
    packed = ada.get(address(run), headers={"Accept-Encoding": "gzip"})
    assert gzip.decompress(packed.content) == first.content
    assert (packed["Content-Encoding"], packed["Vary"]) == ("gzip", "Accept-Encoding, Cookie")
    assert drawings == [run.pk]


def test_what_has_not_changed_is_not_drawn_and_what_has_is(ada, run, drawings):
    first = ada.get(address(run))
    same = ada.get(address(run), headers={"If-None-Match": f"W/{first['ETag']}"})
    assert (same.status_code, same.content, same["ETag"]) == (304, b"", first["ETag"])
    a_line(run)
    moved = ada.get(address(run), headers={"If-None-Match": first["ETag"]})
    assert (moved.status_code, moved["ETag"] != first["ETag"]) == (200, True)
    assert drawings == [run.pk, run.pk]


def test_a_closed_account_is_out_at_once(ada, run):
    assert ada.get(address(run)).status_code == 200
    User.objects.filter(username="ada").update(is_active=False)
    assert ada.get(address(run)).status_code == 302


def test_a_right_that_was_taken_back_ends_the_watching_at_once(ada, run):
    assert ada.get(address(run)).status_code == 200
    row = User.objects.get(username="ada")
    row.user_permissions.clear()
    row.grants.all().delete()
    assert ada.get(address(run)).status_code in (403, 404)


def test_a_stranger_is_never_let_in_by_what_others_watch(ada, run, django_user_model):
    ada.get(address(run))
    nobody = another(django_user_model.objects.create_user("nobody"))
    assert [nobody.get(address(run)).status_code for _ in range(2)] == [404, 404]
    assert Client().get(address(run)).status_code == 302
