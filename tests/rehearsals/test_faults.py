"""Odd clusters: a rehearsal ends with a clear word, and concludes nothing from what was not read."""

import msgspec
import pytest

from migrations_app.actions.plan import RolloutLimits
from migrations_app.clients.bundle.bundle import open_bundle
from migrations_app.errors import InvalidInput
from migrations_app.rehearsals.play import Failure
from migrations_app.rehearsals.rehearse import RehearsalRequest, rehearse_cluster
from tests.rehearsals.scene import Refusing, Scene

ROLL = RehearsalRequest("roll_nodes", {}, RolloutLimits(batch=2, pool_percent=50))
SMALL = Scene(nodes=3, pods=4, apps=2)


def rehearsed(documents, request=ROLL):
    """The result for a dump of these documents."""
    whole = msgspec.json.encode({"apiVersion": "v1", "kind": "List", "items": documents})
    return rehearse_cluster(open_bundle({"dump.json": whole}), request, cluster="shop")


def of_kind(documents, kind):
    return [one for one in documents if one["kind"] == kind]


@pytest.mark.parametrize("plural", ["provisioners", "machines", "nodepools", "nodeclaims"])
def test_without_what_replaces_nodes_nothing_is_foretold(plural):
    with pytest.raises(InvalidInput) as caught:
        rehearse_cluster(Refusing(SMALL.bundle(), plural), ROLL, cluster="shop")
    assert (caught.value.code, caught.value.where) == ("not_seen", plural)


def test_webhooks_that_were_not_read_are_not_taken_for_none():
    request = RehearsalRequest("roll_nodes", {}, ROLL.limits, Failure("webhook_down"))
    with pytest.raises(InvalidInput) as caught:
        rehearse_cluster(Refusing(SMALL.bundle(), "validatingwebhookconfigurations"), request, cluster="shop")
    assert (caught.value.code, "could not be read" in caught.value.message) == ("not_seen", True)


def test_owners_in_a_circle_hold_nothing_up():
    documents = SMALL.documents
    first, second = of_kind(documents, "Machine")[:2]
    for one, other in ((first, second), (second, first)):
        owner = {"apiVersion": other["apiVersion"], "kind": "Machine", "name": other["metadata"]["name"]}
        one["metadata"]["ownerReferences"] = [owner | {"uid": other["metadata"]["uid"], "blockOwnerDeletion": True}]
    found = rehearsed(documents)
    assert (found.finished, len(found.drained)) == (True, 3)


def test_a_budget_over_every_pod_is_named_where_it_stops():
    documents = SMALL.documents
    everything = of_kind(documents, "PodDisruptionBudget")[0]
    everything["spec"] = {"selector": {}, "maxUnavailable": 1}
    everything["metadata"] |= {"name": "everything", "uid": "everything"}
    found = rehearsed(documents)
    assert (found.finished, found.stopped.code, found.unknown) == (False, "gate", ())
    assert [one.by for one in found.held] == ["shop/app-1 and everything", "shop/everything"]


def test_ten_thousand_pods_on_one_node_are_moved():
    crowded = Scene(nodes=1, pods=10_000, apps=1, cpu="1m", budgets=False)
    found = rehearse_cluster(crowded.bundle(), ROLL, cluster="shop")
    assert (found.finished, found.pods_moved, found.no_place) == (True, 10_000, ())
    assert found.nodes_peak > 10_000 / 737, "no instance takes more pods"


def test_a_version_that_nobody_knows_is_refused_with_a_word():
    documents = SMALL.documents
    for crd in of_kind(documents, "CustomResourceDefinition"):
        if crd["spec"]["names"]["plural"] == "nodepools":
            crd["spec"]["versions"] = [{"name": "v9", "served": True, "storage": True}]
            crd["status"] = {"storedVersions": ["v9"]}
    for pool in of_kind(documents, "NodePool"):
        pool["apiVersion"] = "karpenter.sh/v9"
    with pytest.raises(InvalidInput) as caught:
        rehearsed(documents)
    assert (caught.value.code, "karpenter.sh/v9" in caught.value.message) == ("unknown_version", True)


@pytest.mark.parametrize("born", ["2099-01-01T00:00:00Z", "1970-01-01T00:00:00Z", "yesterday"])
def test_times_that_run_backwards_or_are_none_change_nothing(born):
    documents = SMALL.documents
    for one in (*of_kind(documents, "Machine"), *of_kind(documents, "Node")):
        one["metadata"]["creationTimestamp"] = born
        for condition in one["status"]["conditions"]:
            condition["lastTransitionTime"] = "2026-01-01T00:00:00Z"
    found = rehearsed(documents)
    assert (found.finished, len(found.drained)) == (True, 3)
    assert "this cluster's claims do not tell" in found.assumptions[0]
