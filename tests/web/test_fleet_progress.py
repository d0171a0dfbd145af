"""Each row of the fleet says how far its cluster is on the way to v1, and which rollout it is busy with."""

import re
from datetime import timedelta

import pytest

from migrations_app.models.scan import LegacyDay
from migrations_app.queries.fleet.progress import done_by_cluster
from migrations_app.readiness.progress.curve import COLUMNS
from migrations_app.readiness.progress.share import DonePercent
from tests.builders_rollouts import a_rollout
from tests.builders_rows import NOW, a_cluster, a_report, a_snapshot
from tests.web.pages import links, rows, text

pytestmark = pytest.mark.django_db
TODAY = NOW.date()
HALF = {"machines": 10, "objects_total": 20, "stored_versions": 3, "stored_versions_total": 3}


def counted(name, *, days_ago=0, **columns):
    cluster = a_cluster(name)
    a_snapshot(cluster, a_report(name))
    day(cluster, days_ago=days_ago, **columns)
    return cluster


def day(cluster, *, days_ago=0, **columns):
    counts = dict.fromkeys(COLUMNS, 0) | HALF | columns
    LegacyDay.objects.create(cluster=cluster, day=TODAY - timedelta(days=days_ago), **counts)


def test_the_newest_day_counts_and_nothing_is_made_up():
    shop, fresh = counted("shop", days_ago=3), a_cluster("fresh")
    day(shop, days_ago=1, machines=0)
    assert done_by_cluster([shop.pk, fresh.pk], today=TODAY) == {shop.pk: DonePercent(percent=50, bound="exact")}


def test_what_the_last_scan_could_not_read_is_as_it_was_read_before():
    shop = counted("shop", days_ago=2, machines=5)
    day(shop, machines=None, objects_total=None)
    assert done_by_cluster([shop.pk], today=TODAY) == {shop.pk: DonePercent(percent=37, bound="exact")}


def test_what_was_never_read_makes_an_upper_bound():
    shop = counted("shop", machines=None)
    assert done_by_cluster([shop.pk], today=TODAY)[shop.pk].bound == "at_most"


def test_two_queries_at_most(django_assert_num_queries):
    keys = [counted(f"c{number}", machines=None if number % 2 else 1).pk for number in range(6)]
    with django_assert_num_queries(2):
        done_by_cluster(keys, today=TODAY)


def test_a_row_has_the_number_of_the_progress_page(ada):
    shop = counted("shop")
    row = rows(ada.get("/"))[0]
    percent = re.search(r"(\d+) %", row)[1]
    assert percent == "25"
    assert f"Done: {percent} %" in text(ada.get(f"/burndown?cluster={shop.pk}"))
    assert 'aria-label="Way of shop to v1"' in ada.get("/").content.decode()


def test_a_row_that_was_never_counted_draws_nothing(ada):
    a_snapshot(a_cluster("old"), a_report("old"))
    assert "row-done" not in ada.get("/").content.decode()
    assert "27 legacy left" in rows(ada.get("/"))[0]


@pytest.mark.parametrize("state", ["running", "paused", "needs_attention"])
def test_a_row_leads_to_its_rollout_in_progress(ada, state):
    shop = counted("shop")
    a_rollout(shop, state="awaiting_approval", title="Convert")
    row = a_rollout(shop, state=state, title="Roll nodes")
    page = ada.get("/")
    assert "Roll nodes" in rows(page)[0]
    assert "Open rollout : shop" in rows(page)[0]
    assert "Convert" not in rows(page)[0]
    assert f"/rollouts/{row.pk}/" in links(page)


def test_a_row_tells_of_a_plan_that_waits_and_keeps_its_own_action(ada):
    shop, other = counted("shop"), counted("other")
    a_rollout(shop, state="awaiting_approval", title="Convert")
    a_rollout(other, state="succeeded", title="Roll nodes")
    waiting, quiet = sorted(rows(ada.get("/")), key=lambda row: "Convert" not in row)
    assert ("Waiting for approval" in waiting, "Open rollout" in waiting) == (True, False)
    assert "Roll nodes" not in quiet
