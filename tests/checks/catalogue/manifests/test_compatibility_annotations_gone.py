import pytest

from migrations_app.checks.base import Evidence
from migrations_app.checks.changes import ObjectAnnotations, leaves
from migrations_app.samples.karpenter_objects import ON_DEMAND, node_class, pool
from tests.builders.clusters import a_cluster, asked_hops, reads, remedies, result_of, result_without
from tests.builders.patches import patch_words

CHECK = "compatibility_annotations_gone"
GOOD = ("pass", "No setting is kept in a compatibility annotation", ())
KUBELET = "compatibility.karpenter.sh/v1beta1-kubelet-conversion"
UBUNTU = "compatibility.karpenter.k8s.aws/v1beta1-ubuntu"
ONE = "1 compatibility annotation still holds settings"


def annotated(pool_marks=None, class_marks=None, **labels):
    made = pool("web", ON_DEMAND, node_class="default", version="v1")
    found = node_class("default", cluster="test", version="v1")
    made["metadata"] |= {"annotations": pool_marks or {}, "labels": labels}
    found["metadata"]["annotations"] = class_marks or {}
    return a_cluster("1.0.14").with_docs(made, found)


def test_no_annotation():
    assert result_of(CHECK, "1.1+", annotated()) == GOOD


@pytest.mark.parametrize("empty", ["", "{}"])
def test_an_empty_kubelet_block_carries_nothing(empty):
    assert result_of(CHECK, "1.1+", annotated({KUBELET: empty})) == GOOD


def test_the_reference_that_conversion_keeps_for_the_way_back_carries_nothing():
    mark = {"compatibility.karpenter.sh/v1beta1-nodeclass-reference": '{"name":"default"}'}
    assert result_of(CHECK, "1.1+", annotated(mark)) == GOOD


def test_kubelet_settings():
    row = Evidence(
        kind="NodePool",
        name="web",
        path=f"metadata.annotations[{KUBELET}]",
        seen='{"maxPods":58}',
        wanted="spec.kubelet of the EC2NodeClass",
    )
    assert result_of(CHECK, "1.1+", annotated({KUBELET: '{"maxPods":58}'})) == ("fail", ONE, (row,))


def test_the_ubuntu_family():
    row = Evidence(
        kind="EC2NodeClass",
        name="default",
        path=f"metadata.annotations[{UBUNTU}]",
        seen="amiFamily,blockDeviceMappings",
        wanted="amiFamily AL2 or Custom with amiSelectorTerms",
    )
    found = result_of(CHECK, "1.1+", annotated(None, {UBUNTU: "amiFamily,blockDeviceMappings"}))
    assert found == ("fail", ONE, (row,))


def test_a_pool_and_a_class_of_one_name_are_kept_apart():
    cluster = annotated()
    kept = pool("default", ON_DEMAND, node_class="default", version="v1")
    found = node_class("default", cluster="test", version="v1")
    found["metadata"]["annotations"] = {UBUNTU: "amiFamily", "team": "a"}
    (remedy, *_) = remedies(CHECK, "1.1+", cluster.with_docs(kept, found))
    (mark,) = [one for one in leaves(remedy.change) if isinstance(one, ObjectAnnotations)]
    assert (mark.target.kind, mark.target.name) == ("EC2NodeClass", "default")
    assert UBUNTU in repr(mark)


def test_a_long_value_is_cut():
    assert len(result_of(CHECK, "1.1+", annotated({KUBELET: "x" * 5000}))[2][0].seen) == 200


def test_without_pools_and_classes_there_is_nothing_to_ask():
    found = result_of(CHECK, "1.1+", a_cluster("1.0.14"))
    assert found == ("not_applicable", "there is no NodePool and no EC2NodeClass yet", ())


def test_it_is_asked_where_beta_ends():
    assert asked_hops(CHECK) == ("1.1+",)


@pytest.mark.parametrize("part", reads(CHECK))
def test_unseen_is_unknown(part):
    cluster = a_cluster("1.0.14")
    assert result_without(CHECK, "1.1+", cluster, part=part) == ("unknown", f"{part} could not be read: forbidden")


WRITTEN = patch_words(("/spec/kubelet", None, {"maxPods": 58}))


def test_the_remedy_carries_over_before_it_removes():
    found = remedies(CHECK, "1.1+", annotated({KUBELET: '{"maxPods":58}'}, **{"argocd.argoproj.io/instance": "p"}))
    assert [one.how for one in found] == ["argocd", "kubectl"]
    assert found[1].text.splitlines() == [
        f"kubectl patch ec2nodeclasses.karpenter.k8s.aws default {WRITTEN}",
        once("default", "web"),
    ]
    edit, then, removed = found[0].text.splitlines()
    where = "# In the source of the Argo CD Application (p): "
    told = """write {"maxPods":58} of NodePool web as spec.kubelet of the EC2NodeClass"""
    assert (edit, then) == (f"{where}{told}", "# Then argocd app sync p")
    assert removed == f"# Then {once('default', 'web')}", "Karpenter wrote it, and no source"
    patch, _ = leaves(found[1].change)
    assert patch.undo.body == {"spec": {"kubelet": None}}


SPLIT = "kubelet_settings_in_classes"


def once(name, pools):
    """The line that removes the annotations of the pools only if the class has settings."""
    got = f"kubectl get ec2nodeclasses.karpenter.k8s.aws {name}"
    refused = f"echo 'not annotated: nodepools.karpenter.sh {pools}; look first at: {got}' >&2; false"
    made = f"kubectl annotate nodepools.karpenter.sh {pools} {KUBELET}-"
    return f"if {got} -o 'jsonpath={{.spec.kubelet}}' | grep -q .; then {made}; else {refused}; fi"


def test_annotations_of_two_classes_wait_for_their_own_class():
    cluster = beside('{"maxPods":58}', '{"maxPods":110}', node_class="own")
    (found,) = remedies(CHECK, "1.1+", cluster.with_docs(node_class("own", cluster="test", version="v1")))
    assert live(found)[-2:] == [
        once("default", "web"),
        once("own", "batch"),
    ]
    marks = [one for one in leaves(found.change) if isinstance(one, ObjectAnnotations)]
    assert [one.undo.guard for one in marks] == [(), ()]


@pytest.mark.parametrize("held", ['{"maxPods":58}', "no JSON"])
def test_settings_beside_others_of_the_class_are_removed_by_no_command(held):
    """The class has settings whether or not a person has added those of the pool to them."""
    cluster = annotated({KUBELET: held})
    own = node_class("default", cluster="test", version="v1")
    own["spec"]["kubelet"] = {"maxPods": 110}
    (found,) = remedies(CHECK, "1.1+", cluster.without("ec2nodeclasses").with_docs(own))
    assert not any("annotate" in line for line in live(found))
    once = "# Only once EC2NodeClass default has what is wanted of both: "
    assert f"{once}kubectl annotate nodepools.karpenter.sh web {KUBELET}-" in found.text.splitlines()


def test_the_mark_of_ubuntu_waits_for_no_settings():
    (found,) = remedies(CHECK, "1.1+", annotated(None, {UBUNTU: "amiFamily"}))
    assert live(found)[-1] == f"kubectl annotate ec2nodeclasses.karpenter.k8s.aws default {UBUNTU}-"


def beside(first, second, *, name="batch", node_class="default"):
    """The pool web with the first annotation, and one more pool with the second."""
    other = pool(name, ON_DEMAND, node_class=node_class, version="v1")
    other["metadata"]["annotations"] = {KUBELET: second} if second else {}
    return annotated({KUBELET: first}).with_docs(other)


def live(remedy):
    """The lines that do something."""
    return [line for line in remedy.text.splitlines() if not line.startswith("#")]


@pytest.mark.parametrize(("second", "names"), [('{"maxPods":110}', "web batch"), ("", "web")])
def test_no_annotation_goes_before_the_class_of_pools_that_differ_is_split(second, names):
    (found,) = remedies(CHECK, "1.1+", beside('{"maxPods":58}', second))
    assert found.text.splitlines() == [
        f"# Only once EC2NodeClass default is split: kubectl annotate nodepools.karpenter.sh {names} {KUBELET}-",
        f"# For a person: split EC2NodeClass default as {SPLIT} says: its NodePools want different settings",
        f"# only the annotations of {names.replace(' ', ', ')} hold their settings: removed before, they are lost",
    ]
    assert found.change.needs == (SPLIT,)


def test_an_unreadable_annotation_among_several_pools_keeps_them_all():
    (found,) = remedies(CHECK, "1.1+", beside('{"maxPods":58}', "{"))
    told = "its NodePools may want different settings (an annotation cannot be read)"
    assert told in found.text
    assert (live(found), found.change.needs) == ([], (SPLIT,))


def test_an_unreadable_annotation_of_the_only_pool_is_for_a_person():
    (found,) = remedies(CHECK, "1.1+", annotated({KUBELET: "{"}))
    assert live(found) == ["kubectl edit ec2nodeclasses.karpenter.k8s.aws default  # spec.kubelet: web has {"]


@pytest.mark.parametrize("second", ['{"maxPods":58}', '{"maxPods":58,"kubeReserved":{}}'])
def test_pools_that_agree_are_written_to_their_class_once(second):
    (found,) = remedies(CHECK, "1.1+", beside('{"maxPods":58}', second))
    assert live(found)[0] == f"kubectl patch ec2nodeclasses.karpenter.k8s.aws default {WRITTEN}"
    assert live(found)[-1] == once("default", "web batch")
    assert found.change.needs == ()


def test_a_pool_without_settings_follows_its_class():
    cluster = beside('{"maxPods":58}', "")
    written = node_class("default", cluster="test", version="v1")
    written["spec"]["kubelet"] = {"maxPods": 58}
    (found,) = remedies(CHECK, "1.1+", cluster.without("ec2nodeclasses").with_docs(written))
    assert live(found)[-1] == once("default", "web")


def test_other_classes_are_not_held_up():
    cluster = beside('{"maxPods":58}', '{"maxPods":110}')
    alone = pool("own", ON_DEMAND, node_class="own", version="v1")
    alone["metadata"]["annotations"] = {KUBELET: '{"maxPods":58}'}
    cluster = cluster.with_docs(alone, node_class("own", cluster="test", version="v1"))
    (found,) = remedies(CHECK, "1.1+", cluster)
    assert live(found) == [
        f"kubectl patch ec2nodeclasses.karpenter.k8s.aws own {WRITTEN}",
        once("own", "own"),
    ]


@pytest.mark.parametrize(
    ("node_class_name", "told"),
    [("gone", "EC2NodeClass gone, which was not found"), ("", "a node class, for they name none")],
)
def test_without_a_class_the_annotation_stays(node_class_name, told):
    (found,) = remedies(CHECK, "1.1+", beside("", '{"maxPods":58}', node_class=node_class_name))
    assert f"# For a person: write the kubelet settings of NodePools batch to {told}" in found.text.splitlines()
    assert live(found) == []


def test_a_name_cannot_leave_the_comment():
    (found,) = remedies(CHECK, "1.1+", beside('{"maxPods":58}', '{"maxPods":1}', name="a\nreboot; b"))
    assert live(found) == []


def test_a_source_is_told_to_split_the_class_first():
    cluster = annotated({KUBELET: '{"maxPods":58}'}, **{"argocd.argoproj.io/instance": "p"})
    other = pool("batch", ON_DEMAND, node_class="default", version="v1")
    argocd, kubectl = remedies(CHECK, "1.1+", cluster.with_docs(other))
    told = f"split EC2NodeClass default as {SPLIT} says: its NodePools want different settings"
    assert argocd.text.splitlines()[0] == f"# In the source of the Argo CD Application (p): {told}"
    assert (live(argocd), live(kubectl)) == ([], [])


def test_a_class_with_settings_of_its_own_is_not_written_over():
    cluster = annotated({KUBELET: '{"maxPods":58}'})
    found = node_class("default", cluster="test", version="v1")
    found["spec"]["kubelet"] = {"maxPods": 20}
    cluster = cluster.without("ec2nodeclasses").with_docs(found)
    assert "kubectl edit ec2nodeclasses" in remedies(CHECK, "1.1+", cluster)[0].text


def test_the_ubuntu_family_is_chosen_before_its_annotation_goes():
    (found,) = remedies(CHECK, "1.1+", annotated(None, {UBUNTU: "amiFamily,blockDeviceMappings"}))
    edit, removed = found.text.splitlines()
    assert edit.startswith("kubectl edit ec2nodeclasses.karpenter.k8s.aws default  # amiFamily AL2 or Custom")
    assert removed == f"kubectl annotate ec2nodeclasses.karpenter.k8s.aws default {UBUNTU}-"
