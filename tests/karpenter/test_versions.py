from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from migrations_app.karpenter.versions import (
    Release,
    kubernetes_minor,
    minor_order,
    minors_text,
    parse,
    parse_minor,
    release,
)

NUMBERS = st.integers(min_value=0, max_value=999_999)
PRE = st.sampled_from(("", "rc.1", "rc.2", "rc.10", "alpha", "beta.1", "eks-4"))
RELEASES = st.builds(Release, NUMBERS, NUMBERS, NUMBERS, PRE)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("v0.32.10", Release(0, 32, 10)),
        ("0.32.10", Release(0, 32, 10)),
        (" 1.0.0\n", Release(1, 0, 0)),
        ("1.0.0-rc.1", Release(1, 0, 0, "rc.1")),
        ("1.0.0+build.7", Release(1, 0, 0)),
    ],
)
def test_reads_releases_with_and_without_v(text: str, found: Release) -> None:
    assert parse(text) == found


@pytest.mark.parametrize(
    "text",
    ["", "1", "1.0", "v", "1.0.0.0", "01.0.0", "1.0.0-", "1.0.x", "latest", "v0-33d9f6e", "1.0.0 1.0.1", "\uff11.0.0",
     "-1.0.0", "1.0.1234567", "1.0.0-" + "a" * 200, None, 1.0, b"1.0.0", ["1.0.0"]],
)  # fmt: skip
def test_refuses_what_is_no_release(text: object) -> None:
    assert parse(text) is None


def test_release_raises_on_our_own_mistakes() -> None:
    with pytest.raises(ValueError, match=r"not a release: '1\.0'"):
        release("1.0")


def test_orders_by_number_and_pre_releases_first() -> None:
    ordered = ["0.9.9", "0.32.9", "0.32.10", "1.0.0-alpha", "1.0.0-rc.2", "1.0.0-rc.10", "1.0.0", "1.9.0", "1.10.0"]
    shuffled = ordered[3:] + ordered[:3]
    assert sorted(shuffled, key=lambda text: release(text).order) == ordered


def test_knows_its_minor() -> None:
    assert release("v1.10.2").minor == "1.10"


@given(RELEASES)
def test_text_and_release_are_the_same(one: Release) -> None:
    assert parse(str(one)) == one
    assert parse(f"v{one}") == one


@given(RELEASES, RELEASES)
def test_order_is_total_and_agrees_with_equality(one: Release, other: Release) -> None:
    assert [one < other, one == other, one > other].count(True) == 1
    assert (one <= other) == (not one > other)
    assert (one >= other) == (not one < other)


@given(st.lists(RELEASES, min_size=2))
def test_sorting_never_goes_down(some: list[Release]) -> None:
    assert all(low <= high for low, high in pairwise(sorted(some)))


@given(st.text(max_size=300))
def test_any_text_is_answered(text: str) -> None:
    found = parse(text)
    assert found is None or parse(str(found)) == found
    assert kubernetes_minor(text) is None or minor_order(kubernetes_minor(text) or "") >= (1, 0)


@pytest.mark.parametrize(
    ("text", "found"), [("0.32", "0.32"), ("v1.10", "1.10"), ("1.0.0", None), ("1", None), (1.1, None)]
)
def test_reads_minors(text: object, found: str | None) -> None:
    assert parse_minor(text) == found


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("v1.29.3-eks-036c24b", "1.29"),
        ("1.29+", "1.29"),
        ("1.29", "1.29"),
        ("v1.31.0", "1.31"),
        ("1.30.1+k3s1", "1.30"),
        ("29+", None),
        ("", None),
        ("one.two", None),
        (None, None),
    ],
)
def test_reads_kubernetes_minors_as_servers_spell_them(text: object, found: str | None) -> None:
    assert kubernetes_minor(text) == found


def test_minors_sort_as_numbers() -> None:
    assert sorted(["1.10", "1.9", "0.32", "1.0"], key=minor_order) == ["0.32", "1.0", "1.9", "1.10"]


@pytest.mark.parametrize(
    ("minors", "words"),
    [((), "no known release"), (("0.32",), "0.32"), (("0.32", "0.33", "0.37"), "0.32 to 0.37")],
)
def test_speaks_ranges(minors: tuple[str, ...], words: str) -> None:
    assert minors_text(minors) == words
