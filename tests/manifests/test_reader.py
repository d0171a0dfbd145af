"""Reading manifests: places, limits, and values as kubectl sees them."""

import json
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from migrations_app.manifests import reader, writer
from migrations_app.manifests.reader import ManifestFault, ManifestReading
from migrations_app.manifests.writer import quoted, resolved


def read(text: str | bytes) -> ManifestReading:
    return reader.read(text, file="f.yaml")


def bodies(text: str | bytes) -> list[Any]:
    reading = read(text)
    assert reading.faults == []
    return [manifest.body for manifest in reading.manifests]


def test_lines_and_documents() -> None:
    text = "# head\n---\nkind: A\n---\n\n# about B\nkind: B\nspec:\n  a:\n  - x\n  - y: 1\n    z: 2\n"
    first, second = read(text).manifests
    assert (first.place, first.head, first.line_of(("kind",))) == ("f.yaml, document 1", "# head", 3)
    assert (second.place, second.head) == ("f.yaml, document 2", "# about B")
    lines = [
        second.line_of(path) for path in [(), ("kind",), ("spec", "a", 0), ("spec", "a", 1, "z"), ("spec", "gone", "x")]
    ]
    assert lines == [7, 7, 10, 12, 8]


def test_lines_inside_a_list() -> None:
    reading = read("kind: List\nitems:\n- kind: A\n- kind: B\n  spec: {}\n")
    assert [(one.place, one.line_of(("spec",))) for one in reading.manifests] == [
        ("f.yaml, document 1, item 1", 3),
        ("f.yaml, document 1, item 2", 5),
    ]


NESTED = """\
# of the first
kind: List
items:
- apiVersion: v1
  kind: List
  items:
  - kind: A
  - apiVersion: karpenter.sh/v1
    kind: NodePoolList
    items:
    - metadata: {name: b}
      spec: {}
- kind: C
"""


def test_lists_inside_lists_are_flattened() -> None:
    reading = read(NESTED)
    assert [manifest.body for manifest in reading.manifests] == [
        {"kind": "A"},
        {"apiVersion": "karpenter.sh/v1", "kind": "NodePool", "metadata": {"name": "b"}, "spec": {}},
        {"kind": "C"},
    ]
    assert [(one.place, one.head, one.line_of(("spec",))) for one in reading.manifests] == [
        ("f.yaml, document 1, item 1", "# of the first", 7),
        ("f.yaml, document 1, item 1", "", 12),
        ("f.yaml, document 1, item 2", "", 13),
    ]
    assert reading.faults == []


def test_a_wrong_item_of_an_inner_list_has_its_line() -> None:
    (fault,) = read("kind: List\nitems:\n- kind: List\n  items:\n  - x\n").faults
    assert (fault.code, fault.path, fault.line) == ("bad-type", ("items", 0, "items", 0), 5)


def test_items_that_are_written_twice_are_not_guessed() -> None:
    reading = read("kind: List\nitems:\n- kind: A\nitems:\n- kind: B\n")
    assert ([fault.code for fault in reading.faults], reading.manifests) == (["duplicate-key"], [])


HEAD = "apiVersion: karpenter.sh/v1\nkind: NodePool\nspec:\n"
JSON_HEAD = '{"apiVersion": "karpenter.sh/v1", "kind": "NodePool",'


@pytest.mark.parametrize("number", [".nan", "-.inf", "1e999", "+.INF"])
def test_numbers_that_json_has_not_are_refused(number: str) -> None:
    reading = read(f"{HEAD}  a: 1\n  b: [x, {number}]\n---\n{HEAD}  a: 1\n")
    assert [(fault.code, fault.path, fault.line, fault.document) for fault in reading.faults] == [
        ("bad-type", ("spec", "b", 1), 5, 1)
    ]
    assert [manifest.document.number for manifest in reading.manifests] == [2]


@pytest.mark.parametrize("number", ["NaN", "-Infinity", "1e999", "1" + "0" * 400 + ".0"])
def test_the_same_in_json(number: str) -> None:
    reading = read(f'{JSON_HEAD} "spec": {{"a": {number}}}}}')
    assert [(fault.code, fault.path, fault.line) for fault in reading.faults] == [("bad-type", ("spec", "a"), 1)]


@pytest.mark.parametrize("text", ['".nan"', "a.info", "1e99", '"1e999"', "NaN-ish"])
def test_texts_that_only_look_like_it_are_fine(text: str) -> None:
    reading = read(f"{HEAD}  a: {text}\n")
    assert (reading.faults, len(reading.manifests)) == ([], 1)


@pytest.mark.parametrize("place", ['"kind": "\\ud800"', '"\\uDFFF": 1', '"kind": "A", "x": ["\\ud83d"]'])
def test_half_a_character_is_refused(place: str) -> None:
    reading = read(f'\n{{"apiVersion": "v1",\n{place}}}')
    assert [(fault.code, fault.line) for fault in reading.faults] == [("not-yaml", 3)]
    assert reading.manifests == []


def test_a_whole_pair_is_a_character() -> None:
    assert bodies('{"kind": "\\ud83d\\ude00"}') == [{"kind": "\U0001f600"}]


def test_lists_deeper_than_anybody_writes_are_refused() -> None:
    deep = "{kind: List, items: [" * 60 + "{kind: A}" + "]}" * 60
    assert [fault.code for fault in read(deep).faults] == ["not-yaml"]


def test_lines_of_json() -> None:
    (one,) = read('\n{\n "kind": "A",\n "spec": {\n  "x": 1}}').manifests
    assert [one.line_of(path) for path in [(), ("kind",), ("spec", "x")]] == [2, 3, 5]


def test_a_fault_has_its_place() -> None:
    reading = read(
        "kind: A\n---\nkind: [\n---\napiVersion: karpenter.sh/v1\nkind: P\nmetadata: {name: b}\nspec:\n  a: 1\n  a: 2\n"
    )
    first, second = reading.faults
    assert (first.code, first.file, first.document, first.line) == ("not-yaml", "f.yaml", 2, 4)
    what = "a is written twice in one map; keep the one that is meant"
    assert second == ManifestFault("duplicate-key", "f.yaml", 3, 10, ("spec", "a"), what, "P", "b")
    assert (len(reading.manifests), reading.documents) == (1, 2)


def test_an_item_that_is_no_object() -> None:
    reading = read("kind: List\nitems:\n- x\n- kind: A\n")
    assert [(fault.code, fault.path, fault.line) for fault in reading.faults] == [("bad-type", ("items", 0), 3)]
    assert [manifest.body for manifest in reading.manifests] == [{"kind": "A"}]


@pytest.mark.parametrize(
    "text", ["", "\n", "---\n---\n", "# only words\n", "null\n", "kind: List\n", "kind: List\nitems: []\n"]
)
def test_nothing_there(text: str) -> None:
    assert bodies(text) == []


def test_too_large_is_not_even_decoded() -> None:
    reading = read(b"\xff" * (reader.MAX_BYTES + 1))
    assert [(fault.code, fault.what) for fault in reading.faults] == [
        ("too-large", "the input is larger than 8 MiB; split it")
    ]
    assert reading.documents == 0


def test_what_is_no_text() -> None:
    assert [(fault.code, fault.what) for fault in read(b"a: \xff").faults] == [
        ("not-yaml", "this is no UTF-8 text: byte 3 cannot be read")
    ]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_encodings(encoding: str) -> None:
    assert bodies("kind: é\n".encode(encoding)) == [{"kind": "é"}]


@pytest.mark.parametrize("opening", ["[", '{"a":', "{a: ", "- "])
def test_what_is_nested_without_end(opening: str) -> None:
    (fault,) = read(opening * 3000 + "1").faults
    assert fault.code == "not-yaml"


def test_deep_json_that_is_well_formed() -> None:
    (fault,) = read('{"a":' * 300 + "1" + "}" * 300).faults
    assert (fault.code, fault.what) == ("not-yaml", "nested deeper than 100 levels")


def test_json_keeps_what_yaml_would_break() -> None:
    assert bodies('{"a": "\\ud83d\\ude00\\/", "b":\t1, "c": "y"}') == [{"a": "\U0001f600/", "b": 1, "c": "y"}]


def test_json_then_yaml() -> None:
    assert bodies('{"kind": "A"}\n---\nkind: B\n--- {kind: C}\n') == [{"kind": "A"}, {"kind": "B"}, {"kind": "C"}]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("y", True), ("On", True), ("NO", False), ("false", False), ("~", None), ("Null", None), ("nULL", "nULL"),
        ("12e6", 12e6), ("1e-3", 1e-3), ("1E3", 1e3), ("0o17", 15), ("017", 15), ("08", 8.0), ("0x1F", 31), ("0b11", 3),
        ("1_000", 1000), ("-5", -5), ("+5", 5), ("0", 0), ("1.5", 1.5), (".5", 0.5), ("5.", 5.0),
        ("-.inf", float("-inf")),
        ("2024-02-03", "2024-02-03"), ("1:30", "1:30"), ("12e", "12e"), ("1.2.3", "1.2.3"), ("-", "-"), ("0x", "0x"),
        ("18446744073709551615", 2**64 - 1), ("99999999999999999999", 1e20), ("10Gi", "10Gi"), ("...", "..."),
    ],
)  # fmt: skip
def test_plain_scalars_as_kubectl_reads_them(text: str, wanted: Any) -> None:
    found = resolved(text)
    assert (found, type(found)) == (wanted, type(wanted))


def test_tags_that_force_a_type() -> None:
    assert bodies("kind: A\na: !!str 12\nb: !!int '12'\nc: !Ref x\nd: !!binary aGk=\n") == [
        {"kind": "A", "a": "12", "b": 12, "c": "x", "d": "aGk="}
    ]


def test_keys_are_text_as_in_json() -> None:
    assert bodies("kind: A\n1: a\ny: b\n~: c\n") == [{"kind": "A", "1": "a", "true": "b", "null": "c"}]


def test_merge_keys_give_way() -> None:
    assert bodies("kind: A\nx: &x {a: 1, b: 2}\nz: &z {c: 3}\nw: {b: 9, <<: [*x, *z]}\n'<<': {q: 1}\n")[0] | {} == {
        "kind": "A",
        "x": {"a": 1, "b": 2},
        "z": {"c": 3},
        "w": {"a": 1, "b": 9, "c": 3},
        "<<": {"q": 1},
    }


_texts = st.text(st.characters(codec="utf-8"), max_size=20) | st.sampled_from(
    [
        "a\nb",
        "a\nb\n",
        "a\n\n",
        "\na\nb",
        "  a\n b\n",
        "\ta\nb",
        "a: b",
        "- a",
        "#a",
        "a #b",
        "a\r\nb",
        "'",
        '"',
        "\u2028",
        "\x85a\nb",
        "a\n \n",
        "y",
        "=",
        "<<",
        "%a",
        "@a",
        "`a",
        "!a",
        "&a",
        "*a",
        "---",
        "...",
        "a:",
        "\x7f",
    ]
)
_plain = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.floats(allow_nan=False) | _texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(_texts, inner, max_size=4),
    max_leaves=15,
)


@given(st.dictionaries(_texts, _plain, min_size=1, max_size=5))
def test_what_is_written_reads_back(body: dict[str, Any]) -> None:
    wrapped = {"kind": "A", "spec": body}
    assert bodies(writer.text_of(wrapped)) == [wrapped]


@given(_texts)
def test_every_string_stays_a_string_for_other_readers(text: str) -> None:
    # PyYAML is YAML 1.1 like kubectl's reader, with other ideas about numbers
    line = quoted(text)
    assert "\n" not in line
    assert yaml.safe_load(f"a: {line}") == {"a": text}


@given(st.dictionaries(_texts, _plain, min_size=1, max_size=5))
def test_json_reads_as_itself(body: dict[str, Any]) -> None:
    assert bodies(json.dumps({"kind": "A", "spec": body})) == [{"kind": "A", "spec": body}]


@given(_plain)
def test_every_field_is_found_at_its_line(value: Any) -> None:
    text, marks = writer.text_and_lines({"kind": "A", "spec": value, "last": 1})
    (one,) = read(text).manifests
    assert {path: one.line_of(path) for path in marks} == marks


def test_a_key_that_is_longer_than_readers_look_ahead() -> None:
    body = {"kind": "A", "spec": {"k" * 5000: [1], "x": [{"l" * 1200: {"m": 2}}], "last": 3}}
    text, marks = writer.text_and_lines(body)
    (one,) = read(text).manifests
    assert (yaml.safe_load(text), one.body) == (body, body)
    assert {path: one.line_of(path) for path in marks} == marks


@pytest.mark.parametrize("kind", ["[List]", "{a: b}", "[[]]", "1", "null"])
def test_a_kind_that_is_no_text_is_no_list(kind: str) -> None:
    assert [one.body["items"] for one in read(f"kind: {kind}\nitems: [1]\n").manifests] in ([], [[1]])


def test_the_text_of_a_list_is_searched_once_for_all_of_its_objects(monkeypatch: pytest.MonkeyPatch) -> None:
    searched: list[str] = []

    class Counting:
        def search(self, text: str) -> None:
            searched.append(text)

    monkeypatch.setattr(reader, "_MAYBE_ENDLESS", Counting())
    items = "\n".join("- {apiVersion: karpenter.sh/v1, kind: NodePool}" for _ in range(50))
    assert len(read(f"kind: List\nitems:\n{items}\n").manifests) == 50
    assert len(searched) == 1
