"""T04, K18: text from anybody is read within limits, or refused with a code."""

import json
import math
import sys
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st

from migrations_app.errors import InvalidInput, InvalidManifest
from migrations_app.manifests.yaml_reader import NotReadable, YamlLimits, compose, read_document, read_documents

WIDE = YamlLimits(documents=10, depth=100, nodes=100_000)


def refusal(raw: bytes, limits: YamlLimits = YamlLimits()) -> tuple[str, str]:  # noqa: B008 - a frozen value
    with pytest.raises(InvalidInput) as caught:
        list(read_documents(raw, limits=limits))
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


def test_manifests_are_read_within_the_same_limits() -> None:
    for text, limits, message in (
        ("a: 1234", YamlLimits(size=5), "larger than 0 KiB"),
        ("a: 1\n---\nb: 2", YamlLimits(), "more than 1 document(s)"),
        ("[[1]]", YamlLimits(depth=1), "nested deeper than 1 levels"),
        ("[1, 2, 3]", YamlLimits(nodes=3), "more than 3 values"),
        ("a: &a [1, 2]\nb: *a", YamlLimits(alias_nodes=2), "aliases expand to more than 2 values"),
    ):
        with pytest.raises(NotReadable, match=message.replace("(", r"\(").replace(")", r"\)")):
            list(compose(text, limits=limits))
    (found,) = compose("a: &a [1, 2]\nb: *a", limits=YamlLimits(alias_nodes=3))
    assert found.value == {"a": [1, 2], "b": [1, 2]}


def work(read: Callable[[], object]) -> int:
    """How many functions are called while it runs: a measure that does not depend on the machine."""
    count = 0

    def note(_frame: object, event: str, _of: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(note)
    try:
        read()
    finally:
        sys.setprofile(None)
    return count


FORMS: dict[str, Callable[[int], str]] = {
    "a long list": lambda size: "- a: 1\n" * size,
    "a wide map": lambda size: "".join(f"k{number}: {{a: 1}}\n" for number in range(size)),
    "many documents": lambda size: "---\na: 1\n" * size,
    "a deep tree again and again": lambda size: ("- " + "[" * 18 + "]" * 18 + "\n") * (size // 10),
}
ROOMY = YamlLimits(size=10**7, documents=10**6, depth=20, nodes=10**7, alias_nodes=10**7)


@pytest.mark.parametrize("form", FORMS)
def test_twice_the_input_is_twice_the_work(form: str) -> None:
    for read in (
        lambda text: list(read_documents(text.encode(), limits=ROOMY)),
        lambda text: list(compose(text, limits=ROOMY)),
    ):
        small, middle, large = (work(lambda: read(FORMS[form](size))) for size in (500, 1000, 2000))  # noqa: B023 - run at once
        assert (1.8 < middle / small < 2.2, 1.8 < large / middle < 2.2) == (True, True), (small, middle, large)


@pytest.mark.parametrize(
    "repeated",
    [
        "a: {key}\n",  # the same key
        "k{number}: &a{number} [x]\n",  # anchors
        "<<: {{k{number}: 1}}\n",  # merge keys
    ],
)
def test_what_only_manifests_may_hold_is_linear_too(repeated: str) -> None:
    texts = ["".join(repeated.format(key="x", number=number) for number in range(size)) for size in (500, 1000, 2000)]
    small, middle, large = (work(lambda: list(compose(text, limits=ROOMY))) for text in texts)  # noqa: B023 - run at once
    assert (1.8 < middle / small < 2.2, 1.8 < large / middle < 2.2) == (True, True), (small, middle, large)


@pytest.mark.parametrize("use", ["[{}]", "{{<<: [{}]}}"])
def test_a_billion_laughs_cost_no_more_than_the_text(use: str) -> None:
    """Nine values in each of 40 levels: 9 to the power of 40 values, refused after a hundred thousand."""
    levels = ["l0: &l0 {x: 1}"]
    for number in range(40):
        nine = ", ".join([f"*l{number}"] * 9)
        levels.append(f"l{number + 1}: &l{number + 1} {use.format(nine)}")
    refused = []

    def read() -> None:
        try:
            list(compose("\n".join(levels)))
        except NotReadable as wrong:
            refused.append(wrong.message)

    calls = work(read)
    assert (refused, calls < 5000) == (["aliases expand to more than 100000 values"], True), calls


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
    code, found = "yaml_fine", list[Any]()
    try:
        found = list(read_documents(raw, limits=WIDE))
    except InvalidInput as refused:
        code = refused.code
    assert code.startswith("yaml_")
    assert all(map(is_finite, found))
    msgspec.json.encode(found)


def is_finite(value: object) -> bool:
    if isinstance(value, dict):
        return all(isinstance(key, str) and is_finite(each) for key, each in value.items())
    if isinstance(value, list):
        return all(map(is_finite, value))
    return value is None or isinstance(value, str | int) or (isinstance(value, float) and math.isfinite(value))
