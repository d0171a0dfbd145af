import pytest

from tests.builders.clusters import asked_hops, remedies
from tests.builders.pools import a_class, answer, at, found, parses, row, unseen_is_unknown

CHECK = "node_config_left_to_karpenter"
GOOD = ("pass", "No AL2023 user data has kubelet settings")
HEAD = "apiVersion: node.eks.aws/v1alpha1\nkind: NodeConfig\nspec:\n"
SETTING = f"{HEAD}  kubelet:\n    config:\n      maxPods: 58\n"


def beta(user_data, **more):
    changes = {"spec.userData": user_data} | {f"spec.{name}": value for name, value in more.items()}
    return at("0.37.8", a_class(changes, version="v1beta1"))


@pytest.mark.parametrize("text", [None, "", "echo kubelet", f"{HEAD}  instance: {{}}\n"])
def test_user_data_that_leaves_the_kubelet_alone(text):
    assert answer(CHECK, "1.0", beta(text)) == GOOD


@pytest.mark.parametrize("text", [SETTING, SETTING.replace("kubelet", '"kubelet"'), f"--BOUNDARY\n\n{SETTING}"])
def test_user_data_that_sets_it(text):
    cause = row(
        "EC2NodeClass",
        "default",
        "spec.userData",
        seen="a NodeConfig with kubelet settings",
        wanted="spec.kubelet",
    )
    assert found(CHECK, "1.0", beta(text)) == ("fail", (cause,))


def test_other_families_have_no_node_config():
    assert answer(CHECK, "1.0", beta(SETTING, amiFamily="AL2")) == GOOD


def test_odd_values_are_unknown_by_their_field():
    assert answer(CHECK, "1.0", beta(7)) == ("unknown", "EC2NodeClass default: spec.userData is not a text")


def test_without_classes_it_does_not_arise():
    assert answer(CHECK, "1.0", at("0.37.8"))[0] == "not_applicable"
    assert asked_hops(CHECK) == ("1.0",)


def test_unseen():
    unseen_is_unknown(CHECK, "1.0", version="0.37.8")


def test_the_remedy():
    given = remedies(CHECK, "1.0", beta(SETTING))
    assert parses(given) == ["kubectl"]
    edit = "kubectl edit ec2nodeclasses.karpenter.k8s.aws default  # spec.userData; spec.kubelet"
    assert given[0].text.splitlines()[1:] == [edit]
