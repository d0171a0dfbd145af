"""Fails for each object of Karpenter's whose deletion began more than 15 minutes ago and did not end."""

from collections.abc import Iterator
from datetime import timedelta

from migrations_app.checks.base import Check, CheckContext, Evidence, JudgeResult, Remedy, Unknown
from migrations_app.checks.changes import PersonTask, group
from migrations_app.checks.remedies.commands import in_cluster
from migrations_app.checks.remedies.karpenter_objects import describe_commands
from migrations_app.inventory.facts.node_claims import moment
from migrations_app.inventory.inventory import Inventory
from migrations_app.inventory.objects.karpenter import EC2NodeClass, NamedObject, Node
from migrations_app.inventory.parse import is_karpenter
from migrations_app.karpenter import kinds

check = Check(
    __name__,
    title="No Karpenter object is stuck terminating",
    phase="rollout",
    severity="warning",
    why=(
        "A finalizer waits: for nodes of the object, for NodeClaims that use the node class, or for a controller "
        "that knows the kind. With every release it gets harder to remove."
    ),
    reads=("provisioners", "awsnodetemplates", "machines", "nodepools", "ec2nodeclasses", "nodeclaims", "nodes"),
    says=("{count} object is stuck terminating", "{count} objects are stuck terminating"),
    how="Reads metadata.deletionTimestamp older than 15 minutes with finalizers left, and what still uses the object.",
    sources=(
        "aws/karpenter-provider-aws@v1.14.1:pkg/controllers/nodeclass/controller.go",
        "kubernetes-sigs/karpenter@v1.14.1:pkg/controllers/nodeclaim/lifecycle/registration.go",
    ),
    remedy_tools=("kubectl",),
)
PATIENCE = timedelta(minutes=15)
KINDS = (
    kinds.MACHINE,
    kinds.NODE_CLAIM,
    kinds.NODE,
    kinds.PROVISIONER,
    kinds.NODE_POOL,
    kinds.AWS_NODE_TEMPLATE,
    kinds.EC2_NODE_CLASS,
)


@check.judge
def judge(case: CheckContext) -> Iterator[JudgeResult]:
    now = moment(case.now)
    for kind in KINDS:
        for item in case.inventory.part(kind.plural).items:
            if isinstance(item, NamedObject) and item.metadata.deleting and (names := _finalizers(item)):
                since = moment(item.metadata.deletion_timestamp)
                if since is None or now is None:
                    yield Unknown(f"{kind.kind} {item.name}: metadata.deletionTimestamp cannot be read")
                elif now - since > PATIENCE:
                    seen = f"since {item.metadata.deletion_timestamp}, {' '.join(names)}{_users(case.inventory, item)}"
                    yield Evidence(kind=kind.kind, name=item.name, path="metadata.finalizers", seen=seen, wanted="gone")


def _finalizers(named_object: NamedObject) -> list[str]:
    """The finalizers that delay the deletion; of a Node, only those of Karpenter."""
    names = named_object.metadata.finalizers or []
    return [entry for entry in names if is_karpenter(entry)] if isinstance(named_object, Node) else names


def _users(inventory: Inventory, item: NamedObject) -> str:
    if not isinstance(item, EC2NodeClass):
        return ""
    references = (claim.spec.node_class_ref for claim in inventory.nodeclaims.items)
    count = sum(reference is not None and reference.name == item.name for reference in references)
    return f", {count} NodeClaims use it" if count else ""


@check.advise
def advise(_case: CheckContext, evidence: tuple[Evidence, ...]) -> Iterator[Remedy]:
    order = "In this order: claims with their nodes, then pools, then classes; see what each one waits for"
    task = PersonTask(
        what="take a finalizer out only when the instance is known to be gone", why="nobody ends it afterwards"
    )
    yield in_cluster(group(describe_commands(evidence), task, notes=(order,)))
