"""The page of progress: drawn, in words, as a table, as a picture and as CSV, at a constant price."""

import re
from datetime import date, timedelta
from xml.etree import ElementTree

import pytest

from migrations_app.models.rollout import Rollout
from migrations_app.models.scan import LegacyDay
from migrations_app.queries.fleet.burndown import BurndownFilters, burndown
from migrations_app.queries.fleet.progress import ends_of
from migrations_app.readiness.progress.curve import COLUMNS
from migrations_app.use_cases.clusters import groups, labels
from migrations_app.web.fleet.progress_chart import chart, days_of
from tests.builders.rollouts import a_rollout
from tests.builders.rows import NOW, a_cluster
from tests.web.pages import rows, text

HEADINGS = (
    "day", "percent", "bound", "percent to_v1beta1", "percent to_v1", "objects left", "objects total", "nodes left",
    "nodes total", "stored_versions left", "stored_versions total", "claims left", "claims total", "clusters",
    "scanned", "fell because",
)  # fmt: skip
SVG = "{http://www.w3.org/2000/svg}"
pytestmark = pytest.mark.django_db


def days(cluster, *machines, nodes=0):
    """A scan a day, the last one today; None where Machines could not be read."""
    first = len(machines) - 1
    LegacyDay.objects.bulk_create(
        LegacyDay(
            cluster=cluster, day=(NOW - timedelta(days=first - index)).date(),
            **(dict.fromkeys(COLUMNS, 0) | {"objects_total": 40, "nodes_total": 10, "machines": count, "nodes": nodes}),
        )
        for index, count in enumerate(machines)
    )  # fmt: skip


def falling(name="shop"):
    shop = a_cluster(name)
    days(shop, *range(40, 19, -1), nodes=3)
    return shop


def drawn():
    told = burndown(BurndownFilters(), now=NOW)
    return chart(days_of(told), ends=ends_of(told))


def test_a_cluster_that_goes_down(ada):
    shop = falling()
    page = text(ada.get(f"/burndown?cluster={shop.pk}"))
    # 20 of 40 objects and 7 of 10 nodes are done; nothing is to do from v1beta1 to v1
    assert "Done: 80 % of the way from v1alpha5 to v1, in 1 cluster" in page
    assert "60 % done Legacy objects 20 left of 40" in page
    assert "-7.0 a week, done 11 Dec 2026" in page
    assert "Without progress in the last four weeks there is no projected end." in page
    assert "2026-11-21 80 % 20 3 0 0 1" in page


def test_what_was_never_read_is_not_drawn_as_zero(ada):
    days(a_cluster("dark"), None, None)
    page = ada.get("/burndown")
    assert "Legacy objects at least 0" in text(page)
    days(a_cluster("shop"), 5)
    assert "at least 5" in text(ada.get("/burndown"))
    assert "2 not fully read" not in text(ada.get("/burndown"))


def test_a_number_that_is_older_says_so(ada):
    days(a_cluster("shop"), 9, None)
    page = text(ada.get("/burndown"))
    assert "2026-11-21 94 % 9 0 0 0 1 1 carried over" in page
    assert "2026-11-20 94 % 9 0 0 0 1 " in page
    half = drawn().lines[1]
    assert (half.name, half.read, half.other != "", len(half.dots)) == ("to_v1beta1", "", True, 2)


def test_nothing_was_counted_yet(ada):
    a_cluster()
    page = ada.get("/burndown")
    assert ("No scan has counted anything yet" in text(page), b"data-chart" in page.content) == (True, False)
    assert "No scan has counted anything yet" in text(ada.get("/burndown.svg"))


def test_all_gone_is_done(ada):
    days(a_cluster(), 0, 0)
    page = text(ada.get("/burndown"))
    assert "Done: 100 % of the way" in page


def test_a_fall_says_why_in_the_table_and_on_the_chart(ada):
    shop = a_cluster()
    days(shop, 20, 20)
    LegacyDay.objects.filter(cluster=shop, day=NOW.date()).update(nodes=2)
    page = ada.get("/burndown")
    assert "2026-11-21 82 % falls: 2 nodes more on the old API 20 2 0 0 1" in text(page)
    assert "2026-11-20 87 % 20 0 0 0 1" in text(page)
    assert page.content.count(b"<title>2026-11-21 falls: 2 nodes more on the old API</title>") == 1
    assert "v1beta1 to v1 100 %; falls: 2 nodes more on the old API" in page.content.decode()


@pytest.mark.parametrize(
    ("machines", "needs"),
    [
        ((9, 8), "needs 2 more days with a whole scan, the last at least 6 days from now"),
        ((9, 8, 7), "needs 1 more day with a whole scan, the last at least 5 days from now"),
        ((9, 8, 7, 6, 5, 4, 3), "needs a whole scan 1 day from now"),
    ],
)
def test_what_a_projected_end_needs_yet(ada, machines, needs):
    days(a_cluster(), *machines)
    page = text(ada.get("/burndown"))
    assert f"No projected end yet: {needs}" in page
    assert f"not enough data: {needs}" in page


def test_one_scan_is_drawn_as_a_dot(ada):
    days(a_cluster(), 30, nodes=5)
    page = ada.get("/burndown")
    assert page.content.count(b"prog-dot") == 3
    assert "37 % done" in text(page)


def test_by_group_and_by_label(ada):
    shop, other = falling("shop"), falling("other")
    group = groups.create_group("team")
    groups.create_group("empty")
    groups.add_to_group(group, [shop.pk])
    labels.set_labels(other.pk, {"team": "x"})
    assert rows(ada.get("/burndown")) == ["team 1 80 % no progress 20 3 0 0"]
    assert "Progress of team" in text(ada.get(f"/burndown?group={group}"))
    for query in (f"group={group}", "label=team:x"):
        assert "Legacy objects 20 left of 40" in text(ada.get(f"/burndown?{query}"))
    assert "Legacy objects 40 left of 80" in text(ada.get("/burndown?group=x&label=odd"))


def test_the_line_that_leads_on_ends_at_the_top():
    days(a_cluster(), *range(40, 19, -1))
    way = drawn().lines[2]
    assert way.ahead.endswith(" 6.0")
    assert (way.name, way.read.count("M"), way.read.count("L"), way.other, way.dots) == ("way", 1, 20, "", ())


def test_a_rollout_is_marked_where_it_ran(ada):
    shop = falling()
    ended = a_rollout(shop, state="succeeded")
    began, over = NOW - timedelta(days=5), NOW - timedelta(days=3)
    Rollout.objects.filter(pk=ended.pk).update(started_at=began, finished_at=over)
    page = ada.get("/burndown")
    assert "Taint Provisioners and let drift replace their nodes shop Succeeded 16 Nov to 18 Nov" in text(page)
    assert page.content.count(b'class="prog-rollout"') == 1


def test_the_days_as_csv(ada):
    days(a_cluster("shop"), 9, None, nodes=1)
    answer = ada.get("/burndown.csv")
    assert (answer["Content-Type"], answer["Content-Disposition"]) == (
        "text/csv; charset=utf-8", 'attachment; filename="progress-2026-11-21.csv"',
    )  # fmt: skip
    assert answer.content.decode().splitlines() == [
        ",".join(HEADINGS),
        "2026-11-20,91,exact,83,100,9,40,1,10,0,0,0,0,1,1,",
        "2026-11-21,91,exact,83,100,9,40,1,10,0,0,0,0,1,1,",
    ]


def test_a_fall_and_its_causes_are_in_the_csv(ada):
    days(a_cluster(), 20, 20, 25)
    LegacyDay.objects.filter(day=NOW.date()).update(nodes=2)
    lines = [line.split(",", 14)[-1] for line in ada.get("/burndown.csv").content.decode().splitlines()]
    # the day, and what the table says of it
    assert lines == [
        "scanned,fell because", "1,", "1,", '1,"5 objects more on the old API, 2 nodes more on the old API"'
    ]  # fmt: skip


def picture(client, address="/burndown.svg"):
    """The lines of the picture on falls, the numbers on its marks, and what each mark says."""
    drawing = ElementTree.fromstring(client.get(address).content)
    lines = [node.text for node in drawing.iter(f"{SVG}text") if re.match(r"\d+(: | earlier)", node.text or "")]
    marks = [node.findtext(f"{SVG}title") for node in drawing.iter(f"{SVG}circle")]
    numbers = [node.text for node in drawing.iter(f"{SVG}text") if (node.text or "").isdigit()]
    height = int(drawing.attrib["height"])
    assert all(float(node.attrib["y"]) < height for node in drawing.findall(f"{SVG}text"))
    return lines, numbers, marks


def test_the_picture_says_why_it_fell_of_a_cluster_and_of_the_fleet(ada):
    shop = a_cluster()
    days(shop, 20, 25)
    days(a_cluster("calm"), 5, 5)
    fell = "2026-11-21 falls: 5 objects more on the old API"
    for address in (f"/burndown.svg?cluster={shop.pk}", "/burndown.svg"):
        assert picture(ada, address) == ([f"1: {fell}"], ["1"], [fell])


def test_the_picture_of_a_way_without_a_fall_has_no_mark(ada):
    falling()
    assert picture(ada) == ([], [], [])


def test_the_picture_tells_the_newest_falls_and_marks_all(ada):
    days(a_cluster(), *(2 * number for number in range(10)))
    lines, numbers, marks = picture(ada)
    assert (len(lines), lines[0][:13], lines[-1]) == (
        7, "1: 2026-11-21", "3 earlier falls are in the table and in the CSV",
    )  # fmt: skip
    assert (numbers, len(marks)) == (list("123456"), 9)


def test_the_picture_is_one_file_of_its_own(ada):
    shop = a_cluster("<shop>")
    days(shop, *range(40, 19, -1))
    answer = ada.get(f"/burndown.svg?cluster={shop.pk}")
    assert answer["Content-Type"] == "image/svg+xml"
    drawing = ElementTree.fromstring(answer.content)
    assert drawing.findtext(f"{SVG}title") == "Progress of <shop>"
    assert (b"style" in answer.content, b"<script" in answer.content) == (False, False)


def test_a_past_day_that_is_written_later_counts(ada):
    shop = a_cluster()
    days(shop, 5)
    assert "2026-11-01" not in text(ada.get("/burndown"))
    LegacyDay.objects.create(cluster=shop, day=date(2026, 11, 1), machines=7)
    assert "2026-11-01" in text(ada.get("/burndown"))


@pytest.mark.parametrize("size", [1, 25])
def test_the_number_of_queries_does_not_grow(ada, size, django_assert_num_queries):
    clusters = [falling(f"c{number}") for number in range(size)]
    for name in ("left", "right"):
        groups.add_to_group(groups.create_group(name), [one.pk for one in clusters])
    # session, user, one-time password; clusters, newest days, the last day before, groups, members; marked rollouts;
    # choices: groups, labels, places; without Karpenter; kill switch, rollouts in progress; and once the days before
    for queries in (16, 15):
        with django_assert_num_queries(queries):
            assert ada.get("/burndown").status_code == 200
