import pytest

from tests.builders.clusters import asked_hops, remedies
from tests.builders.pools import GONE, a_class, answer, at, found, parses, row, unseen_is_unknown

CHECK = "bottlerocket_knows_raid0"
GOOD = ("pass", "Bottlerocket images support RAID0 where it is set")
ALIAS = "spec.amiSelectorTerms[0].alias"
IMAGE = "bottlerocket-aws-k8s-1.30-x86_64-v{}-5c7e9b1d"


def v1(alias=None, *, names=(), policy="RAID0"):
    terms = [{"alias": alias}] if alias else [{"tags": {"team": "a"}}]
    family = {} if alias else {"spec.amiFamily": "Bottlerocket"}
    amis = [{"id": "ami-1", "name": name} for name in names]
    changes = {"spec.amiSelectorTerms": terms, "spec.instanceStorePolicy": policy, "status.amis": amis}
    return at("1.0.14", a_class(changes | family))


@pytest.mark.parametrize("alias", ["bottlerocket@latest", "bottlerocket@v1.22.0", "bottlerocket@v1.40.0"])
def test_new_enough_by_alias(alias):
    assert answer(CHECK, "1.1+", v1(alias)) == GOOD


@pytest.mark.parametrize("version", ["1.21.1", "1.9.0"])
def test_too_old_by_alias(version):
    alias = f"bottlerocket@v{version}"
    cause = row("EC2NodeClass", "default", ALIAS, seen=alias, wanted="Bottlerocket 1.22.0 or newer")
    assert found(CHECK, "1.1+", v1(alias)) == ("fail", (cause,))


def test_by_what_the_class_resolved_to():
    assert answer(CHECK, "1.1+", v1(names=[IMAGE.format("1.22.0")])) == GOOD
    old = IMAGE.format("1.21.1")
    cause = row("EC2NodeClass", "default", "status.amis[1].name", seen=old, wanted="Bottlerocket 1.22.0 or newer")
    assert found(CHECK, "1.1+", v1(names=[IMAGE.format("1.30.0"), old])) == ("fail", (cause,))


def test_images_that_tell_nothing():
    words = "EC2NodeClass default: status.amis[0].name names no release of Bottlerocket"
    assert answer(CHECK, "1.1+", v1(names=["own-image"])) == ("unknown", words)
    words = "EC2NodeClass default: neither an alias nor status.amis names the image"
    assert answer(CHECK, "1.1+", v1()) == ("unknown", words)


@pytest.mark.parametrize("cluster", [v1("al2023@latest"), v1("bottlerocket@v1.9.0", policy=GONE), at("1.0.14")])
def test_elsewhere_it_does_not_arise(cluster):
    assert answer(CHECK, "1.1+", cluster) == ("not_applicable", "no Bottlerocket node class sets RAID0")


@pytest.mark.parametrize("odd", [7, ["RAID0"]])
def test_odd_values_are_unknown_by_their_field(odd):
    words = "EC2NodeClass default: spec.instanceStorePolicy is not a text"
    assert answer(CHECK, "1.1+", v1("bottlerocket@latest", policy=odd)) == ("unknown", words)


def test_unseen():
    unseen_is_unknown(CHECK, "1.1+", version="1.0.14")
    assert asked_hops(CHECK)[0] == "1.1+"


def test_the_remedy():
    given = remedies(CHECK, "1.1+", v1("bottlerocket@v1.21.1"))
    assert parses(given) == ["kubectl"]
    edit = f"kubectl edit ec2nodeclasses.karpenter.k8s.aws default  # {ALIAS}; Bottlerocket 1.22.0 or newer"
    assert given[0].text.splitlines()[1:] == [edit]
