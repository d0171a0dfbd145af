"""Scan, rename and forget: each with its effect, each refused where it must be."""

import pytest

from migrations_app.models.cluster import Cluster
from migrations_app.models.scan import Scan, Snapshot
from migrations_app.web.clusters.register import start_scan
from tests.builders.rows import NOW, a_cluster, a_scan, a_snapshot
from tests.web.pages import text

pytestmark = pytest.mark.django_db


@pytest.fixture
def shop(db):
    return a_cluster("shop", environment="prod", target="1.0")


def change(client, cluster, **said):
    fields = {"name": "shop", "environment": "prod", "target": "1.0", "version": cluster.version} | said
    return client.post(f"/clusters/{cluster.pk}/change", fields)


def test_scan_now_queues_one_and_wakes_a_worker(cleo, shop, woken, django_capture_on_commit_callbacks):
    with django_capture_on_commit_callbacks(execute=True):
        answer = cleo.post(f"/clusters/{shop.pk}/scan")
    row = Scan.objects.get()
    assert (answer.url, row.state, row.requested_by) == (f"/clusters/{shop.pk}/", "queued", "cleo")
    assert woken == [row.pk]


def test_one_check_is_asked_again_alone(cleo, shop, woken, django_capture_on_commit_callbacks):
    with django_capture_on_commit_callbacks(execute=True):
        cleo.post(f"/clusters/{shop.pk}/scan", {"check": "legacy_provisioners_gone"})
    assert (Scan.objects.get().only_check, len(woken)) == ("legacy_provisioners_gone", 1)


def test_for_a_check_that_is_not_asked_any_more_all_is_read(cleo, shop, woken):
    cleo.post(f"/clusters/{shop.pk}/scan", {"check": "x' or 1"})
    assert Scan.objects.get().only_check == ""


def test_a_scan_under_way_is_not_doubled(ada, shop, woken):
    a_scan(shop)
    answer = ada.post(f"/clusters/{shop.pk}/scan", follow=True)
    assert Scan.objects.count() == 1
    assert "A scan of this cluster was already under way." in text(answer)


def test_change_name_environment_and_target(ada, shop):
    answer = change(ada, shop, name="shop-eu", environment="staging", target="")
    shop.refresh_from_db()
    assert (answer.url, shop.name, shop.environment, shop.target) == (f"/clusters/{shop.pk}/", "shop-eu", "staging", "")
    assert "The change is saved." in text(ada.get(answer.url))


@pytest.mark.parametrize(("minutes", "seconds"), [("5", 300), ("10080", 604_800), ("", None)])
def test_change_the_interval(ada, shop, minutes, seconds):
    Cluster.objects.update(interval_seconds=900)
    assert 'value="15"' in ada.get(f"/clusters/{shop.pk}/change").content.decode()
    change(ada, shop, interval=minutes)
    shop.refresh_from_db()
    due = (shop.next_due_at - NOW).total_seconds() / (seconds or 3600)
    assert (shop.interval_seconds, 0.5 <= due <= 1.5) == (seconds, True)


@pytest.mark.parametrize("minutes", ["0", "-5", "10081", "often"])
def test_an_interval_that_is_none(ada, shop, minutes):
    assert change(ada, shop, interval=minutes).status_code == 422
    assert Cluster.objects.get().interval_seconds is None


def test_a_full_disk_is_said_and_a_new_cluster_waits_for_room(ada, shop, woken, monkeypatch):  # R25
    monkeypatch.setattr(
        "migrations_app.use_cases.runtime.disk_space.why_full", lambda: "the disk of the database has 3 MiB left"
    )
    answer = ada.post(f"/clusters/{shop.pk}/scan", follow=True)
    assert ("The disk of the database has 3 MiB left." in text(answer), Scan.objects.count()) == (True, 0)
    assert start_scan(shop.pk, by="ada", waits=True)
    assert Scan.objects.get().state == "queued"


def test_the_form_shows_what_is(ada, shop):
    html = ada.get(f"/clusters/{shop.pk}/change").content.decode()
    assert [f'value="{word}"' in html for word in ("shop", "prod", "1.0")] == [True] * 3


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ({"name": ""}, "This field is required."),
        ({"name": "other"}, "There is a cluster named other."),
        ({"target": "7.7"}, "7.7"),
        ({"version": 99}, "The cluster was changed meanwhile."),
        ({"version": ""}, "This field is required."),
    ],
)
def test_refused_changes_change_nothing(ada, shop, said, words):
    a_cluster("other")
    answer = change(ada, shop, **said)
    shop.refresh_from_db()
    assert (answer.status_code, shop.name, shop.target) == (422, "shop", "1.0")
    assert words in text(answer)


@pytest.mark.parametrize("typed", ["", "Shop", " shop", "shop ", "shop2"])
def test_a_wrong_name_removes_nothing(ada, shop, typed):
    answer = ada.post(f"/clusters/{shop.pk}/remove", {"name": typed})
    assert (answer.status_code, Cluster.objects.count()) == (422, 1)


def test_the_typed_name_removes_all_of_it(ada, shop):
    a_snapshot(shop)
    a_scan(shop)
    page = ada.get(f"/clusters/{shop.pk}/remove")
    assert "its credentials, 1 snapshot and every scan" in text(page)
    answer = ada.post(f"/clusters/{shop.pk}/remove", {"name": "shop"}, follow=True)
    assert (Cluster.objects.count(), Snapshot.objects.count(), Scan.objects.count()) == (0, 0, 0)
    assert "shop is removed from karpdash." in text(answer)


def test_a_look_at_the_form_removes_nothing(ada, shop):
    ada.get(f"/clusters/{shop.pk}/remove", {"name": "shop"})
    assert Cluster.objects.count() == 1
