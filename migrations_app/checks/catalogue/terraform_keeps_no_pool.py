"""No pool and no node class is kept by Terraform as a manifest, which it would delete and make anew."""

from collections.abc import Iterator

from migrations_app.checks.base import Case, Check
from migrations_app.checks.causes import at
from migrations_app.checks.values import Evidence, NotApplicable, Remedy, Word
from migrations_app.inventory.appliers import appliers
from migrations_app.karpenter.hop_spans import ALPHA_LEFT, BETA_LEFT, CONVERTED

PARTS = ("provisioners", "awsnodetemplates", "nodepools", "ec2nodeclasses")
check = Check(
    __name__,
    title="Terraform will not make a pool anew",
    phase="resources",
    severity="warning",
    why=(
        "To Terraform another apiVersion or kind is another object: it deletes the pool first, and with the pool go "
        "all of its nodes."
    ),
    how="Field managers of the Kubernetes and kubectl providers on pools, node classes and their alpha forerunners.",
    reads=PARTS,
    says=("{count} object is kept by Terraform", "{count} objects are kept by Terraform"),
    hops=("0.32", ALPHA_LEFT, CONVERTED, BETA_LEFT),
    sources=(
        "hashicorp/terraform-provider-kubernetes@main:docs/resources/manifest.md",
        "aws/karpenter-provider-aws@v1.14.1:website/content/en/v1.0/upgrading/v1-migration.md",
    ),
)


@check.judge
def judge(case: Case) -> Iterator[Word]:
    inventory = case.inventory
    every = (*inventory.provisioners.items, *inventory.awsnodetemplates.items)
    both = (*every, *inventory.nodepools.items, *inventory.ec2nodeclasses.items)
    if not both:
        yield NotApplicable("there is no pool and no node class yet")
    for one in both:
        if "Terraform" in appliers(one.metadata, inventory):
            manager = next((f.manager for f in one.metadata.managed_fields or () if f.manager), "Terraform")
            wanted = "a new name in v1 beside it, or the old resource taken out of the state"
            yield at(one, "metadata.managedFields", seen=manager or "", wanted=wanted)


@check.advise
def advise(_case: Case, evidence: tuple[Evidence, ...]) -> Iterator[Remedy]:
    first = evidence[0]
    body = (
        f"# {first.kind} {first.name} and the like: Terraform forgets the object without deleting it;\n"
        "# the v1 manifest then comes under a resource of its own\n"
        "removed {\n"
        f"  from = kubernetes_manifest.{_spelled(first.name)}\n\n"
        "  lifecycle {\n    destroy = false\n  }\n}"
    )
    yield Remedy(how="terraform", text=body)


def _spelled(name: str) -> str:
    return "".join(letter if letter.isalnum() else "_" for letter in name)
