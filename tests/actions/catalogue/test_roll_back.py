"""A rollback: newest first, by the uid of what was made, and never over what somebody else wrote since (A35)."""

from dataclasses import replace

import msgspec
import pytest

from migrations_app.actions.base import Unavailable
from migrations_app.actions.catalogue.roll_back import action
from migrations_app.actions.changes import ObjectTarget, creation, deletion, merge
from migrations_app.actions.conditions import Deleted, Exists, FieldEquals, Terminating
from migrations_app.actions.gate import Gate
from migrations_app.actions.patches import create_step, patch_step
from migrations_app.actions.plan import Step
from migrations_app.models.rollout import Rollout
from tests.actions.on_server import carried_out, installed, plan_of, previewed, put, registered
from tests.actions.scenes import a_scene
from tests.actions.whole_rollouts import CRDS, done, roll_back, rollback_preview, sent
from tests.builders.clusters import a_cluster
from tests.builders.pools import a_claim, a_pool, a_provisioner, a_template

POOL = ObjectTarget("karpenter.sh", "v1", "nodepools", "NodePool", "web", uid="u1")
WEIGHT = ("spec", "weight")


def read(uid="u1", **spec):
    return {"kind": "NodePool", "metadata": {"name": "web", "uid": uid}, "spec": spec}


def weighed(then, *, now=None, number="s001", **more) -> Step:
    found = patch_step(POOL, {"spec": {"weight": now}}, patch={"spec": {"weight": then}}, title=f"Weigh {then}", **more)
    return msgspec.structs.replace(found, id=number)


def bare(target: ObjectTarget) -> ObjectTarget:
    return msgspec.structs.replace(target, uid="")


def back(*applied: Step, here=None, made=None, cluster=None) -> tuple[Step, ...]:
    """The rollback of these steps, newest first, where `here` is what the pool looks like now."""
    found = a_scene(cluster or a_cluster("1.0.8"))
    objects = {bare(POOL): here} if here is not None else {}
    return action.steps(replace(found, applied=applied, objects=objects, made=made or {}), {})


def refused(*applied: Step, **more) -> tuple[str, str]:
    with pytest.raises(Unavailable) as caught:
        back(*applied, **more)
    return caught.value.code, caught.value.message


def test_a_field_goes_back_to_what_it_was_and_could_be_set_again():
    step = weighed(7, now=3)
    (found,) = back(step, here=read(weight=7))
    assert (found.title, found.change) == ("Undo: Weigh 7", merge(POOL, {"spec": {"weight": 3}}))
    assert found.postconditions == (FieldEquals(WEIGHT, 3),)
    assert (found.preconditions, found.undo, found.undo_postconditions) == ((WEIGHT,), step.change, step.postconditions)


def test_a_step_whose_outcome_nobody_knows_is_named_and_left():  # A22
    unknown = weighed(9, now=7, number="s002")
    scene = replace(a_scene(a_cluster("1.0.8")), unsettled=(unknown,))
    with pytest.raises(Unavailable) as caught:
        action.steps(scene, {})
    words = "whether it changed NodePool web is not known: look at it, and change it back yourself if it was"
    assert (caught.value.code, caught.value.message) == ("nothing_to_do", f"nothing can be undone: {words}")
    scene = replace(scene, applied=(weighed(7, now=3),), objects={bare(POOL): read(weight=7)})
    assert [step.title for step in action.steps(scene, {})] == ["Left as it is: Weigh 9", "Undo: Weigh 7"]
    assert action.forecast(scene, {}).cannot_be_undone == (f"Left as it is: Weigh 9: {words}",)


def test_the_newest_step_is_taken_back_first_and_the_older_rests_on_nothing_that_it_moves():
    old, new = weighed(7, now=3), weighed(9, now=7, number="s002")
    found = back(new, old, here=read(weight=9))
    assert [step.change.body["spec"] for step in found] == [{"weight": 7}, {"weight": 3}]
    assert [step.preconditions for step in found] == [(WEIGHT,), ()]


def test_what_others_wrote_over_is_never_taken_back():
    code, words = refused(weighed(7), here=read(weight=8))
    assert (code, words) == ("changed", "NodePool web was changed by others since: spec.weight")
    assert refused(weighed(7), here=read(uid="u2", weight=7))[0] == "changed"
    assert refused(weighed(7))[0] == "changed"


def test_what_is_as_it_was_before_needs_no_request_and_stops_no_other_step():
    other = msgspec.structs.replace(weighed(1, now=0), change=merge(POOL, {"spec": {"rank": 1}}))
    fields = ("preconditions", "postconditions", "undo", "undo_postconditions")
    rank = ("spec", "rank")
    values = ((rank,), (FieldEquals(rank, 1),), merge(POOL, {"spec": {"rank": 0}}), (FieldEquals(rank, 0),))
    other = msgspec.structs.replace(other, **dict(zip(fields, values, strict=True)))
    left, undone = back(weighed(7, now=3), other, here=read(weight=3, rank=1))
    assert (left.title, left.change, left.note) == (
        "Left as it is: Weigh 7", None, "NodePool web is as it was before already",
    )  # fmt: skip
    assert undone.change == merge(POOL, {"spec": {"rank": 0}})
    assert refused(weighed(7, now=3), here=read(weight=3))[0] == "nothing_to_do"
    assert refused(weighed(7, now=3), here=read(uid="u2", weight=3))[0] == "changed"


def test_a_value_that_the_undo_of_a_newer_step_moves_is_not_as_it_was():
    old, new = weighed(7, now=3), weighed(3, now=7, number="s002")
    assert [step.change.body["spec"] for step in back(new, old, here=read(weight=3))] == [{"weight": 7}, {"weight": 3}]


def test_of_two_steps_on_a_field_the_one_that_was_taken_back_stays_so():
    old, new = weighed(7, now=3), weighed(9, now=7, number="s002")
    left, undone = back(new, old, here=read(weight=7))
    assert (left.change, undone.change.body["spec"]) == (None, {"weight": 3})


def test_other_fields_may_have_moved():
    assert back(weighed(7), here=read(weight=7, limits={"cpu": "9"}))[0].change.verb == "patch"


def made_pool(**more) -> Step:
    step = create_step(bare(POOL), {"kind": "NodePool", "spec": {"weight": 1}}, title="Create NodePool web", **more)
    return msgspec.structs.replace(step, id="s001")


def test_what_was_made_is_deleted_by_its_uid():
    (found,) = back(made_pool(), here=read(weight=1), made={"s001": "u1"})
    assert (found.change, found.postconditions, found.risk, found.undo) == (
        deletion(POOL),
        (Terminating(),),
        "high",
        None,
    )


def test_what_has_taken_its_name_is_left_alone():
    code, words = refused(made_pool(), here=read(uid="other", weight=1), made={"s001": "u1"})
    assert code == "nothing_to_do"
    assert words.endswith("it is gone already: another NodePool has the name web now, and stays")
    assert refused(made_pool(), here=read(weight=1)) == (
        "no_way_back", "the uid of the object that this step created is not known: Create NodePool web",
    )  # fmt: skip


def gone() -> Step:
    body = {"kind": "NodePool", "metadata": {"name": "web"}, "spec": {"weight": 1}}
    return Step(
        id="s001", title="Delete", change=deletion(POOL), postconditions=(Deleted(),), undo=creation(bare(POOL), body),
        undo_postconditions=(Exists(),),
    )  # fmt: skip


def test_what_was_deleted_is_made_again_unless_somebody_did():
    assert [step.change.verb for step in back(gone())] == ["create"]
    assert refused(gone(), here=read("u2", weight=1))[1] == "nothing can be undone: somebody made it again as it was"
    assert refused(gone(), here=read("u2", weight=2)) == (
        "changed",
        "NodePool web was created again with other content",
    )


def test_a_replaced_node_stays_and_its_taint_is_taken_back():
    node = ObjectTarget("", "v1", "nodes", "Node", "ip-1", uid="n")
    rolled = Step(
        id="s002", title="Drain", change=deletion(node), postconditions=(Terminating(),), note="It stays away."
    )
    left, undone = back(rolled, weighed(7), here=read(weight=7))
    assert (left.title, left.change, undone.title) == ("Left as it is: Drain", None, "Undo: Weigh 7")


def test_a_step_without_a_rollback_stops_it_unless_it_may_be_left():
    final = msgspec.structs.replace(gone(), undo=None, undo_postconditions=(), note="It stays.")
    assert refused(final) == ("no_way_back", "this step cannot be undone: Delete")
    left, undone = back(msgspec.structs.replace(final, skippable=True), weighed(7), here=read(weight=7))
    assert (left.title, left.change, left.note) == ("Left as it is: Delete", None, "It stays.")
    assert undone.title == "Undo: Weigh 7"


def test_nothing_applied_leaves_nothing_to_take_back():
    assert refused()[0] == "nothing_to_do"


def test_the_forecast_counts_the_nodes_of_a_pool_that_goes_again():
    cluster = a_cluster("1.0.8").with_docs(a_pool(), *a_claim())
    scene = replace(a_scene(cluster), applied=(made_pool(),), objects={bare(POOL): read(weight=1)}, made={"s001": "u1"})
    found = action.forecast(scene, {})
    assert (found.nodes, found.pods, found.cannot_be_undone) == (1, None, ())


def pool_goes(*docs) -> tuple[Step, ...]:
    cluster = a_cluster("1.0.8").with_docs(*docs)
    return back(made_pool(), here=read(weight=1), made={"s001": "u1"}, cluster=cluster)


def test_a_made_pool_goes_with_the_nodes_that_its_preview_counted():
    (found,) = pool_goes(a_pool(), *a_claim())
    assert (found.title, found.risk) == ("Undo: Create NodePool web, with 1 node at once", "destructive")
    assert found.change == deletion(POOL, foreground=True)
    assert found.after == Gate(gone=(POOL,), replaced=True, pending_above=0, seconds=3600)
    (limit,) = found.at_most
    assert (limit.most, limit.what, limit.label_selector) == (
        1, "nodes of NodePool web", "karpenter.sh/nodepool=web,!karpenter.sh/provisioner-name",
    )  # fmt: skip


def test_a_made_pool_without_nodes_goes_only_while_it_has_none():
    (found,) = pool_goes(a_pool())
    assert (found.title, found.after, found.change) == ("Undo: Create NodePool web", None, deletion(POOL))
    assert [limit.most for limit in found.at_most] == [0]


def test_a_made_pool_stays_while_its_nodes_cannot_be_counted():
    cluster = a_cluster("1.0.8").with_docs(a_pool(), *a_claim()).unseen("nodes")
    assert refused(made_pool(), here=read(weight=1), made={"s001": "u1"}, cluster=cluster)[0] == "not_seen"


@pytest.mark.apiserver
@pytest.mark.django_db(transaction=True)
def test_on_a_real_server_marks_that_others_changed_are_not_taken_back(server):  # A35
    server.load_crds("beta")
    installed(server, "0.37.8")
    cluster = registered(server)
    row = done(cluster, "adopt_crds")
    name = {"meta.helm.sh/release-name": "theirs"}
    server.admin.patch(f"{CRDS}/nodepools.karpenter.sh", {"metadata": {"annotations": name}})
    found = rollback_preview(cluster, row)
    assert (found.state, found.cause_code) == ("expired", "changed")
    assert "nodepools.karpenter.sh was changed by others since" in found.cause


@pytest.mark.apiserver
@pytest.mark.django_db(transaction=True)
def test_on_a_real_server_a_rollback_that_stopped_in_the_middle_is_made_anew(server):  # A35
    server.load_crds("beta")
    installed(server, "0.37.8")
    cluster = registered(server)
    row = done(cluster, "adopt_crds")
    half = rollback_preview(cluster, row)
    path, mark = plan_of(half).steps[1].change.target.path, "meta.helm.sh/release-name"
    server.admin.patch(path, {"metadata": {"annotations": {mark: "theirs"}}})
    assert (carried_out(half).cause_code, len(sent(half))) == ("changed", 1)
    Rollout.objects.filter(pk=half.pk).update(state="aborted")
    server.admin.patch(path, {"metadata": {"annotations": {mark: "karpenter-crd"}}})
    again = roll_back(cluster, row)
    assert [step.title.partition(":")[0] for step in plan_of(again).steps] == ["Left as it is", "Undo", "Undo"]
    assert len(sent(again)) == 2


@pytest.mark.apiserver
@pytest.mark.django_db(transaction=True)
def test_on_a_real_server_a_rollback_can_itself_be_rolled_back(server):  # A35
    server.load_crds("beta")
    installed(server, "0.37.8")
    cluster = registered(server)
    back_again = roll_back(cluster, roll_back(cluster, done(cluster, "adopt_crds")))
    assert len(sent(back_again)) == 3
    assert previewed(cluster, "adopt_crds").cause_code == "nothing_to_do"


@pytest.mark.apiserver
@pytest.mark.django_db(transaction=True)
def test_on_a_real_server_it_asks_for_what_the_first_way_asked_for(server):  # A26
    server.load_crds("beta")
    installed(server, "0.37.8")
    cluster = registered(server)
    row = done(cluster, "adopt_crds")
    assert set(plan_of(rollback_preview(cluster, row)).needs) <= set(plan_of(row).needs)


@pytest.mark.apiserver
@pytest.mark.django_db(transaction=True)
def test_on_a_real_server_a_made_pool_stays_once_it_has_more_nodes(server):  # A17, R21
    server.load_crds("alpha_and_beta")
    installed(server, "0.32.10")
    put(server, a_provisioner(), a_template())
    cluster = registered(server)
    row = done(cluster, "convert_and_apply", node_role="KarpenterNodeRole")
    put(server, *a_claim(version="v1beta1"))
    found = rollback_preview(cluster, row)
    assert (found.state, found.cause, plan_of(found).risk) == ("previewed", "", "destructive")
    assert plan_of(found).steps[0].title.endswith(", with 1 node at once")
    put(server, *a_claim(version="v1beta1", number=2))
    ended = carried_out(found)
    words = "nodes of NodePool web: 2 now, 1 at the preview; make a new preview"
    assert (ended.state, ended.cause_code, ended.cause, sent(ended)) == ("paused", "changed", words, [])
