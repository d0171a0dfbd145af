"""No logic reads sentences: a scan that says everything in other words decides, groups and advises the same."""

from collections.abc import Iterator

import msgspec
import pytest

from migrations_app.checks.base import Finding
from migrations_app.clients.bundle.bundle import open_bundle
from migrations_app.collect.aws import add_aws
from migrations_app.collect.collect import CollectResult, collect
from migrations_app.readiness.evaluate import evaluate
from migrations_app.samples.fleet import aws, files, stories
from migrations_app.samples.story import Story
from tests.house.rewording import REWORDED, decided, reworded


def scans(story: Story) -> Iterator[CollectResult]:
    """The story without access to AWS, with it where there is an account, and without each file of its bundle."""
    whole = dict(files(story))
    cut = [{name: body for name, body in whole.items() if name != gone} for gone in ("version.json", "objects.json")]
    for held in (whole, *cut):
        yield collect(open_bundle(held), cluster=story.name)
    if account := aws(story):
        yield add_aws(collect(open_bundle(whole), cluster=story.name), account)


@pytest.mark.parametrize("story", stories(), ids=lambda story: story.name)
def test_other_words_change_nothing_but_words(story: Story) -> None:
    for collected in scans(story):
        plain, other = evaluate(collected).report, reworded(collected)
        assert decided(other) == decided(plain)


def test_every_sentence_of_a_finding_is_another_one() -> None:
    found = [(one, two) for story in stories() for one, two in both(story) if one.summary]
    assert {two.status for _, two in found} >= {"pass", "fail", "unknown", "manual", "not_applicable"}
    assert [one.id for one, two in found if not own(two).startswith(REWORDED)] == []
    assert [row for _, two in found for row in two.evidence if REWORDED not in (row.seen or REWORDED)] == []


def own(finding: Finding) -> str:
    """The sentence of the check itself, without the words for when it is asked."""
    return finding.summary if finding.follows is msgspec.UNSET else finding.summary.partition(": ")[2]


def both(story: Story) -> list[tuple[msgspec.Struct, msgspec.Struct]]:
    (collected, *_) = scans(story)
    return list(zip(evaluate(collected).report.checks, reworded(collected).checks, strict=True))
