import pytest

from tests.builders.clusters import asked_hops, finding_of, remedies
from tests.builders.pools import (
    GONE,
    a_claim,
    a_machine,
    a_provisioner,
    answer,
    at,
    found,
    parses,
    row,
    unseen_is_unknown,
)

CHECK = "inline_providers_gone"
VERSION = "0.32.10"
KEY = "compatibility.karpenter.sh/provider"
INLINE = {"spec.provider": {"instanceProfile": "nodes", "amiFamily": "AL2"}, "spec.providerRef": GONE}
MARKED = {"metadata.annotations": {KEY: "{}"}}


def test_a_reference_to_a_template():
    assert answer(CHECK, "0.33+", at(VERSION, a_provisioner(), *a_machine())) == (
        "pass",
        "No object has an inline provider",
    )


def test_an_inline_provider():
    wanted = "an EC2NodeClass and a reference to it"
    cause = row("Provisioner", "web", "spec.provider", seen="amiFamily, instanceProfile", wanted=wanted)
    assert found(CHECK, "0.33+", at(VERSION, a_provisioner(INLINE))) == ("fail", (cause,))


@pytest.mark.parametrize("made", [a_machine(MARKED), a_claim(MARKED, version="v1beta1")])
def test_a_claim_that_carries_one(made):
    kind, name = made[0]["kind"], made[0]["metadata"]["name"]
    path = f"metadata.annotations[{KEY}]"
    cause = row(kind, name, path, seen="present", wanted="a node launched from a NodePool")
    cluster = at(VERSION, a_provisioner(), *made)
    assert found(CHECK, "0.33+", cluster) == ("fail", (cause,))
    (remedy,) = remedies(CHECK, "0.33+", cluster)
    assert parses([remedy]) == ["kubectl"]
    assert remedy.text.splitlines()[1] == f"kubectl describe {kind.lower()}s.karpenter.sh {name}"


@pytest.mark.parametrize("odd", ["AWS", [7]])
def test_odd_values_are_unknown_by_their_field(odd):
    status, causes = found(CHECK, "0.33+", at(VERSION, a_provisioner({"spec.provider": odd})))
    assert (status, causes) == ("unknown", ())


def test_without_alpha_objects_it_does_not_arise():
    absent = ("not_applicable", "there is no Provisioner and no Machine")
    assert answer(CHECK, "0.33+", at(VERSION)) == absent
    assert asked_hops(CHECK) == ("0.32", "0.33+")
    assert finding_of(CHECK, "0.33+", at(VERSION)).severity == "blocker"


def test_unseen():
    unseen_is_unknown(CHECK, "0.33+", version=VERSION)


def test_the_remedy_prints_both_objects():
    given = remedies(CHECK, "0.33+", at(VERSION, a_provisioner(INLINE)))
    assert parses(given) == ["kubectl"]
    get = "kubectl get provisioners.karpenter.sh web -o yaml | karpdash convert -f -"
    assert given[0].text.splitlines()[1:] == [get]
