import pytest

from migrations_app.checks.base import Evidence
from tests.builders.clusters import a_cluster, an_empty_cluster, asked_hops, reads, remedies, result_of, result_without

CHECK = "namespace_move_prepared"


def at(namespace: str):
    return a_cluster("0.32.10", kubernetes="1.28", namespace=namespace)


def test_it_lives_in_kube_system():
    title = "The controller runs in kube-system"
    assert result_of(CHECK, "0.33+", at("kube-system")) == ("pass", title, ())


def test_it_lives_elsewhere():
    row = Evidence(
        kind="Deployment",
        namespace="karpenter",
        name="karpenter",
        path="spec.template.spec.serviceAccountName",
        seen="in namespace karpenter",
        wanted="kube-system is recommended; it may stay",
    )
    assert result_of(CHECK, "0.33+", at("karpenter")) == ("fail", "The controller runs outside of kube-system", (row,))


def test_without_a_controller_there_is_nothing_to_ask():
    found = result_of(CHECK, "0.33+", an_empty_cluster(), start="0.32.10")
    assert found == ("not_applicable", "there is no Karpenter Deployment", ())


def test_it_is_asked_where_the_advice_came():
    assert asked_hops(CHECK) == ("0.33+",)


@pytest.mark.parametrize("part", reads(CHECK))
def test_unseen_is_unknown(part):
    found = result_without(CHECK, "0.33+", at("kube-system"), part=part)
    assert found == ("unknown", f"{part} could not be read: forbidden")


def test_the_remedy_speaks_of_the_trust_first():
    (remedy,) = remedies(CHECK, "0.33+", at("karpenter"))
    first = remedy.text.splitlines()[0]
    assert "system:serviceaccount:kube-system:karpenter" in first.partition("stop Deployment karpenter/karpenter")[0]
    assert all(line.startswith("#") for line in remedy.text.splitlines())
