"""What only our own programs read is stored with a report and never published."""

from typing import Any, get_args

import msgspec
from msgspec.structs import replace

from migrations_app.checks.base import Evidence, Reason
from migrations_app.checks.changes import Change, ChangeTarget
from migrations_app.readiness.next_step import group_findings
from migrations_app.readiness.outputs import json_schema
from migrations_app.readiness.outputs.json_schema import definitions, plan_definitions
from migrations_app.readiness.published_fields import INTERNAL, published, published_plan
from migrations_app.readiness.report import PartLine, Report
from migrations_app.readiness.runbook.runbook import runbook
from migrations_app.readiness.verdict import exit_code, hop_line
from tests.readiness.outputs.reports import a_report, finding, unread

ASIDE = PartLine(name="helm_releases", seen=True, count=1, quarantined=1, detail="kube-system", reasons=("forbidden",))
REPORT = a_report((unread("one", asked_at="0.32"), unread("two")), parts=(ASIDE,))


def names(tree: Any) -> set[str]:
    """Every name of a field, however deep."""
    if isinstance(tree, dict):
        return {*tree, *(name for value in tree.values() for name in names(value))}
    return {name for value in tree for name in names(value)} if isinstance(tree, list) else set()


def test_no_internal_field_is_published() -> None:
    internal = {name for fields in INTERNAL.values() for name in fields}
    assert internal == {
        "asked_first", "at_kubernetes", "data", "reason", "asks", "follows", "reasons", "legacy_objects",
        "change",
        "carriers", "chart_deletes", "controller", "crd_keeper", "crd_release", "git", "given", "kept_webhooks",
        "values", "without_release",
    }  # fmt: skip
    plan = msgspec.to_builtins(published_plan(runbook(REPORT)))
    assert "reasons" not in names(msgspec.json.decode(json_schema.render(REPORT))["parts"])
    assert "reason" not in names(msgspec.to_builtins(published(REPORT))["checks"])
    assert "reason" not in names([step for hop in plan["hops"] for step in hop["steps"]])


def test_the_schema_holds_exactly_what_is_published() -> None:
    row = msgspec.to_builtins(published(REPORT))
    for found in (definitions(), plan_definitions()):
        assert "Reason" not in found
        assert {one.__name__ for one in (*get_args(Change), ChangeTarget)} & set(found) == set()
        assert set(found["Finding"]["properties"]) == set(row["checks"][0])
        assert set(found["Evidence"]["properties"]) == set(msgspec.to_builtins(Evidence(kind="Pod", name="a")))
    assert set(definitions()["PartLine"]["properties"]) == set(row["parts"][0])


def test_whoever_reads_the_published_report_gets_the_same_exit_code() -> None:
    later = a_report((finding("fits", "pass"), finding("tags", "unknown", asked_at="0.32")), parts=())
    lines = (hop_line("0.32", [finding("fits", "pass")]), replace(later.hops[0], verdict="later"))
    report = replace(later, hops=lines)
    read = msgspec.json.decode(json_schema.render(report), type=Report)
    assert (exit_code(report), exit_code(read)) == (0, 0)
    assert [found.asked_earlier for found in read.checks] == [False, True]


def test_a_stored_report_keeps_its_reasons() -> None:
    stored = msgspec.json.decode(msgspec.json.encode(REPORT), type=Report)
    assert stored == REPORT
    assert (stored.checks[0].reason, stored.parts[0].partly_forbidden) == (
        Reason("part_unread", "crds", "forbidden"),
        True,
    )


def test_a_report_from_before_there_were_reasons_is_read_and_grouped_by_what_it_says() -> None:
    old = msgspec.json.decode(msgspec.json.encode(published(REPORT)), type=Report)
    assert old.parts[0].partly_forbidden is False
    (group,) = group_findings(old.checks, cluster="prod")
    assert (group.summary, len(group.findings), group.remedies) == ("crds could not be read: forbidden", 2, ())
