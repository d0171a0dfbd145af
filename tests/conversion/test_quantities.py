"""Quantities, durations, volume sizes and field paths, against tables that were checked with kubectl and Go."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from migrations_app.conversion import node_template, quantities
from migrations_app.conversion.findings import field_path


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("1000", "1k"), ("1500", "1500"), ("1024Gi", "1Ti"), ("1000m", "1"), ("1.5", "1500m"), ("1000Gi", "1000Gi"),
        ("1000k", "1M"), ("0.5Gi", "512Mi"), ("1.5Gi", "1536Mi"), ("100000M", "100G"), ("0.1Ki", "102400m"),
        ("15Ti", "15Ti"), ("0", "0"), ("0Gi", "0"), ("-0", "0"), ("512Ki", "512Ki"), ("1023", "1023"), ("1Ki", "1Ki"),
        ("1024", "1024"), ("1e3", "1e3"), ("12e6", "12e6"), ("1E3", "1e3"), ("1.5e3", "1500"), ("100n", "100n"),
        ("0.1n", "1n"), ("1u", "1u"), (".5", "500m"), ("5.", "5"), ("+2", "2"), ("-1500m", "-1500m"), ("2E", "2E"),
        (" 4 ", "4"), ("1e-3", "1e-3"), ("-2Ki", "-2Ki"), ("0.001", "1m"),
    ],
)  # fmt: skip
def test_canonical_quantity(text: str, wanted: str) -> None:
    assert quantities.canonical(text) == wanted


@pytest.mark.parametrize(
    "text",
    ["", " ", "Gi", "1 Gi", "10GB", "1.2.3", "1kk", "0x10", "1e", "--1", "NaN", "1e99", "1" * 65, "1K", "\u0661"],
)
def test_no_quantity(text: str) -> None:
    assert quantities.canonical(text) is None
    assert quantities.billionths(text) is None


@given(
    st.integers(-(10**12), 10**12),
    st.sampled_from(["n", "u", "m", "", "k", "M", "G", "T", "Ki", "Mi", "Gi", "e3", "e-3"]),
)
def test_canonical_text_keeps_the_value_and_is_a_fixed_point(number: int, suffix: str) -> None:
    text = f"{number}{suffix}"
    canonical = quantities.canonical(text)
    assert canonical is not None
    assert quantities.billionths(canonical) == quantities.billionths(text)
    assert quantities.canonical(canonical) == canonical


@pytest.mark.parametrize(
    ("seconds", "wanted"),
    [(0, "0s"), (30, "30s"), (60, "1m0s"), (90, "1m30s"), (3600, "1h0m0s"), (3601, "1h0m1s"), (2592000, "720h0m0s")],
)
def test_seconds_as_go_text(seconds: int, wanted: str) -> None:
    assert quantities.from_seconds(seconds) == wanted


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("1m", "1m0s"), ("90s", "1m30s"), ("0.5h", "30m0s"), ("60.5s", "1m0.5s"), ("1h1ms", "1h0m0.001s"), ("0", "0s"),
        ("1500us", "1.5ms"), ("1500µs", "1.5ms"), ("10ns", "10ns"), ("-1m", "-1m0s"), ("+5s", "5s"), (".5s", "500ms"),
        ("1s1s", "2s"), ("1.s", "1s"),
    ],
)  # fmt: skip
def test_durations_as_go_prints_them(text: str, wanted: str) -> None:
    length = quantities.nanoseconds(text)
    assert length is not None
    assert quantities.text_of(length) == wanted


@pytest.mark.parametrize("text", ["", "-", "5", "1d", "1h ", " 1h", "h", ".s", "1h30", "Never", "1H", "9" * 65 + "s"])
def test_no_duration(text: str) -> None:
    assert quantities.nanoseconds(text) is None


@given(st.integers(-(10**18), 10**18))
def test_printed_duration_reads_back(length: int) -> None:
    assert quantities.nanoseconds(quantities.text_of(length)) == length


@pytest.mark.parametrize(
    ("text", "wanted"),
    [("Never", True), ("720h", True), ("1h30m", True), ("1.5h", False), ("1ms", False), ("x1h", False)],
)
def test_served_durations(text: str, wanted: bool) -> None:
    assert quantities.is_crd_duration(text) is wanted


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("50Gi", True), ("1G", True), ("58Ti", True), ("57Ti", True), ("64T", True), ("59000Gi", True), ("9Ti", True),
        ("50", False), ("500Mi", False), ("0Gi", False), ("59001Gi", False), ("59Ti", False), ("18Ti", False),
        ("65T", False), ("1.5Gi", False), ("050Gi", False), ("", False),
    ],
)  # fmt: skip
def test_volume_sizes_that_the_server_accepts(text: str, wanted: bool) -> None:
    assert node_template.accepted_size(text) is wanted


@pytest.mark.parametrize(
    ("path", "wanted"),
    [
        ((), ""),
        (("spec", "requirements", 2, "values", 0), "spec.requirements[2].values[0]"),
        (("metadata", "annotations", "karpenter.sh/x"), "metadata.annotations[karpenter.sh/x]"),
        (("spec", "tags", ""), "spec.tags[]"),
        (("spec", "kubeReserved", "ephemeral-storage"), "spec.kubeReserved.ephemeral-storage"),
    ],
)
def test_field_path(path: tuple[str | int, ...], wanted: str) -> None:
    assert field_path(path) == wanted
