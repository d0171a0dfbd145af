"""Fifty nodes go from Provisioners to NodePools by each of three ways, and on to v1: no budget broken, no pod lost."""

from dataclasses import replace

import pytest

from migrations_app.models.policy import Policy
from tests.actions.on_server import QUICK, registered
from tests.flow.rollouts.testimony import complaints_of
from tests.standin.conversion import conversion_webhook
from tests.standin.fleet import SPACE, Size, alpha_fleet
from tests.standin.standin import Standin
from tests.standin.story import CRDS, Story

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.timeout(600)]
FLEET = Size(nodes=50, slots=4, apps=10, unavailable=2, spec={"kubeletConfiguration": {"maxPods": 42}})
PODS = FLEET.nodes * FLEET.slots
ROLE = {"node_role": "KarpenterNodeRole"}
NODE_CLASS = "/apis/karpenter.k8s.aws/v1/ec2nodeclasses/default"
WAYS = {
    "taint_and_drift": {},
    "roll_nodes": {},
    "forced_deletion": {"provisioners": ["default"]},
}


@pytest.fixture
def story(clean_apiserver, settings, tmp_path):
    settings.ENV = replace(settings.ENV, **QUICK | {"gate_poll": 0.1, "cancel_seconds": 0, "data_dir": tmp_path})
    Policy.objects.create(cluster=None, batch=5, per_hour=100)
    return Story(clean_apiserver, registered(clean_apiserver), tmp_path / "charts")


@pytest.fixture
def standin(clean_apiserver):
    made = Standin(clean_apiserver)
    yield made
    made.close()


def listed(server, path):
    return [one["metadata"]["name"] for one in server.admin.items(path)]


@pytest.mark.parametrize("way", WAYS)
def test_fifty_nodes_go_to_v1(story, standin, way):  # A24, A33, A34
    server, mark = story.server, story.server.audit_mark()
    server.load_crds("alpha")
    alpha_fleet(server, FLEET)
    story.controller("0.31.4")
    with standin.running(), conversion_webhook() as conversion:
        story.rollout("upgrade_crds", source=story.chart("0.32.10", converts=False), release="0.32.10")
        story.controller("0.32.10", FEATURE_GATES="Drift=true")
        story.rollout("convert_and_apply", **ROLE)
        story.rollout(way, **WAYS[way])
        assert rested(server, standin) == (0, PODS)
        story.rollout("remove_legacy")
        story.rollout("upgrade_crds", source=story.chart("0.37.8", converts=False), release="0.37.8")
        story.controller("0.37.8")
        story.convert_by(conversion)
        story.rollout("upgrade_crds", source=story.chart("1.0.14", converts=True), release="1.0.14")
        story.controller("1.0.14")
        standin.switches.version = "v1"
        story.rollout("convert_and_apply")
        story.rollout("rewrite_stored_versions")
    standin.settle()
    assert [(row.action, row.state, row.cause) for row in story.rows if row.state != "succeeded"] == []
    assert {budget: margin for budget, margin in standin.lowest.items() if margin < 0} == {}
    assert pods(server) == (PODS, 0)
    assert server.admin.get(NODE_CLASS)["spec"]["kubelet"] == {"maxPods": 42}
    assert server.admin.get(f"{CRDS}/nodepools.karpenter.sh")["status"]["storedVersions"] == ["v1"]
    assert [complaints_of(row, server.audit_events(mark)) for row in story.rows] == [[]] * len(story.rows)


def rested(server, standin):
    """(Machines left, pods that run)"""
    machines = server.admin.request("GET", "/apis/karpenter.sh/v1alpha5/machines").json()["items"]
    return len(machines), pods(server)[0]


def pods(server):
    found = server.admin.items(f"/api/v1/namespaces/{SPACE}/pods")
    running = sum(one["status"]["phase"] == "Running" for one in found)
    return running, len(found) - running
