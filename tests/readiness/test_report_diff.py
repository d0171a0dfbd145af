"""What changed between two reports, and whether it got better or worse."""

import msgspec
import pytest

from migrations_app.readiness.report import PartLine
from migrations_app.readiness.report_diff import NumberChange, TextChange, difference
from tests.builders.rows import a_finding, a_report, some_nodes


def turn(old, new):
    found = difference(a_report(checks=old), a_report(checks=new)).turns
    return [(each.id, each.hops, each.direction) for each in found]


def test_the_same_report_differs_in_nothing():
    report = a_report(nodes=some_nodes())
    assert difference(report, report).nothing


@pytest.mark.parametrize(
    ("old", "new", "direction"),
    [
        ("fail", "pass", "better"),
        ("unknown", "pass", "better"),
        ("fail", "unknown", "better"),
        ("fail", "waived", "better"),
        ("pass", "fail", "worse"),
        ("pass", "unknown", "worse"),
        ("unknown", "fail", "worse"),
        ("manual", "fail", "worse"),
        ("pass", "not_applicable", "other"),
    ],
)
def test_direction_of_a_status(old, new, direction):
    assert turn([a_finding("c", status=old)], [a_finding("c", status=new)]) == [("c", ("0.32",), direction)]


@pytest.mark.parametrize(("then", "now", "direction"), [(5, 2, "better"), (2, 5, "worse")])
def test_fewer_objects_is_better(then, now, direction):
    old, new = a_finding("c", evidence_total=then), a_finding("c", evidence_total=now)
    assert turn([old], [new]) == [("c", ("0.32",), direction)]


def test_more_passing_objects_is_neither():
    old, new = (a_finding("c", status="pass", evidence_total=count) for count in (1, 2))
    assert turn([old], [new]) == [("c", ("0.32",), "other")]


def test_one_row_for_the_hops_that_changed_alike():
    old = [a_finding("c", hop=hop, status="pass") for hop in ("0.32", "0.33+", "1.0")]
    new = [a_finding("c", hop="0.32"), a_finding("c", hop="0.33+"), a_finding("c", hop="1.0", status="unknown")]
    assert turn(old, new) == [("c", ("0.32", "0.33+"), "worse"), ("c", ("1.0",), "worse")]


def test_a_check_that_came_or_went():
    kept = a_finding("kept")
    assert turn([kept], [kept, a_finding("came")]) == [("came", ("0.32",), "other")]
    assert turn([kept, a_finding("went")], [kept]) == [("went", ("0.32",), "other")]


def test_worse_stands_first():
    old = [a_finding("a", status="fail"), a_finding("b", status="pass"), a_finding("c", status="pass")]
    new = [a_finding("a", status="pass"), a_finding("b", status="not_applicable"), a_finding("c", status="fail")]
    assert [direction for _, _, direction in turn(old, new)] == ["worse", "better", "other"]


def test_facts_legacy_and_owners():
    old = a_report(nodes=some_nodes(4))
    cluster = msgspec.structs.replace(old.cluster, stage="mixed", karpenter_version=None)
    nodes = (*some_nodes(1), *some_nodes(2, owner="karpenter_beta"))
    new = a_report(nodes=nodes, legacy={"Provisioner": 1, "Machine": None}, cluster=cluster)
    change = difference(old, new)
    assert change.facts == (TextChange("stage", "alpha", "mixed"), TextChange("karpenter_version", "0.30.0", ""))
    assert change.legacy == (
        NumberChange("Provisioner", 2, 1),
        NumberChange("AWSNodeTemplate", 1, None),
        NumberChange("Machine", 12, None),
        NumberChange("Node", 12, None),
    )
    assert change.owners == (NumberChange("karpenter_alpha", 4, 1), NumberChange("karpenter_beta", 0, 2))


def test_a_number_that_was_not_read_has_no_difference():
    assert [NumberChange("a", 1, None).delta, NumberChange("a", None, 1).delta, NumberChange("a", 3, 1).delta] == [
        None,
        None,
        -2,
    ]


def test_nodes_that_could_not_be_read_did_not_go():
    unread = PartLine(name="nodes", seen=False, why="forbidden")
    old = a_report(nodes=some_nodes(2))
    new = a_report(parts=[unread])
    owners = {moved.name: (moved.before, moved.after) for moved in difference(old, new).owners}
    assert owners["karpenter_alpha"] == (2, None)


def test_an_owner_is_not_counted_where_nodes_were_not_read():
    read, unread = a_report(nodes=some_nodes()), a_report(parts=(PartLine(name="nodes", seen=False),))
    assert unread.nodes_certainty == "unknown"
    changes = difference(read, unread).owners
    assert {change.name for change in changes} == set(read.nodes.by_owner)
    assert {change.after for change in changes} == {None}
    assert [(change.before, change.after) for change in difference(unread, read).owners] == [
        (change.after, change.before) for change in changes
    ]
