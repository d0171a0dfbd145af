"""Fails for each Bottlerocket node class with instanceStorePolicy RAID0 and an image older than 1.22.0."""

from collections.abc import Iterator

from migrations_app.checks.base import Check, CheckContext, Evidence, JudgeResult, NotApplicable, Remedy, Unknown
from migrations_app.checks.evidence import MAPS, TEXT, at_field, split_malformed
from migrations_app.checks.remedies.karpenter_objects import change_remedies, edit_task
from migrations_app.checks.tools import OBJECT_TOOLS
from migrations_app.inventory.facts.node_pools import AMI_TERMS, aliases, family, rows, text
from migrations_app.inventory.objects.karpenter import EC2NodeClass
from migrations_app.karpenter.hops import BETA_LEFT, hops_from
from migrations_app.karpenter.release_facts import BOTTLEROCKET, BOTTLEROCKET_RAID0_FROM, bottlerocket_version

check = Check(
    __name__,
    title="Bottlerocket images support RAID0 where it is set",
    phase="resources",
    severity="warning",
    why=(
        "From 1.1 on Karpenter passes the policy to the image. An image older than 1.22.0 does not know it, and its "
        "nodes never join."
    ),
    how=(
        "Reads instanceStorePolicy RAID0 of Bottlerocket node classes, and the image version in their alias or in "
        "status.amis."
    ),
    reads=("ec2nodeclasses",),
    says=("{count} Bottlerocket image is too old for RAID0", "{count} Bottlerocket images are too old for RAID0"),
    hops=hops_from(BETA_LEFT),
    sources=("aws/karpenter-provider-aws@v1.14.1:website/content/en/preview/upgrading/upgrade-guide.md",),
    remedy_tools=OBJECT_TOOLS,
)
POLICY = "spec.instanceStorePolicy"
AMIS = "status.amis"
WANTED = f"Bottlerocket {'.'.join(map(str, BOTTLEROCKET_RAID0_FROM))} or newer"


@check.judge
def judge(case: CheckContext) -> Iterator[JudgeResult]:
    classes = case.inventory.ec2nodeclasses.items
    malformed, classes = split_malformed(classes, {POLICY: TEXT, "spec.amiFamily": TEXT, AMI_TERMS: MAPS, AMIS: MAPS})
    yield from malformed
    asking = [
        ec2_node_class
        for ec2_node_class in classes
        if text(ec2_node_class, POLICY) == "RAID0" and family(ec2_node_class) == BOTTLEROCKET
    ]
    if not asking:
        yield NotApplicable("no Bottlerocket node class sets RAID0")
    for ec2_node_class in asking:
        images = dict(_images(ec2_node_class))
        if not images and not any(alias.endswith("@latest") for _, alias in aliases(ec2_node_class)):
            yield Unknown(f"EC2NodeClass {ec2_node_class.name}: neither an alias nor {AMIS} names the image")
        for path, image in images.items():
            version = bottlerocket_version(image)
            if version is None:
                yield Unknown(f"EC2NodeClass {ec2_node_class.name}: {path} names no release of Bottlerocket")
            elif version < BOTTLEROCKET_RAID0_FROM:
                yield at_field(ec2_node_class, path, seen=image, wanted=WANTED)


def _images(ec2_node_class: EC2NodeClass) -> Iterator[tuple[str, str]]:
    """Paths and names of the images: pinned aliases, or without any alias the images that the class resolved to.
    @latest is left out, because the newest image is new enough."""
    pinned = [(place, alias) for place, alias in aliases(ec2_node_class) if not alias.endswith("@latest")]
    yield from ((f"{AMI_TERMS}[{place}].alias", alias) for place, alias in pinned)
    if not any(aliases(ec2_node_class)):
        yield from ((f"{AMIS}[{place}].name", str(row.get("name"))) for place, row in rows(ec2_node_class, AMIS))


@check.advise
def advise(case: CheckContext, evidence: tuple[Evidence, ...]) -> Iterator[Remedy]:
    yield from change_remedies(
        case, evidence, what=f"use {WANTED}", line=edit_task, notes=("Nodes of the class drift",)
    )
