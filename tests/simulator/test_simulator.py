"""The simulator does what Karpenter, kubelets and the collector would do, and misbehaves only when told to."""

from datetime import timedelta

import pytest

from migrations_app.simulator.behaviour import Behaviour
from migrations_app.simulator.changes import ObjectChange
from migrations_app.simulator.cluster_state import ClusterState
from migrations_app.simulator.generations import ALPHA, NODES, KarpenterObject, current
from migrations_app.simulator.karpenter.launch import launched
from migrations_app.simulator.owner_gc import OrphanCollector
from migrations_app.simulator.resources import ResourceAmounts
from tests.servers.waiting import eventually
from tests.simulator.beside import ServerSimulator
from tests.simulator.conversion import KUBELET, converted
from tests.simulator.fleet import SPACE, Size, alpha_fleet, provisioner
from tests.simulator.http_api import HttpSimulatorApi

FENCE = {"key": "karpenter.sh/legacy", "value": "true", "effect": "NoSchedule"}
SMALL = Size(nodes=4, slots=2, apps=2, unavailable=1)
POOLS = "/apis/karpenter.sh/v1beta1/nodepools"
CLAIMS = "/apis/karpenter.sh/v1beta1/nodeclaims"
OLD_POOL = f"{ALPHA.pools_path}/default"


@pytest.fixture
def server(clean_apiserver):
    clean_apiserver.load_crds("alpha_and_beta")
    return clean_apiserver


@pytest.fixture
def simulator(server):
    made = ServerSimulator(server, Behaviour(slots=2))
    yield made
    made.close()


def nodepool(server, name="default", **template):
    inner = {"nodeClassRef": {"name": "default"}, **template}
    body = {"apiVersion": "karpenter.sh/v1beta1", "kind": "NodePool", "metadata": {"name": name}}
    return server.admin.create(body | {"spec": {"template": {"spec": inner}}})


def names(server, path):
    return sorted(one["metadata"]["name"] for one in server.admin.items(path))


def pods(server):
    """(running, not running)"""
    found = server.admin.items(f"/api/v1/namespaces/{SPACE}/pods")
    running = sum(one["status"]["phase"] == "Running" for one in found)
    return running, len(found) - running


def filled(server, simulator, size=SMALL):
    nodes = alpha_fleet(server, size)
    simulator.settle()
    return nodes


def test_a_fleet_at_rest_stays_as_it_is(server, simulator):
    nodes = filled(server, simulator)
    assert (names(server, NODES), pods(server)) == (sorted(nodes), (8, 0))
    assert simulator.settle() == 0
    budget = server.admin.get(f"/apis/policy/v1beta1/namespaces/{SPACE}/poddisruptionbudgets/app-0")["status"]
    assert (budget["currentHealthy"], budget["disruptionsAllowed"], budget["expectedPods"]) == (4, 1, 4)


def test_a_node_that_is_deleted_is_drained_within_budgets_and_replaced(server, simulator):
    nodes = filled(server, simulator)
    nodepool(server)
    server.admin.delete(f"{NODES}/{nodes[0]}")
    simulator.settle()
    assert nodes[0] not in names(server, NODES)
    assert (len(names(server, ALPHA.claims_path)), len(names(server, CLAIMS)), pods(server)) == (3, 1, (8, 0))
    assert simulator.lowest == {"shop/app-0": 0, "shop/app-1": 0}


def test_a_fenced_provisioner_drifts_and_its_nodes_come_from_the_new_pool(server, simulator):
    filled(server, simulator)
    nodepool(server)
    server.admin.patch(OLD_POOL, {"spec": {"taints": [FENCE]}})
    simulator.settle()
    assert (names(server, ALPHA.claims_path), pods(server)) == ([], (8, 0))
    assert len(names(server, NODES)) == len(names(server, CLAIMS)) >= 4
    assert min(simulator.lowest.values()) == 0


def test_machines_without_a_hash_never_drift(server, simulator):
    filled(server, simulator, Size(nodes=4, slots=2, apps=2, unavailable=1, hashed=3))
    nodepool(server)
    server.admin.patch(OLD_POOL, {"spec": {"taints": [FENCE]}})
    simulator.settle()
    assert names(server, ALPHA.claims_path) == ["default-90003"]


def test_without_the_gate_nothing_drifts_but_age_counts(server, simulator):
    filled(server, simulator)
    nodepool(server)
    simulator.behaviour.drifts = False
    server.admin.patch(OLD_POOL, {"spec": {"taints": [FENCE], "ttlSecondsUntilExpired": 300}})
    simulator.settle()
    assert len(names(server, ALPHA.claims_path)) == 4
    simulator.behaviour.older = timedelta(seconds=301)
    simulator.settle()
    assert (names(server, ALPHA.claims_path), pods(server)) == ([], (8, 0))


def test_a_pool_deleted_in_the_foreground_takes_everything_along_within_budgets(server, simulator):
    filled(server, simulator)
    nodepool(server)
    server.admin.delete(OLD_POOL, {"propagationPolicy": "Foreground"})
    assert names(server, ALPHA.pools_path) == ["default"]
    simulator.settle()
    assert (names(server, ALPHA.pools_path), names(server, ALPHA.claims_path), pods(server)) == ([], [], (8, 0))
    assert min(simulator.lowest.values()) == 0


def test_a_pool_deleted_in_the_background_leaves_orphans_to_the_collector(server, simulator):
    filled(server, simulator)
    nodepool(server)
    server.admin.delete(OLD_POOL)
    assert names(server, ALPHA.pools_path) == []
    simulator.settle()
    assert (names(server, ALPHA.claims_path), pods(server)) == ([], (8, 0))


class Noted(HttpSimulatorApi):
    """Keeps what would have been deleted."""

    def __init__(self):
        self.deleted = []

    def delete(self, path, *, uid, more=None):
        self.deleted.append(path)
        return True


@pytest.mark.parametrize(("unserved", "deleted"), [(set(), [f"{ALPHA.claims_path}/lost"]), ({ALPHA.pools_path}, [])])
def test_owners_of_a_kind_that_is_not_served_are_not_missed(unserved, deleted):
    owner = {"kind": "Provisioner", "name": "default", "uid": "1"}
    state = ClusterState("v1beta1", unknown_size=ResourceAmounts())
    lost = {"metadata": {"name": "lost", "uid": "2", "ownerReferences": [owner]}, "spec": {}}
    state.apply(ObjectChange(ALPHA.claims_path, lost))
    noted = Noted()
    OrphanCollector(noted).work(state, unserved=unserved)
    assert noted.deleted == deleted


def test_a_pod_that_must_not_be_evicted_holds_the_drain(server, simulator):
    nodes = filled(server, simulator)
    nodepool(server)
    pod = next(
        one for one in server.admin.items(f"/api/v1/namespaces/{SPACE}/pods") if one["spec"]["nodeName"] == nodes[0]
    )
    path = f"/api/v1/namespaces/{SPACE}/pods/{pod['metadata']['name']}"
    server.admin.patch(path, {"metadata": {"annotations": {"karpenter.sh/do-not-evict": "true"}}})
    server.admin.delete(f"{NODES}/{nodes[0]}")
    simulator.settle()
    assert nodes[0] in names(server, NODES)
    server.admin.patch(path, {"metadata": {"annotations": {"karpenter.sh/do-not-evict": None}}})
    simulator.settle()
    assert nodes[0] not in names(server, NODES)


def test_replacements_can_be_withheld(server, simulator):
    nodes = filled(server, simulator)
    simulator.behaviour.launches = False
    server.admin.delete(f"{NODES}/{nodes[0]}")
    simulator.settle()
    assert (nodes[0] in names(server, NODES), pods(server), names(server, CLAIMS)) == (False, (6, 2), [])


def test_replacements_can_be_launched_and_never_join(server, simulator):
    nodes = filled(server, simulator)
    nodepool(server)
    simulator.behaviour.joins = False
    server.admin.delete(f"{NODES}/{nodes[0]}")
    simulator.settle()
    (claim,) = server.admin.items(CLAIMS)
    assert "nodeName" not in claim["status"]
    assert pods(server)[1] > 0


def test_finalizers_can_be_withheld(server, simulator):
    nodes = filled(server, simulator)
    nodepool(server)
    simulator.behaviour.finishes = False
    server.admin.delete(f"{NODES}/{nodes[0]}")
    simulator.settle()
    assert server.admin.get(f"{NODES}/{nodes[0]}")["metadata"]["deletionTimestamp"]
    assert pods(server) == (8, 0)
    simulator.behaviour.finishes = True
    simulator.settle()
    assert nodes[0] not in names(server, NODES)


def test_pods_and_nodes_can_come_again_under_their_names(server, simulator):
    nodes = filled(server, simulator)
    nodepool(server)
    simulator.behaviour.same_node_names = simulator.behaviour.same_pod_names = True
    uid = server.admin.get(f"{NODES}/{nodes[0]}")["metadata"]["uid"]
    server.admin.delete(f"{NODES}/{nodes[0]}")
    simulator.settle()
    server.admin.delete(f"{NODES}/{nodes[1]}")
    simulator.settle()
    assert server.admin.get(f"{NODES}/{nodes[0]}")["metadata"]["uid"] != uid
    assert "app-0-rs-0" in names(server, f"/api/v1/namespaces/{SPACE}/pods")


def test_a_class_waits_for_its_claims(server, simulator):
    kind = {"apiVersion": "karpenter.k8s.aws/v1beta1", "kind": "EC2NodeClass"}
    metadata = {"name": "default", "finalizers": ["karpenter.k8s.aws/termination"]}
    path = server.admin.path_of(server.admin.create(kind | {"metadata": metadata, "spec": {}}))
    api = HttpSimulatorApi.of(server)
    launched(api, KarpenterObject(current("v1beta1"), nodepool(server)), name="node-1", number=1)
    api.close()
    server.admin.delete(path)
    simulator.settle()
    assert server.admin.request("GET", path).status == 200
    server.admin.delete(f"{CLAIMS}/default-00001")
    simulator.settle()
    assert server.admin.request("GET", path).status == 404


def test_a_pool_with_our_finalizer_takes_its_claims_along(server, simulator):
    api = HttpSimulatorApi.of(server)
    launched(api, KarpenterObject(current("v1beta1"), nodepool(server)), name="node-1", number=1)
    api.close()
    server.admin.patch(f"{POOLS}/default", {"metadata": {"finalizers": ["karpenter.sh/termination"]}})
    server.admin.delete(f"{POOLS}/default")
    simulator.settle()
    assert (names(server, POOLS), names(server, CLAIMS), names(server, NODES)) == ([], [], [])


def test_fifty_nodes_are_rolled_beside_the_test(server):
    simulator = ServerSimulator(server)
    alpha_fleet(server)
    nodepool(server)
    simulator.settle()
    with simulator.running():
        server.admin.patch(OLD_POOL, {"spec": {"taints": [FENCE]}})
        eventually(lambda: not names(server, ALPHA.claims_path), what="every Machine to be replaced", seconds=200)
    simulator.settle()
    assert (pods(server), min(simulator.lowest.values()) >= 0) == ((200, 0), True)
    simulator.close()


def test_a_provisioner_that_takes_the_pods_launches_machines(server, simulator):
    nodes = filled(server, simulator)
    server.admin.create(provisioner("second"))
    server.admin.patch(OLD_POOL, {"spec": {"taints": [FENCE]}})
    simulator.behaviour.drifts = False
    server.admin.delete(f"{NODES}/{nodes[0]}")
    simulator.settle()
    labels = [one["metadata"]["labels"][ALPHA.label] for one in server.admin.items(ALPHA.claims_path)]
    assert sorted(labels) == ["default", "default", "default", "second"]


BETA_POOL = {
    "apiVersion": "karpenter.sh/v1beta1",
    "kind": "NodePool",
    "metadata": {"name": "default", "annotations": {"mine": "stays"}},
    "spec": {
        "disruption": {"consolidationPolicy": "WhenUnderutilized", "expireAfter": "720h"},
        "template": {
            "spec": {
                "kubelet": {"maxPods": 42},
                "nodeClassRef": {"apiVersion": "karpenter.k8s.aws/v1beta1", "kind": "EC2NodeClass", "name": "default"},
            }
        },
    },
}


def test_conversion_goes_to_v1_and_back():
    found = converted(BETA_POOL, "karpenter.sh/v1")
    assert found["spec"] == {
        "disruption": {"consolidationPolicy": "WhenEmptyOrUnderutilized", "consolidateAfter": "0s"},
        "template": {
            "spec": {
                "expireAfter": "720h",
                "nodeClassRef": {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "default"},
            }
        },
    }
    assert found["metadata"]["annotations"][KUBELET] == '{"maxPods":42}'
    assert converted(found, "karpenter.sh/v1beta1") == BETA_POOL
    assert converted(found, "karpenter.sh/v1") is found
