"""The fleet page says what each cluster waits for, and keeps every filter in its address."""

import csv
import re
from datetime import timedelta

import pytest
from django.contrib.auth import get_user_model

from migrations_app.models.scan import Scan
from migrations_app.queries.fleet import clusters
from migrations_app.web.fleet.page import COLUMNS
from tests.builders.journeys import a_journey
from tests.builders.rollouts import a_rollout
from tests.builders.rows import NOW, a_cluster, a_failure, a_finding, a_report, a_scan, a_snapshot
from tests.web.pages import links, rows, tags, text

pytestmark = pytest.mark.django_db


def scanned(name, **columns):
    cluster = a_cluster(name, environment=columns.pop("environment", ""))
    a_snapshot(cluster, a_report(name), **columns)
    return cluster


def test_an_empty_fleet_tells_how_to_begin(ada):
    page = ada.get("/")
    assert "No cluster yet" in text(page)
    assert "/clusters/new" in links(page)


def test_an_empty_fleet_for_somebody_who_may_only_look(ben):
    page = ben.get("/")
    assert "You cannot register clusters" in text(page)
    assert "/clusters/new" not in links(page)


def test_who_has_no_role_is_told_so_and_not_to_register(client, db):
    vic = get_user_model().objects.create_user("vic")
    client.force_login(vic, backend="django.contrib.auth.backends.ModelBackend")
    words = text(client.get("/"))
    assert ("No role yet" in words, "Register the first one" in words) == (True, False)


def test_groups_by_what_they_wait_for(ada):
    scanned("shop", verdict="blocked", environment="production")
    a_cluster("fresh")
    a_failure(scanned("gone", verdict="ready"))
    words = text(ada.get("/"))
    places = [words.index(one) for one in ("Blocked 1 blocked for", "Unreachable 1 did not", "Never scanned 1 waiting")]
    assert places == sorted(places)
    assert "Karpenter can be upgraded today on 0 of 3 clusters" in words
    assert "1 blocked 2 need access at least 54 legacy objects" in words


def test_a_cluster_that_never_answered_has_no_last_result_and_no_count(ada):
    a_failure(a_cluster("dead"))
    page = ada.get("/")
    assert "It has never answered, so nothing is known about it" in rows(page)[0]
    assert ("at least 0" in text(page), "legacy objects and nodes: not known of every cluster" in text(page)) == (
        False, True,
    )  # fmt: skip
    a_failure(scanned("gone", verdict="ready", legacy_left=0))
    assert "0 legacy objects" not in text(ada.get("/"))


def test_a_row_has_a_cell_under_each_heading(ada):
    scanned("shop", verdict="ready")
    table = ada.get("/").content.decode().partition("<table")[2].partition("</table>")[0]
    row = table.partition("data-row")[2].partition("</tr>")[0]
    headings, cells = table.count('role="columnheader"'), row.count('role="rowheader"') + row.count('role="cell"')
    assert (headings, cells) == (len(COLUMNS) + 1, len(COLUMNS) + 1)


def test_a_result_that_is_out_of_date_is_no_advice_to_upgrade_today(ada):
    scanned("old", verdict="ready", at=NOW - timedelta(days=3))
    scanned("new", verdict="ready_with_warnings")
    page = ada.get("/")
    assert "upgraded today on 2 of 2 clusters 1 of them by a scan that is out of date" in text(page)
    assert [("Scan again" in row, "Open runbook" in row) for row in rows(page)] == [(True, False), (False, True)]
    assert "out of date" not in text(ada.get("/?q=new"))


def test_a_cluster_in_an_upgrade_step_by_step_leads_there(ada):
    """It is ready, but whoever upgrades it by hand does what the upgrade in progress is about to do."""
    journey = a_journey(scanned("shop", verdict="ready"), state="paused")
    page = ada.get("/")
    row = rows(page)[0]
    assert ("Paused Upgrade to 1.0.14" in row, "Open upgrade" in row, "Open runbook" in row) == (True, True, False)
    assert f"/journeys/{journey.pk}/" in links(page)


def test_the_rollout_of_an_upgrade_step_by_step_comes_before_it(ada):
    shop = scanned("shop", verdict="ready")
    a_journey(shop, state="running")
    row = a_rollout(shop, state="running")
    a_rollout(shop, state="awaiting_approval")
    assert f"/rollouts/{row.pk}/" in links(ada.get("/"))
    assert "Open rollout" in rows(ada.get("/"))[0]


def test_a_row_holds_every_column(ada):
    cluster = scanned("shop", verdict="blocked", environment="production")
    page = ada.get("/")
    row = rows(page)[0]
    blocked = "2 objects keep legacy provisioners gone from being true"
    seen = ("shop", "production", "Alpha", "0.30.0", "1.27.16", blocked, "27", "2 unknown or to verify")
    for word in (*seen, "Fix next blocker"):
        assert word in row
    assert f"/clusters/{cluster.pk}/" in links(page)


@pytest.mark.parametrize(
    ("columns", "word"),
    [
        ({"complete": False}, "partial"),
        ({"at": NOW - timedelta(days=400)}, "stale"),
        ({"legacy_left": None}, "not read"),
        ({"karpenter_version": ""}, "undetermined"),
        ({"stage": "no_karpenter", "verdict": ""}, "No Karpenter"),
    ],
)
def test_states_of_a_row(ada, columns, word):
    scanned("shop", **columns)
    assert word in rows(ada.get("/"))[0]


@pytest.mark.parametrize(
    ("columns", "failed", "words"),
    [
        ({"complete": False}, False, ["partial"]),
        ({"complete": False, "at": NOW - timedelta(days=400)}, False, ["stale", "partial"]),
        ({"complete": False}, True, ["last 3 scans failed", "partial"]),
        ({"at": NOW - timedelta(days=400)}, True, ["last 3 scans failed", "stale"]),
        ({"complete": False, "at": NOW - timedelta(days=400)}, True, ["last 3 scans failed", "stale", "partial"]),
        ({}, False, []),
    ],
)
def test_what_limits_a_result_is_said_on_a_phone_too(ada, columns, failed, words):
    """A phone hides the column of the last scan; neither failures nor age hide that a result is partial."""
    cluster = scanned("shop", **columns)
    if failed:
        a_failure(cluster)
    html = ada.get("/").content.decode()
    card = re.search(r'<span class="under only-cards">(.*?)</th>', html, re.DOTALL).group(1)
    column = re.search(r'(?s)<td role="cell" class="hide-cards">(.*?)</td>', html).group(1)
    marks = [
        [" ".join(mark.split()) for mark in re.findall(r'(?s)class="tone">(.*?)</span>', part)]
        for part in (card, column)
    ]
    assert marks == [words, words]


@pytest.mark.parametrize(("state", "word"), [("queued", "queued"), ("running", "scanning")])
def test_a_scan_under_way_shows(ada, state, word):
    a_scan(a_cluster("shop"), state=state)
    assert word in rows(ada.get("/"))[0]


def test_filters_stay_in_the_address(ada):
    scanned("shop", verdict="blocked", environment="prod")
    page = ada.get("/?q=sh&environment=prod&bucket=blocked&sort=legacy")
    assert len(rows(page)) == 1
    assert "?q=sh&environment=prod&sort=legacy&tab=blocked" in links(page)
    assert "?q=sh&environment=prod&bucket=blocked&sort=name" in links(page)
    assert 'value="sh"' in page.content.decode()
    assert 'name="bucket" value="blocked"' in tags(page)


def test_the_sorted_column_says_so_and_turns(ada):
    scanned("shop")
    html = ada.get("/?sort=blockers&desc=1").content.decode()
    assert html.count("aria-sort") == 1
    assert 'aria-sort="descending"' in html
    assert "?sort=blockers" in links(ada.get("/?sort=blockers&desc=1"))
    assert "?sort=blockers&desc=1" in links(ada.get("/"))


@pytest.mark.parametrize(
    "query", ["bucket=nope", "tab=nope", "stage=x", "sort=password", "cursor=%00", "view=odd", "desc=9"]
)
def test_words_that_are_none_of_ours_ask_for_nothing(ada, query):
    scanned("shop")
    assert len(rows(ada.get(f"/?{query}"))) == 1


@pytest.mark.parametrize(
    ("query", "told"),
    [
        ("bucket=nope", "bucket=nope"),
        ("tab=nope&stage=x&q=shop", "tab=nope, stage=x"),
        ("group=7&check=none&hop=9&view=odd&sort=password", "group=7, check=none, hop=9, view=odd, sort=password"),
        ("label=team:shop,odd", "label=team:shop,odd"),
    ],
)
def test_a_filter_that_says_nothing_is_named(ada, query, told):
    scanned("shop")
    assert f"Ignored, since no cluster can be found by it: {told}" in text(ada.get(f"/?{query}"))
    assert "Ignored" not in text(ada.get("/?bucket=ready&tab=ready&stage=alpha&view=flat&sort=legacy&label=team:shop"))


def test_what_no_page_reads_is_not_carried_along(ada):
    scanned("shop")
    found = links(ada.get("/?q=shop&format=markdown"))
    assert "?q=shop&sort=name&desc=1" in found
    assert [link for link in found if "format" in link and "csv" not in link] == []


def test_counts_of_a_search_say_what_they_count(ada):
    scanned("shop", verdict="blocked")
    assert "Of the clusters that match the search and the filters." in text(ada.get("/?q=shop"))
    assert "Of the clusters that match" not in text(ada.get("/?tab=blocked"))


def test_nothing_fits(ada):
    scanned("shop")
    assert "No clusters match" in text(ada.get("/?q=zzz"))
    assert "No clusters match" in text(ada.get("/?bucket=ready"))
    assert "No clusters match" in text(ada.get("/?tab=ready"))


def test_pages_of_a_large_fleet(ada, monkeypatch):
    monkeypatch.setattr(clusters.fleet_page, "__kwdefaults__", {"limit": 2})
    for name in ("a", "b", "c"):
        scanned(name)
    first = ada.get("/")
    assert "2 of 3 shown" in text(first)
    following = next(link for link in links(first) if "cursor=" in link)
    assert [row.split()[0] for row in rows(ada.get(f"/{following}"))] == ["c"]


def test_the_page_costs_the_same_for_one_and_for_many(ada, django_assert_num_queries):
    for size in (1, 30):
        for index in range(size):
            scanned(f"c{size}-{index}")
        # session, user, one-time password, counts, rows with labels and groups, environments, waivers, blocked
        # clusters, results out of date, days, rollouts of the rows, labels, places, groups, saved views, fleet scan,
        # kill switch, rollouts in progress, heartbeats; and once, the blockers of snapshots that were not read before
        for queries in (22, 21):
            with django_assert_num_queries(queries):
                assert ada.get("/").status_code == 200


def blocked_by(name, *checks, **columns):
    cluster = a_cluster(name, environment="prod")
    found = [a_finding(check, hop="0.31", summary=f"{check} of {name}", **columns) for check in checks]
    a_snapshot(cluster, a_report(name, checks=found))
    return cluster


def test_releases_stand_for_the_upgrade_and_never_a_range(ada):
    blocked_by("shop", "legacy_provisioners_gone")
    page = ada.get("/")
    assert "0.30.0 → to 0.31.5" in rows(page)[0]
    assert "+" not in rows(page)[0]


def test_what_is_ready_comes_first_and_is_counted_in_a_tab(ada):
    scanned("zeta", verdict="ready")
    scanned("alpha", verdict="blocked")
    scanned("beta", verdict="ready_with_warnings")
    page = ada.get("/")
    assert [row.split()[0] for row in rows(page)] == ["zeta", "beta", "alpha"]
    assert "Karpenter can be upgraded today on 2 of 3 clusters" in text(page)
    assert "Ready now 2" in text(page)
    assert [row.split()[0] for row in rows(ada.get("/?tab=ready"))] == ["zeta", "beta"]
    assert [row.split()[0] for row in rows(ada.get("/?tab=blocked"))] == ["alpha"]


def test_two_blockers_in_words_and_the_others_counted(ada):
    cluster = blocked_by("shop", "one", "two", "three")
    page = ada.get("/")
    assert ("one of shop" in rows(page)[0], "three of shop" in rows(page)[0], "+1 more" in rows(page)[0]) == (
        True, True, True,
    )  # fmt: skip
    assert f"/clusters/{cluster.pk}/#check-one" in links(page)


def test_a_waived_blocker_blocks_no_more(ada):
    cluster = blocked_by("shop", "legacy_provisioners_gone", "two")
    ends = {"check": "legacy_provisioners_gone", "owner": "us", "reason": "known", "ends_on": "2026-12-24"}
    ada.post(f"/clusters/{cluster.pk}/waive", ends)
    page = ada.get("/")
    assert ("legacy_provisioners_gone of shop" in rows(page)[0], "two of shop" in rows(page)[0]) == (False, True)
    assert "1 cause blocks 1 cluster" in text(ada.get("/fleet/causes"))


def test_causes_are_listed_by_the_clusters_that_they_block(ada):
    first = blocked_by("shop", "legacy_provisioners_gone", "two")
    blocked_by("media", "legacy_provisioners_gone")
    page = ada.get("/fleet/causes")
    assert rows(page)[0].startswith("4 Provisioners still exist")
    assert rows(page)[0].endswith("2 media shop 1")
    assert rows(page)[1].startswith("two of shop two")
    assert f"/clusters/{first.pk}/#check-legacy_provisioners_gone" in links(page)
    assert "2 blocked : 2 of them share 1 cause" in text(ada.get("/"))


def failing(page) -> list[str]:
    """The choices of the filter by failing check; the chosen one has a star."""
    found = re.search(r'<select name="cause".*?</select>', page.content.decode(), re.DOTALL)
    option = r"<option\s+value=\"([a-z_]*)\"\s*(selected)?\s*>\s*(.*?)\s*</option>"
    options = re.findall(option, found[0]) if found else []
    return [f"{check}{'*' if chosen else ''}: {word}" for check, chosen, word in options]


def test_the_checks_that_block_are_a_filter_with_counts(ada):
    blocked_by("shop", "legacy_provisioners_gone", "two")
    blocked_by("media", "legacy_provisioners_gone")
    scanned("fine", verdict="ready")
    told = ["legacy_provisioners_gone: 4 Provisioners still exist (2)"]
    first = failing(ada.get("/"))
    assert (first[0], first[1:2]) == (": Any failing check", told)
    page = ada.get("/?cause=legacy_provisioners_gone")
    assert sorted(row.split()[0] for row in rows(page)) == ["media", "shop"]
    assert failing(page)[1] == "legacy_provisioners_gone*: 4 Provisioners still exist (2)"
    assert "Failing: legacy_provisioners_gone, which blocks the next upgrade" in text(page)
    assert 'name="check"' not in page.content.decode().partition('class="filters"')[2].partition("</form>")[0]


def test_a_tab_without_blocked_clusters_offers_none_and_keeps_the_chosen_one(ada):
    blocked_by("shop", "legacy_provisioners_gone")
    scanned("fine", verdict="ready")
    page = ada.get("/?tab=ready&cause=legacy_provisioners_gone")
    assert (failing(page), rows(page)) == ([], [])
    assert '<input type="hidden" name="cause" value="legacy_provisioners_gone">' in page.content.decode()
    assert failing(ada.get("/?q=nothing&cause=legacy_provisioners_gone"))[1:] == [
        "legacy_provisioners_gone*: legacy_provisioners_gone (0)"
    ]
    assert "Ignored" in text(ada.get("/?cause=odd"))


def test_no_causes(ada):
    scanned("shop", verdict="ready")
    assert "No cluster is blocked" in text(ada.get("/fleet/causes"))


def test_the_filtered_list_as_csv(ada):
    blocked_by("shop", "one")
    blocked_by("=cmd", "two")
    scanned("fine", verdict="ready")
    answer = ada.get("/fleet.csv?tab=blocked&sort=name")
    lines = answer.content.decode().splitlines()
    assert [line.split(",")[0] for line in lines] == ["cluster", "'=cmd", "shop"]
    assert (",blocked," in lines[2], "0.30.0" in lines[2], "one of shop" in lines[2]) == (True, True, True)
    assert answer["Content-Disposition"] == 'attachment; filename="fleet-2026-11-21.csv"'


def test_the_csv_says_what_limits_a_result(ada):
    scanned("a-stale", verdict="ready", complete=False, at=NOW - timedelta(days=400), unknowns=3)
    a_failure(scanned("b-failing", verdict="ready"), times=1)
    scanned("c-none", stage="no_karpenter", verdict="", karpenter_version="")
    lines = list(csv.DictReader(ada.get("/fleet.csv?view=flat").content.decode().splitlines()))
    assert [line["result"] for line in lines] == ["stale; partial", "last scan failed", ""]
    assert lines[0]["unknown or to verify"] == "3"
    assert (lines[2]["percent done"], lines[2]["bound"]) == ("", "")


def test_chosen_clusters_are_scanned(ada, woken):
    chosen, _ = scanned("shop"), scanned("other")
    page = ada.post("/fleet/scan-chosen", {"cluster": [str(chosen.pk), "nonsense"]}, follow=True)
    assert "1 cluster queued for a scan." in text(page)
    assert list(Scan.objects.values_list("cluster__name", flat=True)) == ["shop"]


def test_who_may_not_scan_cannot_scan_the_chosen(ben):
    assert ben.post("/fleet/scan-chosen", {"cluster": [str(scanned("shop").pk)]}).status_code == 403
