"""What the converted pools and classes are written as: classes first, nothing by force, nothing undecided."""

import pytest

from migrations_app.actions.base import Unavailable
from migrations_app.actions.changes import ObjectTarget
from migrations_app.actions.conditions import FieldEquals, Terminating
from migrations_app.actions.plan import EarlierResult
from migrations_app.errors import InvalidInput
from migrations_app.inventory.objects.aws import InstanceProfile
from migrations_app.samples.karpenter_objects import Launched, claim
from migrations_app.use_cases.rollouts import worker
from tests.actions.on_server import applied, carried_out, installed, plan_of, previewed, put, registered, taken_back
from tests.actions.scenes import a_scene, action_of, asks_too_much, bodies, forecast_of, steps_of
from tests.builders.clusters import a_cluster
from tests.builders.pools import AUTO_MODE, a_claim, a_class, a_pool, a_provisioner, a_template
from tests.builders.pools import put as changed

ACTION = "convert_and_apply"
ROLE = {"node_role": "KarpenterNodeRole"}
KUBELET = {"compatibility.karpenter.sh/v1beta1-kubelet-conversion": '{"maxPods":42}'}


def alpha(*docs):
    return a_cluster("0.32.10", kubernetes="1.28").with_docs(*(docs or (a_provisioner(), a_template())))


def current(*docs):
    return a_cluster("1.0.8", kubernetes="1.30").with_docs(*docs)


def refused(cluster, *objects, **parameters):
    with pytest.raises(Unavailable) as told:
        steps_of(ACTION, a_scene(cluster, *objects), **parameters)
    return told.value.code, told.value.message


def test_what_is_absent_is_created_the_class_first():  # A23
    one, two = steps_of(ACTION, a_scene(alpha()), **ROLE)
    assert (one.title, one.risk) == ("Create EC2NodeClass default from AWSNodeTemplate default", "low")
    assert (two.title, two.risk) == ("Create NodePool web from Provisioner web", "medium")
    assert (one.change.verb, one.change.path) == ("create", "/apis/karpenter.k8s.aws/v1beta1/ec2nodeclasses")
    assert one.change.body["spec"]["role"] == "KarpenterNodeRole"
    assert FieldEquals(("spec", "amiFamily"), "AL2") in one.postconditions
    assert two.change.target == ObjectTarget("karpenter.sh", "v1beta1", "nodepools", "NodePool", "web")
    assert (two.undo.verb, two.undo.target, two.undo_postconditions) == ("delete", two.change.target, (Terminating(),))


def test_what_is_there_is_applied_over_never_by_force():  # A34, A35
    there = a_pool({"spec.limits.cpu": "10", "metadata.labels": {"team": "a"}}, version="v1beta1")
    cluster = alpha(a_provisioner(), a_template(), there, *a_claim(version="v1beta1"))
    _, step = steps_of(ACTION, a_scene(cluster, there), **ROLE)
    assert (step.title, step.change.verb, step.risk) == ("Apply NodePool web as v1beta1", "apply", "high")
    assert step.change.target.uid == there["metadata"]["uid"]
    assert (("spec", "limits", "cpu") in step.preconditions, ("metadata", "name") in step.preconditions) == (
        True,
        False,
    )
    assert step.undo.body["spec"]["limits"] == {"cpu": "10"}
    assert FieldEquals(("spec", "limits", "cpu"), "10") in step.undo_postconditions
    assert step.note == "1 node may drift by it"


def test_what_is_so_already_is_left():
    scene = a_scene(alpha(), *(step.change.body | {"metadata": {"name": step.change.target.name, "uid": "u"}}
                               for step in steps_of(ACTION, a_scene(alpha()), **ROLE)))  # fmt: skip
    with pytest.raises(Unavailable, match="nothing to do"):
        steps_of(ACTION, scene, **ROLE)


def test_the_objects_to_read_are_those_that_it_writes():
    wanted = action_of(ACTION).objects_to_read(alpha().build(), ROLE)
    assert [one.display_name for one in wanted] == ["EC2NodeClass default", "NodePool web"]


def test_an_unknown_role_is_asked_for():  # CONV-05
    code, words = refused(alpha())
    assert (code, words.startswith("a person has to decide first: AWSNodeTemplate/default ")) == ("loss", True)
    assert "role is $KARPENTER_NODE_ROLE" in words


def test_the_role_of_the_instance_profile_that_aws_told():
    profile = InstanceProfile(name="nodes", exists=True, role_arns=("arn:aws:iam::111122223333:role/a/NodeRole",))
    cluster = alpha(a_provisioner(), a_template({"spec.instanceProfile": "nodes"}))
    one, _ = steps_of(ACTION, a_scene(cluster.with_aws(instance_profiles=(profile,))))
    assert one.change.body["spec"]["role"] == "NodeRole"


def test_an_instance_profile_that_is_kept():
    cluster = alpha(a_provisioner(), a_template({"spec.instanceProfile": "nodes"}))
    one, _ = steps_of(ACTION, a_scene(cluster), keep_instance_profile=True)
    assert one.change.body["spec"]["instanceProfile"] == "nodes"


def test_a_loss_that_needs_a_person_is_named():  # CONV-07
    code, words = refused(alpha(a_provisioner(), a_template({"spec.launchTemplate": "mine"})), **ROLE)
    assert (code, "AWSNodeTemplate/default spec.launchTemplate" in words) == ("loss", True)


def test_without_the_crds_nothing_is_offered():
    cluster = alpha().without("crds")
    words = "the cluster serves no EC2NodeClass of v1beta1: upgrade the CRDs first"
    assert refused(cluster, **ROLE) == ("not_served", words)
    with pytest.raises(Unavailable):
        action_of(ACTION).objects_to_read(cluster.build(), ROLE)


def test_chosen_provisioners_bring_only_the_classes_they_use():
    more = (a_provisioner(name="api"), a_template(name="other"))
    scene = a_scene(alpha(a_provisioner(), a_template(), changed(more[0], {"spec.providerRef.name": "other"}), more[1]))
    steps = steps_of(ACTION, scene, provisioners=["api"], **ROLE)
    assert [step.change.target.display_name for step in steps] == ["EC2NodeClass other", "NodePool api"]


def test_what_a_webhook_parked_is_put_where_v1_has_it():
    pool = a_pool({"metadata.annotations": KUBELET | {"mine": "stays"}})
    node_class = a_class()
    steps = steps_of(ACTION, a_scene(current(pool, node_class), pool, node_class))
    assert [step.title for step in steps] == [
        "Apply EC2NodeClass default as v1",
        "Take out of NodePool web what its new form does not have",
    ]
    assert steps[0].change.body["spec"]["kubelet"] == {"maxPods": 42}
    gone = {"metadata": {"annotations": dict.fromkeys(KUBELET)}}
    assert (steps[1].change.body, steps[1].undo.body) == (gone, {"metadata": {"annotations": KUBELET}})


def test_pools_of_auto_mode_are_nobodys_business_here():
    foreign = a_pool({"spec.template.spec.nodeClassRef": AUTO_MODE}, name="auto")
    with pytest.raises(Unavailable, match="nothing to do"):
        steps_of(ACTION, a_scene(current(foreign)))


def test_who_keeps_it_is_told():
    flux = {"metadata.labels": {"kustomize.toolkit.fluxcd.io/name": "infra"}}
    there = a_pool({**flux, "spec.limits.cpu": "10"}, version="v1beta1")
    cluster = alpha(a_provisioner(), a_template(flux), there)
    create, over = steps_of(ACTION, a_scene(cluster, there), **ROLE)
    assert (create.manager, over.manager) == ("", "Flux infra")
    assert create.note.startswith("AWSNodeTemplate default is kept by flux: add this object there too; ")


def test_nothing_is_planned_on_what_was_not_read():
    for part in action_of(ACTION).parts:
        assert refused(alpha().unseen(part), **ROLE)[0] == "not_seen"
        with pytest.raises(Unavailable, match=f"{part} could not be read"):
            action_of(ACTION).objects_to_read(alpha().unseen(part).build(), ROLE)


@pytest.mark.parametrize("role", ["arn:aws:iam::111122223333:role/x", "a b", "$ROLE", "x" * 65, 7])
def test_a_role_that_is_none(role):
    with pytest.raises(InvalidInput) as told:
        steps_of(ACTION, a_scene(alpha()), node_role=role)
    assert (told.value.code, told.value.where) == ("bad_parameter", "node_role")


@pytest.mark.parametrize("name", ["", ".", "..", "../x", 7])
def test_names_that_are_none(name):
    with pytest.raises(InvalidInput) as told:
        steps_of(ACTION, a_scene(alpha()), provisioners=[name], **ROLE)
    assert told.value.code == "bad_name"


def test_names_that_are_not_there_and_both_kinds_at_once():
    with pytest.raises(InvalidInput, match="not in the cluster: api"):
        steps_of(ACTION, a_scene(alpha()), provisioners=["api"], **ROLE)
    with pytest.raises(InvalidInput, match="either Provisioners or NodePools, not both"):
        steps_of(ACTION, a_scene(alpha()), provisioners=["web"], nodepools=["web"], **ROLE)


def test_an_object_whose_name_leads_elsewhere_is_refused_when_it_is_read():
    odd = a_template(name="..")
    scene = a_scene(alpha(a_provisioner({"spec.providerRef.name": ".."}), odd))
    step = steps_of(ACTION, scene, **ROLE)[0]
    with pytest.raises(InvalidInput, match="is not a name"):
        _ = step.change.target.path


def test_the_forecast():
    there = a_pool({"spec.limits.cpu": "10"}, version="v1beta1")
    cluster = alpha(a_provisioner(), a_template(), there, *a_claim(version="v1beta1"))
    assert forecast_of(ACTION, a_scene(alpha()), **ROLE).nodes == 0
    told = forecast_of(ACTION, a_scene(cluster, there), **ROLE)
    assert (told.nodes, told.pods) == (1, None)


def test_the_forecast_counts_no_pool_that_stays_as_it_is():
    done = a_pool()
    left = a_pool({"metadata.annotations": KUBELET}, name="api")
    more = claim(Launched(pool="api", number=2, cluster="test", kubelet="v1.30.4"), node_class="default", version="v1")
    cluster = current(done, left, a_class(), *a_claim(), *more)
    assert forecast_of(ACTION, a_scene(cluster, done, left, a_class())).nodes == 1


def test_it_asks_for_no_more_than_it_says():
    there = a_pool({"metadata.annotations": KUBELET})
    steps = [*steps_of(ACTION, a_scene(alpha()), **ROLE)]
    steps += steps_of(ACTION, a_scene(current(there, a_class()), there, a_class()))
    assert (len(bodies(steps)), asks_too_much(ACTION, steps)) == (4, set())


@pytest.mark.apiserver
@pytest.mark.django_db(transaction=True)
def test_from_alpha_on_the_real_server(server):  # A23, A27, A34, A35
    server.load_crds("alpha_and_beta")
    installed(server, "0.32.10")
    pool = "/apis/karpenter.sh/v1beta1/nodepools/web"
    put(server, a_provisioner(), a_template())
    server.admin.apply(a_pool({"spec": {"weight": 5}, "metadata": {"name": "web"}}, version="v1beta1"))
    row = previewed(registered(server), ACTION, **ROLE)
    assert (row.state, row.cause) == ("previewed", "")
    assert [step.change.verb for step in plan_of(row).steps] == ["create", "apply"]
    assert server.admin.get(pool)["spec"] == {"weight": 5}
    done = carried_out(row)
    assert (done.state, done.cause, applied(done)) == ("succeeded", "", ["s001", "s002"])
    assert (server.admin.get(pool)["spec"]["limits"], server.admin.get(pool)["spec"]["weight"]) == ({"cpu": "200"}, 5)
    assert taken_back(done) == ["s002", "s001"]
    assert server.admin.get(pool)["spec"] == {"weight": 5}
    assert server.admin.items("/apis/karpenter.k8s.aws/v1beta1/ec2nodeclasses") == []


def sources(step):
    return [one.target.display_name for one in step.computed_from]


def test_each_object_names_what_it_was_computed_from():  # A02
    more = (a_provisioner({"spec.providerRef.name": "other"}, name="api"), a_template(name="other"))
    steps = steps_of(ACTION, a_scene(alpha(a_provisioner(), a_template(), *more)), **ROLE)
    assert {step.change.target.display_name: sources(step) for step in steps} == {
        "EC2NodeClass default": ["AWSNodeTemplate default", "Provisioner web"],
        "EC2NodeClass other": ["AWSNodeTemplate other", "Provisioner api"],
        "NodePool web": ["Provisioner web", "AWSNodeTemplate default"],
        "NodePool api": ["Provisioner api", "AWSNodeTemplate other"],
    }


def test_what_an_earlier_step_writes_is_no_source_any_more():
    pool, node_class = a_pool({"metadata.annotations": KUBELET}), a_class()
    steps = steps_of(ACTION, a_scene(current(pool, node_class), pool, node_class))
    assert [sources(step) for step in steps] == [["EC2NodeClass default", "NodePool web"], ["NodePool web"]]
    left = EarlierResult(target=steps[0].change.target, conditions=steps[0].postconditions)
    assert [step.earlier for step in steps] == [(), (left,)]


CHANGES = {
    "spec": {"spec": {"limits": {"resources": {"cpu": "7"}}}},
    "label": {"metadata": {"labels": {"team": "b"}}},
    "annotation": {"metadata": {"annotations": {"mine": "now"}}},
}


@pytest.mark.apiserver
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("what", ["Provisioner", "AWSNodeTemplate", "made anew", "label", "annotation"])
def test_a_source_that_changed_after_the_preview_stops_it_on_the_real_server(server, what):  # A02, R21
    server.load_crds("alpha_and_beta")
    installed(server, "0.32.10")
    put(server, a_provisioner(), a_template())
    row = previewed(registered(server), ACTION, **ROLE)
    assert (row.state, row.cause) == ("previewed", "")
    said = meddled(server, what)
    done = carried_out(row)
    words = f"{said} since the preview, and the request was computed from it: make a new preview"
    assert (done.state, done.cause_code, done.cause, applied(done)) == ("paused", "changed", words, [])
    assert server.admin.items("/apis/karpenter.sh/v1beta1/nodepools") == []


def meddled(server, what):
    """Changes a source as a person would; what the rollout is to say of it."""
    provisioner = "/apis/karpenter.sh/v1alpha5/provisioners/web"
    if what == "AWSNodeTemplate":
        server.admin.patch("/apis/karpenter.k8s.aws/v1alpha1/awsnodetemplates/default", {"spec": {"tags": {"a": "b"}}})
        return "AWSNodeTemplate default was changed"
    if what == "made anew":
        server.admin.patch(provisioner, {"metadata": {"finalizers": None}})
        server.admin.delete(provisioner)
        put(server, a_provisioner())
        return "Provisioner web was deleted and created again"
    server.admin.patch(provisioner, CHANGES.get(what, CHANGES["spec"]))
    return "Provisioner web was changed"


@pytest.mark.apiserver
@pytest.mark.django_db(transaction=True)
def test_what_controllers_write_into_a_source_does_not_stop_it_on_the_real_server(server):  # T16
    server.load_crds("alpha_and_beta")
    installed(server, "0.32.10")
    put(server, a_provisioner(), a_template())
    row = previewed(registered(server), ACTION, **ROLE)
    beat = {"metadata": {"annotations": {"karpenter.sh/provisioner-hash": "1"}}}
    server.admin.patch("/apis/karpenter.sh/v1alpha5/provisioners/web", beat)
    assert applied(carried_out(row)) == ["s001", "s002"]


@pytest.mark.apiserver
@pytest.mark.django_db(transaction=True)
def test_fields_that_somebody_else_keeps_are_named_on_the_real_server(server):  # A34, ROLL-06
    server.load_crds("alpha_and_beta")
    installed(server, "0.32.10")
    put(server, a_provisioner(), a_template())
    other = a_pool({"spec": {"limits": {"cpu": "7"}}, "metadata": {"name": "web"}}, version="v1beta1")
    server.admin.apply(other, manager="kustomize-controller")
    row = previewed(registered(server), ACTION, **ROLE)
    words = "Apply NodePool web as v1beta1: fields are owned by kustomize-controller"
    assert (row.state, row.cause_code, row.cause) == ("expired", "field_conflict", words)


@pytest.mark.apiserver
@pytest.mark.django_db(transaction=True)
def test_in_v1_on_the_real_server(server):  # A27, A35
    server.load_crds("v1_with_beta")
    installed(server, "1.0.8")
    put(server, a_pool({"metadata.annotations": KUBELET}), changed(a_class(), {"metadata.finalizers": []}))
    pool, node_class = "/apis/karpenter.sh/v1/nodepools/web", "/apis/karpenter.k8s.aws/v1/ec2nodeclasses/default"
    row = previewed(registered(server), ACTION)
    assert (row.state, row.cause) == ("previewed", "")
    done = carried_out(row)
    assert (done.state, done.cause, applied(done)) == ("succeeded", "", ["s001", "s002"])
    assert server.admin.get(node_class)["spec"]["kubelet"] == {"maxPods": 42}
    assert "annotations" not in server.admin.get(pool)["metadata"]
    assert taken_back(done) == ["s002", "s001"]
    assert server.admin.get(pool)["metadata"]["annotations"] == KUBELET
    assert "kubelet" not in server.admin.get(node_class)["spec"]


@pytest.mark.apiserver
@pytest.mark.django_db(transaction=True)
def test_settings_are_not_taken_from_a_pool_whose_class_lost_them_meanwhile_on_the_real_server(server, monkeypatch):
    server.load_crds("v1_with_beta")
    installed(server, "1.0.8")
    put(server, a_pool({"metadata.annotations": KUBELET}), changed(a_class(), {"metadata.finalizers": []}))
    pool, node_class = "/apis/karpenter.sh/v1/nodepools/web", "/apis/karpenter.k8s.aws/v1/ec2nodeclasses/default"
    row = previewed(registered(server), ACTION)

    def put_back():
        server.admin.patch(node_class, {"spec": {"kubelet": None}})

    monkeypatch.setattr(worker, "carry_out", before_the_second(worker.carry_out, put_back))
    done = carried_out(row)
    words = "EC2NodeClass default is not as an earlier step left it, and this one rests on it: make a new preview"
    assert (done.state, done.cause_code, done.cause, applied(done)) == ("paused", "changed", words, ["s001"])
    assert server.admin.get(pool)["metadata"]["annotations"] == KUBELET


def before_the_second(carry_out, put_back):
    """Carries out each step, and lets somebody else write before the request of the second one."""

    def carried(work, writer, *, position):
        if position.step.id == "s002" and position.phase == "request":
            put_back()
        return carry_out(work, writer, position=position)

    return carried
