"""The running release is judged where no hop is left, and one that came after the tables is never ready or done."""

from dataclasses import replace

import msgspec
import pytest

from migrations_app.inventory.parts import Seen, Unseen
from migrations_app.karpenter.releases import known_up_to, newer_than_known
from migrations_app.karpenter.versions import release
from migrations_app.readiness.evaluate import evaluate
from migrations_app.readiness.outputs import markdown, runbook_markdown, runbook_table, table
from migrations_app.readiness.report import CollectResult, Report
from migrations_app.readiness.runbook.runbook import runbook
from migrations_app.readiness.verdict import exit_code
from tests.acceptance.clusters import CLEAN, objects
from tests.acceptance.judging import as_list, collected
from tests.builders.clusters import a_cluster
from tests.builders.newest import NEWEST, NEWEST_MINOR

FROM_THE_NEWEST = f"Kubernetes 1.33, as planned, is supported from {NEWEST} on; 1.0.14 supports 1.25 to 1.31"
BEYOND = f"{release(NEWEST).major}.{release(NEWEST).minor_number + 1}.0"


def judged(version: str, *, kubernetes: str = "1.33", planned: str | None = None) -> Report:
    inventory = a_cluster(version, kubernetes=kubernetes).build()
    return evaluate(CollectResult(inventory, ()), kubernetes=planned).report


def opened(report: Report, check: str) -> list[tuple[str, str]]:
    return [(one.hop, one.status) for one in report.checks if one.id == check and one.status != "not_applicable"]


def relabelled(version: str) -> Report:
    """The newest release that we know, with the image of another one."""
    inventory = a_cluster(NEWEST, kubernetes="1.33").build()
    (workload,) = inventory.controller.items
    body = msgspec.to_builtins(workload)
    container = body["spec"]["template"]["spec"]["containers"][0]
    container["image"] = container["image"].partition("@")[0].replace(NEWEST, version)
    changed = replace(inventory, controller=Seen((msgspec.convert(body, type(workload)),)))
    return evaluate(CollectResult(changed, ())).report


def test_the_newest_release_is_judged_without_a_hop():
    report = judged(NEWEST)
    assert report.target.path == ()
    assert {one.hop for one in report.checks} == {NEWEST_MINOR}
    assert opened(report, "kubernetes_inside_window") == [(NEWEST_MINOR, "pass")]


def test_the_newest_release_outside_its_kubernetes_is_blocked():
    report = judged(NEWEST, kubernetes="1.99")
    assert opened(report, "kubernetes_inside_window") == [(NEWEST_MINOR, "fail")]
    assert [(line.hop, line.verdict) for line in report.hops] == [(NEWEST_MINOR, "blocked")]
    assert exit_code(report) == 1


@pytest.mark.parametrize("part", ["nodepools", "controller", "version", "crds"])
def test_the_newest_release_is_not_done_where_a_part_was_not_read(part):
    clean = next(clean for clean in CLEAN if clean.version == NEWEST)
    whole = collected(clean.name, as_list(objects(clean), kubernetes=clean.kubernetes))
    assert [line.verdict for line in evaluate(whole).report.hops] == ["done"]
    unread = replace(whole, inventory=replace(whole.inventory, **{part: Unseen("forbidden")}))
    assert [line.verdict for line in evaluate(unread).report.hops] == ["needs_facts"]


@pytest.mark.parametrize("version", [BEYOND, "2.0.0", f"{NEWEST_MINOR}.99"])
def test_a_release_after_the_tables_needs_facts(version):
    report = relabelled(version)
    assert newer_than_known(release(version))
    assert report.cluster.karpenter_version == version
    line = report.hops[-1]
    assert line.verdict in ("needs_facts", "blocked")
    assert exit_code(report) != 0
    if version != f"{NEWEST_MINOR}.99":
        told = f"{version} is newer than {known_up_to()}, up to which this karpdash knows releases"
        assert (line.verdict, line.reasons) == ("needs_facts", (f"{told}: take a newer karpdash",))
        assert exit_code(report) == 3


def test_every_answer_says_how_far_the_tables_reach():
    report = judged("1.0.14", kubernetes="1.30")
    end = str(known_up_to())
    assert str(report.known_up_to) == end
    assert f"Known       releases up to {end}" in table.render(report)
    assert f"- Known: releases up to {end}" in markdown.render(report)
    assert f"Known    releases up to {end}" in runbook_table.render(runbook(report))
    assert f"- Known: releases up to {end}" in runbook_markdown.render(runbook(report))


@pytest.mark.parametrize(
    ("version", "planned", "said"),
    [
        ("1.0.14", "1.31", "Kubernetes 1.31, as planned, is supported by 1.0.14 already"),
        (
            "1.0.14",
            "1.33",
            FROM_THE_NEWEST,
        ),
        (
            "1.0.14",
            "1.99",
            "Kubernetes 1.99, as planned, is supported by no release of this path; 1.0.14 supports 1.25 to 1.31",
        ),
    ],
)
def test_a_planned_kubernetes_is_told_in_a_note(version, planned, said):
    assert said in judged(version, kubernetes="1.30", planned=planned).target.notes


def test_a_planned_kubernetes_that_no_release_supports_blocks_the_last_hop():
    report = judged("1.0.14", kubernetes="1.30", planned="1.99")
    assert opened(report, "kubernetes_inside_window") == [("1.1+", "pass"), (NEWEST_MINOR, "fail")]
    (row,) = next(one for one in report.checks if (one.id, one.status) == ("kubernetes_inside_window", "fail")).evidence
    assert row.seen == "1.99 (planned)"


def test_a_planned_kubernetes_blocks_the_running_release_where_no_hop_is_left():
    assert opened(judged(NEWEST, planned="1.99"), "kubernetes_inside_window") == [(NEWEST_MINOR, "fail")]
    assert opened(judged(NEWEST, planned="1.34"), "kubernetes_inside_window") == [(NEWEST_MINOR, "pass")]
