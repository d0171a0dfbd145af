import pytest

from migrations_app.checks.base import Evidence
from migrations_app.checks.changes import leaves
from migrations_app.samples.kubernetes_objects import config_map
from tests.builders.clusters import asked_hops, remedies
from tests.builders.patches import patch_words
from tests.builders.pools import a_class, a_template, answer, at, found, parses, row, unseen_is_unknown

CHECK = "reserved_tags_left_alone"
GOOD = ("pass", "No node class sets a reserved EC2 tag")


def beta(tags):
    return at("0.37.8", a_class({"spec.tags": tags}, version="v1beta1"))


def settings(text: str):
    return config_map("karpenter-global-settings", "kube-system", data={"aws.tags": text})


def reserved(key: str, *, kind: str = "EC2NodeClass"):
    return row(kind, "default", f"spec.tags[{key}]", seen="x", wanted="absent")


def test_tags_of_ones_own():
    assert answer(CHECK, "1.0", beta({"team": "a", "Name": "b"})) == GOOD


@pytest.mark.parametrize("key", ["karpenter.sh/nodepool", "eks:eks-cluster-name", "kubernetes.io/cluster/test"])
def test_tags_that_v1_keeps_to_itself(key):
    assert found(CHECK, "1.0", beta({key: "x", "team": "a"})) == ("fail", (reserved(key),))


def test_v1beta1_leaves_the_cluster_name_open():
    old = at("0.32.10", a_class({"spec.tags": {"eks:eks-cluster-name": "x"}}, version="v1beta1"))
    assert answer(CHECK, "0.33+", old) == GOOD


@pytest.mark.parametrize("key", ["karpenter.sh/nodeclaim", "karpenter.k8s.aws/ec2nodeclass"])
def test_v1beta1_keeps_two_more_tags_to_itself_from_0_35_on(key):
    old = at("0.32.10", a_class({"spec.tags": {key: "x"}}, version="v1beta1"))
    assert found(CHECK, "0.33+", old) == ("fail", (reserved(key),))


@pytest.mark.parametrize("key", ["karpenter.sh/managed-by", "karpenter.sh/provisioner-name", "kubernetes.io/cluster/x"])
def test_tags_of_templates(key):
    cluster = at("0.31.5", a_template({"spec.tags": {key: "x"}}))
    assert found(CHECK, "0.32", cluster) == ("fail", (reserved(key, kind="AWSNodeTemplate"),))


def test_tags_of_the_global_settings():
    cause = Evidence(
        kind="ConfigMap",
        namespace="kube-system",
        name="karpenter-global-settings",
        path="data[aws.tags]",
        seen="karpenter.sh/managed-by",
        wanted="absent",
    )
    cluster = at("0.31.5", settings('{"karpenter.sh/managed-by": "x", "team": "a"}'))
    assert found(CHECK, "0.32", cluster) == ("fail", (cause,))
    (remedy,) = remedies(CHECK, "0.32", cluster)
    assert parses([remedy]) == ["kubectl"]
    (step,) = leaves(remedy.change)
    assert step.body == {"data": {"aws.tags": '{"team": "a"}'}}
    assert step.undo.body == {"data": {"aws.tags": '{"karpenter.sh/managed-by": "x", "team": "a"}'}}
    patch = patch_words(("/data/aws.tags", '{"karpenter.sh/managed-by": "x", "team": "a"}', '{"team": "a"}'))
    assert remedy.text == f"kubectl -n kube-system patch configmap karpenter-global-settings {patch}"


@pytest.mark.parametrize("text", ["[]", "{", '"x"', "7"])
def test_odd_settings_are_unknown(text):
    words = "ConfigMap karpenter-global-settings: data[aws.tags] is no JSON object"
    assert answer(CHECK, "0.32", at("0.31.5", settings(text))) == ("unknown", words)


@pytest.mark.parametrize("odd", [["team"], "team", {"team": 7}])
def test_odd_tags_are_unknown(odd):
    assert answer(CHECK, "1.0", beta(odd)) == ("unknown", "EC2NodeClass default: spec.tags is not a map of texts")


def test_without_objects_it_does_not_arise():
    absent = ("not_applicable", "there is no node class, no template and no global settings")
    assert answer(CHECK, "1.0", at("0.37.8")) == absent
    assert asked_hops(CHECK) == ("*",)


def test_unseen():
    unseen_is_unknown(CHECK, "1.0", version="0.37.8")


def test_the_remedy_takes_them_out():
    given = remedies(CHECK, "1.0", beta({"karpenter.sh/nodepool": "x"}))
    assert parses(given) == ["kubectl"]
    patch = patch_words(("/spec/tags/karpenter.sh~1nodepool", "x", None))
    target = "ec2nodeclasses.karpenter.k8s.aws default"
    assert given[0].text == f"kubectl patch {target} {patch}"
