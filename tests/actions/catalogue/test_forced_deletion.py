"""The last way: a pool goes with all its nodes, typed, counted, and never under the controller."""

import pytest

from migrations_app.actions.base import Unavailable
from migrations_app.actions.changes import ObjectTarget
from migrations_app.actions.conditions import Terminating
from migrations_app.actions.gate import Gate
from migrations_app.errors import InvalidInput
from migrations_app.samples.karpenter_objects import machine
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
from tests.builders.pods import OLD, OTHER, bare, pods
from tests.builders.pools import a_claim, a_pool, a_provisioner
from tests.builders.pools import put as changed

ACTION = "forced_deletion"
POOL = a_pool(version="v1beta1")


def alpha(*docs):
    both = [*machine(OLD, template="default"), *machine(OTHER, template="default")]
    return a_cluster("0.32.10", kubernetes="1.28").with_docs(a_provisioner(), *both, *docs)


def current(*docs):
    return a_cluster("1.3.0", kubernetes="1.31").with_docs(a_pool(), *a_claim(), *docs)


def refused(cluster, **parameters):
    with pytest.raises(Unavailable) as told:
        steps_of(ACTION, a_scene(cluster), **parameters)
    return told.value.code, told.value.message


def test_one_object_a_step_and_nothing_takes_it_back():  # A31
    (step,) = steps_of(ACTION, a_scene(alpha(POOL)), provisioners=["web"])
    old = ObjectTarget(
        "karpenter.sh", "v1alpha5", "provisioners", "Provisioner", "web", uid=a_provisioner()["metadata"]["uid"]
    )
    assert (step.title, step.risk, step.undo) == ("Delete Provisioner web with 2 nodes at once", "destructive", None)
    assert (step.change.verb, step.change.target, step.change.body) == (
        "delete",
        old,
        {"propagationPolicy": "Foreground"},
    )
    assert step.postconditions == (Terminating(),)
    assert step.after == Gate(gone=(old,), replaced=True, pending_above=0, seconds=3600)
    assert step.note == "nothing undoes this: the object, its claims and its nodes are gone"


def test_protected_pods_are_named_before_they_hold_the_drain():  # A28, A32
    marked = pods(name="batch", annotations={"karpenter.sh/do-not-evict": "true"})
    told = forecast_of(ACTION, a_scene(alpha(POOL, *marked, bare("one"))), provisioners=["web"])
    assert told.blocked == (
        f"on {OLD.node}: Deployment shop/batch is marked karpenter.sh/do-not-evict",
        f"on {OLD.node}: Pod shop/one has no controller",
    )


def test_the_name_has_to_be_typed():
    assert (action_of(ACTION).typed, action_of(ACTION).risk) == (True, "destructive")


def test_nothing_is_deleted_that_nobody_named():
    assert refused(alpha(POOL)) == ("nothing_chosen", "name the Provisioner or NodePool to delete")


def test_a_release_that_does_not_act_on_the_pool_ends_none_of_its_nodes():
    """As after an upgrade to 0.33 that left Machines, and after a rollback to 0.31 that left NodeClaims."""
    both = (a_provisioner(), *machine(OLD, template="default"), POOL)
    later = a_cluster("0.33.12", kubernetes="1.28").with_docs(*both)
    words = "0.33.12 acts on no Provisioner: it would drain and end none of its nodes"
    assert refused(later, provisioners=["web"]) == ("wrong_release", words)
    back = a_cluster("0.31.5", kubernetes="1.27").with_docs(POOL, *a_claim(version="v1beta1"))
    words = "0.31.5 acts on no NodePool: it would drain and end none of its nodes"
    assert refused(back, nodepools=[POOL["metadata"]["name"]]) == ("wrong_release", words)


def test_a_nodepool_goes_where_another_is_ready():
    (step,) = steps_of(ACTION, a_scene(current(a_pool(name="api"))), nodepools=["web"])
    assert bodies([step]) == [("delete", "NodePool web", {"propagationPolicy": "Foreground"})]
    assert step.change.target.api_version == "karpenter.sh/v1"
    assert refused(current(), nodepools=["web"]) == (
        "no_successor",
        "no other NodePool is ready for the pods of web",
    )
    both = {"nodepools": ["web", "api"]}
    assert refused(current(a_pool(name="api")), **both)[0] == "no_successor"


ARM = {"key": "kubernetes.io/arch", "operator": "In", "values": ["arm64"]}
AMD = ARM | {"values": ["amd64"]}
GPU = {"spec.template.spec.taints": [{"key": "gpu", "effect": "NoSchedule"}]}
TEAM = {"spec.template.metadata.labels": {"team": "a"}}


@pytest.mark.parametrize(
    ("old", "other", "why"),
    [
        ({}, GPU, "has the taint gpu, which the pods need not tolerate now"),
        (TEAM, {}, "does not give the label team=a"),
        (
            {"spec.template.spec.requirements": [AMD]},
            {"spec.template.spec.requirements": [ARM]},
            "admits no kubernetes.io/arch of amd64",
        ),
    ],
)
def test_the_pool_that_takes_over_fits_as_for_a_provisioner(old, other, why):
    """On the nodes of another ready one the pods may stay pending."""

    def scene_of(*docs):
        return a_cluster("1.3.0", kubernetes="1.31").with_docs(a_pool(old), *a_claim(), a_pool(other, name="a"), *docs)

    (step,) = steps_of(ACTION, a_scene(scene_of(a_pool(old, name="like-it"))), nodepools=["web"])
    assert [one.target.display_name for one in step.computed_from] == ["NodePool like-it"]
    words = f"no other NodePool is ready for the pods of web: NodePool a {why}"
    assert refused(scene_of(), nodepools=["web"]) == ("no_successor", words)


def test_without_a_successor_only_an_empty_provisioner_goes():
    assert refused(alpha(), provisioners=["web"])[0] == "no_successor"
    empty = a_cluster("0.32.10", kubernetes="1.28").with_docs(a_provisioner())
    (step,) = steps_of(ACTION, a_scene(empty), provisioners=["web"])
    assert step.title == "Delete Provisioner web with 0 nodes at once"


def test_never_under_the_controller():
    own = pods(name="karpenter", labels={"app.kubernetes.io/name": "karpenter"})
    assert refused(alpha(POOL, *own), provisioners=["web"])[0] == "controller_on_node"


def test_what_is_going_already_is_not_deleted_again():
    leaving = a_provisioner({"metadata.deletionTimestamp": "2026-10-01T11:00:00Z"})
    cluster = a_cluster("0.32.10", kubernetes="1.28").with_docs(leaving, POOL)
    assert refused(cluster, provisioners=["web"])[0] == "nothing_chosen"


def test_git_would_bring_it_back():
    kept = changed(a_provisioner(), {"metadata.labels": {"argocd.argoproj.io/instance": "infra"}})
    cluster = a_cluster("0.32.10", kubernetes="1.28").with_docs(kept, POOL)
    (step,) = steps_of(ACTION, a_scene(cluster), provisioners=["web"])
    assert step.manager == "Argo CD infra"


def test_nothing_is_planned_on_what_was_not_read():
    for part in action_of(ACTION).parts:
        assert refused(alpha(POOL).unseen(part), provisioners=["web"])[0] == "not_seen"


@pytest.mark.parametrize(
    ("names", "code"), [(["gone"], "unknown_name"), ([""], "bad_name"), ([".."], "bad_name"), ("web", "bad_parameter")]
)
def test_odd_names(names, code):
    with pytest.raises(InvalidInput) as told:
        steps_of(ACTION, a_scene(alpha(POOL)), provisioners=names)
    assert told.value.code == code


def test_the_forecast_counts_all_that_goes_at_once():
    told = forecast_of(ACTION, a_scene(alpha(POOL, *pods(count=5))), provisioners=["web"])
    assert (told.nodes, told.pods, told.pods_without_budget) == (2, 5, 5)
    assert told.cannot_be_undone == ("Provisioner web", "2 nodes, all at once")


def test_it_asks_for_no_more_than_it_says():
    steps = [*steps_of(ACTION, a_scene(alpha(POOL)), provisioners=["web"])]
    steps += steps_of(ACTION, a_scene(current(a_pool(name="api"))), nodepools=["web"])
    assert (len(steps), asks_too_much(ACTION, steps)) == (2, set())


def test_it_rests_on_the_pool_on_its_successor_and_on_the_number_of_nodes():  # A02
    others = (a_pool(name="api", version="v1beta1"), a_provisioner(name="other"))
    (step,) = steps_of(ACTION, a_scene(alpha(*others, POOL)), provisioners=["web"])
    assert [one.target.display_name for one in step.computed_from] == ["NodePool web"]
    (limit,) = step.at_most
    selector = "karpenter.sh/provisioner-name=web,!karpenter.sh/nodepool"
    assert (limit.plural, limit.most, limit.what, limit.label_selector) == (
        "nodes", 2, "nodes of Provisioner web", selector,
    )  # fmt: skip
    (step,) = steps_of(ACTION, a_scene(current(a_pool(name="api"))), nodepools=["web"])
    assert [one.target.display_name for one in step.computed_from] == ["NodePool api"]
    assert step.at_most[0].label_selector == "karpenter.sh/nodepool=web,!karpenter.sh/provisioner-name"
    assert step.at_most[0].most == 1


def test_a_pool_that_is_deleted_with_it_takes_no_pods_over():
    both = {"provisioners": ["web"], "nodepools": ["web"]}
    assert refused(alpha(POOL), **both)[0] == "no_successor"


OLD_POOL = "/apis/karpenter.sh/v1alpha5/provisioners/web"
CHANGED_SINCE = {
    "its successor goes": "NodePool web is gone since the preview, and the request was computed from it: "
    "make a new preview",
    "it has more nodes": "nodes of Provisioner web: 2 now, 1 at the preview; make a new preview",
    "its spec is another": "Provisioner web was changed since the preview",
}


@pytest.mark.apiserver
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("what", CHANGED_SINCE)
def test_what_changed_since_the_preview_stops_it_on_the_real_server(server, what):  # A17, R21
    server.load_crds("alpha_and_beta")
    installed(server, "0.32.10")
    put(server, a_provisioner(), POOL, *machine(OLD, template="default"))
    row = previewed(registered(server), ACTION, provisioners=["web"])
    if what == "its successor goes":
        gone(server, server.admin.path_of(POOL))
    elif what == "it has more nodes":
        put(server, *machine(OTHER, template="default"))
    else:
        server.admin.patch(OLD_POOL, {"spec": {"weight": 7}})
    done = carried_out(row)
    assert (done.state, done.cause_code, done.cause, applied(done)) == ("paused", "changed", CHANGED_SINCE[what], [])
    assert "deletionTimestamp" not in server.admin.get(OLD_POOL)["metadata"]


@pytest.mark.apiserver
@pytest.mark.django_db(transaction=True)
def test_fewer_nodes_than_were_previewed_do_not_stop_it_on_the_real_server(server):
    server.load_crds("alpha_and_beta")
    installed(server, "0.32.10")
    put(server, a_provisioner(), POOL, *machine(OLD, template="default"), *machine(OTHER, template="default"))
    row = previewed(registered(server), ACTION, provisioners=["web"])
    gone(server, f"/api/v1/nodes/{OTHER.node}")
    done = carried_out(row, between=lambda: gone(server, OLD_POOL))
    assert (done.state, done.cause, applied(done)) == ("succeeded", "", ["s001"])


@pytest.mark.apiserver
@pytest.mark.django_db(transaction=True)
def test_on_the_real_server(server):  # A17, A27, A31
    server.load_crds("alpha_and_beta")
    installed(server, "0.32.10")
    put(server, a_provisioner(), POOL, *machine(OLD, template="default"))
    row = previewed(registered(server), ACTION, provisioners=["web"])
    assert (row.state, row.cause, plan_of(row).risk, plan_of(row).forecast.nodes) == ("previewed", "", "destructive", 1)
    assert "deletionTimestamp" not in server.admin.get(OLD_POOL)["metadata"]
    done = carried_out(row, between=lambda: gone(server, OLD_POOL))  # what the garbage collector does
    assert (done.state, done.cause, applied(done)) == ("succeeded", "", ["s001"])
    assert (server.admin.request("GET", OLD_POOL).status, taken_back(done)) == (404, [])
