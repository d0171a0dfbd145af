import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given, settings

from migrations_app import HOME_PAGE
from migrations_app.checks.base import Evidence
from migrations_app.readiness.outputs import sarif
from migrations_app.readiness.outputs.sarif import SourceLine, render
from migrations_app.readiness.report import Report
from tests.readiness.outputs.reports import a_report, any_reports, finding, of_unknown_release, without_path

SCHEMA = jsonschema.Draft7Validator(
    json.loads((Path(__file__).parent / "schemas" / "sarif-2.1.0.json").read_text()),
    format_checker=jsonschema.Draft7Validator.FORMAT_CHECKER,
)


def run_of(report: Report) -> dict[str, Any]:
    log = json.loads(render(report, version="1.2.3"))
    SCHEMA.validate(log)
    (run,) = log["runs"]
    return dict(run)


def test_only_failures_are_results_and_levels_follow_severity() -> None:
    levels = {result["ruleId"]: (result["kind"], result["level"]) for result in run_of(a_report())["results"]}
    assert levels == {
        "gone": ("fail", "error"),
        "marks": ("fail", "warning"),
        "note": ("fail", "note"),
        "accepted": ("fail", "warning"),
    }


def test_what_is_open_is_a_notification_and_has_a_rule() -> None:
    run = run_of(a_report())
    told = [note for note in run["invocations"][0]["toolExecutionNotifications"] if "associatedRule" in note]
    assert [(note["level"], note["associatedRule"]["id"], note["message"]["text"]) for note in told] == [
        ("error", "webhook", "0.33+ webhook could not be told: crds could not be read: forbidden"),
        ("error", "backup", "0.33+ backup waits for a person: Summary of backup"),
    ]
    rules = {rule["id"] for rule in run["tool"]["driver"]["rules"]}
    assert rules == {"gone", "marks", "note", "accepted", "webhook", "backup"}


def test_every_result_has_what_code_scanning_refuses_to_do_without() -> None:
    def places(row: Evidence | None) -> SourceLine:
        return SourceLine(f"dump/a b#{row.name}.yaml" if row else "dump", 7)

    log = json.loads(render(a_report(), version="1.2.3", places=places))
    run = log["runs"][0]
    for result in run["results"]:
        (location,) = result["locations"]
        physical = location["physicalLocation"]
        assert (physical["region"], "#" in physical["artifactLocation"]["uri"]) == ({"startLine": 7}, False)
        assert (result["message"]["text"] != "", result["partialFingerprints"] != {}) == (True, True)
    uris = {r["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] for r in run["results"]}
    assert {"dump", "dump/a%20b%23pool-0.yaml"} <= uris
    driver = run["tool"]["driver"]
    assert (driver["informationUri"], driver["rules"][0]["helpUri"]) == (
        HOME_PAGE, f"{HOME_PAGE}/blob/main/docs/checks.md#accepted",
    )  # fmt: skip
    needed = {"id", "shortDescription", "fullDescription", "help", "helpUri", "defaultConfiguration"}
    assert [rule["id"] for rule in driver["rules"] if not needed <= set(rule)] == []


def test_without_files_an_object_is_placed_by_its_name_in_the_cluster() -> None:
    rows = (Evidence(kind="Pod", namespace="shop", name="../a"), Evidence(kind="Node", name="n/é"))
    results = run_of(a_report((finding("gone", "fail", evidence=rows), finding("other", "fail"))))["results"]
    uris = [result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] for result in results]
    assert uris == ["prod-1/shop/Pod/_a", "prod-1/Node/n_%C3%A9", "prod-1"]


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
    mild = finding("gone", "fail", hop="0.32", severity="info")
    driver = run_of(a_report((mild, finding("gone", "fail"))))["tool"]["driver"]
    assert (driver["name"], driver["semanticVersion"]) == ("karpdash", "1.2.3")
    assert [(rule["id"], rule["defaultConfiguration"]) for rule in driver["rules"]] == [("gone", {"level": "error"})]


def test_what_was_not_read_is_a_notification() -> None:
    assert run_of(a_report((finding("fits", "pass"),)))["invocations"] == [
        {
            "executionSuccessful": False,
            "toolExecutionNotifications": [
                {"level": "warning", "message": {"text": "crds could not be read: forbidden"}},
                {"level": "warning", "message": {"text": "machines: 1 of 2 objects set aside (m-1: wrong type)"}},
            ],
            "endTimeUtc": "2026-11-21T05:00:00Z",
        }
    ]


def test_a_run_without_an_answered_check_does_not_close_what_was_found_before() -> None:
    told = [run_of(report)["invocations"][0] for report in (without_path(), of_unknown_release())]
    assert [(run["executionSuccessful"], run["toolExecutionNotifications"][-1]) for run in told] == [
        (False, {"level": "error", "message": {"text": "path needs facts: the running release could not be told"}}),
        (False, {"level": "error", "message": {"text": "1.99 needs facts: 1.99.0 is newer than 1.14.1"}}),
    ]


@settings(max_examples=60)
@given(any_reports())
def test_every_result_points_at_its_rule(report: Report) -> None:
    run = run_of(report)
    rules = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
    assert [rules[result["ruleIndex"]] for result in run["results"]] == [r["ruleId"] for r in run["results"]]
    failed = [f for f in report.checks if f.status in ("fail", "waived")]
    assert len(run["results"]) == sum(max(1, len(f.evidence)) for f in failed)
    steps = [r["locations"][0]["physicalLocation"]["artifactLocation"]["uri"].split("/") for r in run["results"]]
    assert [each for each in steps if "" in each or ".." in each] == []


@pytest.mark.parametrize(
    ("field", "wrong"), [("kind", "failed"), ("locations", []), ("message", {}), ("occurrenceCount", 0), ("colour", 1)]
)
def test_the_schema_refuses_a_result_that_services_refuse(field: str, wrong: object) -> None:
    log = json.loads(render(a_report()))
    log["runs"][0]["results"][0][field] = wrong
    assert not SCHEMA.is_valid(log)


def test_more_results_than_services_take_are_cut_by_severity_and_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sarif, "MAX_RESULTS", 8)
    run = run_of(a_report())
    whole = {"gone": 7, "marks": 1, "note": 1, "accepted": 1}
    assert [result["ruleId"] for result in run["results"]] == ["gone"] * whole["gone"] + ["marks"]
    told = [note["message"]["text"] for note in run["invocations"][0]["toolExecutionNotifications"]]
    assert "2 results of the lowest severity are left out: code scanning takes 8" in told
