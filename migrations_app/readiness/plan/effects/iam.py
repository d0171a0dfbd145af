"""What becomes of an inventory when a role of the controller gets or loses a policy."""

from dataclasses import replace

from migrations_app.checks.changes import IamStatements
from migrations_app.checks.render.aws_cli import compact
from migrations_app.iam.policy import WITH_VARIABLES
from migrations_app.iam.requirements.remedies import size_of
from migrations_app.inventory.inventory import Inventory
from migrations_app.inventory.objects.aws import ControllerRole, Kind, PolicyDocument
from migrations_app.inventory.objects.cluster_arn import read_role_arn
from migrations_app.inventory.parts import Seen
from migrations_app.readiness.plan.effects.not_shown import NotShown
from migrations_app.readiness.plan.effects.places import with_items


def permitted(inventory: Inventory, change: IamStatements) -> Inventory | NotShown:
    """After the policy was attached to the role, or detached from it. Only roles of the controller are read whole,
    and one whose policies were handed in may have no name."""
    part = inventory.aws.controller_roles
    if change.role and read_role_arn(change.role) is None:
        return NotShown("refused", change.role)
    if not isinstance(part, Seen):
        return NotShown("part_not_read", change.role)
    if not any(role.arn == change.role for role in part.items):
        return NotShown("target_gone", change.role)
    new = _document(change)
    roles = [_changed(role, change, new=new) if role.arn == change.role else role for role in part.items]
    failure = next((role for role in roles if isinstance(role, NotShown)), None)
    if failure:
        return failure
    changed_roles = tuple(role for role in roles if isinstance(role, ControllerRole))
    return replace(inventory, aws=replace(inventory.aws, controller_roles=with_items(part, changed_roles)))


def _document(change: IamStatements) -> PolicyDocument:
    """The policy as a scan would show it; without an ARN where it stands in the role, or nobody knows the account."""
    document = {"Version": WITH_VARIABLES, "Statement": list(change.statements)}
    text, size = compact(document), size_of(document)
    named = read_role_arn(change.role)
    if change.inline or named is None:
        kind: Kind = "inline" if change.inline else "customer_managed"
        return PolicyDocument(name=change.policy, kind=kind, text=text, size=size)
    arn = f"arn:{named.partition}:iam::{named.account}:policy/{change.policy}"
    return PolicyDocument(name=change.policy, kind="customer_managed", text=text, size=size, arn=arn, version="v1")


def _changed(role: ControllerRole, change: IamStatements, *, new: PolicyDocument) -> ControllerRole | NotShown:
    policies = role.policies
    if not isinstance(policies, Seen):
        return NotShown("part_not_read", change.role)
    there = any(_same(policy, new) for policy in policies.items)
    if there != change.removed:
        return NotShown("refused" if there else "target_gone", new.arn or new.name)
    if change.removed:
        left = tuple(policy for policy in policies.items if not _same(policy, new))
        return replace(role, policies=with_items(policies, left))
    return replace(role, policies=with_items(policies, (*policies.items, new)))


def _same(document: PolicyDocument, other: PolicyDocument) -> bool:
    """By ARN where there is one: a path or another account makes another policy of the same name."""
    return document.arn == other.arn and (bool(document.arn) or document.name == other.name)
