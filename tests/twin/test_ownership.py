"""Who owns which field: what updates take, what server-side apply conflicts with, and what it takes away again."""

from hypothesis import given
from hypothesis import strategies as st

from migrations_app.twin.objects import fieldsets
from migrations_app.twin.objects.shapes import CORE
from migrations_app.twin.server import Twin
from tests.twin.moments import NOON, at

SPACE = "/api/v1/namespaces/default/configmaps"
MERGE, APPLY = "application/merge-patch+json", "application/apply-patch+yaml"


def applied(twin, data, *, manager="karpdash", force=False, name="one"):
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}
    query = {"fieldManager": manager, "force": str(force).lower()}
    return twin.request("PATCH", f"{SPACE}/{name}", body=body, content_type=APPLY, query=query)


def patched(twin, data, *, manager="kubectl"):
    query = {"fieldManager": manager}
    return twin.request("PATCH", f"{SPACE}/one", body={"data": data}, content_type=MERGE, query=query)


def owners(document):
    told = document["metadata"]["managedFields"]
    return {(one["manager"], one["operation"]): one["fieldsV1"] for one in told}


def a_twin(data=None, *, untracked=()):
    twin = Twin(at(NOON), untracked=untracked)
    if data is not None:
        body = {"metadata": {"name": "one"}, "data": data}
        twin.request("POST", SPACE, body=body, query={"fieldManager": "kubectl"})
    return twin


def test_what_a_creation_writes_belongs_to_its_manager():
    found = a_twin({"a": "1"}).request("GET", f"{SPACE}/one").document
    assert owners(found) == {("kubectl", "Update"): {"f:data": {".": {}, "f:a": {}}}}
    assert found["metadata"]["managedFields"][0]["time"] == NOON


def test_a_field_that_another_manager_changes_changes_hands():
    twin = a_twin({"a": "1", "b": "1"})
    found = patched(twin, {"b": "2", "c": "3"}, manager="helm").document
    assert owners(found) == {
        ("kubectl", "Update"): {"f:data": {".": {}, "f:a": {}}},
        ("helm", "Update"): {"f:data": {"f:b": {}, "f:c": {}}},
    }


def test_apply_conflicts_with_the_owner_of_a_field_that_it_would_change():
    answer = applied(a_twin({"a": "1", "b": "1"}), {"a": "1", "b": "2"})
    causes = answer.document["details"]["causes"]
    assert (answer.status, answer.document["reason"]) == (409, "Conflict")
    assert causes == [
        {"reason": "FieldManagerConflict", "message": 'conflict with "kubectl" using v1', "field": ".data.b"}
    ]


def test_apply_of_the_same_value_shares_the_field():
    found = applied(a_twin({"a": "1"}), {"a": "1"}).document
    assert owners(found)["karpdash", "Apply"] == {"f:data": {"f:a": {}}}
    assert owners(found)["kubectl", "Update"] == {"f:data": {".": {}, "f:a": {}}}


def test_apply_with_force_takes_the_field():
    found = applied(a_twin({"a": "1"}), {"a": "2"}, force=True).document
    assert found["data"] == {"a": "2"}
    assert owners(found)["kubectl", "Update"] == {"f:data": {}}


def test_what_apply_says_no_more_goes_unless_somebody_else_owns_it():
    twin = a_twin({"shared": "1"})
    applied(twin, {"mine": "1", "shared": "1"})
    assert applied(twin, {}).document["data"] == {"shared": "1"}


def test_apply_to_an_object_without_owners_conflicts_with_what_was_there_before():
    twin = a_twin({"a": "1"}, untracked=[("", "configmaps")])
    assert "managedFields" not in twin.request("GET", f"{SPACE}/one").document["metadata"]
    answer = applied(twin, {"a": "2"})
    told = [one["message"] for one in answer.document["details"]["causes"]]
    assert told == ['conflict with "before-first-apply" using v1']


def test_a_dry_run_shows_the_result_and_stores_nothing():
    twin = a_twin({"a": "1"})
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "one"}, "data": {"b": "1"}}
    query = {"fieldManager": "karpdash", "dryRun": "All"}
    answer = twin.request("PATCH", f"{SPACE}/one", body=body, content_type=APPLY, query=query)
    assert (answer.status, answer.document["data"]) == (200, {"a": "1", "b": "1"})
    assert twin.request("GET", f"{SPACE}/one").document["data"] == {"a": "1"}


def test_a_repeated_apply_changes_nothing():
    twin = a_twin()
    first, second = applied(twin, {"a": "1"}), applied(twin, {"a": "1"})
    assert (first.status, second.status) == (201, 200)
    assert first.document == second.document


_words = st.text("abc", min_size=1, max_size=2)
_values = st.recursive(
    st.none() | st.booleans() | st.integers(0, 3) | _words,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_words, inner, max_size=3),
    max_leaves=8,
)
_documents = st.dictionaries(_words, _values, max_size=4)


@given(_documents, _documents)
def test_differences_are_none_exactly_where_documents_are_equal(one, other):
    found = fieldsets.differences(one, other, shape=None)
    differ = bool(found.added or found.changed or found.removed)
    assert differ is (_strict(one) != _strict(other)) or _only_empty(one, other)


def _strict(value):
    """The value in a form in which true is not 1, and what is empty or null counts as absent."""
    if isinstance(value, dict):
        return {key: _strict(held) for key, held in value.items()}
    return [_strict(one) for one in value] if isinstance(value, list) else (type(value).__name__, value)


def _only_empty(one, other):
    """Whether one side is null where the other is an empty map: servers take that for the same."""
    return fieldsets.differences(_full(one), _full(other), shape=None) == fieldsets.Differences()


def _full(value):
    if isinstance(value, dict):
        return {key: _full(held) for key, held in value.items() if held is not None and held != {}}
    return value


@given(_documents)
def test_the_form_on_the_wire_loses_no_field(document):
    paths = fieldsets.named({"spec": document}, CORE)
    assert frozenset(fieldsets.from_wire(fieldsets.to_wire(paths))) == paths


@given(_documents, _documents)
def test_what_was_applied_is_what_the_object_says(live, said):
    found = fieldsets.merged(live, said, shape=None)
    told = fieldsets.differences(found, said, shape=None)
    assert not told.added
    assert not told.changed


def test_lists_of_the_core_kinds_merge_by_their_keys():
    live = {"spec": {"containers": [{"name": "a", "image": "1"}, {"name": "b", "image": "1"}]}}
    said = {"spec": {"containers": [{"name": "b", "image": "2"}, {"name": "c", "image": "3"}]}}
    found = fieldsets.merged(live, said, shape=CORE)
    assert [(one["name"], one["image"]) for one in found["spec"]["containers"]] == [("a", "1"), ("b", "2"), ("c", "3")]
    paths = sorted(fieldsets.differences(live, found, shape=CORE).changed)
    assert [fieldsets.shown(path) for path in paths] == ['.spec.containers[name="b"].image']
