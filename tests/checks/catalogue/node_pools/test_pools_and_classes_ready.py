import pytest

from tests.builders.clusters import asked_hops, finding_of, remedies
from tests.builders.pools import (
    AUTO_MODE,
    GONE,
    REFERENCE,
    a_class,
    a_pool,
    answer,
    at,
    found,
    parses,
    row,
    unseen_is_unknown,
)

CHECK = "pools_and_classes_ready"
GOOD = ("pass", "Every NodePool and node class is ready")
CONDITIONS = "status.conditions"
PATH = "status.conditions[Ready].status"


def condition(kind: str, status: str, **more):
    return {"type": kind, "status": status, **more}


def test_both_are_ready():
    assert answer(CHECK, "1.1+", at("1.0.14", a_pool(), a_class())) == GOOD


@pytest.mark.parametrize("status", ["False", "Unknown"])
def test_a_class_with_what_does_not_resolve(status):
    given = [condition("Ready", status), condition("AMIsReady", "False"), condition("SubnetsReady", "True")]
    cause = row("EC2NodeClass", "default", PATH, seen=f"{status} AMIsReady", wanted="True")
    assert found(CHECK, "1.1+", at("1.0.14", a_class({CONDITIONS: given}))) == ("fail", (cause,))


@pytest.mark.parametrize(("more", "told"), [({"message": "no class"}, " no class"), ({"reason": "X"}, " X"), ({}, "")])
def test_a_pool_that_tells_why(more, told):
    cause = row("NodePool", "web", PATH, seen=f"False{told}", wanted="True")
    cluster = at("1.0.14", a_pool({CONDITIONS: [condition("Ready", "False", **more)]}))
    assert found(CHECK, "1.1+", cluster) == ("fail", (cause,))


@pytest.mark.parametrize("nothing", [GONE, [], [{"type": "Other", "status": "True"}]])
def test_v1_without_the_condition_is_unknown(nothing):
    told = ("unknown", f"NodePool web: {PATH} is absent")
    assert answer(CHECK, "1.1+", at("1.0.14", a_pool({CONDITIONS: nothing}))) == told


def test_v1beta1_had_no_such_condition():
    assert answer(CHECK, "1.0", at("0.37.8", a_pool(version="v1beta1"), a_class(version="v1beta1"))) == GOOD


def test_a_class_of_0_37_has_one():
    given = [condition("Ready", "False", message="Failed to resolve subnets")]
    cause = row("EC2NodeClass", "default", PATH, seen="False Failed to resolve subnets", wanted="True")
    cluster = at("0.37.8", a_class({CONDITIONS: given}, version="v1beta1"))
    assert found(CHECK, "1.0", cluster) == ("fail", (cause,))


FOUND = {
    "status.amis": [{"id": "ami-1"}],
    "status.subnets": [{"id": "subnet-1"}],
    "status.securityGroups": [{"id": "sg-1"}],
}


@pytest.mark.parametrize("empty", [GONE, []])
@pytest.mark.parametrize("path", FOUND)
def test_terms_that_select_nothing_before_there_was_a_condition(path, empty):
    cluster = at("0.34.13", a_pool(version="v1beta1"), a_class(FOUND | {path: empty}, version="v1beta1"))
    cause = row("EC2NodeClass", "default", path, seen="none", wanted="what the terms in spec select")
    assert found(CHECK, "1.0", cluster) == ("fail", (cause,))


def test_an_instance_profile_alone_shows_that_the_controller_has_looked():
    cluster = at("0.34.13", a_class({"status.instanceProfile": "web_1"}, version="v1beta1"))
    rows = found(CHECK, "1.0", cluster)[1]
    assert [one.path for one in rows] == list(FOUND)


def test_terms_that_select_something_before_there_was_a_condition():
    assert answer(CHECK, "1.0", at("0.34.13", a_class(FOUND, version="v1beta1"))) == GOOD


@pytest.mark.parametrize("odd", [{}, "Ready", ["Ready"]])
def test_odd_values_are_unknown_by_their_field(odd):
    told = ("unknown", f"NodePool web: {CONDITIONS} is not a list of maps")
    assert answer(CHECK, "1.1+", at("1.0.14", a_pool({CONDITIONS: odd}))) == told


def test_pools_of_auto_mode_are_not_asked_about():
    cluster = at("1.0.14", a_pool({REFERENCE: AUTO_MODE, CONDITIONS: GONE}))
    assert answer(CHECK, "1.1+", cluster) == ("not_applicable", "there is no NodePool and no EC2NodeClass yet")


def test_it_blocks_where_readiness_begins_to_count():
    assert asked_hops(CHECK)[0] == "0.33+"
    assert [finding_of(CHECK, hop, at("0.37.8")).severity for hop in ("1.0", "1.1+")] == ["blocker", "warning"]


def test_unseen():
    unseen_is_unknown(CHECK, "1.1+", version="1.0.14")


def test_the_remedy_describes_each_kind():
    bad = {CONDITIONS: [condition("Ready", "False")]}
    given = remedies(CHECK, "1.1+", at("1.0.14", a_pool(bad), a_class(bad)))
    assert parses(given) == ["kubectl", "kubectl"]
    assert [one.text.splitlines()[1] for one in given] == [
        "kubectl describe ec2nodeclasses.karpenter.k8s.aws default",
        "kubectl describe nodepools.karpenter.sh web",
    ]


def test_a_controller_before_1_0_writes_no_condition_whatever_its_crds_show():
    cluster = at("0.36.7", a_pool({CONDITIONS: GONE}), a_class({CONDITIONS: GONE}))
    assert answer(CHECK, "1.0", cluster) == GOOD


@pytest.mark.parametrize("odd", [{}, [], 7, None])
def test_a_condition_of_an_odd_type_is_unknown_by_its_field(odd):
    given = [condition("Ready", "True"), {"type": odd, "status": "True"}]
    told = ("unknown", f"EC2NodeClass default: {CONDITIONS}[1].type is not a text")
    assert answer(CHECK, "1.1+", at("1.0.14", a_pool(), a_class({CONDITIONS: given}))) == told
