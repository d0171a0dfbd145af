"""Values are changed inside a YAML text, and everything else stays as it is."""

import contextlib
import copy

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from migrations_app.errors import InvalidManifest
from migrations_app.manifests import writer
from migrations_app.manifests.edits import edited, values

POOL = """\
# The pool of the shop.
apiVersion: karpenter.sh/v1
kind: NodePool
metadata:
  name: shop  # as in the chart
spec:
  # Never more than this.
  limits: {cpu: "100"}
  disruption:
    consolidationPolicy: 'WhenEmpty' # calm
    budgets:
    # nights
    - nodes: "10%"
      schedule: "0 1 * * *"

    - nodes: "0"
  weight: 10
---
apiVersion: v1
kind: ConfigMap
metadata: {name: other}
"""


def changed(path, value):
    """The text with the value at the path of its first document; an Ellipsis takes the field out."""
    tree = copy.deepcopy(values(POOL)[0])
    holder = tree
    for step in path[:-1]:
        holder = holder[step]
    if value is ...:
        del holder[path[-1]]
    else:
        holder[path[-1]] = value
    found = edited(POOL, {0: tree})
    assert values(found) == [tree, values(POOL)[1]]
    return found


@pytest.mark.parametrize(
    ("path", "value", "old", "new"),
    [
        (["spec", "weight"], 20, "weight: 10", "weight: 20"),
        (["spec", "disruption", "consolidationPolicy"], "Never", "'WhenEmpty' # calm", "'Never' # calm"),
        (["spec", "disruption", "budgets", 0, "nodes"], "5%", '"10%"', '"5%"'),
        (["spec", "disruption", "budgets", 1], ..., '\n    - nodes: "0"\n', "\n"),
        (["spec", "disruption", "budgets", 0, "nodes"], ..., 'nodes: "10%"\n      schedule', "schedule"),
        (["spec", "weight"], ..., "  weight: 10\n", ""),
        (["spec", "limits"], {"cpu": "50"}, '{cpu: "100"}', '{"cpu": "50"}'),
        (["metadata", "labels"], {"a": "b"}, "chart\n", "chart\n  labels:\n    a: b\n"),
        (["spec", "disruption", "consolidateAfter"], "1m", '"0"\n', '"0"\n    consolidateAfter: "1m"\n'),
        (["spec", "weight"], {"a": [1]}, "weight: 10", "weight:\n    a:\n    - 1"),
        (["spec", "disruption", "budgets"], [], None, None),
    ],
)  # fmt: skip
def test_only_the_place_is_written_anew(path, value, old, new):
    found = changed(path, value)
    if old is not None:
        assert found == POOL.replace(old, new, 1)
    assert found.startswith("# The pool of the shop.\n")
    assert "# Never more than this." in found


def test_items_are_added_at_the_end_and_in_front():
    tree = copy.deepcopy(values(POOL)[0])
    budgets = tree["spec"]["disruption"]["budgets"]
    budgets.append({"nodes": "1", "reasons": ["Drifted"]})
    assert '- nodes: "0"\n    - nodes: "1"\n      reasons:\n      - Drifted\n' in edited(POOL, {0: tree})
    budgets.insert(0, {"nodes": "2"})
    assert values(edited(POOL, {0: tree}))[0] == tree


def test_line_endings_of_windows_stay():
    text = "a: 1\r\nb:\r\n  c: 2\r\n"
    assert edited(text, {0: {"a": 1, "b": {"c": 2, "d": 3}}}) == "a: 1\r\nb:\r\n  c: 2\r\n  d: 3\r\n"


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("a: &x 1\nb: *x\n", "edit_refused"),
        ("a: {{ .Values.a }}\nb: 2\n", "bad_manifest"),
        ("a: [\n", "not_yaml"),
        ("a: 1\na: 2\n", "repeated_key"),
    ],
)
def test_what_is_no_plain_yaml_is_refused(text, code):
    with pytest.raises(InvalidManifest) as caught:
        edited(text, {0: {"a": 5}})
    assert caught.value.code == code


TEXTS = st.sampled_from(["a", "b c", "yes", "10%", "1", "", "x: y", "# no", "it's", 'say "so"', "two\nlines\n"])
SCALARS = TEXTS | st.integers(-5, 5) | st.booleans() | st.none()
TREES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from("abcdef"), inner, max_size=4),
    max_leaves=20,
)
MAPS = st.dictionaries(st.sampled_from("abcdef"), TREES, min_size=1, max_size=4)


@given(old=MAPS, new=MAPS)
def test_a_text_reads_as_wanted_or_is_refused(old, new):
    text = writer.text_of(old, head="# head")
    found = text
    with contextlib.suppress(InvalidManifest):
        found = edited(text, {0: new})
        assert values(found) == [new]
    assert found.startswith("# head\n")


@given(old=MAPS, name=st.sampled_from("abcdefg"), value=TREES)
@example(old={"f": [{"a": None, "b": "a"}]}, name="f", value=[{"a": None}, "a"]).via("an item after a removed line")
@example(old={"e": [[], ["a", 1]]}, name="e", value=[[], [1]]).via("a list that begins behind a dash")
@example(old={"a": {"b": {"c": 1, "d": 2}}}, name="a", value={"b": {"c": 1}, "e": 3}).via("a key after a removed line")
def test_one_field_can_always_be_set(old, name, value):
    new = {**old, name: value}
    assert values(edited(writer.text_of(old), {0: new})) == [new]
