"""Which version the content of an object shows, against upstream's own schemas."""

import pytest

from migrations_app.inventory.facts.content_version import (
    changes_only_api_version,
    holds_beta,
    pruned,
    with_content_version,
)
from migrations_app.inventory.objects.karpenter import (
    CRD,
    ClaimSpec,
    ClassReference,
    CrdConversion,
    CRDSpec,
    CRDStatus,
    CRDVersion,
    EC2NodeClass,
    Metadata,
    NodeClaim,
    NodePool,
)
from migrations_app.karpenter.crds import ONLY_IN_BETA, POLICY, REQUIRED_IN_V1, V1_POLICY
from tests import upstream

FILES = {
    "NodePool": "karpenter.sh_nodepools",
    "NodeClaim": "karpenter.sh_nodeclaims",
    "EC2NodeClass": "karpenter.k8s.aws_ec2nodeclasses",
}


def crd(*served: str, stored: tuple[str, ...] = (), strategy: str = "None") -> CRD:
    versions = [CRDVersion(name=name, served=True, storage=name == served[0]) for name in served]
    spec = CRDSpec(versions=versions, conversion=CrdConversion(strategy=strategy))
    return CRD(metadata=Metadata(name="nodepools.karpenter.sh"), spec=spec, status=CRDStatus(stored_versions=[*stored]))


def schema(kind: str, version: str):
    found = upstream.crd("v1.0.14", FILES[kind])["spec"]["versions"]
    return next(one["schema"]["openAPIV3Schema"] for one in found if one["name"] == version)


def below(kind: str, version: str, path: str):
    """The schema that holds the last step of the path, and that step."""
    here = schema(kind, version)
    *steps, last = path.split(".")
    for step in steps:
        here = here["properties"][step]
    return here, last


@pytest.mark.parametrize("kind", REQUIRED_IN_V1)
def test_v1_requires_the_field_and_v1beta1_does_not(kind):
    newer, name = below(kind, "v1", REQUIRED_IN_V1[kind])
    older, _ = below(kind, "v1beta1", REQUIRED_IN_V1[kind])
    assert name in newer["required"]
    assert name not in older.get("required", ())


def test_only_v1beta1_fills_in_the_field_that_shows_pruning():
    older, name = below("NodePool", "v1beta1", ONLY_IN_BETA)
    newer, _ = below("NodePool", "v1", ONLY_IN_BETA)
    assert older["properties"][name]["default"] == "720h"
    assert name not in newer["properties"]


def test_only_v1_knows_the_value_that_shows_v1():
    newer, name = below("NodePool", "v1", POLICY)
    older, _ = below("NodePool", "v1beta1", POLICY)
    assert V1_POLICY in newer["properties"][name]["enum"]
    assert V1_POLICY not in older["properties"][name]["enum"]
    assert older["properties"][name]["default"] == "WhenUnderutilized"


@pytest.mark.parametrize(
    ("one", "told"),
    [
        (crd("v1", "v1beta1"), True),
        (crd("v1", stored=("v1beta1", "v1")), True),
        (crd("v1", stored=("v1",)), False),
        (crd("v1beta1", stored=("v1beta1",)), False),
        (crd("v1", "v1beta1", strategy="Webhook"), False),
    ],
)
def test_which_crds_change_the_label_alone(one, told):
    assert changes_only_api_version(one) is told


REFERENCE = {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "default"}


def pool(reference, **disruption):
    return NodePool(spec={"template": {"spec": {"nodeClassRef": reference}}, "disruption": disruption})


@pytest.mark.parametrize(
    ("one", "beta"),
    [
        (pool(REFERENCE), False),
        (pool({"name": "default"}), True),
        (pool({"name": "default", "group": ""}), True),
        (pool({"name": "default"}, consolidationPolicy="WhenEmpty"), True),
        (pool({"name": "default"}, consolidationPolicy="WhenEmptyOrUnderutilized"), False),
        (NodePool(), True),
        (EC2NodeClass(spec={"amiSelectorTerms": [{"alias": "al2023@latest"}]}), False),
        (EC2NodeClass(spec={"amiFamily": "AL2"}), True),
        (NodeClaim(spec=ClaimSpec(node_class_ref=ClassReference(group="karpenter.k8s.aws"))), False),
        (NodeClaim(spec=ClaimSpec(node_class_ref=ClassReference(name="default"))), True),
        (NodeClaim(), True),
    ],
)
def test_what_lacks_a_required_field_was_never_v1(one, beta):
    assert holds_beta(one) is beta


def test_a_label_of_the_content():
    assert with_content_version(NodePool(api_version="karpenter.sh/v1")).api_version == "karpenter.sh/v1beta1"
    assert with_content_version(EC2NodeClass()).api_version == "karpenter.k8s.aws/v1beta1"


def test_what_was_pruned():
    assert pruned(pool({"name": "default"}, consolidationPolicy="WhenEmpty"))
    assert not pruned(pool({"name": "default"}, expireAfter="720h"))
    assert not pruned(EC2NodeClass())
