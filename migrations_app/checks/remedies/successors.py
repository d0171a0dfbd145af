"""Remedies that create NodePools and EC2NodeClasses from alpha objects before any alpha object is deleted."""

from msgspec.structs import replace

from migrations_app.checks.base import Remedy
from migrations_app.checks.changes import KarpdashAction
from migrations_app.checks.remedies.commands import kubectl, remedies_of
from migrations_app.checks.shell import quoted
from migrations_app.conversion.objects import PLACEHOLDER
from migrations_app.inventory.facts.managers import BY_HAND
from migrations_app.karpenter import kinds

CONVERTS = "convert_and_apply"
"""The action of karpdash that does the same."""
SUCCESSORS = KarpdashAction(
    action=CONVERTS,
    what="make a NodePool of each Provisioner and an EC2NodeClass of each AWSNodeTemplate",
    done="each EC2NodeClass names subnets, groups and images, and each NodePool is ready",
    final="the new objects stand beside the old ones; they can be deleted while they have no node",
)
_ALPHA = f"{kinds.PROVISIONER.crd_name},{kinds.AWS_NODE_TEMPLATE.crd_name}"
_COLUMNS = quoted(
    "custom-columns=NAME:.metadata.name,SUBNETS:.status.subnets[*].id,GROUPS:.status.securityGroups[*].id,"
    "IMAGES:.status.amis[*].id"
)


def successor_commands() -> Remedy:
    """The commands: convert, fill in what is missing, and check that the objects are ready."""
    lines = kubectl(
        "# On 0.32, which runs both. Nothing is changed or removed: the new objects stand beside the old ones",
        f"kubectl get {_ALPHA} -o yaml > alpha.yaml",
        "karpdash convert -f alpha.yaml --to v1beta1 > beta.yaml",
        "# Settle what it said above and read beta.yaml; where Git or Terraform holds the old ones, put it beside them",
        "# Each line printed here waits for the name of a role, and nothing is created: a role cannot be changed later",
        f"grep -nF {quoted(PLACEHOLDER)} beta.yaml ||",
        "  kubectl create -f beta.yaml  # what is there already is refused, and stays as it is",
        "# Ready when each class names subnets, groups and images; only then fence a Provisioner or replace a node",
        f"kubectl get {kinds.EC2_NODE_CLASS.crd_name} -o {_COLUMNS}",
        f"kubectl describe {kinds.NODE_POOL.crd_name}",
    )
    return replace(lines, change=SUCCESSORS)


def successor_remedies() -> tuple[Remedy, ...]:
    """The commands, and the karpdash action."""
    return (successor_commands(), *remedies_of(SUCCESSORS, BY_HAND))
