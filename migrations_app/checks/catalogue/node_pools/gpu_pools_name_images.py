"""Fails for each NodePool that requests accelerators and uses an AL2023 node class without explicit images."""

from collections.abc import Iterator

from migrations_app.checks.base import Check, CheckContext, Evidence, JudgeResult, NotApplicable, Remedy
from migrations_app.checks.evidence import MAP, MAPS, TEXT, at_field, split_malformed
from migrations_app.checks.remedies.karpenter_objects import change_remedies, edit_task
from migrations_app.checks.tools import OBJECT_TOOLS
from migrations_app.conversion.accelerators import wants_accelerators
from migrations_app.inventory.facts.node_pools import (
    AMI_TERMS,
    REQUIREMENTS,
    aliases,
    class_name,
    family,
    own_pools,
    rows,
)
from migrations_app.inventory.objects.karpenter import NodePool
from migrations_app.karpenter.hops import CONVERTED
from migrations_app.karpenter.release_facts import AL2023

check = Check(
    __name__,
    title="NodePools with accelerators set their images",
    phase="resources",
    severity="info",
    why=(
        "Up to 0.37 these pools get the standard AL2023 image. From 1.0 on they get the one for NVIDIA or Neuron, for "
        "NVIDIA on arm64 from 1.4 on, and no node where there is none: drivers may be installed twice."
    ),
    how=(
        "Reads AL2023 node classes by alias or without terms, whose NodePools request accelerators by requirement or "
        "limit."
    ),
    reads=("nodepools", "ec2nodeclasses"),
    says=(
        "{count} NodePool with accelerators uses the default AL2023 image",
        "{count} NodePools with accelerators use the default AL2023 image",
    ),
    hops=(CONVERTED,),
    sources=(
        "aws/karpenter-provider-aws@v1.14.1:website/content/en/v1.0/upgrading/v1-migration.md",
        "aws/karpenter-provider-aws@v1.0.14:pkg/providers/amifamily/al2023.go",
    ),
    remedy_tools=OBJECT_TOOLS,
)


@check.judge
def judge(case: CheckContext) -> Iterator[JudgeResult]:
    pools, classes = own_pools(case.inventory), case.inventory.ec2nodeclasses.items
    malformed, pools = split_malformed(pools, {REQUIREMENTS: MAPS, "spec.limits": MAP})
    others, classes = split_malformed(classes, {AMI_TERMS: MAPS, "spec.amiFamily": TEXT})
    yield from (*malformed, *others)
    discovered = {
        ec2_node_class.name
        for ec2_node_class in classes
        if family(ec2_node_class) == AL2023 and (any(aliases(ec2_node_class)) or not rows(ec2_node_class, AMI_TERMS))
    }
    if not discovered:
        yield NotApplicable("no node class takes AL2023 images by discovery")
    for pool in pools:
        if class_name(pool) in discovered and _requests_accelerators(pool):
            seen = f"accelerators, of {class_name(pool)} with AL2023 by discovery"
            yield at_field(pool, REQUIREMENTS, seen=seen, wanted="amiSelectorTerms that name an accelerated image")


def _requests_accelerators(pool: NodePool) -> bool:
    """Whether the pool requests accelerators by requirement or limit; malformed values count as no request."""
    values = [row.get("values") for _, row in rows(pool, REQUIREMENTS)]
    lists = all(value is None or isinstance(value, list) for value in values)
    return lists and wants_accelerators({"spec": pool.spec})


@check.advise
def advise(case: CheckContext, evidence: tuple[Evidence, ...]) -> Iterator[Remedy]:
    notes = ("Give these pools a node class of their own with the accelerated image of the cluster's Kubernetes",)
    yield from change_remedies(case, evidence, what=f"use {evidence[0].wanted}", line=edit_task, notes=notes)
