"""Words and classes of rollouts that templates ask for."""

from types import SimpleNamespace

import pytest

from migrations_app.templatetags import rollout_tags as tags


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
