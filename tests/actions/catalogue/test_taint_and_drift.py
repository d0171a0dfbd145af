"""Provisioners are fenced only where something takes over, and only where their nodes really go."""

import pytest

from migrations_app.actions.base import Unavailable
from migrations_app.actions.changes import ObjectTarget
from migrations_app.actions.conditions import FieldEquals
from migrations_app.actions.gate import Gate
from migrations_app.errors import InvalidInput
from migrations_app.samples.karpenter_objects import machine
from migrations_app.samples.kubernetes_objects import budget, config_map
from tests.actions.on_server import (
    applied,
    carried_out,
    gone,
    installed,
    plan_of,
    previewed,
    put,
    registered,
    taken_back,
)
from tests.actions.scenes import a_scene, action_of, asks_too_much, bodies, forecast_of, steps_of
from tests.builders.clusters import a_cluster
from tests.builders.pods import OLD, OTHER, pods
from tests.builders.pools import a_pool, a_provisioner, a_template
from tests.builders.pools import put as changed

ACTION = "taint_and_drift"
FENCE = {"key": "karpenter.sh/legacy", "value": "true", "effect": "NoSchedule"}
POOL = a_pool(version="v1beta1")


def alpha(*docs, gates="Drift=true", hashed=False, old=None, version="0.32.10"):
    """0.32 with two nodes of one Provisioner; the second Machine has a hash only where asked for."""
    both = [*machine(OLD, template="default"), *machine(OTHER, template="default", hashed=hashed)]
    cluster = a_cluster(version, kubernetes="1.28", env={"FEATURE_GATES": gates})
    return cluster.with_docs(old or a_provisioner(), a_template(), *both, *docs)


def refused(cluster, **parameters):
    with pytest.raises(Unavailable) as told:
        steps_of(ACTION, a_scene(cluster), **parameters)
    return told.value.code, told.value.message


def test_the_fence_and_the_watch():
    fence, watch = steps_of(ACTION, a_scene(alpha(POOL)))
    old = a_provisioner()["metadata"]["uid"]
    assert (fence.title, fence.risk) == ("Taint Provisioner web: 1 of 2 nodes can drift", "medium")
    assert fence.change.target == ObjectTarget(
        "karpenter.sh", "v1alpha5", "provisioners", "Provisioner", "web", uid=old
    )
    assert fence.change.body == {"spec": {"taints": [FENCE]}}
    assert (fence.preconditions, fence.postconditions) == (
        (("spec", "taints"),),
        (FieldEquals(("spec", "taints"), [FENCE]),),
    )
    assert (fence.undo.body, fence.undo_postconditions) == (
        {"spec": {"taints": None}},
        (FieldEquals(("spec", "taints")),),
    )
    node = ObjectTarget("", "v1", "nodes", "Node", OLD.node, uid=machine(OLD, template="default")[1]["metadata"]["uid"])
    assert watch.after == Gate(gone=(node,), replaced=True, seconds=3600)
    assert watch.note == f"1 node without a hash cannot drift; roll afterwards: {OTHER.node}"


def test_taints_that_are_there_stay_and_stand_whole_among_what_it_rests_on():  # A02
    mine = {"key": "team", "value": "a", "effect": "NoSchedule"}
    old = a_provisioner({"spec.taints": [mine]})
    fence, _ = steps_of(ACTION, a_scene(alpha(POOL, old=old)))
    assert fence.change.body == {"spec": {"taints": [mine, FENCE]}}
    assert fence.undo.body == {"spec": {"taints": [mine]}}


def test_where_every_node_goes_the_watch_is_for_all_nodes_of_old():
    _, watch = steps_of(ACTION, a_scene(alpha(POOL, hashed=True)))
    assert (watch.after, watch.note) == (Gate(replaced=True, no_legacy_nodes=True, seconds=3600), "")


def test_expiry_replaces_what_cannot_drift_and_asks_for_no_gate():
    fence, watch = steps_of(ACTION, a_scene(alpha(POOL, gates="Drift=false")), by="expiry", seconds=300)
    title = "Set ttlSecondsUntilExpired to 300 and taint Provisioner web: 2 of 2 nodes expire"
    assert (fence.title, watch.after.no_legacy_nodes) == (title, True)
    assert fence.change.body == {"spec": {"taints": [FENCE], "ttlSecondsUntilExpired": 300}}
    assert fence.undo.body == {"spec": {"taints": None, "ttlSecondsUntilExpired": None}}


def test_what_is_fenced_already_is_only_watched():
    old = a_provisioner({"spec.taints": [FENCE]})
    (watch,) = steps_of(ACTION, a_scene(alpha(POOL, old=old, hashed=True)))
    # Nothing is sent, so no picture from before is there to compare claims and pods with.
    assert (watch.change, watch.after) == (None, Gate(no_legacy_nodes=True, pending_above=None, seconds=3600))


def test_it_says_who_would_revert_it():
    old = a_provisioner({"metadata.labels": {"kustomize.toolkit.fluxcd.io/name": "infra"}})
    fence, _ = steps_of(ACTION, a_scene(alpha(POOL, old=old)))
    assert fence.manager == "Flux infra"


def test_the_gate_may_be_given_by_a_flag_and_hidden_it_is_not_open():
    assert len(steps_of(ACTION, a_scene(alpha(POOL, gates="Drift=false").with_flag("--feature-gates=Drift=true")))) == 2
    assert refused(alpha(POOL).with_hidden("FEATURE_GATES"))[0] == "drift_off"


def test_drift_without_its_gate_or_without_a_hash_does_nothing():  # ROLL-01
    assert refused(alpha(POOL, gates="Drift=false")) == (
        "drift_off",
        "drift is switched off: switch it on, or choose expiry",
    )
    mute = a_provisioner()
    del mute["metadata"]["annotations"]
    assert refused(alpha(POOL, old=mute)) == (
        "cannot_drift",
        "none of 2 nodes of web can drift: they have no hash; choose expiry, or roll the nodes",
    )


def test_the_gate_of_the_config_map_counts():
    settings = config_map("karpenter-global-settings", "kube-system", data={"featureGates.driftEnabled": "false"})
    assert len(steps_of(ACTION, a_scene(alpha(POOL, settings)))) == 2


@pytest.mark.parametrize(
    ("pool", "why"),
    [
        ((), "there is no NodePool"),
        (
            (a_pool({"status": {"conditions": [{"type": "Ready", "status": "False"}]}}, version="v1beta1"),),
            "NodePool web is not ready",
        ),
        (
            (a_pool({"spec.template.spec.taints": [{"key": "gpu", "effect": "NoSchedule"}]}, version="v1beta1"),),
            "NodePool web has the taint gpu, which the pods need not tolerate now",
        ),
    ],
)
def test_without_a_pool_that_takes_over_pods_would_stay_pending(pool, why):
    assert refused(alpha(*pool)) == ("no_successor", f"no NodePool replaces Provisioner web: {why}")


def test_other_releases_know_only_one_generation():
    assert refused(alpha(POOL, version="0.31.4"))[0] == "wrong_release"


def test_the_controller_does_not_drain_itself():
    own = pods(name="karpenter", labels={"app.kubernetes.io/name": "karpenter"})
    code, words = refused(alpha(POOL, *own))
    assert (code, words) == ("controller_on_node", f"the controller itself runs on {OLD.node}: move it first")


def test_nothing_is_planned_on_what_was_not_read():
    for part in action_of(ACTION).parts:
        assert refused(alpha(POOL).unseen(part))[0] == "not_seen"


def test_no_provisioner_is_left():
    assert refused(a_cluster("0.32.10", kubernetes="1.28"))[0] == "nothing_to_do"


@pytest.mark.parametrize(
    "odd",
    [
        {"by": "magic"},
        {"by": "expiry", "seconds": 5},
        {"by": "expiry", "seconds": True},
        {"by": "expiry", "seconds": "9"},
    ],
)
def test_odd_choices(odd):
    with pytest.raises(InvalidInput) as told:
        steps_of(ACTION, a_scene(alpha(POOL)), **odd)
    assert (told.value.code, type(told.value)) == ("bad_parameter", InvalidInput)


@pytest.mark.parametrize("name", ["", ".", "..", "../x", "a/b", "A", "x" * 300, 7, None])
def test_names_that_are_none(name):
    with pytest.raises(InvalidInput) as told:
        steps_of(ACTION, a_scene(alpha(POOL)), provisioners=[name])
    assert told.value.code == "bad_name"


def test_a_name_that_is_not_there():
    with pytest.raises(InvalidInput) as told:
        steps_of(ACTION, a_scene(alpha(POOL)), provisioners=["web", "api"])
    assert (told.value.code, told.value.message) == ("unknown_name", "not in the cluster: api")


def test_taints_that_cannot_be_read_are_not_replaced():
    assert refused(alpha(POOL, old=a_provisioner({"spec.taints": "none"})))[0] == "not_seen"


def test_the_forecast_counts_nodes_pods_and_what_holds_them():
    held = budget("web", "shop", healthy=2, allowed=0, maxUnavailable=0)
    scene = a_scene(alpha(POOL, held, *pods(count=2), *pods(name="api", nodes=(OTHER.node,)), hashed=True))
    told = forecast_of(ACTION, scene)
    assert (told.nodes, told.pods, told.pods_without_budget, told.at_least) == (2, 3, 1, False)
    assert told.blocked == ("PodDisruptionBudget shop/web lets no pod go: spec.maxUnavailable 0",)
    assert told.cannot_be_undone == ("2 nodes, once replaced",)
    assert told.beside[0].startswith("new nodes of NodePool web may differ from the old ones: ")


def test_what_was_not_seen_is_not_counted():
    told = forecast_of(ACTION, a_scene(alpha(POOL).unseen("pods", "pdbs")))
    assert (told.pods, told.pods_without_budget) == (None, None)


def test_it_asks_for_no_more_than_it_says():
    for parameters in ({}, {"by": "expiry", "seconds": 300}):
        steps = steps_of(ACTION, a_scene(alpha(POOL)), **parameters)
        assert (bool(bodies(steps)), asks_too_much(ACTION, steps)) == (True, set())


@pytest.mark.apiserver
@pytest.mark.django_db(transaction=True)
def test_on_the_real_server(server):  # A17, A26, A27, A35
    server.load_crds("alpha_and_beta")
    installed(server, "0.32.10", FEATURE_GATES="Drift=true")
    mine = {"key": "team", "value": "a", "effect": "NoSchedule"}
    old = changed(a_provisioner(), {"spec.taints": [mine]})
    (provisioner,) = put(server, old)
    put(server, a_pool({"spec.template.spec.taints": [mine]}, version="v1beta1"), *machine(OLD, template="default"))
    row = previewed(registered(server), ACTION)
    assert (row.state, row.cause, [step.title for step in plan_of(row).steps]) == (
        "previewed",
        "",
        [
            "Taint Provisioner web: 1 of 1 node can drift",
            "Watch until 1 node went and what replaces them is Ready",
        ],
    )
    path = server.admin.path_of(provisioner)
    claim, node = f"/apis/karpenter.sh/v1alpha5/machines/{OLD.claim}", f"/api/v1/nodes/{OLD.node}"
    done = carried_out(row, between=lambda: gone(server, node, claim))  # what the controller does
    assert (done.state, done.cause, applied(done)) == ("succeeded", "", ["s001"])
    assert server.admin.get(path)["spec"]["taints"] == [mine, FENCE]
    assert taken_back(done) == ["s001"]
    assert server.admin.get(path)["spec"]["taints"] == [mine]
