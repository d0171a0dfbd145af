"""The exit code of a scan and of a plan, by verdict and by the severity that counts as a failure."""

from typing import Any

import pytest

from migrations_app.readiness.report import ClusterFacts, Target
from migrations_app.readiness.verdict import COULD_NOT_LOOK, FINDINGS, READY, exit_code
from tests.readiness.outputs.reports import a_report, finding

WARNING = {"severity": "warning"}


@pytest.mark.parametrize(
    ("status", "more", "fail_on", "wanted"),
    [
        ("pass", {}, "blocker", READY),
        ("fail", {}, "blocker", FINDINGS),
        ("fail", {}, "never", READY),
        ("fail", WARNING, "blocker", READY),
        ("fail", WARNING, "warning", FINDINGS),
        ("fail", {"severity": "info"}, "warning", READY),
        ("waived", {}, "blocker", READY),
        ("unknown", {}, "blocker", COULD_NOT_LOOK),
        ("unknown", {}, "never", COULD_NOT_LOOK),
        ("manual", {}, "blocker", COULD_NOT_LOOK),
        ("unknown", WARNING, "warning", COULD_NOT_LOOK),
        ("manual", WARNING, "warning", COULD_NOT_LOOK),
        ("unknown", WARNING, "blocker", READY),
        ("unknown", {"severity": "info"}, "warning", READY),
        ("not_applicable", {}, "blocker", READY),
    ],
)
def test_one_finding(status: str, more: dict[str, Any], fail_on: Any, wanted: int) -> None:
    assert exit_code(a_report((finding("one", status, **more),)), fail_on=fail_on) == wanted


def test_a_certain_failure_is_told_before_an_uncertainty() -> None:
    assert exit_code(a_report()) == FINDINGS


@pytest.mark.parametrize(
    ("status", "more", "complete", "wanted"),
    [
        ("waived", {}, True, FINDINGS),
        ("unknown", WARNING, True, COULD_NOT_LOOK),
        ("pass", {}, False, COULD_NOT_LOOK),
        ("pass", {}, True, READY),
    ],
)
def test_strict_leaves_nothing_open(status: str, more: dict[str, Any], complete: bool, wanted: int) -> None:
    report = a_report((finding("one", status, **more),), complete=complete)
    assert exit_code(report, strict=True) == wanted


@pytest.mark.parametrize(("stage", "wanted"), [("no_karpenter", READY), ("unknown", COULD_NOT_LOOK)])
def test_without_a_path(stage: Any, wanted: int) -> None:
    facts = ClusterFacts(name="a", kubernetes_version=None, karpenter_version=None, stage=stage)
    assert exit_code(a_report((), cluster=facts, target=Target(None, ()), hops=())) == wanted
