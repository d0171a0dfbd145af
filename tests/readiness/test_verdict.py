"""Verdicts: unknown is never green, percent never decides."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from migrations_app.checks.base import Finding
from migrations_app.readiness.report import Counts
from migrations_app.readiness.verdict import finding_sort_key, hop_line, verdict

STATUSES = ["pass", "fail", "unknown", "not_applicable", "manual", "waived"]


def finding(status="pass", severity="blocker", check_id="c", phase="crds"):
    texts = {"title": "t", "why": "w", "summary": f"{check_id} {status}"}
    return Finding(id=check_id, hop="1.0", phase=phase, status=status, severity=severity, **texts)


@pytest.mark.parametrize(
    ("findings", "wanted"),
    [
        ([], "needs_facts"),
        ([finding()], "ready"),
        ([finding("not_applicable")], "ready"),
        ([finding(), finding("fail")], "blocked"),
        ([finding("fail"), finding("unknown")], "blocked"),
        ([finding(), finding("unknown")], "needs_facts"),
        ([finding(), finding("manual")], "needs_facts"),
        ([finding("waived")], "ready_with_warnings"),
        ([finding(), finding("fail", "warning")], "ready_with_warnings"),
        ([finding(), finding("unknown", "warning")], "ready_with_warnings"),
        ([finding(), finding("fail", "info")], "ready"),
    ],
)
def test_the_verdict_of_findings(findings, wanted):
    assert verdict(findings) == wanted


@given(st.lists(st.tuples(st.sampled_from(STATUSES), st.sampled_from(["blocker", "warning", "info"])), max_size=8))
def test_an_open_blocker_never_lets_a_hop_be_ready(rows):
    found = verdict(finding(status, severity) for status, severity in rows)
    if any(severity == "blocker" and status in ("fail", "unknown", "manual") for status, severity in rows):
        assert found in ("blocked", "needs_facts")


def test_a_hop_line_counts_and_gives_reasons_worst_first():
    line = hop_line(
        "1.0",
        [
            finding(check_id="a"),
            finding("fail", "warning", "b"),
            finding("fail", check_id="c"),
            finding("unknown", check_id="d"),
        ],
    )
    assert line.counts == Counts(passed=1, fail=2, unknown=1)
    assert (line.verdict, line.done_percent) == ("blocked", 25)
    assert line.reasons == ("c fail", "d unknown", "b fail")


def test_rows_are_sorted_as_people_work():
    rows = [
        finding(check_id="p"),
        finding("unknown", check_id="u"),
        finding("fail", "warning", "w"),
        finding("fail", check_id="f"),
    ]
    assert [row.id for row in sorted(rows, key=finding_sort_key)] == ["f", "u", "w", "p"]
