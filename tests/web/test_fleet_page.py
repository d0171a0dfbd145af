"""The fleet page says what each cluster waits for, and keeps every filter in its address."""

from datetime import timedelta

import pytest

from migrations_app.queries.fleet import clusters
from tests.builders_rows import NOW, a_cluster, a_failure, a_report, a_scan, a_snapshot
from tests.web.pages import links, rows, text

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
    assert "You may look, not register." in text(page)
    assert "/clusters/new" not in links(page)


def test_groups_by_what_they_wait_for(ada):
    scanned("shop", verdict="blocked", environment="production")
    a_cluster("fresh")
    a_failure(scanned("gone", verdict="ready"))
    words = text(ada.get("/"))
    assert words.index("Never scanned 1") < words.index("Unreachable 1") < words.index("Blocked 1")
    assert "3 clusters · 1 blocked · 1 unreachable · at least 54 older objects left" in words


def test_a_row_holds_every_column(ada):
    cluster = scanned("shop", verdict="blocked", environment="production")
    page = ada.get("/")
    row = rows(page)[0]
    for word in ("shop", "production", "Alpha", "0.30.0", "1.27.16", "0.32", "Blocked", "27", "2 unknown"):
        assert word in row
    assert f"/clusters/{cluster.pk}/" in links(page)


@pytest.mark.parametrize(
    ("columns", "word"),
    [
        ({"complete": False}, "partial"),
        ({"at": NOW - timedelta(days=400)}, "stale"),
        ({"legacy_left": None}, "not read"),
        ({"karpenter_version": ""}, "unclear"),
        ({"stage": "no_karpenter", "verdict": ""}, "No Karpenter"),
    ],
)
def test_states_of_a_row(ada, columns, word):
    scanned("shop", **columns)
    assert word in rows(ada.get("/"))[0]


@pytest.mark.parametrize(("state", "word"), [("queued", "queued"), ("running", "scanning")])
def test_a_scan_under_way_shows(ada, state, word):
    a_scan(a_cluster("shop"), state=state)
    assert word in rows(ada.get("/"))[0]


def test_filters_stay_in_the_address(ada):
    scanned("shop", verdict="blocked", environment="prod")
    page = ada.get("/?q=sh&environment=prod&bucket=blocked&sort=legacy")
    assert len(rows(page)) == 1
    assert "?q=sh&environment=prod&bucket=blocked&sort=legacy&stage=alpha" in links(page)
    assert "?q=sh&environment=prod&bucket=blocked&sort=name" in links(page)
    assert 'value="sh"' in page.content.decode()


def test_the_sorted_column_says_so_and_turns(ada):
    scanned("shop")
    html = ada.get("/?sort=blockers&desc=1").content.decode()
    assert html.count("aria-sort") == 1
    assert 'aria-sort="descending"' in html
    assert "?sort=blockers" in links(ada.get("/?sort=blockers&desc=1"))
    assert "?sort=blockers&desc=1" in links(ada.get("/"))


@pytest.mark.parametrize("query", ["bucket=nope", "stage=x", "sort=password", "cursor=%00", "view=odd", "desc=9"])
def test_words_that_are_none_of_ours_ask_for_nothing(ada, query):
    scanned("shop")
    assert len(rows(ada.get(f"/?{query}"))) == 1


def test_nothing_fits(ada):
    scanned("shop")
    assert "No cluster fits" in text(ada.get("/?q=zzz"))
    assert "No cluster fits" in text(ada.get("/?bucket=ready"))


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
        # session, user, one-time password, counts, rows with labels and groups, environments, labels, places, groups,
        # kept views, fleet scan
        with django_assert_num_queries(14):  # one for the banner of the kill switch
            assert ada.get("/").status_code == 200
