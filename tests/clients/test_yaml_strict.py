"""T04, K18: text from anybody is read within limits, or refused with a code."""

import json
import math
import time
from typing import Any

import msgspec
import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st

from migrations_app.clients.kubernetes.yaml_strict import YamlLimits, read_document, read_documents
from migrations_app.errors import InvalidInput, InvalidManifest

WIDE = YamlLimits(documents=10, depth=100, nodes=100_000)


def refusal(raw: bytes, limits: YamlLimits = YamlLimits()) -> tuple[str, str]:  # noqa: B008 - a frozen value
    started = time.monotonic()
    with pytest.raises(InvalidInput) as caught:
        list(read_documents(raw, limits=limits))
    assert time.monotonic() - started < 5
    return caught.value.code, caught.value.where


BOMB = b"a: &a [x, x, x]\nb: &b [*a, *a, *a]\nc: [*b, *b, *b]\n"
REFUSED = [
    (BOMB, "yaml_anchor", "line 1"),
    (b"a: *b", "yaml_alias", "line 1"),
    (b"<<: {a: 1}", "yaml_alias", "line 1"),
    (b"a: 1\nb: 2\na: 3", "yaml_duplicate_key", "line 3"),
    (b'{"a": 1, "a": 2}', "yaml_duplicate_key", "line 1"),
    (b"a: !!python/object/apply:os.system [id]", "yaml_tag", "line 1"),
    (b"a: !!str 5", "yaml_tag", "line 1"),
    (b"! a", "yaml_tag", "line 1"),
    (b"%TAG ! tag:x,2000:\n---\na: 1", "yaml_tag", "line 1"),
    (b"? [a]\n: b", "yaml_key", "line 1"),
    (b"? {a: b}\n: c", "yaml_key", "line 1"),
    (b"a: 1\n---\nb: 2", "yaml_documents", "line 2"),
    (b"[" * 200_000, "yaml_depth", "line 1"),
    (b"{a: " * 200, "yaml_depth", "line 1"),
    (b"[" + b"1," * 20_000 + b"]", "yaml_nodes", "line 1"),
    (b"a" * 300_000, "yaml_too_large", ""),
    (b"a: [", "yaml_syntax", "line 2"),
    (b"a: b: c", "yaml_syntax", "line 1"),
    (b"\ta: b", "yaml_syntax", "line 1"),
    (b"a: \x00", "yaml_encoding", ""),
    (b"a: \xff", "yaml_encoding", ""),
    ("a: b".encode("utf-16"), "yaml_encoding", ""),
    ("a: b".encode("utf-16-be"), "yaml_encoding", ""),
]


@pytest.mark.parametrize(("raw", "code", "where"), REFUSED, ids=lambda value: str(value)[:30])
def test_what_goes_beyond_is_refused_with_its_code(raw: bytes, code: str, where: str) -> None:
    assert refusal(raw) == (code, where)


def test_limits_are_given_by_the_caller() -> None:
    assert refusal(b"[[1]]", YamlLimits(depth=1)) == ("yaml_depth", "line 1")
    assert refusal(b"[1, 2, 3]", YamlLimits(nodes=3)) == ("yaml_nodes", "line 1")
    assert refusal(b"123456", YamlLimits(size=5)) == ("yaml_too_large", "")
    assert read_document(b"[[1]]", limits=YamlLimits(depth=2)) == [[1]]


def test_the_error_is_of_the_callers_kind() -> None:
    with pytest.raises(InvalidManifest):
        read_document(b"*a", error=InvalidManifest)


PLAIN = [
    (b"", None),
    (b"# only a comment", None),
    (b"--- {}", {}),
    (b"a: ~\nb:\nc: null", {"a": None, "b": None, "c": None}),
    (b"[true, False, yes, no, on, off]", [True, False, "yes", "no", "on", "off"]),
    (b"[1, -2, +3, 007, 0x10, 0o7, 1_000]", [1, -2, 3, 7, "0x10", "0o7", "1_000"]),
    (b"[1.5, .5, 1e3, -1.0E-2, 1., 1e400]", [1.5, 0.5, 1000.0, -0.01, 1.0, "1e400"]),
    (b"[.nan, .inf, nan, 1:30, 2024-01-01]", [".nan", ".inf", "nan", "1:30", "2024-01-01"]),
    (b"[12345678901234567890123, '1', \"true\"]", ["12345678901234567890123", "1", "true"]),
    (b"1: a\ntrue: b\n~: c", {"1": "a", "true": "b", "~": "c"}),
    (b"a: |\n  x\n  y\nb: >\n  x\n  y\n", {"a": "x\ny\n", "b": "x y\n"}),
    (b'{"a": [{"b": "\\u00e9"}]}', {"a": [{"b": "\u00e9"}]}),
]


@pytest.mark.parametrize(("raw", "value"), PLAIN, ids=lambda value: str(value)[:30])
def test_values_are_those_of_json(raw: bytes, value: object) -> None:
    assert read_document(raw) == value


def test_documents_come_one_by_one() -> None:
    found = read_documents(b"a: 1\n---\n- b\n---\n", limits=WIDE)
    assert next(found) == {"a": 1}
    assert list(found) == [["b"], None]


def test_items_of_a_list_are_sealed_as_they_end() -> None:
    raw = b"kind: List\nitems:\n- a: {items: [1]}\n- b\nother: {items: [2]}\n"
    (found,) = read_documents(raw, seal=lambda value: ("sealed", value))
    assert found == {
        "kind": "List",
        "items": [("sealed", {"a": {"items": [1]}}), ("sealed", "b")],
        "other": {"items": [2]},
    }


json_like = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**15), 10**15)
    | st.text(st.characters(codec="utf-8", categories=["L", "N", "Z"])),
    lambda inner: (
        st.lists(inner, max_size=5) | st.dictionaries(st.text("abcdef-/.0129", max_size=8), inner, max_size=5)
    ),
    max_leaves=20,
)


@given(json_like)
def test_what_was_written_is_read_back(value: Any) -> None:
    for raw in (yaml.safe_dump(value, allow_unicode=True), json.dumps(value, ensure_ascii=False)):
        assert read_document(raw.encode(), limits=WIDE) == value


ALPHABET = st.sampled_from(
    [*"{}[]:,-?&*!|>'\"%@`#~ \n\t.0123456789abcnulxe\\", "\x00", "\u2028", "\ufeff", "<<", "---", "..."]
)


@given(st.lists(ALPHABET, max_size=120).map("".join))
@example("%YAML 9.9\n---\na")
@example("? ")
@example("- - - -")
@example('"\\ud800"')
@example("\ufeff")
def test_any_text_is_read_or_refused(text: str) -> None:  # T04
    check_any(text.encode())


@given(st.binary(max_size=200))
def test_any_bytes_are_read_or_refused(raw: bytes) -> None:  # T04
    check_any(raw)


def check_any(raw: bytes) -> None:
    """It ends in plain values that JSON can hold, or in one of our codes."""
    started = time.monotonic()
    code, found = "yaml_fine", list[Any]()
    try:
        found = list(read_documents(raw, limits=WIDE))
    except InvalidInput as refused:
        code = refused.code
    assert code.startswith("yaml_")
    assert all(map(is_finite, found))
    msgspec.json.encode(found)
    assert time.monotonic() - started < 2


def is_finite(value: object) -> bool:
    if isinstance(value, dict):
        return all(isinstance(key, str) and is_finite(each) for key, each in value.items())
    if isinstance(value, list):
        return all(map(is_finite, value))
    return value is None or isinstance(value, str | int) or (isinstance(value, float) and math.isfinite(value))
