"""Words and classes of rollouts that templates ask for."""

import re
from pathlib import Path
from types import SimpleNamespace

import pytest

from migrations_app import execution
from migrations_app.templatetags import rollout_tags as tags
from migrations_app.templatetags.wording import AFTER_HALT
from migrations_app.use_cases import rollouts


@pytest.mark.parametrize(
    ("verb", "outcome", "tone"),
    [
        ("gate", "", "pass"),
        ("patch", "", "accent"),
        ("patch", "applied", "pass"),
        ("patch", "unknown", "unknown"),
        ("patch", "refused", "blocker"),
        ("patch", "changed_by_other", "blocker"),
        ("patch", "noop", "muted"),
    ],
)
def test_the_tone_of_a_line_of_the_journal(verb, outcome, tone):
    assert tags.line_tone(SimpleNamespace(verb=verb, outcome=outcome)) == tone


@pytest.mark.parametrize("right", tags.CHANGING)
def test_each_right_over_rollouts_is_enough(right):
    assert tags.changes_clusters({f"migrations_app.{right}"})
    assert not tags.changes_clusters({"migrations_app.view_cluster"})


def test_a_difference_is_escaped_line_by_line():
    html = tags.diff_lines([("+", "<b>"), ("-", "a\u202e"), (" ", "same"), ("@", "left out")])
    assert html == (
        '<span class="diff-line is-added">+ &lt;b&gt;\n</span>'
        '<span class="diff-line is-removed">- a\\u202e\n</span>'
        '<span class="diff-line">  same\n</span>'
        '<span class="diff-line is-gap">…\n</span>'
    )


@pytest.mark.parametrize("state", ["paused", "needs_attention"])
@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("changed", "Abort it and make a new preview: resumed, it would stop here again."),
        ("refused_400", "Fix what the answer names, then resume."),
        ("settled", ""),
    ],
)
def test_what_stopped_says_the_one_next_thing(state, code, words):
    assert tags.after_halt(SimpleNamespace(state=state, cause_code=code)) == words


@pytest.mark.parametrize(
    ("state", "words"),
    [
        ("paused", "Grant the permission, or change the admission policy that refused it; then resume."),
        ("needs_attention", "Grant the permission; then check the cluster and record the result."),
    ],
)
def test_what_cannot_be_resumed_is_not_told_to_be(state, words):
    """A rollout that needs attention is resumed only after a person has recorded its result (A09)."""
    assert tags.after_halt(SimpleNamespace(state=state, cause_code="refused_403")) == words


def test_what_runs_or_ended_has_no_next_thing():
    assert {
        tags.after_halt(SimpleNamespace(state=state, cause_code="changed")) for state in ("running", "aborted")
    } == {""}


def test_every_cause_that_stops_a_rollout_has_one():
    """The codes that code raises by name; those of refusals have one word for all."""
    source = "".join(path.read_text() for path in Path(rollouts.__file__).parent.glob("*.py"))
    source += "".join(path.read_text() for path in Path(execution.__file__).parent.glob("*.py"))
    codes = set(re.findall(r'(?:RolloutHalted|StopRequested)\(\s*"([a-z_]+)"', source))
    assert {"changed", "gate", "not_verified", "right_gone"} <= codes
    assert codes - set(AFTER_HALT) == set()
