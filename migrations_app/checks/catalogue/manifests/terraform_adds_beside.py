"""What Terraform holds is replaced by new objects beside the old ones, never in place."""

from collections.abc import Iterator
from itertools import chain

from migrations_app.checks.base import Check, CheckContext, Evidence, JudgeResult, NotApplicable, Remedy
from migrations_app.checks.changes import PersonTask
from migrations_app.checks.evidence import cause
from migrations_app.checks.remedies.commands import in_cluster
from migrations_app.checks.remedies.observations import shown
from migrations_app.checks.shell import note
from migrations_app.inventory.facts.managers import managed
from migrations_app.inventory.facts.node_pools import own_pools
from migrations_app.inventory.objects.karpenter import WholeObject
from migrations_app.karpenter.hops import ALPHA_LEFT, CONVERTED

check = Check(
    __name__,
    title="No pool or node class is changed in place by Terraform",
    phase="resources",
    severity="warning",
    why="For another apiVersion or kind Terraform destroys the object and makes it anew: all its nodes are drained.",
    how="Field managers and marks of pools, templates and node classes that tell of Terraform.",
    reads=("nodepools", "ec2nodeclasses", "provisioners", "awsnodetemplates"),
    says=("{count} object is held by Terraform", "{count} objects are held by Terraform"),
    hops=("0.32", ALPHA_LEFT, CONVERTED),
    sources=(
        "hashicorp/terraform-provider-kubernetes: resource kubernetes_manifest, changes that replace",
        "aws/karpenter-provider-aws#6847",
    ),
    remedy_tools=("kubectl", "terraform"),
)


@check.judge
def judge(case: CheckContext) -> Iterator[JudgeResult]:
    inventory = case.inventory
    alpha = (*inventory.provisioners.items, *inventory.awsnodetemplates.items)
    every: list[WholeObject] = list(chain(own_pools(inventory), inventory.ec2nodeclasses.items, alpha))
    if not every:
        yield NotApplicable("there is no pool and no node class")
    for one in every:
        found = managed(one.metadata)
        if found.by == "terraform":
            yield cause(
                one, "metadata.managedFields", seen=found.told_by or "terraform", wanted="a new object beside it"
            )


@check.advise
def advise(_case: CheckContext, evidence: tuple[Evidence, ...]) -> Iterator[Remedy]:
    listed = ", ".join(dict.fromkeys(f"{row.kind} {row.name}" for row in evidence[:20]))
    steps = (
        note(f"Held by Terraform: {listed}"),
        "# 1. Add the successors under new names, with a higher weight, and apply",
        "# 2. Let the nodes of the old ones be replaced, then take the old ones out",
        "# or move the state over: terraform state rm ADDRESS, then terraform import ADDRESS ID",
    )
    why = "the addresses in the state of Terraform are not in the cluster"
    task = PersonTask(what="add the successors beside what Terraform holds, or move its state over", why=why)
    yield Remedy(how="terraform", text="\n".join(steps), change=task)
    words = ("get", "nodepools.karpenter.sh", "-o", "yaml", "--show-managed-fields")
    yield in_cluster(shown("kubectl", *words, notes=("What Terraform wrote",)))
