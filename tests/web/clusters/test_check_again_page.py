"""A cluster's page asks the check of the next task alone, and shows its answer below the task."""

from datetime import timedelta

import pytest

from tests.builders.rows import NOW, a_cluster, a_scan, a_snapshot
from tests.web.pages import text

pytestmark = pytest.mark.django_db


@pytest.fixture
def shop(db):
    return a_cluster("shop")


def page_of(client, cluster, tab="", **query):
    return client.get(f"/clusters/{cluster.pk}/{tab}", query)


def asked_alone(cluster, *, check="legacy_provisioners_gone", minutes=5, **told):
    answer = {"check": check, "hop": "0.32", "status": "fail", "summary": "1 Provisioner is left", "evidence_total": 1}
    answer |= {"evidence_exact": True, "parts": 9, "parts_total": 37} | told
    at = NOW + timedelta(minutes=minutes)
    return a_scan(cluster, state="done", finished_at=at, only_check=check, check_answer=answer, requested_by="ada")


def test_the_next_thing_is_checked_alone_or_in_a_whole_scan(ada, shop):
    a_snapshot(shop)
    html = page_of(ada, shop).content.decode()
    assert html.count('name="check" value="legacy_provisioners_gone"') == 1
    assert text(page_of(ada, shop)).count("Scan the whole cluster") == 1
    assert 'name="check"' not in page_of(ada, shop, "iam").content.decode()


@pytest.mark.parametrize(
    ("status", "words"),
    [("fail", "still failing. 1 Provisioner is left."), ("unknown", "still unknown. 1 Provisioner is left.")],
)
def test_what_it_said_alone_stands_below_the_next_thing(ada, shop, status, words):
    a_snapshot(shop)
    asked_alone(shop, status=status)
    told = text(page_of(ada, shop))
    assert words in told
    assert "Checked again" in told
    assert "Only what this check needs was read, 9 of 37 data sources. The rest of this page is from the scan" in told


@pytest.mark.parametrize(
    "other", [{"check": "crds_installed"}, {"minutes": -5}, {"parts": "many"}], ids=["check", "older", "shape"]
)
def test_an_answer_to_something_else_does_not(ada, shop, other):
    a_snapshot(shop)
    asked_alone(shop, **other)
    assert "Checked again" not in text(page_of(ada, shop))


def test_an_answer_does_not_stand_at_an_older_snapshot(ada, shop):
    old = a_snapshot(shop)
    a_snapshot(shop)
    asked_alone(shop)
    assert "Checked again" in text(page_of(ada, shop))
    assert "Checked again" not in text(page_of(ada, shop, at=str(old.pk)))


def test_a_page_of_the_past_or_of_a_plan_asks_for_the_whole(ada, shop):
    old = a_snapshot(shop)
    a_snapshot(shop)
    assert 'name="check"' in page_of(ada, shop).content.decode()
    for query in ({"at": str(old.pk)}, {"kubernetes": "1.29"}):
        html = page_of(ada, shop, **query).content.decode()
        assert ("check again" in html, 'name="check"' in html) == (True, False)


def test_while_it_is_asked_alone_the_page_says_so(ada, shop):
    a_snapshot(shop)
    a_scan(shop, only_check="legacy_provisioners_gone")
    assert "Checking again." in text(page_of(ada, shop))
