"""Rehearsals foretell what the simulator plays: to the end, to where they stop, and only what the reading shows."""

from dataclasses import replace

import msgspec
import pytest

from migrations_app.actions.plan import RolloutLimits
from migrations_app.clients.bundle.bundle import open_bundle
from migrations_app.errors import InvalidInput
from migrations_app.rehearsals.play import Failure
from migrations_app.rehearsals.rehearse import RehearsalRequest, rehearse_cluster
from migrations_app.samples.kubernetes_objects import template, workload
from tests.rehearsals.scene import Refusing, Scene

SMALL = Scene()
OLD = [f"ip-10-20-0-{number}.eu-central-1.compute.internal" for number in range(SMALL.nodes)]
TAINT = RehearsalRequest("taint_and_drift", {})
ROLL = RehearsalRequest("roll_nodes", {}, RolloutLimits(batch=2, pool_percent=50))
ZONE_A = {"nodeSelector": {"topology.kubernetes.io/zone": "eu-central-1a"}}


def rehearsed(scene=SMALL, request=ROLL, **failure):
    wanted = replace(request, failure=Failure(**failure)) if failure else request
    return rehearse_cluster(scene.bundle(), wanted, cluster="shop")


@pytest.mark.parametrize(
    ("action", "parameters", "steps"),
    [("roll_nodes", {}, 7), ("taint_and_drift", {}, 2), ("forced_deletion", {"provisioners": ["web"]}, 1)],
)
def test_each_way_of_rolling_ends_with_every_node_replaced(action, parameters, steps):
    found = rehearsed(request=replace(ROLL, action=action, parameters=parameters))
    assert (found.finished, found.stopped, found.steps_done, found.steps) == (True, None, steps, steps)
    assert sorted(found.drained) == OLD
    assert {one.pool: one.after for one in found.groups if one.pool == "Provisioner/web" and one.after} == {}
    assert sum(one.after for one in found.groups) == found.nodes_after
    assert found.pods_moved >= 60
    assert (found.no_place, found.budgets, found.unknown) == ((), (), ())


def test_nodes_are_drained_in_batches():
    assert [sorted(rehearsed().drained[at : at + 2]) for at in (0, 2, 4)] == [OLD[at : at + 2] for at in (0, 2, 4)]


def test_the_same_seed_gives_the_same_result_and_another_one_other_delays():
    machines = Scene(seconds=40)
    request = replace(ROLL, seed=7)
    assert rehearsed(machines, request) == rehearsed(machines, request)
    assert rehearsed(machines).seconds < rehearsed(Scene(seconds=240)).seconds


def test_it_stops_where_no_new_node_gets_ready():
    found = rehearsed(scenario="nodes_never_ready")
    assert (found.finished, found.stopped.code, found.steps_done < found.steps) == (False, "gate", True)
    assert {one.pool for one in found.groups if one.after} == {"", "Provisioner/web"}
    assert sum(one.count for one in found.no_place) > 0


def test_a_zone_without_capacity_gets_no_node():
    found = rehearsed(scenario="full_zone", zone="eu-central-1a")
    assert found.finished
    assert {one.zone for one in found.groups if one.pool == "NodePool/web"} == {"eu-central-1b", "eu-central-1c"}


def test_pods_of_a_changed_workload_are_said_not_to_be_replaced():
    """No controller of the simulator replaces them: a play that waited for that stopped at every such workload."""
    pod = template({"app": "store"}, {"nodeSelector": {"karpenter.sh/provisioner-name": "web"}, "containers": []})
    more = [
        workload("StatefulSet", "store", namespace="shop", replicas=2, pod=pod),
        workload("DaemonSet", "agent", namespace="shop", replicas=2, pod=pod),
    ]
    items = [*SMALL.documents, *more]
    bundle = open_bundle({"dump.json": msgspec.json.encode({"apiVersion": "v1", "kind": "List", "items": items})})
    found = rehearse_cluster(bundle, replace(ROLL, action="rename_markers"), cluster="shop")
    assert (found.finished, found.stopped, found.steps_done, found.steps) == (True, None, 2, 2)
    (words,) = (one.words for one in found.unknown if one.code == "replacement_unplayed")
    assert words == (
        "pods of StatefulSet shop/store, DaemonSet shop/agent are not replaced here: how long that takes, and whether "
        "they get a node, is not known"
    )
    assert "replacement_unplayed" not in {one.code for one in rehearsed().unknown}


def test_pods_that_are_bound_to_the_full_zone_find_no_place():
    found = rehearsed(Scene(nodes=1, spec=ZONE_A), scenario="full_zone", zone="eu-central-1a")
    assert (found.finished, {one.why for one in found.no_place}) == (False, {"no_capacity"})


def test_a_zone_that_is_not_there_is_refused():
    with pytest.raises(InvalidInput) as caught:
        rehearsed(scenario="full_zone", zone="mars-1a")
    assert caught.value.code == "unknown_zone"


def test_without_a_webhook_none_can_be_down():
    with pytest.raises(InvalidInput) as caught:
        rehearsed(scenario="webhook_down")
    assert caught.value.code == "no_webhook"


def test_the_limit_of_a_pool_is_where_it_stops():
    found = rehearsed(Scene(limits={"cpu": "4"}))
    assert (found.finished, {one.why for one in found.no_place}) == (False, {"limit"})
    (pool,) = (one for one in found.pools if one.pool == "NodePool/web")
    assert (pool.cpu <= pool.cpu_peak <= 4000, pool.cpu_limit) == (True, 4000)


def test_a_budget_that_lets_nothing_go_holds_the_first_batch():
    found = rehearsed(Scene(away=0))
    assert (found.finished, found.stopped.code, found.pods_moved) == (False, "gate", 0)
    assert {one.by for one in found.held} == {"shop/app-0", "shop/app-1", "shop/app-2"}
    assert "is held by budget app-0" in found.stopped.words


def test_a_workload_of_one_pod_is_without_it_for_a_while():
    found = rehearsed(Scene(nodes=1, pods=1, apps=1, away=1))
    (gap,) = found.workloads
    assert (gap.workload.startswith("ReplicaSet shop/app-0-"), gap.longest >= 15) == (True, True)


def test_without_budgets_no_eviction_is_foretold():
    found = rehearse_cluster(Refusing(SMALL.bundle(), "poddisruptionbudgets"), ROLL, cluster="shop")
    assert (found.held, found.budgets) == (None, None)
    assert [one.code for one in found.unknown] == ["budgets_unread"]


def test_without_requests_no_number_of_nodes_is_foretold():
    found = rehearsed(Scene(requests=False))
    assert (found.nodes_peak, found.groups, found.pools, found.no_place) == (None, None, None, None)
    assert [one.code for one in found.unknown] == ["requests_unknown"]


class Protected(Scene):
    """Its pods are marked do-not-disrupt with that value."""

    value = "8h"

    @property
    def documents(self):
        found = super().documents
        for one in found:
            if one["kind"] == "Pod" and one["metadata"]["namespace"] == "shop":
                one["metadata"]["annotations"] = {"karpenter.sh/do-not-disrupt": self.value}
        return found


class Misspelled(Protected):
    value = "yes"


def test_a_protection_for_a_time_is_named_as_not_played():
    (unknown,) = rehearse_cluster(Protected(nodes=2).bundle(), TAINT, cluster="shop").unknown
    assert (unknown.code, "pods in shop is not played: Karpenter from 1.12.0 on" in unknown.words) == (
        "protection_unplayed", True,
    )  # fmt: skip
    assert rehearse_cluster(Misspelled(nodes=2).bundle(), TAINT, cluster="shop").unknown == ()


@pytest.mark.parametrize("plural", ["pods", "nodes"])
def test_without_pods_or_nodes_nothing_is_rehearsed(plural):
    with pytest.raises(InvalidInput) as caught:
        rehearse_cluster(Refusing(SMALL.bundle(), plural), ROLL, cluster="shop")
    assert (caught.value.code, plural in str(caught.value)) == ("not_seen", True)


def test_nodes_in_use_are_consolidated_and_what_prices_may_add_is_told():
    calm, found = rehearsed(), rehearsed(Scene(consolidates=True))
    assert (found.finished, found.no_place, found.budgets) == (True, (), ())
    assert [one.code for one in found.unknown] == ["consolidation_unplayed"]
    assert found.nodes_after < calm.nodes_after
    assert set(found.drained) > set(OLD), "a new node goes, too: its pods have room on others"


def test_without_requests_no_node_in_use_is_consolidated():
    found = rehearsed(Scene(consolidates=True, requests=False))
    assert (found.finished, sorted(found.drained)) == (True, OLD)
