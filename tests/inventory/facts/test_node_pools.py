import pytest
from hypothesis import given
from hypothesis import strategies as st

from migrations_app.inventory.facts import node_pools
from migrations_app.inventory.objects.karpenter import EC2NodeClass, Metadata, NodePool
from migrations_app.inventory.parts import Seen
from tests.builders.pools import AUTO_MODE, REFERENCE, a_claim, a_pool, at

TREES = st.recursive(
    st.none() | st.integers() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["alias", "b"]), inner, max_size=2),
    max_leaves=6,
)


def node_class(**spec):
    return EC2NodeClass(metadata=Metadata(name="default"), spec=spec)


@pytest.mark.parametrize(
    ("group", "api_version", "auto"),
    [
        ("eks.amazonaws.com", None, True),
        (None, "eks.amazonaws.com/v1", True),
        ("karpenter.k8s.aws", None, False),
        ("karpenter.k8s.aws", "karpenter.k8s.aws/v1beta1", False),
        (None, None, False),
        (["eks.amazonaws.com"], {}, False),
    ],
)
def test_whose_node_class_a_reference_names(group, api_version, auto):
    assert node_pools.is_auto_mode(group, api_version) is auto


def test_what_is_karpenters_own():
    claims = [a_claim(number=1)[0], a_claim({"spec.nodeClassRef": AUTO_MODE}, number=2)[0]]
    inventory = at("1.0.14", a_pool(), a_pool({REFERENCE: AUTO_MODE}, name="auto"), *claims).build()
    assert [pool.name for pool in node_pools.own_pools(inventory)] == ["web"]
    assert [claim.name for claim in node_pools.own_claims(inventory)] == [claims[0]["metadata"]["name"]]
    assert [node_pools.class_name(pool) for pool in inventory.nodepools.items] == ["default", "default"]
    assert node_pools.class_name(NodePool(spec={"template": {"spec": {"nodeClassRef": {"name": 7}}}})) == ""


def test_what_was_not_seen_holds_nothing():
    inventory = at("1.0.14").unseen("nodepools", "nodeclaims").build()
    assert (node_pools.own_pools(inventory), node_pools.own_claims(inventory)) == ((), ())


@pytest.mark.parametrize(
    ("spec", "family"),
    [
        ({"amiFamily": "AL2"}, "AL2"),
        ({"amiSelectorTerms": [{"alias": "al2023@latest"}]}, "AL2023"),
        ({"amiFamily": "Custom", "amiSelectorTerms": [{"alias": "al2023@latest"}]}, "Custom"),
        ({"amiSelectorTerms": [{"id": "ami-1"}, {"alias": "Bottlerocket@v1.2.3"}]}, "Bottlerocket"),
        ({"amiSelectorTerms": [{"alias": "own@latest"}]}, ""),
        ({"amiFamily": 7}, ""),
        ({}, ""),
    ],
)
def test_families(spec, family):
    assert node_pools.family(node_class(**spec)) == family


def test_readers_take_what_fits_and_leave_the_rest():
    one = NodePool(spec={"list": [{"a": 1}, 7, {"b": 2}], "map": {"a": "x", "b": 7}, "text": "t", "number": 7})
    assert node_pools.rows(one, "spec.list") == ((0, {"a": 1}), (2, {"b": 2}))
    assert node_pools.strings(one, "spec.map") == {"a": "x"}
    assert (node_pools.text(one, "spec.text"), node_pools.text(one, "spec.number")) == ("t", "")
    assert (node_pools.rows(one, "spec.map"), node_pools.strings(one, "spec.list")) == ((), {})


@pytest.mark.parametrize(
    ("api_version", "served", "v1"),
    [
        ("karpenter.sh/v1", "", True),
        ("karpenter.sh/v1beta1", "karpenter.sh/v1", False),
        ("", "karpenter.sh/v1beta1", False),
        ("", "", True),
    ],
)
def test_versions(api_version, served, v1):
    assert node_pools.is_v1(Seen((), served or None), NodePool(api_version=api_version)) is v1


@given(TREES, TREES)
def test_no_tree_crashes_the_readers(first, second):
    one = node_class(amiFamily=first, amiSelectorTerms=second)
    assert node_pools.family(one) in (*node_pools.FAMILIES.values(), "", first)
    assert all(isinstance(alias, str) for _, alias in node_pools.aliases(one))
