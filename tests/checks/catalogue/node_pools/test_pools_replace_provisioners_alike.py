import pytest

from migrations_app.samples.karpenter_objects import AMD64, LARGE_ENOUGH, ON_DEMAND
from tests.builders.clusters import asked_hops, remedies
from tests.builders.pools import (
    GONE,
    a_pool,
    a_provisioner,
    a_template,
    answer,
    at,
    found,
    parses,
    row,
    unseen_is_unknown,
)

CHECK = "pools_replace_provisioners_alike"
VERSION = "0.32.10"
LINUX = ("kubernetes.io/os", "In", ("linux",))
WHOLE = (ON_DEMAND, AMD64, LINUX, LARGE_ENOUGH)
REQUIREMENTS = "spec.template.spec.requirements"


def pool(changes=None, *rows):
    return a_pool(changes, *(rows or WHOLE), version="v1beta1")


def missing(key: str, wanted: str):
    return row("NodePool", "web", REQUIREMENTS, seen=f"nothing about {key}", wanted=wanted)


def test_a_pool_with_every_default():
    cluster = at(VERSION, pool(), a_provisioner({"spec.ttlSecondsUntilExpired": 2592000}))
    assert answer(CHECK, "0.33+", cluster) == ("pass", "Every NodePool keeps the defaults of its Provisioner")


def test_a_pool_without_any():
    causes = (
        missing("kubernetes.io/os", "kubernetes.io/os In [linux]"),
        missing("kubernetes.io/arch", "kubernetes.io/arch In [amd64]"),
        missing("karpenter.k8s.aws/instance-category", "karpenter.k8s.aws/instance-category In [c, m, r]"),
        missing("karpenter.k8s.aws/instance-generation", "karpenter.k8s.aws/instance-generation Gt [2]"),
    )
    assert found(CHECK, "0.33+", at(VERSION, pool(None, ON_DEMAND))) == ("fail", causes)


def test_the_capacity_type_is_asked_about_elsewhere():
    assert found(CHECK, "0.33+", at(VERSION, pool(None, AMD64, LINUX, LARGE_ENOUGH))) == ("pass", ())


def test_a_label_settles_a_key_too():
    labels = {"spec.template.metadata.labels": {"kubernetes.io/arch": "arm64"}}
    assert found(CHECK, "0.33+", at(VERSION, pool(labels, ON_DEMAND, LINUX, LARGE_ENOUGH))) == ("pass", ())


def test_what_never_expired_and_never_consolidated_does_so_now():
    causes = (
        row(
            "NodePool",
            "web",
            "spec.disruption.consolidationPolicy",
            seen="WhenUnderutilized",
            wanted="WhenEmpty, as the Provisioner had it",
        ),
        row("NodePool", "web", "spec.disruption.expireAfter", seen="720h", wanted="Never, as the Provisioner had it"),
    )
    before = a_provisioner({"spec.consolidation": GONE})
    assert found(CHECK, "0.33+", at(VERSION, pool(), before)) == ("fail", causes)
    assert found(CHECK, "0.33+", at(VERSION, pool({"spec.disruption": GONE}), before)) == ("fail", causes)


def test_a_template_of_the_same_name_is_no_provisioner():
    cluster = at(VERSION, pool(), a_provisioner({"spec.consolidation": GONE}), a_template(name="web"))
    assert len(found(CHECK, "0.33+", cluster)[1]) == 2


def test_a_pool_of_another_name_is_compared_with_none():
    before = a_provisioner({"spec.consolidation": GONE}, name="other")
    assert found(CHECK, "0.33+", at(VERSION, pool(), before)) == ("pass", ())


@pytest.mark.parametrize("path", [REQUIREMENTS, "spec.disruption.expireAfter", "spec.template"])
def test_odd_values_are_unknown_by_their_field(path):
    status, summary = answer(CHECK, "0.33+", at(VERSION, pool({path: 7}, *WHOLE)))
    assert (status, summary.startswith(f"NodePool web: {path}")) == ("unknown", True)


def test_without_pools_it_does_not_arise():
    absent = ("not_applicable", "there is no NodePool of Karpenter's own yet")
    assert answer(CHECK, "0.33+", at(VERSION, a_provisioner())) == absent
    assert asked_hops(CHECK) == ("0.33+",)


def test_once_alpha_is_past_it_does_not_arise():
    past = ("not_applicable", "a release after 0.32 runs, and nothing of alpha is left")
    assert answer(CHECK, "0.33+", at("0.36.0", pool(None, ON_DEMAND), kubernetes="1.28")) == past
    left = at("0.36.0", pool(None, ON_DEMAND), a_provisioner(), kubernetes="1.28")
    assert answer(CHECK, "0.33+", left)[0] == "fail"


def test_unseen():
    unseen_is_unknown(CHECK, "0.33+", version=VERSION)


def test_the_remedy_names_the_field():
    given = remedies(CHECK, "0.33+", at(VERSION, pool(None, ON_DEMAND, AMD64, LARGE_ENOUGH)))
    assert parses(given) == ["kubectl"]
    edit = "kubectl edit nodepools.karpenter.sh web  # spec.template.spec.requirements; kubernetes.io/os In [linux]"
    assert given[0].text.splitlines() == ["# Nodes that no longer fit will drift", edit]
