import json
import re
from pathlib import Path

import jsonschema
import msgspec
from hypothesis import given, settings

from migrations_app.readiness.outputs.json_schema import render, scan_schema
from migrations_app.readiness.report import Report
from tests.readiness.outputs.reports import a_report, any_reports, as_tree

PUBLISHED = Path(__file__).parents[3] / "docs/schema/scan-v1.json"
VALIDATOR = jsonschema.Draft202012Validator(scan_schema())


def test_the_published_schema_is_the_one_of_the_types() -> None:
    assert json.loads(PUBLISHED.read_text()) == scan_schema()


def test_the_schema_is_a_schema() -> None:
    jsonschema.Draft202012Validator.check_schema(scan_schema())


def test_a_report_follows_the_schema_with_the_names_of_the_contract() -> None:
    tree = json.loads(render(a_report()))
    VALIDATOR.validate(tree)
    assert tree["schema"] == "karpdash/scan/v1"
    assert tree["cluster"]["stage"] == "mixed"
    assert tree["hops"][0]["counts"] == {
        "pass": 1, "fail": 3, "unknown": 1, "not_applicable": 1, "manual": 1, "waived": 1,
    }  # fmt: skip
    assert tree["target"]["path"][0]["kubernetes"] == {"min": "1.23", "max": "1.29"}
    assert tree["checks"][0]["remedies"][0]["how"] == "kubectl"
    assert tree["parts"][1] == {
        "name": "crds", "seen": False, "why": "forbidden", "detail": "may not list",
        "count": None, "quarantined": 0, "seconds": 0.0, "read_as": "",
        "unchanged_since": "",
    }  # fmt: skip


def test_a_field_too_few_or_a_strange_word_is_no_report() -> None:
    tree = json.loads(render(a_report()))
    tree["hops"][0]["verdict"] = "green"
    del tree["checks"][0]["severity"]
    wrong = sorted(error.message for error in VALIDATOR.iter_errors(tree))
    assert wrong[0].startswith("'green' is not one of ['blocked', 'done', ")
    assert wrong[1] == "'severity' is a required property"
    assert len(wrong) == 2


@settings(max_examples=40)
@given(any_reports())
def test_any_report_reads_back_as_itself_but_for_half_characters(report: Report) -> None:
    text = render(report)
    whole = re.sub("[\ud800-\udfff]", "\ufffd", json.dumps(as_tree(report), ensure_ascii=False))
    assert msgspec.json.decode(text, type=Report) == msgspec.convert(json.loads(whole), type=Report)
    assert all(line.isprintable() for line in text.split("\n"))
    VALIDATOR.validate(json.loads(text))
