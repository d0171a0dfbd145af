"""A merge patch written as a JSON patch that is refused once a field has something else than was seen."""

import pytest

from migrations_app.manifests.patches import PatchError, json_patch_of, json_patched, merge_patched, under_patch
from tests.builders.patches import operations

CASES = [
    ({"a": {"b": 1}}, {"a": {"b": 2, "c": 3}}, [("/a/b", 2, 1)]),
    ({"a": {"b": 1, "c": None}}, {"a": {"c": [1]}}, [("/a/b", None, 1), ("/a/c", [1], None)]),
    ({"a": {"b": {"c": 1}}}, {"a": {}}, [("/a/b", None, {"c": 1})]),
    ({"a": {"b": {"c": None}}}, {}, [("/a", None, {"b": {}})]),
    ({"m": {"x/y~z": "new"}}, {"m": {"x/y~z": "old"}}, [("/m/x~1y~0z", "old", "new")]),
    ({"list": [{"n": "5"}]}, {"list": [{"n": "3"}, {"n": "0"}]}, [("/list", [{"n": "3"}, {"n": "0"}], [{"n": "5"}])]),
    ({"gone": None}, {}, [("/gone", None, None)]),
]


@pytest.mark.parametrize(("patch", "before", "fields"), CASES)
def test_a_merge_patch_as_a_json_patch_tests_what_was_seen(patch, before, fields):
    made = json_patch_of(patch, under_patch(patch, before))
    assert made == operations(*fields)
    assert json_patched(before, made) == merge_patched(before, patch)


@pytest.mark.parametrize(("patch", "before", "fields"), CASES)
def test_it_is_refused_once_one_of_its_fields_is_another(patch, before, fields):
    made = json_patch_of(patch, under_patch(patch, before))
    for path, seen, _ in fields:
        op = "add" if seen is None else "replace"
        changed = json_patched(before, [{"op": op, "path": path, "value": "by somebody else"}])
        with pytest.raises(PatchError):
            json_patched(changed, made)


def test_other_fields_may_have_changed():
    made = json_patch_of({"a": {"b": 1}}, under_patch({"a": {"b": 1}}, {"a": {"b": 2}}))
    assert json_patched({"a": {"b": 2, "c": 9}, "d": 1}, made) == {"a": {"b": 1, "c": 9}, "d": 1}
