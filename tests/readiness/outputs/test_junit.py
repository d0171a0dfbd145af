from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
import xmlschema
from hypothesis import given, settings

from migrations_app.readiness.outputs.junit import render
from migrations_app.readiness.report import Report
from tests.readiness.outputs.reports import a_report, any_reports, finding, of_unknown_release, without_path


def cases(report: Report) -> dict[str, tuple[str, ...]]:
    root = ET.fromstring(render(report))
    return {case.attrib["name"]: tuple(child.tag for child in case) for case in root.iter("testcase")}


def test_each_status_has_its_own_element() -> None:
    assert cases(a_report()) == {
        "gone": ("failure",),
        "webhook": ("error",),
        "backup": ("skipped",),
        "marks": ("failure",),
        "note": ("system-out",),
        "accepted": ("skipped",),
        "fits": (),
        "windows": ("skipped",),
    }


def test_a_suite_is_a_cluster_and_a_hop_with_its_numbers() -> None:
    suite = ET.fromstring(render(a_report())).find("testsuite")
    assert suite is not None
    assert suite.attrib == {
        "name": "prod-1 0.33+", "timestamp": "2026-11-21T05:00:00", "hostname": "karpdash", "time": "0",
        "tests": "8", "failures": "2", "errors": "1", "skipped": "3",
    }  # fmt: skip


def test_a_failure_tells_message_and_evidence() -> None:
    found = finding("gone", "fail", summary="2 left", evidence_total=3)
    failure = ET.fromstring(render(a_report((found,)))).find(".//failure")
    assert failure is not None
    assert (failure.attrib, failure.text) == (
        {"type": "blocker", "message": "2 left"},
        "Why gone\nand 3 more",
    )


@pytest.mark.parametrize(
    ("report", "suite", "message"),
    [
        (without_path(), "prod-1 path", "the running release could not be told"),
        (of_unknown_release(), "prod-1 1.99", "1.99.0 is newer than 1.14.1"),
    ],
)
def test_a_report_without_an_answered_check_is_an_error_and_not_empty(report: Report, suite: str, message: str) -> None:
    root = ET.fromstring(render(report))
    assert (root.attrib["tests"], root.attrib["errors"]) == ("1", "1")
    assert [(found.attrib["name"], found.attrib["errors"]) for found in root.iter("testsuite")] == [(suite, "1")]
    assert [error.attrib["message"] for error in root.iter("error")] == [message]
    SCHEMA.validate(root)


def test_an_open_check_says_by_itself_why_its_hop_needs_facts() -> None:
    assert cases(a_report((finding("webhook", "unknown"),))) == {"webhook": ("error",)}
    assert cases(a_report((finding("backup", "manual"),))) == {"backup": ("skipped",)}


@settings(max_examples=60)
@given(any_reports())
def test_hostile_texts_stay_well_formed_xml(report: Report) -> None:
    assert set(cases(report)) - {"verdict"} == {finding.id for finding in report.checks}


SCHEMA = xmlschema.XMLSchema10(Path(__file__).parent / "schemas" / "junit-10.xsd")


@settings(max_examples=60)
@given(any_reports())
def test_a_report_is_valid_by_the_schema(report: Report) -> None:
    SCHEMA.validate(ET.fromstring(render(report)))


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ('<testsuites name="prod-1"', '<testsuites skipped="3" name="prod-1"'),
        (' failures="2" errors="1" skipped', " skipped"),
        ('time="0"', 'time="1 s"'),
        ("<skipped message", "<waived message"),
        ("</testsuites>", "<testcase name='x'/></testsuites>"),
    ],
)
def test_the_schema_refuses_what_readers_refuse(right: str, wrong: str) -> None:
    text = render(a_report())
    assert right in text
    assert not SCHEMA.is_valid(ET.fromstring(text.replace(right, wrong, 1)))
