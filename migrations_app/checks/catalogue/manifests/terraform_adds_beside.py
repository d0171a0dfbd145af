"""Fails for each NodePool, node class or alpha object that Terraform manages."""

from collections.abc import Iterator
from itertools import chain

from migrations_app.checks.base import (
    Check,
    CheckContext,
    Evidence,
    JudgeResult,
    ManualCheck,
    NotApplicable,
    Remedy,
    SeverityCap,
)
from migrations_app.checks.changes import PersonTask
from migrations_app.checks.evidence import at_field
from migrations_app.checks.remedies.commands import in_cluster
from migrations_app.checks.remedies.observations import read_command
from migrations_app.checks.shared.hidden_fields import hidden_fields
from migrations_app.checks.shell import note
from migrations_app.inventory.facts.managers import managed, may_be_terraform
from migrations_app.inventory.facts.node_pools import own_pools
from migrations_app.inventory.objects.karpenter import WholeObject
from migrations_app.karpenter.hops import ALPHA_LEFT, CONVERTED

check = Check(
    __name__,
    title="No NodePool or node class is replaced in place by Terraform",
    phase="resources",
    severity="warning",
    why="If apiVersion or kind changes, Terraform destroys the object and creates it anew: all its nodes are drained.",
    how="Reads field managers and marks of NodePools, node classes and alpha objects for Terraform and its provider.",
    reads=("nodepools", "ec2nodeclasses", "provisioners", "awsnodetemplates"),
    says=("{count} object is managed by Terraform", "{count} objects are managed by Terraform"),
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
    objects: list[WholeObject] = list(chain(own_pools(inventory), inventory.ec2nodeclasses.items, alpha))
    if not objects:
        yield NotApplicable("there is no pool and no node class")
    yield from hidden_fields(case.inventory, check.reads)
    managed_objects = [item for item in objects if managed(item.metadata).by == "terraform"]
    for item in managed_objects:
        manager = managed(item.metadata).told_by or "terraform"
        yield at_field(item, "metadata.managedFields", seen=manager, wanted="a new object beside it")
    doubtful = [
        f"{item.kind or type(item).__name__} {item.name}" for item in objects if may_be_terraform(item.metadata)
    ]
    if doubtful and not managed_objects:
        listed = ", ".join(doubtful[:20])
        yield ManualCheck(f"applied as kubectl, as Terraform's provider kubectl does too: look who holds {listed}")
        yield SeverityCap("info")


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
    yield in_cluster(read_command("kubectl", *words, notes=("What Terraform wrote",)))
