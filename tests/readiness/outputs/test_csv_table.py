import csv
import io

from hypothesis import given, settings

from migrations_app.checks.base import Evidence
from migrations_app.readiness.outputs.csv_table import COLUMNS, render
from migrations_app.readiness.outputs.spreadsheet import harmless
from migrations_app.readiness.report import Report
from tests.readiness.outputs.reports import a_report, any_reports, finding


def rows(report: Report) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(render(report))))


def test_a_row_for_each_cause_and_one_for_a_finding_without() -> None:
    evidence = (Evidence(kind="Pod", namespace="shop", name="a", count=3), Evidence(kind="Node", name="n"))
    found = rows(a_report((finding("gone", "fail", evidence=evidence), finding("fits", "pass"))))
    assert [(row["check"], row["status"], row["kind"], row["name"], row["count"]) for row in found] == [
        ("gone", "fail", "Pod", "a", "3"),
        ("gone", "fail", "Node", "n", "1"),
        ("fits", "pass", "", "", ""),
    ]


def test_no_cell_is_a_formula() -> None:
    evidence = tuple(Evidence(kind="Pod", name=name) for name in ("=1+1", "+1", "-1", "@x", "a=1"))
    found = rows(a_report((finding("gone", "fail", evidence=evidence),)))
    assert [row["name"] for row in found] == ["'=1+1", "'+1", "'-1", "'@x", "a=1"]


def test_no_part_of_a_cell_is_a_formula_where_the_semicolon_separates_cells() -> None:
    """A spreadsheet with such a locale cuts `a;=1+1` at the semicolon, whether the file has quotes or not."""
    seen = ("a;=1+1", 'a";@x', "a;;-1", "a; b", "a;b=1", "1;2")
    evidence = tuple(Evidence(kind="Pod", name="p", seen=text) for text in seen)
    found = rows(a_report((finding("gone", "fail", evidence=evidence),)))
    assert [row["seen"] for row in found] == ["a;'=1+1", "a\";'@x", "a;;'-1", "a; b", "a;b=1", "1;2"]
    assert [harmless(text) for text in ("a\n=1", "\n=1", "a\t+1", 7)] == ["a\n'=1", "'\n'=1", "a\t'+1", 7]


@settings(max_examples=60)
@given(any_reports())
def test_every_row_has_every_column_and_no_cell_a_control_character(report: Report) -> None:
    for row in csv.reader(io.StringIO(render(report))):
        assert (len(row), all(cell.isprintable() for cell in row)) == (len(COLUMNS), True)
