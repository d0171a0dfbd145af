from xml.etree import ElementTree as ET

from hypothesis import given, settings

from migrations_app.readiness.outputs.junit import render
from migrations_app.readiness.report import Report
from tests.readiness.outputs.reports import a_report, any_reports, finding


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


@settings(max_examples=60)
@given(any_reports())
def test_hostile_texts_stay_well_formed_xml(report: Report) -> None:
    assert set(cases(report)) == {finding.id for finding in report.checks}


SCHEMA = {
    "testsuites": ({"name", "time", "tests", "failures", "errors"}, set(), {"testsuite"}),
    "testsuite": (
        {"group", "time", "skipped", "timestamp", "hostname", "id", "package", "file", "log", "url"},
        {"name", "tests", "failures", "errors"},
        {"testcase", "properties", "system-out"},
    ),
    "testcase": (
        {"time", "classname", "group"}, {"name"}, {"skipped", "error", "failure", "system-out", "system-err"},
    ),
    "failure": ({"type", "message"}, set(), set()),
    "error": ({"type", "message"}, set(), set()),
    "skipped": ({"type", "message"}, set(), set()),
    "system-out": (set(), set(), set()),
}  # fmt: skip
"""Attributes that may be there, those that must, and children: the JUnit schema of Jenkins' xUnit plugin (junit-10)."""


@settings(max_examples=60)
@given(any_reports())
def test_elements_and_attributes_are_those_of_the_schema(report: Report) -> None:
    for element in ET.fromstring(render(report)).iter():
        may, must, inside = SCHEMA[element.tag]
        given_ones = set(element.attrib)
        assert (must - given_ones, given_ones - may - must) == (set(), set()), element.tag
        assert {child.tag for child in element} <= inside
