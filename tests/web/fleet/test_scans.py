"""A scan of the whole fleet is asked for by those who may, and everybody may see how far it is."""

import uuid
from datetime import timedelta

import pytest
from django.urls import reverse

from migrations_app.models.scan import FleetScan, Scan
from migrations_app.use_cases.scans import fleet_scan
from tests.builders.rows import NOW, a_cluster
from tests.web.pages import links, rows, text

pytestmark = pytest.mark.django_db
ALL = "/fleet/scans"


@pytest.fixture
def woken_fleet(monkeypatch):
    asked = []
    monkeypatch.setattr("migrations_app.web.fleet.scans.enqueue_fleet_scan", lambda key: asked.append(key) or True)
    return asked


def begun(*names):
    for name in names:
        a_cluster(name)
    key = fleet_scan.request_fleet_scan(by="ada").id
    list(fleet_scan.begin(key))
    return key, reverse("fleet-scan", args=[key])


def test_cleo_scans_the_whole_fleet(cleo, woken_fleet, django_capture_on_commit_callbacks):
    a_cluster("shop")
    with django_capture_on_commit_callbacks(execute=True):
        answer = cleo.post(ALL)
    row = FleetScan.objects.get()
    assert (answer.url, woken_fleet, row.requested_by) == (reverse("fleet"), [row.pk], "cleo")
    page = cleo.get("/")
    assert (reverse("fleet-scan", args=[row.pk]) in links(page), "Fleet scan running" in text(page)) == (True, True)


def test_the_second_one_is_led_to_the_first(cleo, woken_fleet):
    _, page = begun("shop")
    answer = cleo.post(ALL, follow=True)
    assert (answer.redirect_chain[0][0], page in links(answer), woken_fleet) == ("/", True, [])
    assert "already under way" in text(answer)


@pytest.mark.parametrize(("name", "status"), [("ben", 403), ("dan", 302)])
def test_others_do_not(request, name, status):
    person = request.getfixturevalue(name)
    assert (person.post(ALL).status_code, FleetScan.objects.count()) == (status, 0)


def test_nothing_happens_on_get(ada):
    assert (ada.get(ALL).status_code, FleetScan.objects.count()) == (405, 0)


def test_a_full_disk_is_said(ada, monkeypatch):
    monkeypatch.setattr(
        "migrations_app.use_cases.runtime.disk_space.why_full", lambda: "the disk of the database has 3 MiB left"
    )
    answer = ada.post(ALL, follow=True)
    assert (answer.redirect_chain[0][0], FleetScan.objects.count()) == ("/", 0)
    assert "The disk of the database has 3 MiB left." in text(answer)


def test_the_fleet_page_offers_it_and_then_leads_to_it(ada, ben):
    a_cluster("shop")
    assert ("Scan all now" in text(ada.get("/")), "Scan all now" in text(ben.get("/"))) == (True, False)
    _, page = begun("other")
    assert (page in links(ben.get("/")), "Scan all now" in text(ada.get("/"))) == (True, False)


def test_the_page_says_how_many_which_are_slow_and_which_failed(ben):
    _, page = begun("done", "slow", "lost", "waits")
    of = {scan.cluster.name: scan.pk for scan in Scan.objects.select_related("cluster")}
    Scan.objects.filter(pk=of["done"]).update(state="done")
    Scan.objects.filter(pk=of["lost"]).update(state="failed", error_code="timeout", error_detail="no <answer>")
    progress = {"parts_done": 3, "parts_total": 27}
    Scan.objects.filter(pk=of["slow"]).update(state="running", started_at=NOW - timedelta(minutes=9), progress=progress)
    answer = ben.get(page)
    words = text(answer)
    assert "2 of 4 clusters" in words
    assert "1 scanned · 1 failed · 1 running · 1 waiting" in words
    assert ("slow" in rows(answer)[0], "3 of 27" in rows(answer)[0]) == (True, True)
    assert ("lost" in rows(answer)[1], "no <answer>" in rows(answer)[1], b"<answer>" in answer.content) == (
        True,
        True,
        False,
    )
    assert f'hx-get="{page}"' in answer.content.decode()
    alone = ben.get(page, headers={"HX-Request": "true"}).content.decode()
    assert ("<html" in alone, "2 of 4 clusters" in alone) == (False, True)


def test_one_that_is_over_asks_no_more(ben):
    _, page = begun("shop")
    Scan.objects.update(state="done")
    fleet_scan.close_ended()
    answer = ben.get(page)
    assert ("Done: 1 cluster" in text(answer), "data-polls" in answer.content.decode()) == (True, False)


def test_one_that_is_not_there(ben):
    assert ben.get(reverse("fleet-scan", args=[uuid.UUID(int=5)])).status_code == 404


@pytest.mark.parametrize("size", [1, 12])
def test_the_number_of_queries_does_not_grow(ben, size, django_assert_num_queries):
    _, page = begun(*(f"c{number}" for number in range(size)))
    Scan.objects.update(state="failed", error_code="timeout")
    # the last one: rollouts in progress
    with django_assert_num_queries(12):
        assert ben.get(page).status_code == 200
