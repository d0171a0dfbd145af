import re

import pytest

from migrations_app.errors import InvalidInput
from migrations_app.iam.requirements.features import Span, every_minor, minor_of, minor_text
from tests.builders.newest import NEWEST_MINOR, NEWEST_ROW, NEXT_MINOR, table_to


@pytest.mark.parametrize(
    ("release", "minor"),
    [
        ("0.28", (0, 28)),
        ("v0.32.10", (0, 32)),
        ("0.33+", (0, 33)),
        (" 1.0.14 ", (1, 0)),
        ("1.14", (1, 14)),
        ("v1.0.0-rc.1", (1, 0)),
    ],
)
def test_a_release_is_read_as_its_minor(release, minor):
    assert minor_of(release) == minor


@pytest.mark.parametrize("release", ["", "latest", "1", "1.0.x", "1.0.14.2", "\u0661.\u0660", "1.0\n2"])
def test_what_is_no_release_is_refused(release):
    with pytest.raises(InvalidInput, match="not a release"):
        minor_of(release)


@pytest.mark.parametrize("release", ["0.27", "0.38", NEXT_MINOR, "2.0"])
def test_a_release_without_known_needs_is_refused(release):
    with pytest.raises(InvalidInput, match=re.escape(f"known for 0.28 to 0.37 and 1.0 to {NEWEST_MINOR}")):
        minor_of(release)


def test_every_minor_is_known_in_order():
    assert [minor_text(minor) for minor in every_minor()] == [
        *(f"0.{n}" for n in range(28, 38)),
        *(f"1.{n}" for n in range(NEWEST_ROW.order[1] + 1)),
    ]


@pytest.mark.parametrize(
    ("span", "inside"),
    [
        (Span((1, 12)), [(1, 12), (1, 13), (1, 14)]),
        (Span((0, 36), (1, 1)), [(0, 36), (0, 37), (1, 0), (1, 1)]),
        (Span((1, 3), (1, 3)), [(1, 3)]),
    ],
)
def test_a_span_holds_both_its_ends_and_what_lies_between(span, inside):
    assert [minor for minor in every_minor(table=table_to("1.14")) if minor in span] == inside
