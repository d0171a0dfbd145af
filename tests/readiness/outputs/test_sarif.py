import json
from typing import Any

from hypothesis import given, settings

from migrations_app.checks.base import Evidence
from migrations_app.readiness.outputs.sarif import render
from migrations_app.readiness.report import Report
from tests.readiness.outputs.reports import a_report, any_reports, finding


def run_of(report: Report) -> dict[str, Any]:
    log = json.loads(render(report, version="1.2.3"))
    assert log["version"] == "2.1.0"
    (run,) = log["runs"]
    return dict(run)


def kinds(report: Report) -> dict[str, tuple[str, str]]:
    return {result["ruleId"]: (result["kind"], result["level"]) for result in run_of(report)["results"]}


def test_levels_follow_severity_and_kinds_follow_status() -> None:
    assert kinds(a_report()) == {
        "gone": ("fail", "error"),
        "webhook": ("open", "none"),
        "backup": ("review", "none"),
        "marks": ("fail", "warning"),
        "note": ("fail", "note"),
        "accepted": ("fail", "warning"),
        "fits": ("pass", "none"),
        "windows": ("notApplicable", "none"),
    }


def test_a_waived_finding_is_suppressed_with_its_words() -> None:
    results = run_of(a_report())["results"]
    suppressed = {result["ruleId"]: result["suppressions"] for result in results if "suppressions" in result}
    justification = "accepted by Ada until May: known"
    assert suppressed == {"accepted": [{"kind": "external", "status": "accepted", "justification": justification}]}


def test_each_cause_is_a_result_with_its_place() -> None:
    rows = (Evidence(kind="Pod", namespace="shop", name="a", count=3), Evidence(kind="Node", name="n"))
    results = run_of(a_report((finding("gone", "fail", evidence=rows, evidence_total=4),)))["results"]
    assert [result["locations"][0]["logicalLocations"][0] for result in results] == [
        {"name": "a", "fullyQualifiedName": "prod-1/shop/Pod/a", "kind": "resource"},
        {"name": "n", "fullyQualifiedName": "prod-1/Node/n", "kind": "resource"},
    ]
    assert [result["occurrenceCount"] for result in results] == [3, 1]
    assert [result["ruleIndex"] for result in results] == [0, 0]


def test_a_fingerprint_is_the_cause_not_the_count() -> None:
    def marks(count: int, name: str) -> str:
        row = Evidence(kind="Pod", name=name, count=count)
        result = run_of(a_report((finding("gone", "fail", evidence=(row,)),)))["results"][0]
        return str(result["partialFingerprints"]["karpdash/v1"])

    assert marks(1, "a") == marks(9, "a")
    assert marks(1, "a") != marks(1, "b")


def test_a_rule_takes_its_strictest_hop_and_the_tool_its_version() -> None:
    mild = finding("gone", "pass", hop="0.32", severity="info")
    driver = run_of(a_report((mild, finding("gone", "fail"))))["tool"]["driver"]
    assert (driver["name"], driver["semanticVersion"]) == ("karpdash", "1.2.3")
    assert [(rule["id"], rule["defaultConfiguration"]) for rule in driver["rules"]] == [("gone", {"level": "error"})]


def test_what_was_not_read_is_a_notification() -> None:
    assert run_of(a_report())["invocations"] == [
        {
            "executionSuccessful": False,
            "toolExecutionNotifications": [
                {"level": "warning", "message": {"text": "crds could not be read: forbidden"}},
                {"level": "warning", "message": {"text": "machines: 1 of 2 objects set aside (m-1: wrong type)"}},
            ],
            "endTimeUtc": "2026-11-21T05:00:00Z",
        }
    ]


@settings(max_examples=60)
@given(any_reports())
def test_every_result_points_at_its_rule(report: Report) -> None:
    run = run_of(report)
    rules = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
    assert [rules[result["ruleIndex"]] for result in run["results"]] == [r["ruleId"] for r in run["results"]]
    assert len(run["results"]) == sum(max(1, len(f.evidence)) for f in report.checks)
