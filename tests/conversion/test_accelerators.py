"""Findings about the images that the AL2023 alias selects for GPUs and other accelerators."""

from typing import Any

import pytest

from migrations_app.conversion.convert import convert
from migrations_app.conversion.objects import Options
from migrations_app.karpenter import labels

FAMILY, TYPE = "karpenter.k8s.aws/instance-family", "node.kubernetes.io/instance-type"
CATEGORY, ARCH = "karpenter.k8s.aws/instance-category", "kubernetes.io/arch"
GPU_MAKER = "karpenter.k8s.aws/instance-gpu-manufacturer"
CHANGED, NONE = "al2023-gpu", "al2023-gpu-no-image"
NETWORKS = {"subnetSelectorTerms": [{"id": "subnet-1"}], "securityGroupSelectorTerms": [{"id": "sg-1"}]}


def row(key: str, *values: str, operator: str = "In") -> dict[str, Any]:
    return {"key": key, "operator": operator, "values": list(values)}


def beta_pool(*rows: Any, **spec: Any) -> dict[str, Any]:
    template = {"spec": {"nodeClassRef": {"name": "d"}, "requirements": list(rows)}}
    whole = {"disruption": {"expireAfter": "Never"}, "template": template, **spec}
    return {"apiVersion": "karpenter.sh/v1beta1", "kind": "NodePool", "metadata": {"name": "gpu"}, "spec": whole}


def beta_class(family: str = "AL2023", **spec: Any) -> dict[str, Any]:
    whole = {"amiFamily": family, "role": "r", **NETWORKS, **spec}
    return {
        "apiVersion": "karpenter.k8s.aws/v1beta1",
        "kind": "EC2NodeClass",
        "metadata": {"name": "d"},
        "spec": whole,
    }


def v1_pool(*rows: Any, **annotations: str) -> dict[str, Any]:
    reference = {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "d"}
    whole = {
        "disruption": {"consolidationPolicy": "WhenEmpty", "consolidateAfter": "1m"},
        "template": {"spec": {"nodeClassRef": reference, "requirements": list(rows), "expireAfter": "Never"}},
    }
    metadata = {"name": "gpu", **({"annotations": annotations} if annotations else {})}
    return {"apiVersion": "karpenter.sh/v1", "kind": "NodePool", "metadata": metadata, "spec": whole}


def v1_class(alias: str = "al2023@latest") -> dict[str, Any]:
    whole = {"role": "r", "amiSelectorTerms": [{"alias": alias}], **NETWORKS}
    return {"apiVersion": "karpenter.k8s.aws/v1", "kind": "EC2NodeClass", "metadata": {"name": "d"}, "spec": whole}


def found(*bodies: Any, **options: Any) -> list[tuple[str, str]]:
    """The codes and texts of what is said about accelerators."""
    losses = convert(bodies, Options(**options)).losses
    return [(loss.code, loss.what) for loss in losses if loss.code in (CHANGED, NONE)]


def codes(*bodies: Any, **options: Any) -> list[str]:
    return [code for code, _ in found(*bodies, **options)]


@pytest.mark.parametrize("asked", [row(FAMILY, "g5"), row(TYPE, "trn1.32xlarge"), row(CATEGORY, "g", "p")])
def test_pools_of_v1beta1_change_from_the_standard_image(asked: Any) -> None:
    message = (
        "NodePool gpu asks for accelerators: AL2023 was the standard image up to 0.37, and the alias takes the NVIDIA"
        " or Neuron image from 1.0 on; fit what installs drivers, or name the image in amiSelectorTerms"
    )
    assert found(beta_pool(asked), beta_class()) == [(CHANGED, message)]


@pytest.mark.parametrize("alias", ["al2023@latest", "al2023@v20250115"])
@pytest.mark.parametrize("asked", [row(FAMILY, "g5"), row(FAMILY, "trn1"), row(CATEGORY, "g")])
def test_the_alias_of_v1_selects_images_for_accelerators(alias: str, asked: Any) -> None:
    assert codes(v1_pool(asked, row(ARCH, "amd64")), v1_class(alias)) == []
    assert codes(v1_pool(asked), v1_class(alias)) == []


def test_a_pool_that_the_webhook_made_still_changes() -> None:
    mark = {labels.NODE_CLASS_REFERENCE_COMPATIBILITY: '{"name":"d"}'}
    assert codes(v1_pool(row(FAMILY, "g5"), **mark), v1_class()) == [CHANGED]


def test_named_images_and_other_families_are_no_question() -> None:
    asking = beta_pool(row(FAMILY, "g5g", "g4ad"))
    assert codes(asking, beta_class(amiSelectorTerms=[{"id": "ami-1"}])) == []
    assert codes(asking, beta_class("AL2")) == []
    assert codes(asking) == []
    assert codes(v1_pool(row(FAMILY, "g5g", "g4ad")), v1_class("bottlerocket@latest")) == []


ARM64 = (
    "NodePool gpu names arm64 with accelerators: before 1.4 the alias has no image for them, and no node is launched"
)


@pytest.mark.parametrize(
    "rows",
    [
        [row(FAMILY, "g5g")],
        [row(FAMILY, "g5", "g5g")],
        [row(TYPE, "p6e-gb200.36xlarge")],
        [row(CATEGORY, "g"), row(ARCH, "arm64")],
        [row(CATEGORY, "g"), row(ARCH, "amd64", operator="NotIn")],
        [row("karpenter.k8s.aws/instance-gpu-count", operator="Exists"), row(ARCH, "arm64")],
    ],
)
def test_arm64_has_no_image_before_1_4(rows: list[Any]) -> None:
    assert found(v1_pool(*rows), v1_class()) == [(NONE, ARM64)]
    assert codes(beta_pool(*rows), beta_class()) == [CHANGED, NONE]


@pytest.mark.parametrize(
    "rows",
    [
        [row(ARCH, "arm64")],
        [row(FAMILY, "m7g", "r8gd"), row(ARCH, "arm64")],
        [row(FAMILY, "g6e", "gr6", "p5en", "p6-b200", "g4dn", "trn1n", "inf2")],
        [row(FAMILY, "g5"), row(ARCH, "amd64", "arm64")],
        [row(FAMILY, "g5g", "g4ad", operator="NotIn"), row(CATEGORY, "g")],
    ],
)
def test_other_types_and_pools_without_accelerators_are_not_meant(rows: list[Any]) -> None:
    assert codes(v1_pool(*rows), v1_class()) == []


FOREIGN = (
    "NodePool gpu names accelerators that are neither NVIDIA's nor AWS's: the alias has no image with their drivers"
)


@pytest.mark.parametrize(
    "asked", [row(FAMILY, "g4ad"), row(TYPE, "dl1.24xlarge"), row(CATEGORY, "dl"), row(GPU_MAKER, "amd")]
)
def test_accelerators_of_other_makers_have_no_image(asked: Any) -> None:
    assert found(v1_pool(asked), v1_class()) == [(NONE, FOREIGN)]


def test_a_limit_names_a_maker_too() -> None:
    assert codes(beta_pool(limits={"amd.com/gpu": 4}), beta_class()) == [CHANGED, NONE]
    assert codes(beta_pool(limits={"amd.com/gpu": 0, "nvidia.com/gpu": 4}), beta_class()) == [CHANGED]
    assert codes(beta_pool(limits={"amd.com/gpu": 0}), beta_class()) == []


def test_makers_that_have_an_image_are_fine() -> None:
    maker = row("karpenter.k8s.aws/instance-accelerator-manufacturer", "aws")
    assert codes(v1_pool(row(GPU_MAKER, "nvidia"), maker), v1_class()) == []


@pytest.mark.parametrize(
    "odd", [{"key": ARCH}, {"key": FAMILY, "operator": "In", "values": 7}, {"key": 7, "values": [7]}, {}]
)
def test_odd_requirements_ask_for_nothing(odd: Any) -> None:
    assert codes(v1_pool(odd), v1_class()) == []
