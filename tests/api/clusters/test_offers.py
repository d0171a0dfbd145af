"""clusters/{id}/actions: the same buttons as on the pages."""

from contextlib import nullcontext

import jsonschema
import msgspec
import pytest
from django.contrib.auth.models import User
from django.test import Client

from migrations_app.actions.base import Action
from migrations_app.actions.registry import all_actions
from migrations_app.errors import InvalidInput
from migrations_app.readiness.action_offers import MAY_NOT, NEVER_SCANNED, ROLL_BACK, offers, parameter_schema
from migrations_app.readiness.report import PartLine
from migrations_app.use_cases.rollouts.drafts import checked
from tests.api.conftest import Tool
from tests.builders.rows import a_cluster, a_finding, a_report, a_snapshot

SEEN = tuple(PartLine(name=name, seen=True) for name in sorted({part for one in all_actions() for part in one.parts}))
REPORT = a_report(checks=(a_finding("crds_owned_by_helm"),), parts=SEEN)


@pytest.fixture
def planner(ada: User) -> Tool:
    return Tool(ada, "read", "plan")


def test_they_are_those_of_the_newest_snapshot(planner: Tool) -> None:
    cluster = a_cluster()
    snapshot = a_snapshot(cluster, REPORT)
    told = planner("GET", f"clusters/{cluster.pk}/actions").json()
    schemas = {one["action_id"]: one.pop("parameters") for one in told["results"]}
    assert told == {"snapshot": str(snapshot.pk), "results": msgspec.json.decode(msgspec.json.encode(offers(REPORT)))}
    assert schemas == {one.id: parameter_schema(one) for one in all_actions() if one.id != ROLL_BACK}
    first = told["results"][0]
    assert (first["action_id"], first["enabled"], first["checks"]) == ("adopt_crds", True, ["crds_owned_by_helm"])
    assert {one["action_id"] for one in told["results"]} == {one.id for one in all_actions()} - {ROLL_BACK}


def test_what_the_pages_do_not_offer_yet_is_not_offered_here(planner: Tool) -> None:
    """The Provisioners of this cluster own 12 nodes: its pages say that they have to be replaced first."""
    cluster = a_cluster()
    a_snapshot(cluster, a_report(checks=(a_finding("legacy_provisioners_gone"),), parts=SEEN))
    told = {one["action_id"]: one for one in planner("GET", f"clusters/{cluster.pk}/actions").json()["results"]}
    removal = told["remove_legacy"]
    assert (removal["enabled"], removal["why"]) == (False, "Provisioners still own 12 nodes: move them first.")


def test_a_cluster_that_was_never_scanned_says_so(planner: Tool) -> None:
    told = planner("GET", f"clusters/{a_cluster().pk}/actions").json()
    assert told["snapshot"] is None
    assert {(one["enabled"], one["why"]) for one in told["results"]} == {(False, NEVER_SCANNED)}


def test_a_token_without_the_scope_reads_why(ada: User) -> None:
    cluster = a_cluster()
    a_snapshot(cluster, REPORT)
    told = Tool(ada, "read")("GET", f"clusters/{cluster.pk}/actions").json()
    assert {(one["enabled"], one["why"]) for one in told["results"]} == {(False, MAY_NOT)}


def test_somebody_without_the_right_reads_why(client: Client, ben: User) -> None:
    client.force_login(ben)
    cluster = a_cluster()
    a_snapshot(cluster, REPORT)
    told = client.get(f"/api/v1/clusters/{cluster.pk}/actions").json()
    assert {(one["enabled"], one["why"]) for one in told["results"]} == {(False, MAY_NOT)}


def test_an_unknown_cluster_is_not_found(planner: Tool) -> None:
    assert planner("GET", "clusters/00000000-0000-0000-0000-000000000001/actions").status_code == 404


@pytest.mark.parametrize("action", all_actions(), ids=lambda one: one.id)
def test_what_holds_the_schema_of_an_action_is_taken(action: Action) -> None:
    schema = parameter_schema(action)
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)
    samples = {"string": "default", "boolean": True, "integer": 3}
    kinds = {name: one["type"] for name, one in schema["properties"].items()}
    given = {
        # No object is named by two choices: some exclude each other.
        name: samples.get(kind if isinstance(kind, str) else kind[0], [f"a{number}", f"b{number}"])
        for number, (name, kind) in enumerate(kinds.items())
    }
    validator.validate(given)
    assert checked(action, given, inside=()) == given
    assert not validator.is_valid(given | {"nobody-knows": 1})


@pytest.mark.parametrize("action", all_actions(), ids=lambda one: one.id)
@pytest.mark.parametrize("value", ["false", "", 1, True, ["a"], [1], {}, 1.5], ids=repr)
def test_what_the_schema_of_an_action_refuses_is_refused(action: Action, value: object) -> None:
    schema = parameter_schema(action)["properties"]
    for name in schema:
        fits = jsonschema.Draft202012Validator(schema[name]).is_valid(value)
        with nullcontext() if fits else pytest.raises(InvalidInput) as refused:
            checked(action, {name: value}, inside=())
        assert refused is None or (refused.value.where, refused.value.code) == (name, "bad_parameter")
