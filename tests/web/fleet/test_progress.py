"""Each row of the fleet says how far its cluster is on the way to v1, and which rollout it is busy with."""

import html
import re
from datetime import timedelta

import pytest
from django.contrib.auth import get_user_model

from migrations_app.checks.registry import all_checks
from migrations_app.models.scan import LegacyDay
from migrations_app.queries.fleet.progress import done_by_cluster
from migrations_app.readiness.progress.curve import COLUMNS
from migrations_app.readiness.progress.done_percent import DonePercent
from migrations_app.use_cases.clusters import groups, labels
from tests.builders.rollouts import a_rollout
from tests.builders.rows import NOW, a_cluster, a_report, a_snapshot
from tests.web.pages import links, rows, text

pytestmark = pytest.mark.django_db
TODAY = NOW.date()
HALF = {"machines": 10, "objects_total": 20, "stored_versions": 3, "stored_versions_total": 3}


def counted(name, *, days_ago=0, environment="", **columns):
    cluster = a_cluster(name, environment=environment)
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


def test_a_bar_of_what_was_not_all_read_is_hatched(ada):
    """A full bar in the colour of what is done, for a cluster of which next to nothing could be read."""
    counted("dark", machines=None)
    counted("read")
    bars = re.findall(r'<progress\s+class="([^"]*)"', ada.get("/").content.decode())
    assert bars == ["row-done is-at-most", "row-done"]
    assert 'class="is-at-most"' in ada.get("/burndown").content.decode()


def test_a_row_has_the_number_of_the_progress_page(ada):
    shop = counted("shop")
    row = rows(ada.get("/"))[0]
    percent = re.search(r"(\d+) %", row)[1]
    assert percent == "25"
    assert f"Done: {percent} %" in text(ada.get(f"/burndown?cluster={shop.pk}"))
    assert 'aria-label="Progress of shop to v1"' in ada.get("/").content.decode()


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


def line_of(client, query=""):
    """The line that the fleet page loads into its head, and the address that it is loaded from."""
    page = client.get(f"/{query}")
    found = re.search(r'hx-get="(/burndown/line[^"]*)"', page.content.decode())
    return text(client.get(html.unescape(found[1]))), html.unescape(found[1])


def test_the_head_counts_who_is_on_v1_and_says_what_is_unknown(ada):
    for name, stage in (("old", "alpha"), ("new", "v1"), ("none", "no_karpenter"), ("odd", "unknown")):
        a_snapshot(a_cluster(name), a_report(name), stage=stage)
    a_cluster("fresh")
    assert "1 of 4 clusters are on v1, 2 unknown. Progress and projected end" in text(ada.get("/"))
    assert "0 of 1 cluster is on v1. Progress of the whole fleet" in text(ada.get("/?q=old"))


def test_the_line_says_how_many_clusters_have_no_karpenter(ada):
    for name, stage in (("old", "alpha"), ("new", "v1"), ("none", "no_karpenter")):
        a_snapshot(a_cluster(name), a_report(name), stage=stage)
    assert "1 of 2 clusters are on v1." in text(ada.get("/"))
    told = "in 3 clusters, 1 of them without Karpenter."
    assert (told in line_of(ada)[0], told in text(ada.get("/burndown"))) == (True, True)


def test_the_line_says_what_the_progress_page_says(ada):
    shop = a_cluster("shop", environment="prod")
    for days_ago in range(21):
        day(shop, days_ago=days_ago, machines=5 + days_ago // 2, stored_versions=0)
    told, _ = line_of(ada)
    assert told == (
        "Done: 87 % of the way from v1alpha5 to v1, in 1 cluster. "
        "At the pace of the last four weeks it ends: 1 Dec 2026 . Progress by day"
    )
    assert told.removesuffix(" Progress by day") in text(ada.get("/burndown"))


def test_the_line_says_what_is_not_known(ada):
    a_cluster("fresh")
    unknown = "How much of the way from v1alpha5 to v1 is done is not known, in 1 cluster. No projected end: not every"
    assert unknown in line_of(ada)[0]
    counted("shop", machines=None)
    assert "Done: at most 49 %" in line_of(ada)[0]
    assert "No projected end yet: needs 3 more days with a whole scan" in line_of(ada)[0]


def test_the_line_is_of_the_clusters_that_the_filters_leave(ada):
    shop = counted("shop", machines=0, stored_versions=0)
    counted("other")
    group = groups.create_group("mine")
    groups.add_to_group(group, [shop.pk])
    labels.set_labels(shop.pk, {"team": "shop"})
    type(shop).objects.filter(pk=shop.pk).update(environment="prod")
    for query in (f"?group={group}", "?label=team:shop", "?environment=prod", f"?environment=prod&group={group}"):
        told, address = line_of(ada, query)
        assert told.startswith("Done: 100 % of the way from v1alpha5 to v1, in 1 cluster.")
        assert address.replace("/line", "") in [html.unescape(link) for link in links(ada.get(address))]
    assert line_of(ada)[0].startswith("Done: 62 % of the way from v1alpha5 to v1, in 2 clusters.")


@pytest.mark.parametrize("query", ["q=shop", "check=provisioners_gone", "environment=sample", "environment=a,b"])
def test_no_line_where_the_progress_page_cannot_tell_the_clusters_apart(ada, query):
    for environment in ("", "sample", "a,b"):
        counted(f"shop{environment}"[:6], environment=environment)
    page = ada.get(f"/?{query.replace('provisioners_gone', all_checks()[0].id)}")
    assert b"/burndown/line" not in page.content


def test_who_sees_no_cluster_reads_of_none(client, db):
    counted("shop")
    vic = get_user_model().objects.create_user("vic")
    client.force_login(vic, backend="django.contrib.auth.backends.ModelBackend")
    assert "in 0 clusters" in text(client.get("/burndown/line"))
