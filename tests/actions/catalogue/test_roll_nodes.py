"""Nodes go one batch after the other, only those that drain, and none with pods that a drain may not move."""

import pytest

from migrations_app.actions.base import Unavailable
from migrations_app.actions.changes import ObjectTarget
from migrations_app.actions.conditions import Terminating
from migrations_app.actions.gate import Gate
from migrations_app.actions.plan import RolloutLimits
from migrations_app.errors import InvalidInput
from migrations_app.samples.installation import Install, controller
from migrations_app.samples.karpenter_objects import Launched, claim, machine
from migrations_app.samples.kubernetes_objects import budget
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
from tests.actions.scenes import a_scene, action_of, asks_too_much, forecast_of, steps_of
from tests.builders.clusters import NODE, a_cluster
from tests.builders.pods import OLD, OTHER, bare, pods
from tests.builders.pools import a_pool, a_provisioner, a_template
from tests.builders.pools import put as changed

ACTION = "roll_nodes"
POOL = a_pool(version="v1beta1")
FENCE = {"key": "karpenter.sh/legacy", "value": "true", "effect": "NoSchedule"}
NEW = [Launched(pool="api", number=number, cluster="test", kubelet="v1.30.4") for number in range(10)]


def alpha(*docs):
    both = [*machine(OLD, template="default"), *machine(OTHER, template="default", hashed=False)]
    return a_cluster("0.32.10", kubernetes="1.28").with_docs(a_provisioner(), a_template(), POOL, *both, *docs)


def current(*docs):
    made = [doc for one in NEW for doc in claim(one, node_class="default", version="v1")]
    return a_cluster("1.3.0", kubernetes="1.31").with_docs(a_pool(name="api"), *made, *docs)


def refused(cluster, **parameters):
    with pytest.raises(Unavailable) as told:
        steps_of(ACTION, a_scene(cluster), **parameters)
    return told.value.code, told.value.message


def target(one: Launched, node) -> ObjectTarget:
    return ObjectTarget("", "v1", "nodes", "Node", one.node, uid=node["metadata"]["uid"])


def titles(steps):
    return [step.title for step in steps]


def test_one_node_at_a_time_behind_a_fence_the_emptiest_first():  # A33, ROLL-02
    fence, first, second = steps_of(ACTION, a_scene(alpha(*pods(count=3), *pods(name="b", nodes=(OTHER.node,)))))
    assert fence.change.body == {"spec": {"taints": [FENCE]}}
    assert titles([first, second]) == [f"Drain and replace node {one.node} of web" for one in (OTHER, OLD)]
    node = target(OTHER, machine(OTHER, template="default")[1])
    assert (first.change.verb, first.change.target, first.postconditions) == ("delete", node, (Terminating(),))
    assert (first.undo, first.risk) == (None, "high")
    assert first.after == Gate(gone=(node,), replaced=True, pending_above=0, seconds=900)


def test_it_rests_on_what_drains_the_node_and_whose_it_is():  # A02
    step = steps_of(ACTION, a_scene(alpha()))[-1]
    assert step.preconditions == (
        ("metadata", "finalizers"),
        ("metadata", "labels", "karpenter.sh/provisioner-name"),
        ("metadata", "labels", "karpenter.sh/nodepool"),
        ("metadata", "annotations", "karpenter.sh/do-not-disrupt"),
        ("metadata", "annotations", "karpenter.sh/do-not-consolidate"),
    )


def test_a_provisioner_that_is_fenced_is_left_as_it_is():
    cluster = a_cluster("0.32.10", kubernetes="1.28").with_docs(
        a_provisioner({"spec.taints": [FENCE]}), POOL, *machine(OLD, template="default")
    )
    assert titles(steps_of(ACTION, a_scene(cluster))) == [f"Drain and replace node {OLD.node} of web"]


@pytest.mark.parametrize(
    ("limits", "choice", "sizes"),
    [
        (RolloutLimits(), {}, [1] * 10),
        (RolloutLimits(batch=4, pool_percent=30), {}, [3, 3, 3, 1]),
        (RolloutLimits(batch=4, pool_percent=100), {}, [4, 4, 2]),
        (RolloutLimits(batch=4, pool_percent=100), {"batch": 2}, [2] * 5),
    ],
)
def test_batches_stay_within_the_limits(limits, choice, sizes):  # A33
    steps = steps_of(ACTION, a_scene(current(), limits=limits), pools=["api"], **choice)
    assert [len(step.after.gone) for step in steps if step.after] == sizes
    ends = [place for place, step in enumerate(steps) if step.after]
    assert ends == [sum(sizes[: count + 1]) - 1 for count in range(len(sizes))]


@pytest.mark.parametrize("batch", [0, -1, 2, True, "1", 10**6])
def test_a_batch_beyond_the_limit(batch):
    with pytest.raises(InvalidInput) as told:
        steps_of(ACTION, a_scene(current()), pools=["api"], batch=batch)
    assert (told.value.code, told.value.message) == ("bad_parameter", "enter a whole number from 1 to 1")


MINE = Launched(pool="web", number=77, cluster="test", kubelet="v1.30.4")


def both_named_web():
    """A Provisioner and the NodePool that it became, with nodes of their own."""
    return alpha(*claim(MINE, node_class="default", version="v1beta1"))


def test_a_provisioner_and_a_nodepool_of_one_name_are_told_apart():
    for text, names in (("Provisioner/web", {OLD.node, OTHER.node}), ("NodePool/web", {MINE.node})):
        steps = steps_of(ACTION, a_scene(both_named_web(), limits=RolloutLimits(pool_percent=100)), pools=[text])
        assert {step.change.target.name for step in steps if step.change.verb == "delete"} == names


def test_each_of_them_has_its_own_share_of_the_limit():  # A33
    scene = a_scene(both_named_web(), limits=RolloutLimits(batch=2, pool_percent=50))
    steps = steps_of(ACTION, scene, nodes=[OLD.node, OTHER.node])
    assert [len(step.after.gone) for step in steps if step.after] == [1, 1]


@pytest.mark.parametrize(
    ("given", "code"),
    [
        ("web", "ambiguous_name"),
        ("Machine/web", "bad_name"),
        ("NodePool/x", "unknown_name"),
        ("a/../b", "bad_name"),
    ],
)
def test_a_name_that_stands_for_two_or_none_is_refused(given, code):
    with pytest.raises(InvalidInput) as told:
        steps_of(ACTION, a_scene(both_named_web()), pools=[given])
    assert told.value.code == code


def test_chosen_nodes_and_nodes_left_alone():
    names = [NEW[3].node, NEW[5].node]
    steps = steps_of(ACTION, a_scene(current()), nodes=names, without=[NEW[5].node])
    assert titles(steps) == [f"Drain and replace node {NEW[3].node} of api"]


def test_pods_that_a_drain_may_not_move_keep_their_node():  # A32
    marked = pods(name="batch", annotations={"karpenter.sh/do-not-evict": "true"})
    code, words = refused(alpha(bare("one"), *marked))
    assert code == "protected"
    assert words == (
        "these pods or annotations prevent the replacement of nodes, unless they are listed: "
        f"{OLD.node}: Pod shop/one has no controller, "
        "Deployment shop/batch is marked karpenter.sh/do-not-evict"
    )
    assert len(steps_of(ACTION, a_scene(alpha(bare("one"), *marked)), with_protected=[OLD.node])) == 3


def test_of_many_nodes_that_pods_keep_ten_are_named():  # A32
    nodes = [Launched(pool="api", number=number, cluster="test", kubelet="v1.30.4") for number in range(13)]
    claims = [doc for node in nodes for doc in claim(node, node_class="default", version="v1")]
    owned = [bare(f"p{number}", node=node.node) for number, node in enumerate(nodes)]
    cluster = a_cluster("1.3.0", kubernetes="1.31").with_docs(a_pool(name="api"), *claims, *owned)
    words = refused(cluster, pools=["api"])[1]
    assert (words.count("has no controller"), words.endswith("; and 3 more nodes")) == (10, True)


def test_pods_of_other_nodes_do_not_count():
    scene = a_scene(alpha(bare("one", node="elsewhere"), *pods(kind="DaemonSet", name="agent")))
    assert len(steps_of(ACTION, scene)) == 3


def test_data_on_the_node_goes_only_where_that_was_said():  # A32
    kept = pods(volumes=[{"name": "cache", "emptyDir": {}}])
    assert "Deployment shop/web keeps data on the node (emptyDir)" in refused(alpha(*kept))[1]
    assert len(steps_of(ACTION, a_scene(alpha(*kept)), with_local_data=True)) == 3
    assert forecast_of(ACTION, a_scene(alpha(*kept)), with_local_data=True).cannot_be_undone == (
        "2 nodes",
        "data on the nodes' own disks",
    )


def test_a_group_too_large_to_know_its_nodes_keeps_them_all():
    many = [bare(f"p{number}", node=f"n{number}") for number in range(60)]
    assert refused(alpha(*many))[1].endswith("has no controller, and not all of its nodes are known")


def test_a_mark_on_the_node_itself():
    marked = [changed(doc, {"metadata.annotations": {"karpenter.sh/do-not-disrupt": "true"}}) for doc in claim(
        NEW[0], node_class="default", version="v1")]  # fmt: skip
    cluster = a_cluster("1.3.0", kubernetes="1.31").with_docs(*marked)
    assert refused(cluster, pools=["api"])[1].endswith(f"{NEW[0].node}: the node's own karpenter.sh/do-not-disrupt")


@pytest.mark.parametrize(("running", "value", "protects"), [("1.12.0", "8h", True), ("1.11.2", "8h", False),
    ("1.12.0", "8", False)])  # fmt: skip
def test_a_pod_that_is_marked_for_a_time(running, value, protects):
    nodes = claim(NEW[0], node_class="default", version="v1")
    marked = pods(nodes=(NEW[0].node,), annotations={"karpenter.sh/do-not-disrupt": value})
    scene = a_scene(a_cluster(running, kubernetes="1.31").with_docs(*nodes, *marked))
    try:
        told = str(len(steps_of(ACTION, scene, pools=["api"])))
    except Unavailable as unavailable:
        told = unavailable.message
    assert told.endswith("is marked karpenter.sh/do-not-disrupt for 8h") == protects
    assert protects or told == "1"


def test_nodes_without_the_finalizer_are_never_deleted():  # A31
    found, node = machine(OLD, template="default")
    del node["metadata"]["finalizers"]
    cluster = a_cluster("0.32.10", kubernetes="1.28").with_docs(a_provisioner(), POOL, found, node)
    words = f"without the finalizer karpenter.sh/termination nothing drains {OLD.node}"
    assert refused(cluster) == ("finalizer_missing", words)


def test_the_controller_keeps_its_node():
    own = pods(name="karpenter", labels={"app.kubernetes.io/name": "karpenter"})
    assert refused(alpha(*own))[0] == "controller_on_node"


@pytest.mark.parametrize(
    ("replicas", "status"),
    [
        (0, {"replicas": 0}),
        (2, {"replicas": 2}),
        # The API server leaves a 0 out: no pod can be created, for want of quota for example.
        (2, {"observedGeneration": 1, "unavailableReplicas": 2}),
    ],
)
def test_while_no_pod_of_the_controller_is_ready_no_node_is_deleted(replicas, status):
    """A deleted node would wait for its drain, and nothing would launch another one."""
    deployment = controller(Install(cluster="test", version="1.3.0"), [NODE])[0]
    deployment["spec"]["replicas"], deployment["status"] = replicas, status
    made = [doc for one in NEW for doc in claim(one, node_class="default", version="v1")]
    cluster = (
        a_cluster("1.3.0", kubernetes="1.31").without("controller").with_docs(deployment, a_pool(name="api"), *made)
    )
    words = "no pod of the controller is ready: nothing drains or replaces nodes"
    assert refused(cluster, pools=["api"]) == ("no_controller", words)


def test_without_a_pool_to_take_over_nothing_of_old_is_rolled():
    cluster = a_cluster("0.32.10", kubernetes="1.28").with_docs(a_provisioner(), *machine(OLD, template="default"))
    assert refused(cluster)[0] == "no_successor"


def test_nodes_of_a_provisioner_that_is_gone_need_a_pool_too():
    orphan = a_cluster("0.32.10", kubernetes="1.28").with_docs(*machine(OLD, template="default"))
    assert refused(orphan) == ("no_successor", "no NodePool is ready to launch the replacement nodes")
    assert len(steps_of(ACTION, a_scene(orphan.with_docs(POOL)))) == 1


def test_nothing_is_planned_on_what_was_not_read():
    for part in action_of(ACTION).parts:
        assert refused(alpha().unseen(part))[0] == "not_seen"


def test_nothing_to_do():
    assert refused(current())[0] == "nothing_to_do"


@pytest.mark.parametrize("name", ["", ".", "..", "../x", "a b", 7])
@pytest.mark.parametrize("where", ["nodes", "pools", "without", "with_protected"])
def test_names_that_are_none(name, where):
    with pytest.raises(InvalidInput) as told:
        steps_of(ACTION, a_scene(alpha()), **{where: [name]})
    assert told.value.code == "bad_name"


def test_a_node_that_is_not_karpenters():
    with pytest.raises(InvalidInput) as told:
        steps_of(ACTION, a_scene(alpha()), nodes=["mine"])
    assert (told.value.code, told.value.where) == ("unknown_name", "nodes")


def test_the_forecast():
    held = budget("web", "shop", healthy=2, allowed=0, minAvailable=2)
    marked = pods(name="batch", annotations={"karpenter.sh/do-not-disrupt": "true"})
    scene = a_scene(alpha(held, *pods(count=2), *marked))
    told = forecast_of(ACTION, scene, with_protected=[OLD.node])
    assert (told.nodes, told.pods, told.pods_without_budget, told.at_least) == (2, 3, 1, False)
    assert told.blocked == (
        "PodDisruptionBudget shop/web lets no pod go: spec.minAvailable 2 of 2 pods",
        f"protected pods run on {OLD.node}: they may hold the drain up",
    )
    assert told.cannot_be_undone == ("2 nodes",)


def drifting_cluster(**env):
    """Three nodes of a fenced Provisioner; two have a hash and drift where the gate is on."""
    docs = [*machine(OLD, template="default"), *machine(THIRD, template="default")]
    docs += machine(OTHER, template="default", hashed=False)
    pools = (a_provisioner({"metadata.annotations": {"karpenter.sh/provisioner-hash": "1"}}), a_template(), POOL)
    return a_cluster("0.32.10", kubernetes="1.28", env=env).with_docs(*pools, *docs)


THIRD = Launched(pool="web", number=78, cluster="test", kubelet="v1.27.4")
DIFFERENT = (
    "new nodes of NodePool web may differ from the old ones: no requirement on kubernetes.io/os, kubernetes.io/arch,"
    " karpenter.k8s.aws/instance-category, karpenter.k8s.aws/instance-generation; spec.disruption.expireAfter is 720h,"
    " not Never, as the Provisioner had it (check pools_replace_provisioners_alike)"
)
BESIDE = f"Karpenter itself replaces 2 nodes by drift, outside the batches and their limits: {OLD.node}, {THIRD.node}"


def test_karpenters_own_drift_is_part_of_the_forecast_and_of_the_gate():
    scene = a_scene(drifting_cluster(FEATURE_GATES="Drift=true"))
    told = forecast_of(ACTION, scene, nodes=[OTHER.node])
    assert (told.nodes, told.beside) == (3, (BESIDE, DIFFERENT))
    fence, roll = steps_of(ACTION, scene, nodes=[OTHER.node])
    assert fence.note == BESIDE
    assert (roll.after.no_drains, roll.after.seconds) == (True, 900 + 2 * 900)


def test_without_the_gate_nothing_drifts():
    scene = a_scene(drifting_cluster(FEATURE_GATES="Drift=false"))
    told = forecast_of(ACTION, scene, nodes=[OTHER.node])
    assert (told.nodes, told.beside) == (1, (DIFFERENT,))
    fence, roll = steps_of(ACTION, scene, nodes=[OTHER.node])
    assert (fence.note, roll.after.no_drains, roll.after.seconds) == ("", False, 900)


def test_nodes_of_a_nodepool_are_replaced_by_the_same_one():
    assert forecast_of(ACTION, a_scene(current()), pools=["api"]).beside == ()


def test_a_group_on_many_nodes_is_counted_from_below():
    spread = pods(nodes=(OLD.node, "elsewhere"), count=4)
    told = forecast_of(ACTION, a_scene(alpha(*spread)))
    assert (told.pods, told.at_least) == (1, True)


def test_it_asks_for_no_more_than_it_says():
    assert asks_too_much(ACTION, steps_of(ACTION, a_scene(alpha()))) == set()


@pytest.mark.apiserver
@pytest.mark.django_db(transaction=True)
def test_on_the_real_server(server):  # A17, A24, A27, A31
    server.load_crds("alpha_and_beta")
    installed(server, "0.32.10")
    put(server, a_provisioner(), POOL, *machine(OLD, template="default"), *machine(OTHER, template="default"))
    row = previewed(registered(server), ACTION)
    assert (row.state, row.cause, len(plan_of(row).steps), plan_of(row).risk) == ("previewed", "", 3, "high")
    seen = []

    def drained():  # what the finalizer's controller does
        leaving = [one for one in server.admin.items("/api/v1/nodes") if "deletionTimestamp" in one["metadata"]]
        seen.append(len(leaving))
        for one in leaving:
            owner = one["metadata"]["ownerReferences"][0]["name"]
            gone(server, f"/api/v1/nodes/{one['metadata']['name']}", f"/apis/karpenter.sh/v1alpha5/machines/{owner}")

    done = carried_out(row, between=drained)
    assert (done.state, done.cause, applied(done)) == ("succeeded", "", ["s001", "s002", "s003"])
    assert (max(seen), server.admin.items("/api/v1/nodes")) == (1, [])
    assert taken_back(done) == ["s001"]
    assert "taints" not in server.admin.get("/apis/karpenter.sh/v1alpha5/provisioners/web")["spec"]
