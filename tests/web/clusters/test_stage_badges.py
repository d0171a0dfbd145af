"""The badges of a stage of the runbook: unknown is called unknown, and is neither a blocker nor a note."""

import pytest

from migrations_app.readiness.runbook.stages import RunbookStage
from migrations_app.web.clusters.stage_badges import stage_badges
from tests.builders.rows import a_finding

LISTED = RunbookStage(part="before", phase="rollout", does="replace nodes", checks=("one", "two", "three"))


def finding(status, severity="blocker"):
    return a_finding("one", status=status, severity=severity)


@pytest.mark.parametrize(
    ("findings", "badges", "tone"),
    [
        ([finding("unknown", "warning"), finding("unknown", "info")], ["2 unknown"], "unknown"),
        ([finding("manual")], ["1 to verify"], "unknown"),
        ([finding("fail", "warning"), finding("unknown")], ["1 unknown", "1 open"], "unknown"),
        ([finding("fail", "warning"), finding("unknown", "info")], ["1 open", "1 unknown"], "warning"),
        (
            [finding("fail"), finding("fail", "warning"), finding("unknown"), finding("manual")],
            ["1 blocker", "1 unknown", "1 to verify"],
            "blocker",
        ),
        ([finding("fail", "info"), finding("fail", "info")], ["2 notes"], "accent"),
        ([], ["OK"], "pass"),
    ],
)
def test_each_badge_counts_what_it_names(findings, badges, tone):
    found = stage_badges(LISTED, findings)
    assert [f"{badge.count or ''} {badge.word}".strip() for badge in found] == badges
    assert found[0].look.tone == tone


def test_a_stage_of_commands_says_what_is_unknown_too():
    last = RunbookStage(part="verify", phase="cleanup", does="scan again", checks=())
    assert [(badge.count, badge.word) for badge in stage_badges(last, [finding("unknown")])] == [
        (0, "to do"),
        (1, "unknown"),
    ]
