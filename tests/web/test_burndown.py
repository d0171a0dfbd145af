"""The page of the burndown: drawn, told in words, and as a table, at a constant price."""

from datetime import timedelta

import pytest

from migrations_app.models.scan import LegacyDay
from migrations_app.queries.fleet.burndown import BurndownAsk, burndown
from migrations_app.use_cases.clusters import groups, labels
from migrations_app.web.fleet.burndown import chart
from tests.builders_rows import NOW, a_cluster
from tests.web.pages import rows, text

pytestmark = pytest.mark.django_db


def days(cluster, *machines, nodes=0):
    """A scan a day, the last one today; None where Machines could not be read."""
    first = len(machines) - 1
    LegacyDay.objects.bulk_create(
        LegacyDay(
            cluster=cluster, day=(NOW - timedelta(days=first - index)).date(), provisioners=0, templates=0,
            machines=count, nodes=nodes,
        )
        for index, count in enumerate(machines)
    )  # fmt: skip


def falling(name="shop"):
    shop = a_cluster(name)
    days(shop, *range(40, 19, -1), nodes=3)
    return shop


def test_a_cluster_that_goes_down(ada):
    shop = falling()
    page = text(ada.get(f"/burndown?cluster={shop.pk}"))
    assert "Older objects 20 Provisioners" in page
    assert "Gone 11 Dec 2026 if it goes on as in the last four weeks, -7.0 a week" in page
    assert "Nodes of Provisioners 3" in page
    assert "not falling" in page
    assert "2026-11-21 20 3" in page


def test_what_was_never_read_is_not_drawn_as_zero(ada):
    days(a_cluster("dark"), None, None)
    page = ada.get("/burndown")
    assert "Older objects at least 0" in text(page)
    days(a_cluster("shop"), 5)
    assert "at least 5" in text(ada.get("/burndown"))
    assert "2 not fully read" not in text(ada.get("/burndown"))


def test_a_number_that_is_older_says_so(ada):
    days(a_cluster("shop"), 9, None)
    page = text(ada.get("/burndown"))
    assert "2026-11-21 9 0 1 1 with an older number" in page
    assert "2026-11-20 9 0 1 " in page
    drawn = chart(burndown(BurndownAsk(), now=NOW))
    assert (drawn.objects.read, drawn.objects.older != "", drawn.highest) == ("", True, 9)


def test_nothing_was_counted_yet(ada):
    a_cluster()
    page = ada.get("/burndown")
    assert ("Nothing was counted yet" in text(page), b'<svg class="burn"' in page.content) == (True, False)


def test_all_gone_is_told_and_nothing_is_drawn(ada):
    days(a_cluster(), 0, 0)
    page = ada.get("/burndown")
    assert (b'<svg class="burn"' in page.content, "gone" in text(page)) == (False, True)


def test_by_group_and_by_label(ada):
    shop, other = falling("shop"), falling("other")
    group = groups.make_group("team")
    groups.make_group("empty")
    groups.put_in(group, [shop.pk])
    labels.set_labels(other.pk, {"team": "x"})
    assert rows(ada.get("/burndown")) == ["team 1 20 11 Dec 2026 3 not falling"]
    assert "Burndown of team" in text(ada.get(f"/burndown?group={group}"))
    for query in (f"group={group}", "label=team:x"):
        assert "Older objects 20 " in text(ada.get(f"/burndown?{query}"))
    assert "Older objects 40 " in text(ada.get("/burndown?group=x&label=odd"))


def test_the_line_that_leads_on_ends_at_the_bottom():
    falling()
    drawn = chart(burndown(BurndownAsk(), now=NOW)).objects
    assert drawn.ahead.endswith(" 180.0")
    assert (drawn.read.count("M"), drawn.read.count("L"), drawn.older, drawn.marks) == (1, 20, "", ())


@pytest.mark.parametrize("size", [1, 25])
def test_the_number_of_queries_does_not_grow(ada, size, django_assert_num_queries):
    clusters = [falling(f"c{number}") for number in range(size)]
    for name in ("left", "right"):
        groups.put_in(groups.make_group(name), [one.pk for one in clusters])
    # session, user, one-time password; clusters, days, groups, members; choices: groups, labels, places; kill switch
    with django_assert_num_queries(11):
        assert ada.get("/burndown").status_code == 200
