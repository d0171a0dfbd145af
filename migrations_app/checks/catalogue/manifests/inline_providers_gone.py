"""Fails for each Provisioner, Machine or NodeClaim with an inline provider."""

from collections.abc import Iterator
from itertools import chain

from migrations_app.checks.base import Check, CheckContext, Evidence, JudgeResult, NotApplicable, Remedy
from migrations_app.checks.evidence import MAP, at_field, malformed_fields
from migrations_app.checks.remedies.karpenter_objects import change_remedies, conversion_task, describe_remedy
from migrations_app.checks.tools import OBJECT_TOOLS
from migrations_app.inventory.facts.node_pools import own_claims
from migrations_app.karpenter import labels
from migrations_app.karpenter.hops import ALPHA_LEFT

check = Check(
    __name__,
    title="No object has an inline provider",
    phase="resources",
    severity="warning",
    why=(
        "A NodePool cannot have an inline provider: it needs an EC2NodeClass before it can replace such a Provisioner."
    ),
    how="Reads spec.provider of Provisioners, and the annotation that keeps it on Machines and NodeClaims.",
    reads=("provisioners", "machines", "nodeclaims"),
    says=("{count} object has an inline provider", "{count} objects have inline providers"),
    hops=("0.32", ALPHA_LEFT),
    severity_at={ALPHA_LEFT: "blocker"},
    sources=("aws/karpenter-provider-aws@v1.14.1:website/content/en/v1.0/upgrading/v1beta1-migration.md",),
    remedy_tools=OBJECT_TOOLS,
)
PATH = "spec.provider"
ANNOTATION = f"metadata.annotations[{labels.PROVIDER_COMPATIBILITY}]"


@check.judge
def judge(case: CheckContext) -> Iterator[JudgeResult]:
    inventory = case.inventory
    if not (inventory.provisioners.items or inventory.machines.items):
        yield NotApplicable("there is no Provisioner and no Machine")
    yield from malformed_fields(inventory.provisioners.items, {PATH: MAP})
    for provisioner in inventory.provisioners.items:
        if isinstance(provisioner.get(PATH), dict) and provisioner.get(PATH):
            yield at_field(
                provisioner,
                PATH,
                seen=", ".join(sorted(provisioner.get(PATH))),
                wanted="an EC2NodeClass and a reference to it",
            )
    for claim in chain(inventory.machines.items, own_claims(inventory)):
        if claim.metadata.annotation(labels.PROVIDER_COMPATIBILITY):
            yield at_field(claim, ANNOTATION, seen="present", wanted="a node launched from a NodePool")


@check.advise
def advise(case: CheckContext, evidence: tuple[Evidence, ...]) -> Iterator[Remedy]:
    provisioners = [row for row in evidence if row.kind == "Provisioner"]
    if provisioners:
        notes = ("Prints the NodePool and its EC2NodeClass; changes nothing",)
        yield from change_remedies(
            case, provisioners, what="write the provider as an EC2NodeClass", line=conversion_task, notes=notes
        )
    for kind in ("Machine", "NodeClaim"):
        if rows := [row for row in evidence if row.kind == kind]:
            yield describe_remedy(rows, "Their nodes have to be replaced")
