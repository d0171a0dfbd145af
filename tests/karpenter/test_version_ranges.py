import pytest
from hypothesis import given
from hypothesis import strategies as st

from migrations_app.karpenter.version_ranges import admits, is_range
from migrations_app.karpenter.versions import release

KNOWN = ("0.31.4", "0.32.10", "0.37.8", "1.0.0", "1.0.14", "1.3.8", "1.14.1", "2.0.0")


@pytest.mark.parametrize(
    ("text", "taken"),
    [
        ("", KNOWN),
        ("*", KNOWN),
        ("x", KNOWN),
        ("1.x", ("1.0.0", "1.0.14", "1.3.8", "1.14.1")),
        ("1", ("1.0.0", "1.0.14", "1.3.8", "1.14.1")),
        ("1.0", ("1.0.0", "1.0.14")),
        ("v1.0.x", ("1.0.0", "1.0.14")),
        ("~1.0.5", ("1.0.14",)),
        ("~> 1.0", ("1.0.0", "1.0.14")),
        ("~1", ("1.0.0", "1.0.14", "1.3.8", "1.14.1")),
        ("^1.0.1", ("1.0.14", "1.3.8", "1.14.1")),
        ("^0.37.0", ("0.37.8",)),
        ("^0", ("0.31.4", "0.32.10", "0.37.8")),
        (">=0.32.0", KNOWN[1:]),
        (">=0.32.0 <1", ("0.32.10", "0.37.8")),
        (">=0.32.0, <=1.0", ("0.32.10", "0.37.8", "1.0.0", "1.0.14")),
        (">1.0", ("1.3.8", "1.14.1", "2.0.0")),
        ("> 1.0.0, !=1.3.x", ("1.0.14", "1.14.1", "2.0.0")),
        ("0.37.8 - 1.0", ("0.37.8", "1.0.0", "1.0.14")),
        ("0.31.x || =1.3.8", ("0.31.4", "1.3.8")),
        ("=>1.14", ("1.14.1", "2.0.0")),
        ("=<0.32", ("0.31.4", "0.32.10")),
        (">=0.32.0-0 <1.0.0-0", ("0.32.10", "0.37.8")),
        ("^1.0.0-0", ("1.0.0", "1.0.14", "1.3.8", "1.14.1")),
    ],
)
def test_what_a_range_takes(text, taken):
    assert is_range(text)
    assert tuple(one for one in KNOWN if admits(text, release(one))) == taken


@pytest.mark.parametrize("text", ["1.0.14", "v0.32.10", "main", "latest", ">=", "1.x.y.z", ">=1.0 oder 2", "1" * 300])
def test_what_is_no_range(text):
    assert not is_range(text)


@given(st.text(alphabet="0123456789.xX*v<>=!~^|,- ", max_size=60))
def test_any_text_is_read(text):
    assert admits(text, release("1.0.0")) in (True, False)
