"""Texts that were found hard to read and reworded: none of them comes back, on no page and in no message.

`reworded.tsv` holds each of them; where the same words are right in another place, it says why.
"""

from pathlib import Path

import pytest

from tests.house.shown_texts import GAP, holds, plain, shown_texts

LINES = [
    line.split("\t")
    for line in (Path(__file__).parent / "reworded.tsv").read_text(encoding="utf-8").splitlines()
    if line and not line.startswith("# Texts")
]


@pytest.fixture(scope="module")
def texts() -> dict[str, str]:
    return shown_texts()


def test_no_text_that_was_reworded_comes_back(texts):
    settled = {old for old, *_why in LINES if _why}
    found = {old: texts[text] for old, *_ in LINES for text in texts if holds(text, old)}
    assert {old: place for old, place in found.items() if old not in settled} == {}
    assert settled - found.keys() == set()


def test_every_text_that_people_read_is_looked_at(texts):
    assert len(LINES) > 400
    places = {place.partition("/")[2].partition("/")[0] for place in texts.values()}
    assert places >= {"fleet", "cluster", "rollout", "readiness", "checks", "actions", "use_cases", "templatetags"}
    for text in (
        "Select all on this page",
        f"Later: the upgrade before it comes first{GAP}",
        "the plan is too old; make a new preview",
        f"Approve {GAP} cluster",
    ):
        assert text in texts


@pytest.mark.parametrize(
    ("text", "old", "found"),
    [
        ("Confirm by hand", "Confirm by hand", True),
        ("then confirm by hand", "confirm by hand", True),
        ("Ended", "Ended", True),
        ("Ended by ada", "Ended", False),
        ("unconfirmed by hand", "confirmed by hand", False),
    ],
)
def test_one_word_is_found_as_a_whole_text_and_several_anywhere(text, old, found):
    assert holds(text, old) is found


def test_values_and_numbers_are_gaps():
    assert [plain(text) for text in ("12 nodes  left.", "Back to 0.32.10:", "{#} of #")] == [
        "# nodes left", "Back to #", "{#} of #",
    ]  # fmt: skip
