"""Karpenter's own disruption is held by a budget of no nodes; the budgets from before are written beside it."""

import json

import pytest

from migrations_app.actions.base import Unavailable
from migrations_app.errors import InvalidInput
from migrations_app.inventory.facts.disruption_hold import HELD, NO_NODES
from tests.actions.on_server import installed, plan_of, previewed, put, registered
from tests.actions.scenes import a_scene, asks_too_much, bodies, steps_of
from tests.actions.whole_rollouts import done, lasting, roll_back
from tests.builders.clusters import a_cluster
from tests.builders.pools import AUTO_MODE, GONE, REFERENCE, a_pool, a_provisioner
from tests.servers import crds

NAME = "hold_disruption"
BARE = {"spec.disruption.budgets": GONE}
DRIFT = {"nodes": "20%", "reasons": ["Drifted"]}
NIGHT = {"nodes": "0", "schedule": "0 8 * * *", "duration": "8h"}
OWN = {"spec.disruption.budgets": [DRIFT, NIGHT]}


def scene(*docs, version="1.0.8"):
    return a_scene(a_cluster(version).with_docs(*docs), *docs)


def steps(*docs, version="1.0.8", **parameters):
    return steps_of(NAME, scene(*docs, version=version), **parameters)


def refused(*docs, version="1.0.8", **parameters):
    with pytest.raises((Unavailable, InvalidInput)) as caught:
        steps(*docs, version=version, **parameters)
    return caught.value.code, str(caught.value)


def text(budgets):
    return json.dumps(budgets, sort_keys=True, separators=(",", ":"))


def held(before):
    return {"metadata": {"annotations": {HELD: text(before)}}, "spec": {"disruption": {"budgets": NO_NODES}}}


def is_held(pool, before):
    return pool | {
        "metadata": pool["metadata"] | {"annotations": {HELD: text(before)}},
        "spec": pool["spec"] | {"disruption": {"budgets": NO_NODES}},
    }


def test_every_pool_gets_a_budget_of_no_nodes_and_keeps_what_it_had():
    found = steps(a_pool(OWN), a_pool(BARE, name="none"))
    assert bodies(found) == [
        ("patch", "NodePool web", held([DRIFT, NIGHT])),
        ("patch", "NodePool none", held(None)),
    ]
    assert [one.undo.body for one in found] == [
        {"metadata": {"annotations": {HELD: None}}, "spec": {"disruption": {"budgets": before}}}
        for before in ([DRIFT, NIGHT], None)
    ]
    assert {one.risk for one in found} == {"low"}
    assert all("expireAfter" in one.note for one in found)


def test_before_1_0_expiry_keeps_to_budgets_too():
    (step,) = steps(a_pool(OWN, version="v1beta1"), version="0.37.8")
    assert (step.change.target.version, "expireAfter" in step.note) == ("v1beta1", False)


@pytest.mark.parametrize("version", ["0.32.10", "0.33.10", "0.31.4"])
def test_where_no_budget_is_kept_it_says_what_can_be_done(version):
    code, words = refused(a_provisioner(), a_pool(version="v1beta1"), version=version)
    assert code == "wrong_release"
    assert "Provisioners have none in any release" in words
    assert "karpenter.sh/do-not-evict" in words


def test_what_is_held_already_is_left_alone():
    other = a_pool({REFERENCE: AUTO_MODE}, name="auto")
    still = a_pool({"spec.disruption.budgets": NO_NODES}, name="still")
    assert refused(is_held(a_pool(), None), still, other)[0] == "nothing_to_do"
    assert [one.change.target.name for one in steps(is_held(a_pool(), None), a_pool(name="free"))] == ["free"]


def test_one_that_was_held_and_whose_budgets_were_changed_is_named():
    loose = a_pool(OWN, name="loose")
    loose["metadata"] |= {"annotations": {HELD: text(None)}}
    code, words = refused(a_pool(), loose, is_held(a_pool(name="still"), None))
    assert (code, "loose" in words, "still" in words) == ("changed", True, False)


def test_only_those_that_are_named():
    assert [one[1] for one in bodies(steps(a_pool(), a_pool(name="api"), nodepools=["api"]))] == ["NodePool api"]
    assert refused(a_pool(), nodepools=["far"])[0] == "unknown_name"


def test_budgets_that_cannot_be_read_are_not_replaced():
    assert refused(a_pool({"spec.disruption.budgets": {"nodes": "1"}}))[0] == "not_seen"


def test_it_asks_for_no_more_than_it_declares():  # A26
    assert asks_too_much(NAME, steps(a_pool(OWN))) == set()


@pytest.mark.apiserver
@pytest.mark.django_db(transaction=True)
def test_on_a_real_server_budgets_come_back_exactly_as_they_were(server):  # A19, A25, A27, A35
    server.load_crds("v1")
    installed(server, "1.0.14")
    before = put(server, a_pool(OWN), a_pool(BARE, name="none"))
    cluster, paths = registered(server), [server.admin.path_of(one) for one in before]

    def now():
        return [lasting(server.admin.get(path)) for path in paths]

    mark = server.audit_mark()
    row = done(cluster, NAME)
    assert [(one["spec"]["disruption"]["budgets"], one["metadata"]["annotations"][HELD]) for one in now()] == [
        (NO_NODES, text(one["spec"].get("disruption", {}).get("budgets"))) for one in before
    ]
    assert previewed(cluster, NAME).cause_code == "nothing_to_do"
    roll_back(cluster, row)
    assert now() == [lasting(one) for one in before]

    done(cluster, NAME)
    done(cluster, "release_disruption")
    assert now() == [lasting(one) for one in before]
    assert previewed(cluster, "release_disruption").cause_code == "nothing_to_do"
    patches = [one for one in server.audit_events(mark) if one["verb"] == "patch" and "dryRun" not in one["requestURI"]]
    written = [one for one in patches if one["objectRef"]["resource"] == "nodepools"]
    assert (len(written), {one["responseStatus"]["code"] for one in written}) == (8, {200})


@pytest.mark.apiserver
@pytest.mark.django_db(transaction=True)
def test_on_a_real_server_what_others_changed_is_left_and_told(server):  # A35
    server.load_crds("v1")
    installed(server, "1.0.14")
    mine, theirs = put(server, a_pool(OWN), a_pool(name="api"))
    cluster = registered(server)
    done(cluster, NAME)
    path = server.admin.path_of(theirs)
    server.admin.patch(path, {"spec": {"disruption": {"budgets": [{"nodes": "3"}]}}})
    row = done(cluster, "release_disruption")
    titles = [one.title for one in plan_of(row).steps]
    assert sorted(titles) == [
        "Leave the budgets of NodePool api, which were changed since", "Restore the budgets of NodePool web",
    ]  # fmt: skip
    left = server.admin.get(path)
    assert (left["spec"]["disruption"]["budgets"], left["metadata"].get("annotations", {}).get(HELD)) == (
        [{"nodes": "3"}], None,
    )  # fmt: skip
    assert lasting(server.admin.get(server.admin.path_of(mine))) == lasting(mine)


PRUNING = {
    "type": "object",
    "properties": {
        "spec": {
            "type": "object",
            "properties": {
                "template": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
                "disruption": {"type": "object", "properties": {"consolidationPolicy": {"type": "string"}}},
            },
        }
    },
}
"""The CRD of a release that knows no budgets, such as that of 0.32 under a later controller."""


@pytest.mark.apiserver
@pytest.mark.django_db(transaction=True)
def test_a_field_that_the_server_would_drop_is_told_at_the_preview_on_the_real_server(server):  # A27
    definitions = crds.documents("alpha_and_beta")
    for version in next(one for one in definitions if one["metadata"]["name"] == "nodepools.karpenter.sh")["spec"][
        "versions"
    ]:
        version["schema"] = {"openAPIV3Schema": PRUNING}
    server.load_documents(definitions)
    installed(server, "0.34.11")
    (pool,) = put(server, a_pool(version="v1beta1"))
    row = previewed(registered(server), NAME)
    words = (
        "Hold Karpenter's own disruption of NodePool web: the API server would store spec.disruption.budgets in "
        "another way: its CRD lacks the field, or an admission webhook changes it"
    )
    assert (row.state, row.cause_code, row.cause) == ("expired", "stored_otherwise", words)
    assert server.admin.get(server.admin.path_of(pool)) == pool
