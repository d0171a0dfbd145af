"""Every object is written anew before v1beta1 leaves the lists of stored versions, and only where that is safe."""

import pytest

from migrations_app.actions.base import Unavailable
from migrations_app.errors import InvalidInput
from migrations_app.karpenter import labels
from tests.actions.on_server import installed, put, registered
from tests.actions.scenes import a_scene, asks_too_much, bodies, forecast_of, steps_of
from tests.actions.whole_rollouts import CRDS, done, roll_back, sent
from tests.builders.clusters import ACluster, a_cluster, helm_crds
from tests.builders.pools import a_class, a_pool
from tests.fakes.conversion_webhook import conversion_webhook

ACTION = "rewrite_stored_versions"
DONE = {labels.STORED_VERSION_DONE: "true"}
TOUCH = {"metadata": {"annotations": DONE}}
TRIM = {"status": {"storedVersions": ["v1"]}}
BOTH = ("v1beta1", "v1")


def pool(name="web", **metadata):
    return a_pool({"metadata": {"name": name, "uid": f"uid-{name}", **metadata}}, version="v1")


def cluster(*docs, version: str = "1.0.8", stored=BOTH) -> ACluster:
    return a_cluster(version).without("crds").with_docs(*helm_crds(version, stored=stored), *docs)


def steps(given: ACluster, **parameters):
    return steps_of(ACTION, a_scene(given), **parameters)


def refused(given: ACluster, **parameters) -> str:
    with pytest.raises(Unavailable) as caught:
        steps(given, **parameters)
    return caught.value.code


def test_the_objects_come_first_and_the_list_of_their_kind_last():
    found = steps(cluster(pool(), pool("ops", annotations=DONE), a_class(version="v1")))
    assert bodies(found) == [
        ("patch", "NodePool web", TOUCH),
        ("patch", "CustomResourceDefinition nodepools.karpenter.sh", TRIM),
        ("patch", "EC2NodeClass default", TOUCH),
        ("patch", "CustomResourceDefinition ec2nodeclasses.karpenter.k8s.aws", TRIM),
        ("patch", "CustomResourceDefinition nodeclaims.karpenter.sh", TRIM),
    ]
    assert [step.change.subresource for step in found] == ["", "status", "", "status", "status"]
    assert [step.skippable for step in found] == [True, False, True, False, False]
    assert found[0].change.target.uid == "uid-web"
    assert found[0].preconditions == (("metadata", "annotations", labels.STORED_VERSION_DONE),)
    assert found[1].undo.body == {"status": {"storedVersions": list(BOTH)}}


def test_a_kind_with_an_object_left_out_keeps_its_list():
    found = steps(cluster(pool(), pool("ops")), leave_out=["NodePool/web"])
    assert bodies(found)[0] == ("patch", "NodePool ops", TOUCH)
    assert "nodepools.karpenter.sh" not in {step.change.target.name for step in found}


@pytest.mark.parametrize("name", ["web", "NodePool/wep", "NodePool/Web", "nodepool/web"])
def test_a_name_that_no_object_has_leaves_nothing_out(name):
    with pytest.raises(InvalidInput) as wrong:
        steps(cluster(pool()), leave_out=[name])
    wanted = ("unknown_name", "leave_out", f"not in the cluster: {name}")
    assert (wrong.value.code, wrong.value.where, wrong.value.message) == wanted


def test_without_conversion_nothing_is_rewritten():  # CRD-06
    found = cluster(pool())
    off = [
        doc | {"spec": doc["spec"] | {"conversion": {"strategy": "None"}}} for doc in helm_crds("1.0.8", stored=BOTH)
    ]
    assert refused(found.without("crds").with_docs(*off)) == "conversion_off"
    assert bodies(steps(cluster(pool(annotations=DONE)).without("crds").with_docs(*off)))[0][2] == TRIM


def test_while_v1beta1_is_what_is_stored_nothing_is_rewritten():
    assert refused(cluster(pool(), version="0.37.8")) == "not_stored_as_v1"


def test_clean_lists_leave_nothing_to_do():
    assert refused(cluster(pool(), stored=("v1",))) == "nothing_to_do"


@pytest.mark.parametrize("part", ["crds", "nodepools", "nodeclaims", "ec2nodeclasses"])
def test_a_part_that_was_not_read_whole_stops_it(part):
    assert (refused(cluster(pool()).unseen(part)), refused(cluster(pool()).quarantined(part))) == ("not_seen",) * 2


def test_the_forecast_counts_what_stays_written():
    assert forecast_of(ACTION, a_scene(cluster(pool(), pool("ops")))).cannot_be_undone == (
        "2 objects stay stored as v1",
    )


def test_it_asks_for_no_more_than_it_declares():  # A26
    assert asks_too_much(ACTION, steps(cluster(pool(), a_class(version="v1")))) == set()


@pytest.mark.apiserver
@pytest.mark.django_db(transaction=True)
def test_on_a_real_server_what_was_stored_as_v1beta1_is_stored_as_v1(server):  # A17, A24, A27, A35, CRD-08
    server.load_crds("beta")
    put(server, a_pool(version="v1beta1"))
    installed(server, "1.0.8")
    pools, crd = "/apis/karpenter.sh/v1/nodepools/web", f"{CRDS}/nodepools.karpenter.sh"
    with conversion_webhook() as conversion:
        server.load_crds("v1_with_beta")
        server.admin.patch(crd, {"spec": {"conversion": conversion}})
        assert server.admin.get(crd)["status"]["storedVersions"] == ["v1beta1", "v1"]
        before = server.admin.get(pools)["metadata"]["resourceVersion"]
        cluster = registered(server)
        row = done(cluster, ACTION)
        assert sent(row)[:2] == [("patch", "web"), ("patch", "status")]
        assert server.admin.get(crd)["status"]["storedVersions"] == ["v1"]
        now = server.admin.get(pools)["metadata"]
        assert (now["annotations"][labels.STORED_VERSION_DONE], now["resourceVersion"] != before) == ("true", True)
        roll_back(cluster, row)
        assert server.admin.get(crd)["status"]["storedVersions"] == ["v1beta1", "v1"]
        assert labels.STORED_VERSION_DONE not in server.admin.get(pools)["metadata"]["annotations"]
